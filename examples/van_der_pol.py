"""Five van der Pol oscillators as a ragged CSV file, for `leadax compare`.

    python examples/van_der_pol.py
    leadax compare van-der-pol.csv --test van-der-pol-test.csv --out van-der-pol --steps 3000 --seeds 2

x' = y, y' = μ(1 - x²)y - x with a different μ in each environment. The training data have unequal numbers of
trajectories, unequal lengths and irregular times; the test data are whole trajectories.
"""

import jax.numpy as jnp
import jax.random as jr
import numpy as np

import leadax as lx
from leadax.data import save

OSCILLATORS = lx.System(
    name="van-der-pol",
    channels=("x", "y"),
    times=np.linspace(0, 8, 41),
    environments={f"mu={mu:g}": {"mu": mu} for mu in (0.2, 0.5, 1.0, 1.5, 2.0)},
    tangent=lambda state, p: jnp.stack([state[1], p["mu"] * (1 - state[0] ** 2) * state[1] - state[0]]),
    initial_state=lambda key: jr.uniform(key, (2,), minval=-2.0, maxval=2.0),
)


def main() -> None:
    """Write both files."""
    rng = np.random.default_rng(0)
    whole = lx.simulate(OSCILLATORS, trajectories=4, key=jr.key(0))
    times, states = [], []
    for e in range(len(whole.environments)):
        times.append([]), states.append([])
        for i in range(rng.integers(2, 5)):
            kept = np.flatnonzero(rng.uniform(size=41) < 0.7)
            kept = np.union1d([0], kept[kept < rng.integers(20, 42)])
            times[e].append(whole.times[e, i, kept])
            states[e].append(whole.states[e, i, kept])
    names = {"environments": whole.environments, "channels": whole.channels}
    save(lx.Trajectories.from_arrays(times, states, **names), "van-der-pol.csv", overwrite=True)
    test = lx.simulate(OSCILLATORS, split="test", trajectories=16, key=jr.key(0))
    save(lx.Trajectories.from_arrays(test.times, test.states, **names), "van-der-pol-test.csv", overwrite=True)


if __name__ == "__main__":
    main()
