"""The pictures of the guides, from the runs that the guides make.

    python examples/guide_pictures.py --data docs/guides --run run --adapted gorse --out docs/guides

`run` and `gorse` are the folders that the commands of the guides leave: `leadax train lakes.csv … --out run` and
`leadax adapt run new-lake.csv … --out gorse`.
"""

import argparse
import json
from pathlib import Path

import jax
import numpy as np
from drawing import BLUE, GREEN, GREY, ORANGE, RED, legend, panels, save

import leadax as lx
from leadax.report import data_figures


def main() -> None:
    """Draw all of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("data", "run", "adapted", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    chosen = parser.parse_args()
    files = {name: lx.load(chosen.data / f"{name}.csv") for name in NAMES}
    models = {name: lx.Model.load(getattr(chosen, name) / "model.safetensors") for name in ("run", "adapted")}
    draw_table(files["lakes"], chosen.out)
    next(iter(data_figures(files["lakes"]).values())).savefig(chosen.out / "look.png", dpi=75)
    draw_learning(chosen.run, chosen.out)
    draw_errors(models["run"], files["lakes"], files["later"], chosen.out)
    draw_new(models["adapted"], files["new-lake"], files["new-lake-later"], chosen.out)
    draw_warmup(models["run"], files["later"], chosen.out)
    draw_members(models["run"], files["later"], chosen.out)
    draw_parts(models["run"], files["lakes"], chosen.out)


NAMES = ("lakes", "later", "new-lake", "new-lake-later")


def draw_table(data: lx.Trajectories, folder: Path) -> None:
    """Series of two lakes, with a mark where a cell is empty."""
    figure, axes = panels(1, 2, height=2.6, sharey=True)
    for axis, e in zip(axes[0], (0, 4), strict=True):
        times, states = data.times[e, 0], data.states[e, 0]
        for c, colour in enumerate((BLUE, ORANGE)):
            axis.plot(times, states[:, c], "o-", color=colour, ms=4, lw=1, label=data.channels[c])
            gone = times[np.isnan(states[:, c])]
            axis.plot(gone, np.zeros(len(gone)), "x", color=colour, ms=5)
        axis.set(title=f"{data.environments[e]}, series 1", xlabel="year")
    axes[0, 0].set_ylabel("thousands")
    legend(figure, axes[0, 0])
    save(figure, folder, "data")


def draw_learning(run: Path, folder: Path) -> None:
    """What `metrics.jsonl` says."""
    looks = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    steps = [look["step"] for look in looks]
    figure, axes = panels(1, 1, height=2.8)
    mean = lambda name: [np.mean(look[name]) for look in looks]
    axes[0, 0].semilogy(steps, mean("error"), color=BLUE, label="error on the training data")
    axes[0, 0].semilogy(steps, mean("validation"), color=ORANGE, label="error on the validation data")
    axes[0, 0].set(xlabel="step", ylabel="mean squared error")
    legend(figure, axes[0, 0])
    save(figure, folder, "fit")


def draw_errors(model: lx.Model, train: lx.Trajectories, test: lx.Trajectories, folder: Path) -> None:
    """The model beside simple forecasts; and its error along the forecast."""
    errors = lx.evaluate(model, test)
    learnt_from, _ = lx.hold_out(train)  # as `leadax train` does
    simple = {name: found.nmse for name, found in lx.yardsticks(learnt_from, test).items() if name != "sindy"}
    figure, axes = panels(1, 2, height=2.6)
    names = [*simple, "LEADS"]
    values = [*simple.values(), errors.nmse]
    axes[0, 0].scatter(values, names, color=[GREY] * len(simple) + [BLUE], s=50)
    for name, value in zip(names, values, strict=True):
        axes[0, 0].annotate(f"{value:.2g}", (value, name), (8, -3), textcoords="offset points")
    axes[0, 0].set(xscale="log", xlim=(0.3 * min(values), 4), xlabel="error, as a part of the variance")
    axes[0, 1].plot(test.times[0, 0, 1:], errors.mse_per_time[1:], "o-", color=BLUE, ms=4)
    axes[0, 1].set(xlabel="years after the start of the forecast", ylabel="mean squared error", ylim=(0, None))
    save(figure, folder, "is-it-good")


def draw_new(model: lx.Model, known: lx.Trajectories, later: lx.Trajectories, folder: Path) -> None:
    """The series that the new lake was learnt from, and forecasts of three others."""
    figure, axes = panels(1, 4, height=2.6, sharey=True)
    for c, colour in enumerate((BLUE, ORANGE)):
        axes[0, 0].plot(known.times[0, 0], known.states[0, 0, :, c], "o", color=colour, ms=4, label=known.channels[c])
    axes[0, 0].set(title="the one known series", xlabel="year", ylabel="thousands")
    forecast = lx.forecast(model, later, warmup=4)
    for i, axis in enumerate(axes[0, 1:]):
        for c, colour in enumerate((BLUE, ORANGE)):
            axis.plot(later.times[0, i], later.states[0, i, :, c], "o", color=colour, ms=4, alpha=0.4)
            axis.plot(forecast.times[0, i], forecast.states[0, i, :, c], color=colour, lw=1.6)
        axis.set(title=f"forecast {i + 1}", xlabel="year")
    legend(figure, axes[0, 0])
    save(figure, folder, "new-environment")


def draw_warmup(model: lx.Model, test: lx.Trajectories, folder: Path) -> None:
    """Prey forecast from one noisy point, and from four."""
    figure, axes = panels(1, 3, height=2.6, sharey=True)
    forecasts = {count: lx.forecast(model, test, warmup=count) for count in (1, 4)}
    differ = np.abs(forecasts[1].states - forecasts[4].states)[..., 0].max(axis=-1)
    for axis, e in zip(axes[0], (0, 2, 3), strict=True):
        i = int(np.argmax(differ[e]))  # where it matters most
        axis.plot(test.times[e, i], test.states[e, i, :, 0], "o", color=GREY, ms=4, label="counted")
        axis.plot(test.times[e, i, :4], test.states[e, i, :4, 0], "o", color="black", ms=4, label="the first four")
        for (count, found), colour in zip(forecasts.items(), (ORANGE, BLUE), strict=True):
            label = f"forecast from {count} point{'s' * (count > 1)}"
            axis.plot(found.times[e, i], found.states[e, i, :, 0], color=colour, lw=1.5, label=label)
        axis.set(title=test.environments[e], xlabel="year")
    axes[0, 0].set_ylabel("prey, thousands")
    legend(figure, axes[0, 0])
    save(figure, folder, "noise")


def draw_members(model: lx.Model, test: lx.Trajectories, folder: Path) -> None:
    """Forecasts of each member, and their mean."""
    figure, axes = panels(1, 3, height=2.6, sharey=True)
    for axis, e in zip(axes[0], (0, 2, 3), strict=True):
        forecast = model.predict(test.states[e, 1, 0], test.times[e, 1], environment=e)
        axis.plot(test.times[e, 1], test.states[e, 1, :, 0], "o", color=GREY, ms=4, label="counted")
        for k, member in enumerate(forecast.members):
            axis.plot(forecast.times, member[:, 0], color=BLUE, lw=0.8, label=None if k else "members")
        axis.plot(forecast.times, forecast.mean[:, 0], color=RED, lw=1.6, ls="--", label="their mean")
        axis.set(title=test.environments[e], xlabel="year")
    axes[0, 0].set_ylabel("prey, thousands")
    legend(figure, axes[0, 0])
    save(figure, folder, "many-runs")


def draw_parts(model: lx.Model, data: lx.Trajectories, folder: Path) -> None:
    """f, and the g_e of three lakes, as arrows where the data are."""
    figure, axes = panels(1, 4, height=2.7, sharex=True, sharey=True)
    low, high = np.nanmin(data.states, axis=(0, 1, 2)), np.nanmax(data.states, axis=(0, 1, 2))
    grid = np.stack(np.meshgrid(*np.linspace(low, high, 9).T), axis=-1).reshape(-1, 2)
    fields = {"shared: f": (model.shared, GREEN)}
    fields |= {f"specific: g of {name}": (model.specific(name), BLUE) for name in ("Alder", "Cedar", "Elm")}
    for axis, (title, (field, colour)) in zip(axes[0], fields.items(), strict=True):
        arrows = np.asarray(jax.vmap(field)(grid))
        axis.quiver(*grid.T, *arrows.T, color=colour, angles="xy", scale=12, width=0.009)
        axis.set(title=title, xlabel="prey")
    axes[0, 0].set_ylabel("predators")
    save(figure, folder, "own-method")


if __name__ == "__main__":
    main()
