"""An oscillator under a measured force, at four stiffnesses.

    python examples/forced_oscillator.py

x'' = -k x - 0.1 x' + u(t). The force u is measured with the states, and known in the future: it is an input. A model
that does not know it has no chance, since the same state is pushed to the left now and to the right later.
"""

import jax.random as jr
import numpy as np
from drawing import BLUE, GREY, ORANGE, legend, options, panels, save
from scipy.integrate import solve_ivp

import leadax as lx

STIFFNESSES = (0.5, 1.0, 1.5, 2.0)
TIMES = np.linspace(0, 12, 61)


def swing(k: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A trajectory and the force along it: five waves of random size and phase."""
    speeds, phases, sizes = rng.uniform(0.3, 2, 5), rng.uniform(0, 2 * np.pi, 5), rng.normal(size=5) / np.sqrt(5)
    force = lambda t: (sizes * np.sin(np.multiply.outer(t, speeds) + phases)).sum(axis=-1)
    field = lambda t, x: (x[1], -k * x[0] - 0.1 * x[1] + force(t))
    states = solve_ivp(field, (0, 12), rng.normal(size=2), t_eval=TIMES, rtol=1e-9, atol=1e-10).y.T
    return states, force(TIMES)[:, None]


def oscillators(count: int, seed: int) -> lx.Trajectories:
    """So many trajectories of each oscillator."""
    rng = np.random.default_rng(seed)
    runs = [[swing(k, rng) for _ in range(count)] for k in STIFFNESSES]
    return lx.Trajectories.from_arrays(
        TIMES,
        np.array([[states for states, _ in row] for row in runs]),
        environments=[f"k = {k:g}" for k in STIFFNESSES],
        channels=["position", "speed"],
        inputs=np.array([[force for _, force in row] for row in runs]),
        input_names=["force"],
    )


def without_force(data: lx.Trajectories) -> lx.Trajectories:
    """The same, but nobody wrote down the force."""
    names = {"environments": data.environments, "channels": data.channels}
    return lx.Trajectories.from_arrays(data.times, data.states, **names)


def main() -> None:
    """Simulate, learn with and without the force, draw."""
    chosen = options(__doc__ or "", steps=800)
    train, test = oscillators(4, 0), oscillators(8, 1)
    forecasts = {}
    print("error of forecasts, as a part of the variance")
    for name, known in {"force given": lambda data: data, "force unknown": without_force}.items():
        model = lx.fit(lx.Leads(), known(train), steps=chosen.steps, key=jr.key(0))
        forecasts[name] = lx.forecast(model, known(test))
        print(f"  {name:14} {lx.evaluate(model, known(test)).nmse:.2g}")
    draw(forecasts, test, chosen.out)


def draw(forecasts: dict[str, lx.Trajectories], test: lx.Trajectories, folder) -> None:
    """The force above, positions below."""
    figure, axes = panels(2, 4, height=2, sharex=True, sharey="row")
    for e in range(4):
        axes[0, e].fill_between(TIMES, test.inputs[e, 0, :, 0], color=GREY, alpha=0.5)
        axes[0, e].set_title(test.environments[e])
        axis = axes[1, e]
        axis.plot(TIMES, test.states[e, 0, :, 0], "o", color=GREY, ms=3, label="measured")
        for (name, forecast), colour in zip(forecasts.items(), (BLUE, ORANGE), strict=True):
            axis.plot(TIMES, forecast.states[e, 0, :, 0], color=colour, lw=1.5, label=f"forecast, {name}")
        axis.set_xlabel("time")
    axes[0, 0].set_ylabel("force")
    axes[1, 0].set_ylabel("position")
    legend(figure, axes[1, 0])
    save(figure, folder, "forced-oscillator")


if __name__ == "__main__":
    main()
