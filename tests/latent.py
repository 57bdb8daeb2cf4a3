"""What the tests of inferred states share: a linear method, ragged data, and the loss in plain loops."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from tests.engine import ragged, random_like

from leadax import EmpiricalNorm, Leads, Linear, Sizes, Units
from leadax.data.layout import Layout
from leadax.methods import Levels
from leadax.methods.local import Local
from leadax.methods.prepare import prepare

METHOD = Leads(net=Linear, solver="euler", penalty=EmpiricalNorm(relative=False), penalty_weight=0.5)
LAYOUT = Layout(("u", "v"), hidden=1, individual=1, noise=(0.1, 0.2))
DATA = ragged()
BATCH = prepare(DATA, Units.ones(2), METHOD, dtype=jnp.float64, layout=LAYOUT)


def random_latent(seed: int = 0) -> Levels:
    """Levels of one member, with inferred states near the observed ones."""
    init = lambda key: METHOD.init(Sizes((3,), 2, 1), key=key)
    shared, specific = random_like(jax.eval_shape(init, jr.key(0)), seed)
    rng = np.random.default_rng(seed)
    path = np.concatenate([BATCH.states, np.zeros((*BATCH.times.shape, 1))], axis=-1)
    path = path + 0.2 * rng.standard_normal(path.shape)
    return Levels(shared, specific, Local(jnp.asarray(path), jnp.asarray(rng.standard_normal((2, 3, 1)))))


def trajectories():
    """Place, times since the start and states of each trajectory, NaN for holes."""
    for e, i in np.argwhere(DATA.lengths > 0):
        n = DATA.lengths[e, i]
        yield (e, i), DATA.times[e, i, :n] - DATA.times[e, i, 0], DATA.states[e, i, :n]


def plain_forecast(weight, path, constants, times, restart=None):
    """Euler's method for [x, c] W, which restarts from the path."""
    x, found = path[0], [path[0]]
    for k, gap in enumerate(np.diff(times)):
        x = path[k] if restart is not None and restart[k] else x
        x = x + gap * (np.concatenate([x, constants]) @ weight)
        found.append(x)
    return np.array(found)


def plain_sums(levels: Levels, restart):
    """Squared errors, their number, what ties pieces together, and the prior; with the points that Ω looks at."""
    f, g, path, individual = (np.asarray(leaf) for leaf in jax.tree.leaves(levels))
    error = count = tie = prior = 0.0
    points = [[], []]
    for (e, i), times, states in trajectories():
        own, c = path[e, i], individual[e, i]
        found = plain_forecast(f + g[e], own, c, times, restart)
        for k in range(len(times)):
            for channel in np.flatnonzero(~np.isnan(states[k])):
                count += 1
                error += (found[k, channel] - states[k, channel]) ** 2 if k > 0 else 0.0
                if k == 0 or restart[k]:
                    prior += ((own[k, channel] - states[k, channel]) / LAYOUT.noise[channel]) ** 2
            if k > 0 and restart[k]:
                tie += np.sum((found[k] - own[k]) ** 2)
            points[e].append(np.concatenate([found[k], c]))
        prior += own[0, 2] ** 2 + c[0] ** 2
    return error, count, tie, prior, points


def plain_value(levels: Levels, restart, decay: float, frozen=None):
    """The loss; `frozen`: levels that its weights, and the points that Ω looks at, come from."""
    frozen = frozen or levels
    error, count, tie, prior, _ = plain_sums(levels, restart)
    present, *_, points = plain_sums(frozen, restart)
    f, g = (np.asarray(leaf) for leaf in jax.tree.leaves(levels)[:2])
    penalty = sum(np.mean([np.sum((x @ g[e]) ** 2) for x in points[e]]) for e in range(2))
    squares = 4 * (np.sum(f**2) + np.sum(g**2))
    scale = present / count
    return (error + tie + scale * prior + scale * decay * squares) / count + 0.5 * penalty
