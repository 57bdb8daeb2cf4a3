"""What the tests of the engine share: small data, tiny nets, the objective in plain loops, programs compiled once."""

import functools
import itertools
import json
import resource
import signal
from contextlib import contextmanager

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from leadax import evaluation, job, optimisers
from leadax.data import Trajectories
from leadax.describe import describe_method
from leadax.methods import Leads
from leadax.nets import MLP, Linear
from leadax.objective import init_carry
from leadax.penalty import EmpiricalNorm, Omega, SpectralNorm

tiny = functools.partial(MLP, width=8, depth=2)

OMEGA = Omega(EmpiricalNorm(relative=False), SpectralNorm(), alpha=0.1)
LEADS = Leads(net=tiny, solver="heun", penalty=OMEGA, penalty_weight=0.5)
# The same with all that a checkpoint must hold, but compiled in a third of the time.
LINEAR = Leads(net=Linear, solver="euler", penalty=OMEGA, penalty_weight=0.01)


def ragged() -> Trajectories:
    """Unequal numbers of trajectories, unequal lengths, irregular times, missing values, and a late first state.

    The same to the bit everywhere and for ever: tests/golden holds a run on these data.
    """
    lengths, count = [[6, 5, 4], [6, 3]], itertools.count()
    sixteenths = lambda n: np.cumsum([next(count) * 7 % 4 + 1 for _ in range(n)])
    times = [[sixteenths(n) / 16 for n in row] for row in lengths]
    states = [
        [1 + np.array([[next(count) * 37 % 64 - 32, next(count) * 21 % 64 - 32] for _ in range(n)]) / 64 for n in row]
        for row in lengths
    ]
    states[0][0][2, 0] = states[0][0][4] = np.nan  # a value, and all of a state in between
    states[0][1][0, 1] = np.nan  # the forecast starts at the second point
    states[1][0][5, 1] = np.nan
    return Trajectories.from_arrays(times, states, environments=["a", "b"], channels=["u", "v"])


def decays(environments: int = 2, trajectories: int = 2, points: int = 6) -> Trajectories:
    """Regular data of two channels that decay at a rate of their environment."""
    times = np.linspace(0, 1, points)
    rates = np.linspace(0.5, 1.5, environments)[:, None, None]
    starts = np.linspace(1, 2, trajectories)[None, :, None]
    falls = starts * np.exp(-rates * times)
    return Trajectories.from_arrays(times, np.stack([falls, 0.5 * falls**2], axis=-1))


def at(tree, index):
    return jax.tree.map(lambda a: a[index], tree)


def same_bits(a, b) -> bool:
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return all(np.asarray(x).tobytes() == np.asarray(y).tobytes() for x, y in pairs)


def assert_close(found, expected, **tolerance):
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, **tolerance), found, expected)


def random_like(shapes, seed=0, size: float = 0.4):
    """Arrays of these shapes and types, drawn by NumPy: `init` compiles for seconds, and makes the last layer small."""
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda a: (size * rng.standard_normal(a.shape)).astype(a.dtype), shapes)


def drawn(build):
    """What `build` would make of a key, as JAX arrays of numbers from NumPy."""
    return jax.tree.map(jnp.asarray, random_like(jax.eval_shape(build, jr.key(0))))


def random_parts(method, environments: int, seed: int = 0, state_shape=(2,)):
    return random_like(jax.eval_shape(lambda key: method.init(state_shape, environments, key=key), jr.key(0)), seed)


def random_carry(method, parts, environments: int, seed: int = 0):
    return random_like(jax.eval_shape(lambda key: init_carry(method, parts, key, environments), jr.key(0)), seed)


# The objective again, in NumPy, for data as they come: no padding, no masks, no vmap, no scan.


def plain_net(net, x):
    """A `Linear` net, or an `MLP` of two layers."""
    if isinstance(net, Linear):
        return x @ np.asarray(net.dense.weight)
    first, last = net.denses
    hidden = x @ np.asarray(first.weight) + np.asarray(first.bias)
    slope = np.log1p(np.exp(np.asarray(net.activations[0].beta)))
    hidden = hidden / (1 + np.exp(-hidden * slope)) / 1.1
    return hidden @ np.asarray(last.weight) + np.asarray(last.bias)


def plain_omega(net, points):
    """The penalty `OMEGA`."""
    size = np.mean([np.sum(plain_net(net, x) ** 2) for x in points])
    return size + 0.1 * sum(np.linalg.norm(layer.weight, 2) ** 2 for layer in net.layers)


def observations(data: Trajectories, e: int):
    """Times and states of each trajectory of an environment from its first whole state on, NaN for holes."""
    for i in range(data.counts[e]):
        times, states = data.times[e, i, : data.lengths[e, i]], data.states[e, i, : data.lengths[e, i]]
        whole = np.array([not np.isnan(state).any() for state in states])
        first = int(np.flatnonzero(whole)[0])
        yield times[first:] - times[first], states[first:], whole[first:]


def forecast(field, times, states, restart=None):
    """Heun's method from one observation to the next, from the data where `restart` says so and they are whole."""
    x, found = states[0], [states[0]]
    for k, h in enumerate(np.diff(times)):
        if restart is not None and restart[k] and not np.isnan(states[k]).any():
            x = states[k]
        slope = field(x)
        x = x + h / 2 * (slope + field(x + h * slope))
        found.append(x)
    return found


def plain_objective(parts, data, restart=None, error_scale=(1.0, 1.0)):
    """The loss of `LEADS`, or of the same with another net, with the mean error and Ω of each environment, by loops."""
    total, count, errors, penalties = 0.0, 0, [], []
    for e in range(len(data.environments)):
        own, seen, points = 0.0, 0, []
        field = lambda x, g=at(parts.specific, e): plain_net(parts.shared, x) + plain_net(g, x)
        for times, states, whole in observations(data, e):
            for predicted, observed in zip(forecast(field, times, states, restart), states, strict=True):
                for c in np.flatnonzero(~np.isnan(observed)):
                    own, seen = own + ((predicted[c] - observed[c]) / error_scale[c]) ** 2, seen + 1
            points.extend(states[whole])
        total, count = total + own, count + seen
        errors.append(own / seen)
        penalties.append(plain_omega(at(parts.specific, e), points))
    return total / count + 0.5 * sum(penalties), (errors, penalties)


# `fit` compiles its programs anew, which takes seconds; the tests call it often, with the same settings.

RANDOM_STATE = job.Job._random_state


@contextmanager
def compiled_once(first_state=None):
    """Inside, calls of `fit` that would compile the same program share it, and first weights are drawn by NumPy.

    - `first_state`: what draws them instead; `RANDOM_STATE` where a method must start as it does.
    """
    method = lambda method: json.dumps(describe_method(method))
    recipe = lambda recipe, *more: (
        method(recipe.method),
        (recipe.optimiser, recipe.sampling, recipe.batch_size, tuple(recipe.error_scale)),
        (recipe.trainable, recipe.meta),
        *more,
    )
    rule = lambda *given: given
    state = lambda job, key, seeds: recipe(
        job.stages[0].recipe, job.train.fingerprint, str(jr.key_data(key)), seeds, jnp.dtype(job.dtype)
    )
    drawn = _remember(first_state or _drawn_state, state)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(optimisers, "optimiser", _remember(optimisers.optimiser, rule))
        patch.setattr(job, "advance_program", _remember(job.advance_program, recipe))
        errors = _remember(job.error_program, method)
        patch.setattr(job, "error_program", errors)
        patch.setattr(evaluation, "error_program", errors)
        patch.setattr(job.Job, "_random_state", lambda *given: jax.tree.map(jnp.array, drawn(*given)))
        yield


def _remember(function, place):
    found = {}

    def remembering(*given):
        where = place(*given)
        if where not in found:
            found[where] = function(*given)
        return found[where]

    return remembering


def _drawn_state(job, key, seeds):
    """Of the shapes that `fit` would start from; an optimiser starts from zeros."""
    shapes = jax.eval_shape(lambda key: RANDOM_STATE(job, key, seeds), key)
    one = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape[1:], a.dtype), (shapes.parts, shapes.carry))
    data = np.asarray(jr.key_data(key))
    rows = [random_like(one, [*data.tolist(), seed]) for seed in range(seeds)]
    parts, carry = jax.tree.map(lambda *a: np.stack(a), *rows)
    zeros = jax.tree.map(lambda a: np.zeros(a.shape, a.dtype), shapes)
    keys = np.stack([data ^ np.uint32(seed) for seed in range(seeds)])
    return zeros._replace(parts=parts, carry=carry, key=keys, rate_scale=zeros.rate_scale + 1)


class Counted(Leads):
    """LEADS that notes each time one of its predictions is traced."""

    traces = []  # noqa: RUF012

    def predict(self, shared, specific, asked):
        self.traces.append(1)
        return super().predict(shared, specific, asked)


@contextmanager
def full_disk(size: int):
    """Files cannot grow beyond `size` bytes: the system itself refuses."""
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
