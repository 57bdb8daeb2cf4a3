"""A formula with hidden states and individual constants: what it alone explains, by whole trajectories."""

import jax.numpy as jnp
import numpy as np
from scipy.linalg import expm

from leadax import Latent, Linear, OneForAll, Parameter, Trajectories, chosen_for
from leadax.methods import with_formula
from leadax.methods.known import Beside
from leadax.methods.local import first_local
from leadax.methods.prefit import beginning
from leadax.methods.prepare import prepare

TIMES = np.linspace(0, 4, 13)
EFFECTS = np.random.default_rng(0).standard_normal(8)


def two_pools(t, x, u, p):
    """What leaves the first pool in part comes back from a second one that nobody sees."""
    leaves = p.out * jnp.exp(0.3 * u[0]) * x[0]
    return jnp.stack([-leaves - p.over * (x[0] - x[1]), p.over * (x[0] - x[1])])


def pools() -> Trajectories:
    """Eight trajectories, each with an outflow of its own; the second pool is empty at first."""
    return Trajectories.from_arrays(TIMES, solved()[None, ..., :1])


def solved() -> np.ndarray:
    """Both pools, in closed form."""
    flows = [np.array([[-0.6 * np.exp(0.3 * effect) - 0.8, 0.8], [0.8, -0.8]]) for effect in EFFECTS]
    return np.array([[expm(flow * t)[:, 0] for t in TIMES] for flow in flows])


def test_numbers_and_constants_are_found_before_training():
    data = pools()
    latent = Latent(noise="none", hidden=1, individual=1, from_zero=True)
    defaults = chosen_for(data).laid_out(data, latent)
    numbers = {"out": Parameter(1.0, low=0), "over": Parameter(0.3, low=0, shared=True)}
    method = OneForAll(known=two_pools, parameters=numbers, net=Linear, solver="rk4")
    method = with_formula(method, defaults.units)
    longest = defaults.longest_step / defaults.units.time
    prepared = lambda finer: prepare(
        data, defaults.units, method, longest=longest / finer, dtype="float64", layout=defaults.layout
    )
    found = beginning(method, prepared, lambda batch: first_local(batch, defaults.layout, "float64"))
    told = method.estimates(*(Beside((), own) for own in found.numbers))
    # The mean effect may be in the number or in the constants.
    rates = np.log(told["out"][0] / 0.6) / 0.3 + np.asarray(found.local.individual)[0, :, 0]
    np.testing.assert_allclose(rates, EFFECTS, atol=0.02)
    np.testing.assert_allclose(told["over"], 0.8, rtol=5e-3)
    np.testing.assert_allclose(found.local.path[0, :, :, 1], solved()[..., 1], atol=3e-3)
    assert max(found.scale) < 0.01
