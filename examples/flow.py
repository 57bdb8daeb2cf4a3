"""A flow: eddies in a box that is stirred in four ways.

    python examples/flow.py

The vorticity of a fluid in two dimensions (Navier and Stokes) on 32 by 32 points, with a force of its own in each
environment. A Fourier neural operator learns it from eight trajectories of each, by Muon with one cycle of the learning
rate, which takes few steps (`docs/measurements.md`). With 1 600 steps in place of 250, errors are several times
smaller.
"""

import jax.random as jr
import numpy as np
from drawing import options, panels, save

import leadax as lx
from leadax.systems import get_system


def main() -> None:
    """Simulate, learn, compare, draw."""
    chosen = options(__doc__ or "", steps=250)
    system = get_system("navier-stokes")
    train = lx.simulate(system, trajectories=8, key=jr.key(0))
    test = lx.simulate(system, split="test", trajectories=8, key=jr.key(0))
    print(train)
    model = lx.fit(
        lx.Leads(),
        train,
        steps=chosen.steps,
        optimiser="muon",
        learning_rate=1e-2,
        defaults=lx.preset("navier-stokes", train),
        recipe=lx.Recipe(decay="one-cycle", batch_size=1, sampling=lx.ScheduledSampling.falling_to(0.05, chosen.steps)),
        key=jr.key(0),
    )
    print("error of forecasts, as a part of the variance")
    print(f"  LEADS       {lx.evaluate(model, test).nmse:.2g}")
    for name in ("persistence", "mean"):
        print(f"  {name:11} {lx.yardsticks(train, test)[name].nmse:.2g}")
    draw(test, lx.forecast(model, test), chosen.out)


def draw(test: lx.Trajectories, forecast: lx.Trajectories, folder) -> None:
    """The start, and the end as it was and as it was forecast, in each environment."""
    figure, axes = panels(3, 4, height=2.1)
    limit = float(np.quantile(np.abs(test.states), 0.995))
    for e, name in enumerate(test.environments):
        fields = (test.states[e, 0, 0], test.states[e, 0, -1], forecast.states[e, 0, -1])
        for row, field in enumerate(fields):
            axis = axes[row, e]
            axis.imshow(field[..., 0], cmap="RdBu", vmin=-limit, vmax=limit, interpolation="bilinear")
            axis.set(xticks=[], yticks=[])
        axes[0, e].set_title(name, fontsize=7)
    for row, label in enumerate(("start", "end, truth", "end, forecast")):
        axes[row, 0].set_ylabel(label)
    save(figure, folder, "flow")


if __name__ == "__main__":
    main()
