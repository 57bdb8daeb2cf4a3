"""Two steps of each new method on small fields: finite, of the right shapes, and something of both halves learns."""

from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest
from leadax.evaluation import error_program
from leadax.objective import ScheduledSampling
from leadax.training import Recipe, advance_program, init_state
from tests.engine import random_parts

from leadax.data import Trajectories
from leadax.data.batch import to_batch
from leadax.methods import METHODS
from leadax.nets import FNO, ConvNet

RNG = np.random.default_rng(0)
NETS = {
    "gray-scott": ((8, 8, 2), partial(ConvNet, width=2, depth=2)),
    "navier-stokes": ((12, 12, 1), partial(FNO, width=2, modes=2, depth=1, projection=2)),
}
# Small, and without second derivatives: they take long to compile.
OWN = {
    "ft-rnn": {"rank": 2, "width": 1},
    "ft-node": {"rank": 2},
    "maml": {"first_order": True},
}
NEW = [(name, kind) for kind in NETS for name in ("ft-node", "ft-rnn", "gbml", "maml", "coda")]


@pytest.mark.parametrize(("name", "kind"), NEW, ids=str)
def test_two_steps(name, kind):
    state_shape, net = NETS[kind]
    data = Trajectories.from_arrays(range(3), RNG.normal(size=(2, 2, 3, *state_shape)))
    method = METHODS[name](**{"net": net, "solver": "euler", **OWN.get(name, {})})
    phase = method.phases[0]
    recipe = Recipe(
        method, optax.adam(1e-3), ScheduledSampling(), meta=phase.meta, error_scale=np.ones(state_shape[-1])
    )
    parts = random_parts(method, 2, state_shape=state_shape)
    shapes = jax.eval_shape(lambda: init_state(recipe, parts, 2, jr.key(0)))
    state = jax.tree.map(lambda a: np.zeros((1, *a.shape), a.dtype), shapes)
    one = np.ones(1, shapes.rate_scale.dtype)
    state = state._replace(parts=jax.tree.map(lambda a: jnp.asarray(a)[None], parts), rate_scale=one)
    batch = to_batch(data, jnp.float64)
    after, progress = advance_program(recipe)(jax.tree.map(jnp.array, state), batch, 2)
    assert after.step.tolist() == [2]
    assert progress.finite.all()
    assert progress.terms.error.shape == (1, 2)
    for half in ("shared", "specific"):
        before, now = (jax.tree.leaves(getattr(s.parts, half)) for s in (state, after))
        assert [a.shape for a in before] == [a.shape for a in now]
        assert all(np.all(np.isfinite(a)) for a in now)
        assert any(np.any(np.asarray(a) != np.asarray(b)) for a, b in zip(before, now, strict=True))
    sums = error_program(method)(after.parts, batch)
    assert sums.shape == (1, 2, 2, 3)
    np.testing.assert_array_equal(sums[..., 0], 0)
    assert np.all(np.isfinite(sums))
