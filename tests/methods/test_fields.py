"""A step of each kind of method on small fields: finite, of the right shapes, and something of both levels learns."""

from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest
from tests.engine import random_levels

from leadax import FNO, ConvNet, ScheduledSampling, Trajectories, Units
from leadax.methods import METHODS
from leadax.methods.prepare import prepare
from leadax.train.optimisers import Optimiser
from leadax.train.step import Plan, Span, first_state, train_step

NETS = {
    "conv": ((5, 2), partial(ConvNet, width=2, depth=2)),
    "conv on a plane": ((4, 4, 2), partial(ConvNet, width=2, depth=2)),
    "fno": ((6, 1), partial(FNO, width=2, modes=2, depth=1, projection=2)),
}
OWN = {"ft-rnn": {"rank": 2, "width": 1}, "ft-node": {"rank": 2}}
SPAN = Span(jnp.array(0, jnp.int32), jnp.array(9, jnp.int32))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ft-rnn", "conv"),
        ("ft-node", "conv"),
        ("ft-node", "fno"),
        ("coda", "conv"),
        ("maml", "conv on a plane"),
        ("maml", "fno"),
    ],
    ids=str,
)
def test_one_step(name, kind):
    """Of MAML with its second derivatives, through convolutions and Fourier layers."""
    state_shape, net = NETS[kind]
    states = np.random.default_rng(0).normal(size=(2, 2, 3, *state_shape))
    settings = {} if name == "ft-rnn" else {"net": net, "solver": "euler"}
    method = METHODS[name](**settings, **OWN.get(name, {}))
    plan = Plan(Optimiser(optax.sgd(1e-3)), meta=method.phases()[0].meta)
    levels = random_levels(method, 2, state_shape=state_shape)
    batch = prepare(Trajectories.from_arrays(range(3), states), Units.ones(state_shape[-1]), method, dtype=jnp.float64)
    state = first_state(plan, method, levels, 2, jr.key(0), jnp.ones(()))
    after, progress = jax.jit(partial(train_step, plan, method))(state, batch, ScheduledSampling(0.5), SPAN)
    assert progress.finite
    assert progress.terms.error.shape == (2,)
    for level in ("shared", "specific"):
        before, now = (jax.tree.leaves(getattr(tree, level)) for tree in (levels, after.levels))
        assert [a.shape for a in before] == [a.shape for a in now]
        assert any(np.any(np.asarray(a) != np.asarray(b)) for a, b in zip(before, now, strict=True))
