"""An epidemic in several cities, simulated: forecast a wave in a new city from its first days.

    python examples/epidemic.py

Susceptible S and infected I, in thousands, of cities with 100 000 people each:

    dS/dt = -β S I / 100        dI/dt = β S I / 100 - γ I

Six cities differ in β (contacts) and γ (recovery). Of each, three waves were recorded day by day, with 2 % noise. The
seventh city is new: one wave is known, and the next one is forecast from its first day.
"""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from drawing import BLUE, GREY, RED, legend, options, panels, save

import leadax as lx

RATES = [(0.6, 0.2), (0.8, 0.2), (1.0, 0.3), (0.7, 0.35), (0.9, 0.35), (1.1, 0.25)]
CITIES = {f"city {i + 1}": {"beta": beta, "gamma": gamma} for i, (beta, gamma) in enumerate(RATES)}
NEW = {"new city": {"beta": 0.85, "gamma": 0.28}}


def epidemic(cities: dict) -> lx.System:
    """The equation, in these cities."""

    def tangent(x, p):
        caught = p["beta"] * x[0] * x[1] / 100
        return jnp.stack([-caught, caught - p["gamma"] * x[1]])

    def start(key):
        return jr.uniform(key, (2,), minval=jnp.array([60.0, 1.0]), maxval=jnp.array([99.0, 10.0]))

    return lx.System(
        name="epidemic",
        channels=("susceptible", "infected"),
        times=np.arange(26.0),
        environments=cities,
        tangent=tangent,
        initial_state=start,
    )


def recorded(data: lx.Trajectories, seed: int) -> lx.Trajectories:
    """The data as reports have them: with noise, and never below zero."""
    noise = 0.02 * data.states.std(axis=(0, 1, 2)) * np.random.default_rng(seed).normal(size=data.states.shape)
    noisy = np.maximum(data.states + noise, 0)
    return lx.Trajectories.from_arrays(data.times, noisy, environments=data.environments, channels=data.channels)


def main() -> None:
    """Simulate, learn six cities, adapt to the seventh, draw."""
    chosen = options(__doc__ or "", steps=1500)
    train = recorded(lx.simulate(epidemic(CITIES), trajectories=3, key=jr.key(0)), 0)
    test = lx.simulate(epidemic(CITIES), split="test", trajectories=8, key=jr.key(0))
    waves = lx.simulate(epidemic(NEW), trajectories=8, key=jr.key(5))
    known, later = recorded(waves.select(trajectories=slice(1)), 1), waves.select(trajectories=slice(1, None))

    model = lx.fit(lx.Leads(), train, steps=chosen.steps, key=jr.key(0))
    print(f"six known cities, other waves:  {lx.evaluate(model, test).nmse:.2g} of the variance")
    new = lx.adapt(model, known, scheme="mixture", steps=400, key=jr.key(1))
    print(f"the new city, from one wave:    {lx.evaluate(new, later).nmse:.2g}")
    alone = lx.yardsticks(known, later)
    print(f"the same wave over again:       {alone['mean curve'].nmse:.2g}")
    draw(model, new, test, later, chosen.out)


def draw(model: lx.Model, new: lx.Model, test: lx.Trajectories, later: lx.Trajectories, folder) -> None:
    """The infected, in three known cities and in the new one."""
    figure, axes = panels(1, 4, height=2.6, sharex=True, sharey=True)
    cases = [(model, test, e) for e in (0, 2, 3)] + [(new, later, 0)]
    for axis, (fitted, data, e) in zip(axes[0], cases, strict=True):
        for i in range(3):
            times, truth = data.times[e, i], data.states[e, i]
            forecast = fitted.predict(truth[0], times, environment=data.environments[e])
            axis.plot(times, truth[:, 1], "o", color=GREY, ms=3, label="truth" if i == 0 else None)
            colour = RED if fitted is new else BLUE
            axis.plot(times, forecast[:, 1], color=colour, lw=1.6, label="forecast" if i == 0 else None)
        axis.set_title(data.environments[e])
        axis.set_xlabel("day")
    axes[0, 0].set_ylabel("infected, thousands")
    legend(figure, axes[0, 0])
    save(figure, folder, "epidemic")


if __name__ == "__main__":
    main()
