"""What the tests of the core share: small data, tiny nets, the loss in plain loops, a count of compilations."""

import functools
import itertools
import resource
import signal
from contextlib import contextmanager

import jax
import jax.random as jr
import numpy as np

from leadax import EmpiricalNorm, Leads, Linear, Model, Omega, Sizes, SpectralNorm, Trajectories, Units, chosen_for
from leadax.arrays import on_device
from leadax.defaults import Defaults
from leadax.methods import Levels
from leadax.nets import MLP
from leadax.train import Recipe
from leadax.train.loss import first_carry
from leadax.train.request import Request, chosen_defaults

# Programs are compiled once per shape: tests that use these nets, methods and data share them.
tiny = functools.partial(MLP, width=8, depth=2)
OMEGA = Omega(EmpiricalNorm(relative=False), SpectralNorm(), alpha=0.1)
LEADS = Leads(net=tiny, solver="heun", penalty=OMEGA, penalty_weight=0.5)
# With all that a checkpoint must hold, but compiled in half the time.
LINEAR = Leads(net=Linear, solver="euler", penalty=OMEGA, penalty_weight=0.01)


def ragged() -> Trajectories:
    """Unequal numbers of trajectories, unequal lengths, irregular times, missing values, and a late first state."""
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
    return jax.tree.map(lambda a: on_device(np.asarray(a)[index]), tree)


def same_bits(a, b) -> bool:
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return all(np.asarray(x).tobytes() == np.asarray(y).tobytes() for x, y in pairs)


def assert_close(found, expected, **tolerance):
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, **tolerance), found, expected)


def random_like(shapes, seed=0, size: float = 0.4):
    """Arrays of these shapes and types from NumPy: `init` takes long to compile, and makes the last layer small."""
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda a: on_device(size * rng.standard_normal(a.shape), a.dtype), shapes)


def drawn(build):
    """What `build` would make of a key, with numbers from NumPy."""
    return random_like(jax.eval_shape(build, jr.key(0)))


def random_levels(method, environments: int, seed: int = 0, state_shape=(2,)) -> Levels:
    init = lambda key: Levels(*method.init(Sizes(state_shape, environments), key=key))
    return random_like(jax.eval_shape(init, jr.key(0)), seed)


def random_carry(method, levels, environments: int, seed: int = 0):
    return random_like(jax.eval_shape(lambda key: first_carry(method, levels, key, environments), jr.key(0)), seed)


def untrained(method=LEADS, members=2, state_shape=(2,), dtype=np.float64, units=None, **settings) -> Model:
    """A model of environments `a`, `é` and `c` that was never trained."""
    rows = [random_levels(method, 3, seed, state_shape) for seed in range(members)]
    channels = tuple(f"x{i}" for i in range(state_shape[-1]))
    return Model(
        levels=jax.tree.map(lambda *a: on_device(np.stack(a), dtype), *rows),
        method=method,
        units=units or Units.ones(state_shape[-1]),
        environments=("a", "é", "c"),
        channels=channels,
        state_shape=state_shape,
        **{"longest_step": 0.25, **settings},
    )


def plainly(data: Trajectories) -> Defaults:
    """Settings for nets that a test brings along: no polynomial is looked for, which takes longer than a short fit."""
    return chosen_for(data, Linear)


def request_of(data: Trajectories, **settings) -> Request:
    """What `fit` would be asked for, with its defaults."""
    plain = {"key": jr.key(0), "steps": 20, "seeds": 1, "test": None, "validation": None, "optimiser": "adam"}
    plain |= {"defaults": None, "recipe": Recipe(), "start": None, **settings}
    plain["defaults"] = chosen_defaults(data, plain["defaults"], plain.pop("latent", None), ())
    return Request(train=data, **plain)


compiled: list[str] = []


def _hear(event: str, seconds: float, **more) -> None:
    if event == "/jax/core/compile/backend_compile_duration":
        compiled.append(str(more.get("fun_name", "?")))


# One entry for each program that the process has compiled.
jax.monitoring.register_event_duration_secs_listener(_hear)


# The loss again, in NumPy, for data as they come: no padding, no masks, no vmap, no scan.


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


def forecast(field, times, states, restart=None, longest=np.inf):
    """Heun's method from one observation to the next, from the data where `restart` says so and they are whole."""
    x, found = states[0], [states[0]]
    for k, gap in enumerate(np.diff(times)):
        if restart is not None and restart[k] and not np.isnan(states[k]).any():
            x = states[k]
        count = max(1, int(np.ceil(gap / longest - 1e-6)))
        for _ in range(count):
            h, slope = gap / count, field(x)
            x = x + h / 2 * (slope + field(x + h * slope))
        found.append(x)
    return found


def plain_field(levels: Levels, e: int):
    """f + g_e of one member."""
    g = at(levels.specific, e)
    return lambda x: plain_net(levels.shared, x) + plain_net(g, x)


def plain_loss(levels, data, restart=None):
    """The loss of `LEADS`, or of the same with another net, with the mean error and Ω of each environment, by loops."""
    levels = jax.tree.map(np.asarray, levels)
    total, count, errors, penalties = 0.0, 0, [], []
    for e in range(len(data.environments)):
        own, seen, points = 0.0, 0, []
        for times, states, whole in observations(data, e):
            for predicted, observed in zip(
                forecast(plain_field(levels, e), times, states, restart), states, strict=True
            ):
                for c in np.flatnonzero(~np.isnan(observed)):
                    own, seen = own + (predicted[c] - observed[c]) ** 2, seen + 1
            points.extend(states[whole])
        total, count = total + own, count + seen
        errors.append(own / seen)
        penalties.append(plain_omega(at(levels.specific, e), points))
    return total / count + 0.5 * sum(penalties), (errors, penalties)


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
