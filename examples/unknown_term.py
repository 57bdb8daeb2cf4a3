"""A formula with an unknown term: pendulums whose lengths and whose drag nobody knows.

    python examples/unknown_term.py

    θ'' = -(9.81 / length) sin θ  +  what is learnt

The formula is given, the length of each pendulum and the rest are learnt. `explain` then finds the rest as a formula:
it was drag, -0.25 ω |ω|.
"""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from drawing import BLUE, GREY, ORANGE, legend, options, panels, save
from scipy.integrate import solve_ivp

import leadax as lx

LENGTHS = (0.6, 0.9, 1.2, 1.5)
TIMES = np.linspace(0, 6, 61)


def pendulum(t, x, u, p):
    """What is known: dx/dt of the angle and its speed, in the units of the data."""
    angle, speed = x
    return jnp.stack([speed, -9.81 / p.length * jnp.sin(angle)])


def swings(count: int, seed: int) -> lx.Trajectories:
    """So many swings of each pendulum, with drag."""
    starts = np.random.default_rng(seed).uniform([-2.2, -1], [2.2, 1], (count, 2))

    def solved(length: float, start: np.ndarray) -> np.ndarray:
        field = lambda t, x: (x[1], -9.81 / length * np.sin(x[0]) - 0.25 * x[1] * abs(x[1]))
        return solve_ivp(field, (0, 6), start, t_eval=TIMES, rtol=1e-9, atol=1e-10).y.T

    states = np.array([[solved(length, start) for start in starts] for length in LENGTHS])
    names = [f"{length:g} m" for length in LENGTHS]
    return lx.Trajectories.from_arrays(TIMES, states, environments=names, channels=["theta", "omega"])


def main() -> None:
    """Learn with the formula and without, look at what was found, draw."""
    chosen = options(__doc__ or "", steps=200)
    train, test = swings(4, 0), swings(8, 1)
    formula = lx.Leads(known=pendulum, parameters={"length": lx.Parameter(1.0, low=0.0)})
    models = {}
    print("error of forecasts, as a part of the variance")
    for name, method in {"with the formula": formula, "without": lx.Leads()}.items():
        models[name] = lx.fit(method, train, steps=chosen.steps, key=jr.key(0))
        print(f"  {name:17} {lx.evaluate(models[name], test).nmse:.2g}")
    best = models["with the formula"]
    found = [f"{best.parameters(name)['length'].value:.3f}" for name in best.environments]
    print(f"lengths: {', '.join(found)} (true: {', '.join(map(str, LENGTHS))})")
    print(lx.explain(best, train, part="learnt"))
    draw(models, test, chosen.out)


def draw(models: dict[str, lx.Model], test: lx.Trajectories, folder) -> None:
    """Forecasts on the left, the learnt part against the true drag on the right."""
    figure, axes = panels(1, 4, height=2.6)
    colours = dict(zip(models, (BLUE, ORANGE), strict=True))
    widest = int(np.argmax(np.abs(test.states[0, :, 0, 0])))
    for axis, e in zip(axes[0, :3], (0, 1, 3), strict=True):
        axis.plot(TIMES, test.states[e, widest, :, 0], "o", color=GREY, ms=3, label="truth")
        for name, model in models.items():
            forecast = model.predict(test.states[e, widest, 0], TIMES, environment=e)
            axis.plot(TIMES, forecast[:, 0], color=colours[name], lw=1.5, label=f"forecast {name}")
        axis.set(title=test.environments[e], xlabel="time, s")
    axes[0, 0].set_ylabel("angle θ")
    speeds, best = np.linspace(-4, 4, 41), models["with the formula"]
    axes[0, 3].plot(speeds, -0.25 * speeds * abs(speeds), color=GREY, lw=4)
    learnt = [best.shared([0.3, w])[1] + best.specific("0.9 m")([0.3, w])[1] for w in speeds]
    axes[0, 3].plot(speeds, learnt, color=BLUE, lw=1.5)
    axes[0, 3].set(title="learnt rest, true drag", xlabel="speed ω")
    legend(figure, axes[0, 0])
    save(figure, folder, "unknown-term")


if __name__ == "__main__":
    main()
