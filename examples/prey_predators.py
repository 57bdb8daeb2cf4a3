"""Prey and predators: what is gained by learning several environments together.

    python examples/prey_predators.py

Each environment has its own rates of growth and death, and two trajectories of 20 points. One-For-All takes all for
one environment, One-Per-Env learns each alone, LEADS learns what is common (f) and what is not (g_e).
"""

import jax.random as jr
from drawing import BLUE, GREEN, GREY, ORANGE, legend, options, panels, save

import leadax as lx
from leadax.systems import get_system

METHODS = {"One-For-All": lx.OneForAll(), "One-Per-Env": lx.OnePerEnv(), "LEADS": lx.Leads()}
COLOURS = dict(zip(METHODS, (ORANGE, GREEN, BLUE), strict=True))


def main() -> None:
    """Simulate, learn in three ways, compare, draw."""
    chosen = options(__doc__ or "", steps=1500)
    system = get_system("lotka-volterra")
    train = lx.simulate(system, trajectories=2, key=jr.key(0))
    test = lx.simulate(system, split="test", trajectories=16, key=jr.key(0))
    # LEADS takes Ω and its weight from the preset; nets, units and steps are those of the paper, for all three.
    settings = lx.preset("lotka-volterra", train)
    models = {}
    print("error of forecasts, as a part of the variance")
    for name, method in METHODS.items():
        models[name] = lx.fit(method, train, steps=chosen.steps, defaults=settings, key=jr.key(0))
        print(f"  {name:12} {lx.evaluate(models[name], test).nmse:.2g}")
    draw(models, test, chosen.out)


def draw(models: dict[str, lx.Model], test: lx.Trajectories, folder) -> None:
    """A test trajectory of four environments, prey above and predators below."""
    figure, axes = panels(2, 4, sharex=True, sharey="row")
    for column, e in enumerate((0, 3, 6, 9)):
        name, times, truth = test.environments[e], test.times[e, 3], test.states[e, 3]
        for c in range(2):
            axis = axes[c, column]
            axis.plot(times, truth[:, c], "o", color=GREY, ms=4, label="truth")
            for method, model in models.items():
                forecast = model.predict(truth[0], times, environment=name)
                axis.plot(times, forecast[:, c], color=COLOURS[method], lw=1.5, label=method)
        axes[0, column].set_title(name.replace("alpha", "α").replace("gamma", "γ").replace(",", ", "))
        axes[1, column].set_xlabel("time")
    axes[0, 0].set_ylabel("prey")
    axes[1, 0].set_ylabel("predators")
    legend(figure, axes[0, 0])
    save(figure, folder, "prey-predators")


if __name__ == "__main__":
    main()
