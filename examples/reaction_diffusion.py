"""Reaction and diffusion: fronts that run around a ring, at four speeds.

    python examples/reaction_diffusion.py

∂u/∂t = D ∂²u/∂x² + r u (1 - u) on 32 points (Fisher and KPP): a population that spreads and grows. Environments differ
in D and r. States are fields on a grid, which a convolutional net learns: the same law at every place.
"""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from drawing import options, panels, save

import leadax as lx

POINTS = 32
PLACES = {f"D = {d:g}, r = {r:g}": {"d": d, "r": r} for d in (0.1, 0.3) for r in (0.6, 1.2)}


def tangent(u, p):
    """The equation, by finite differences on a ring of length 10."""
    laplacian = (jnp.roll(u, 1, axis=0) + jnp.roll(u, -1, axis=0) - 2 * u) * (POINTS / 10) ** 2
    return p["d"] * laplacian + p["r"] * u * (1 - u)


def start(key):
    """A bump somewhere."""
    where, width, height = (jr.uniform(k, ()) for k in jr.split(key, 3))
    distance = jnp.abs((jnp.arange(POINTS) - where * POINTS + POINTS / 2) % POINTS - POINTS / 2)
    return (0.2 + 0.6 * height) * jnp.exp(-jnp.square(distance / (2 + 4 * width)))[:, None]


RING = lx.System(
    name="ring",
    channels=("u",),
    times=np.linspace(0, 6, 13),
    environments=PLACES,
    tangent=tangent,
    initial_state=start,
)


def main() -> None:
    """Simulate, learn, compare, draw."""
    chosen = options(__doc__ or "", steps=320)
    train = lx.simulate(RING, trajectories=3, key=jr.key(0))
    test = lx.simulate(RING, split="test", trajectories=8, key=jr.key(0))
    print(train)
    model = lx.fit(lx.Leads(), train, steps=chosen.steps, key=jr.key(0))
    print("error of forecasts, as a part of the variance")
    print(f"  LEADS       {lx.evaluate(model, test).nmse:.2g}")
    for name, errors in lx.yardsticks(train, test).items():
        print(f"  {name:11} {errors.nmse:.2g}")
    draw(test, lx.forecast(model, test), chosen.out)


def draw(test: lx.Trajectories, forecast: lx.Trajectories, folder) -> None:
    """Truth, forecast and error in space (across) and time (upwards)."""
    figure, axes = panels(3, 4, height=1.7, sharex=True, sharey=True)
    for e, name in enumerate(test.environments):
        truth, found = test.states[e, 0, :, :, 0], forecast.states[e, 0, :, :, 0]
        for row, (values, limit, colours) in enumerate([(truth, 1, "viridis"), (found, 1, "viridis"),
                                                        (found - truth, 0.1, "RdBu")]):  # fmt: skip
            low = -limit if row == 2 else 0
            image = axes[row, e].imshow(values, origin="lower", aspect="auto", extent=(0, 10, 0, 6), vmin=low,
                                        vmax=limit, cmap=colours, interpolation="bilinear")  # fmt: skip
            if e == 3:
                figure.colorbar(image, ax=axes[row, :], fraction=0.03)
        axes[0, e].set_title(name)
        axes[2, e].set_xlabel("place")
    for row, name in enumerate(("truth", "forecast", "error")):
        axes[row, 0].set_ylabel(f"{name}\ntime")
    save(figure, folder, "reaction-diffusion")


if __name__ == "__main__":
    main()
