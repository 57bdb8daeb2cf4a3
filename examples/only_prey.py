"""Only the prey is counted: the predators are inferred.

    python examples/only_prey.py

Four lakes, four series of each. Without a hidden state there is no law: the same number of prey is followed by a rise
in one year and by a fall in another. With `hidden=1` the state has a second channel that nobody measured. A forecast is
given the first six points of a series, and infers from them where the hidden channel starts.
"""

import jax.random as jr
from drawing import BLUE, GREY, ORANGE, legend, options, panels, save

import leadax as lx
from leadax.systems import get_system

WARMUP = 6


def main() -> None:
    """Simulate, hide the predators, learn with and without a hidden state, draw."""
    chosen = options(__doc__ or "", steps=1500)
    system = get_system("lotka-volterra")
    train, test = (
        only_prey(lx.simulate(system, split=split, trajectories=count, key=jr.key(0)).select(slice(4)))
        for split, count in (("train", 4), ("test", 8))
    )
    models = {}
    print(f"error of forecasts after {WARMUP} points, as a part of the variance")
    for name, latent in {"with a hidden state": lx.Latent(hidden=1), "without": lx.Latent(hidden=0)}.items():
        models[name] = lx.fit(lx.Leads(), train, latent=latent, steps=chosen.steps, key=jr.key(0))
        print(f"  {name:20} {lx.evaluate(models[name], test, warmup=WARMUP).nmse:.2g}")
    print(f"  {'mean curve':20} {lx.yardsticks(train, test, warmup=WARMUP)['mean curve'].nmse:.2g}")
    draw(models, test, chosen.out)


def only_prey(data: lx.Trajectories) -> lx.Trajectories:
    """The first channel alone."""
    return lx.Trajectories.from_arrays(
        data.times,
        data.states[..., :1],
        environments=[f"lake {i + 1}" for i in range(len(data.environments))],
        channels=["prey"],
    )


def draw(models: dict[str, lx.Model], test: lx.Trajectories, folder) -> None:
    """One series of each lake: what the forecast was given, and what it says."""
    figure, axes = panels(1, 4, height=2.6, sharey=True)
    forecasts = {name: lx.forecast(model, test, warmup=WARMUP) for name, model in models.items()}
    for e, axis in enumerate(axes[0]):
        times, truth = test.times[e, 2], test.states[e, 2, :, 0]
        axis.plot(times, truth, "o", color=GREY, ms=4, label="prey counted later")
        axis.plot(times[:WARMUP], truth[:WARMUP], "o", color="black", ms=4, label="what the forecast has seen")
        for (name, forecast), colour in zip(forecasts.items(), (BLUE, ORANGE), strict=True):
            axis.plot(forecast.times[e, 2], forecast.states[e, 2, :, 0], color=colour, lw=1.6, label=name)
        axis.set(title=test.environments[e], xlabel="time", ylim=(0, 1.15 * test.states[:, 2].max()))
    axes[0, 0].set_ylabel("prey")
    legend(figure, axes[0, 0])
    save(figure, folder, "only-prey")


if __name__ == "__main__":
    main()
