"""Noise, hidden states and individual constants: what is in docs/noise.md.

    python benchmarks/noise.py                              # noise of 0, 1, 5 and 20 % on three systems
    python benchmarks/noise.py --only prey,neuron           # hidden states
    python benchmarks/noise.py --measured FOLDER --only theophylline,soybean   # real data, which come with R
    python benchmarks/noise.py --table                      # what was measured so far
    python benchmarks/noise.py --cost                       # a training step with and without inferred starts

Each result is written to `benchmarks/noise.json` as soon as it is there; what is in that file is not measured again.
Errors are normalised by the variance of each channel. Noise is on the training data only.
"""

import argparse
import dataclasses
import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import mixed_effects
import numpy as np
import own_data_sets as sets
from measured_curves import forecast_errors, gompertz, one_compartment

import leadax as lx
from leadax.data.latent import Latent
from leadax.data.noise import noise_level
from leadax.data.units import Box
from leadax.evaluate.errors import forecasts, known_points
from leadax.methods import METHODS
from leadax.train.request import Request, chosen_defaults
from leadax.train.step import Span, advance
from leadax.train.trainer import Trainer

RESULTS = Path(__file__).with_name("noise.json")
KEYS = ("data", "noise", "method", "latent", "steps", "seeds")
SYSTEMS = {"lotka-volterra": sets.lotka_volterra, "van-der-pol": sets.van_der_pol, "epidemic": sets.epidemic}
LEVELS = (0.0, 0.01, 0.05, 0.2)
GIVEN = Latent(noise="none")


class Job(NamedTuple):
    """One row of the table, and what makes it: `errors()` are numbers, with `nmse` among them."""

    key: tuple
    errors: Callable[[], dict[str, Any]]


def main() -> None:
    """Measure what is missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(SYSTEMS), help="data sets, separated by commas")
    parser.add_argument("--levels", default=LEVELS, type=_levels, help="of noise, separated by commas")
    parser.add_argument("--measured", type=Path, help="the folder with theophylline.csv and soybean.csv")
    parser.add_argument("--steps", type=int, default=4_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--table", action="store_true", help="measure nothing")
    parser.add_argument("--cost", action="store_true", help="time steps with and without inferred starts, and no more")
    options = parser.parse_args()
    if options.cost:
        print(cost())
        return
    rows = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    done = {tuple(row[key] for key in KEYS) for row in rows}
    for job in [] if options.table else _jobs(options):
        if job.key not in done:
            begin = time.perf_counter()
            found = job.errors()
            rows.append(dict(zip(KEYS, job.key, strict=True)) | found | {"seconds": round(time.perf_counter() - begin)})
            RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
            print(*job.key, f"{found['nmse']:.3g}", flush=True)
    print(table(rows))


def _levels(text: str) -> tuple[float, ...]:
    return tuple(map(float, text.split(",")))


def _jobs(options: argparse.Namespace) -> Iterator[Job]:
    hidden = {"prey": _prey, "neuron": _neuron}
    for name in options.only.split(","):
        if name in SYSTEMS:
            for level in options.levels:
                yield from _noisy(name, level, options)
        elif name in hidden:
            yield from _hidden(name, hidden[name], options)
        elif options.measured is None:
            raise SystemExit(f"{name} needs --measured FOLDER")
        else:
            yield from {"theophylline": _theophylline, "soybean": _soybean}[name](options)


def _noisy(name: str, level: float, options: argparse.Namespace) -> Iterator[Job]:
    train, test = SYSTEMS[name](level)
    spread = SYSTEMS[name](0.0)[0].states.std(axis=(0, 1, 2))
    estimate = (noise_level(train) / spread).round(4).tolist()
    for method in ("leads", "one-per-env"):
        for latent in (Latent(), GIVEN):
            key = (name, level, method, latent.noise, options.steps, options.seeds)
            yield Job(key, lambda m=method, how=latent: _learnt(options, m, how, train, test) | {"estimate": estimate})
    yield from _simple(name, level, ("sindy",), train, test)


def _simple(
    name: str, level: float, which: tuple[str, ...], train: lx.Trajectories, test: lx.Trajectories, warmup: int = 1
) -> Iterator[Job]:
    for simple in which:
        found = lambda s=simple: {"nmse": lx.yardsticks(train, test, warmup=warmup)[s].nmse}
        yield Job((name, level, simple, "none", 0, 1), found)


def _learnt(
    options: argparse.Namespace,
    method: str,
    latent: Latent,
    train: lx.Trajectories,
    test: lx.Trajectories,
    warmup: int = 1,
) -> dict[str, Any]:
    model = lx.fit(METHODS[method](), train, steps=options.steps, seeds=options.seeds, latent=latent, key=jr.key(0))
    errors = lx.evaluate(model, test, warmup=warmup)
    return {
        "nmse": errors.nmse,
        "nmse_per_seed": errors.nmse_per_seed.tolist(),
        "median_nmse": errors.median_nmse,
        "diverged": errors.diverged,
    }


def _prey() -> tuple[sets.Pair, lx.Trajectories]:
    """Four lakes of which only the prey is counted, four trajectories of each."""
    (train, test) = sets.lotka_volterra(0.0, environments=4)
    return tuple(_channel(data, 0) for data in (train, test)), test


def _neuron() -> tuple[sets.Pair, lx.Trajectories]:
    """FitzHugh–Nagumo with the voltage alone."""
    train, test = sets.fitzhugh_nagumo()
    return tuple(_channel(data, 0) for data in (train, test)), test


def _channel(data: lx.Trajectories, channel: int) -> lx.Trajectories:
    kept = slice(channel, channel + 1)
    return lx.Trajectories.from_arrays(data.times, data.states[..., kept], environments=data.environments)


def _hidden(name: str, make: Callable, options: argparse.Namespace, warmup: int = 6) -> Iterator[Job]:
    (train, test), whole = make()
    for method in ("leads", "one-per-env"):
        for hidden in (1, 0):
            key = (name, 0.0, method, f"hidden={hidden}", options.steps, options.seeds)
            yield Job(key, lambda m=method, h=hidden: _with_hidden(options, m, h, train, test, whole, warmup))
    yield from _simple(name, 0.0, ("mean curve", "persistence"), train, test, warmup)


def _with_hidden(
    options: argparse.Namespace,
    method: str,
    hidden: int,
    train: lx.Trajectories,
    test: lx.Trajectories,
    whole: lx.Trajectories,
    warmup: int,
) -> dict[str, Any]:
    latent = Latent(hidden=hidden) if hidden else GIVEN
    model = lx.fit(METHODS[method](), train, steps=options.steps, seeds=options.seeds, latent=latent, key=jr.key(0))
    errors = lx.evaluate(model, test, warmup=warmup)
    found = {"nmse": errors.nmse, "nmse_per_seed": errors.nmse_per_seed.tolist(), "diverged": errors.diverged}
    return found | ({"recovered": _recovered(model, test, whole, warmup)} if hidden else {})


def _recovered(model: lx.Model, test: lx.Trajectories, whole: lx.Trajectories, warmup: int) -> float:
    """R² of a cubic polynomial from forecast whole states to the true hidden channel, one per environment."""
    states = _whole_forecasts(model.member(0), test, warmup)
    shares = []
    for e in range(len(test.environments)):
        known, true = states[e].reshape(-1, states.shape[-1]), whole.states[e, ..., 1].ravel()
        terms = [np.ones(len(known))]
        terms += [known[:, 0] ** i * known[:, 1] ** j for i in range(4) for j in range(4 - i) if i + j]
        library = np.stack(terms, axis=1)
        off = true - library @ np.linalg.lstsq(library, true, rcond=None)[0]
        shares.append(1 - off.var() / true.var())
    return float(np.mean(shares))


def _whole_forecasts(model: lx.Model, data: lx.Trajectories, warmup: int) -> np.ndarray:
    """Forecasts of whole states, in standard units, the mean over members: `(env, traj, time, channel)`."""
    batch = model.batch(data)
    found = forecasts(model.numbers, model.for_data(data), batch, known_points(batch, warmup))
    return np.asarray(found, float).mean(axis=0)


def _theophylline(options: argparse.Namespace) -> Iterator[Job]:
    """Each of twelve subjects from its first five points, learnt from the others: all are trajectories of one kind.

    The dose is known: it goes into a hidden channel, the gut. With and without the formula of one compartment.
    """
    columns = {"environment": "Subject", "time": "Time"}
    load = lambda name: lx.load(options.measured / "theophylline.csv", columns=columns, channels=[name])
    data, dose = load("conc"), load("Dose").states[:, 0, 0, 0]
    times, values = data.times[:, 0], data.states[:, 0, :, 0]
    inputs = np.zeros((1, *times.shape, 1))
    inputs[0, :, 0, 0] = dose
    together = lx.Trajectories.from_arrays(
        times[None], values[None, ..., None], environments=["all"], inputs=inputs, input_names=["dose"],
        input_kinds=["impulse:hidden0"],
    )  # fmt: skip
    folds = [([i], [k for k in range(len(values)) if k != i]) for i in range(len(values))]
    start = np.log([1.5, 0.08, 0.04])
    subjects = [(t, x / d) for t, x, d in zip(times, values, dose, strict=True)]
    curve = lambda test, rest: (
        dose[test[0]]
        * forecast_errors(one_compartment, start, [subjects[i] for i in test], [subjects[i] for i in rest], 5)
    )
    numbers = {name: lx.Parameter(at, shared=True, low=0.0) for name, at in (("ka", 1.5), ("ke", 0.08), ("v", 0.5))}
    formula = lx.OneForAll(known=absorbed, parameters=numbers)
    round_units = lx.Units(mean=(5.0,), scale=(3.0,), time=6.0, hidden_scale=(4.0,))
    # The weight decay was chosen on subjects made up with other numbers.
    learnt = [
        (lx.OneForAll(), Latent(hidden=1, individual=2), lx.Recipe(weight_decay=0.1), None, "one-for-all"),
        (formula, Latent(hidden=1, individual=3), lx.Recipe(), round_units, "one-for-all beside the formula"),
    ]
    yield from _left_out("theophylline", together, folds, 5, learnt, curve, options)
    yield from _best_possible(times, values, dose, start)


def absorbed(t: Any, x: Any, u: Any, p: Any) -> Any:
    """A drug in the blood and in the gut; each subject has rates and a volume of its own, as exponents around zero."""
    blood, gut = x
    own = jnp.exp(u[-3:])
    return jnp.stack([p.ka * own[0] * gut / (p.v * own[2]) - p.ke * own[1] * blood, -p.ka * own[0] * gut])


def _best_possible(times: np.ndarray, values: np.ndarray, dose: np.ndarray, start: np.ndarray) -> Iterator[Job]:
    """A mixed-effects model of the same points; and how well it forecasts subjects that it has made up itself."""
    # Every subject has a curve of its own, with its dose.
    curve = lambda z, t: one_compartment(z, t[1:]) * t[0]
    subjects = [(np.concatenate([[d], t]), x) for t, x, d in zip(times, values, dose, strict=True)]

    def error(population: mixed_effects.Mixed, subject: mixed_effects.Subject) -> np.ndarray:
        (t, x), told = subject, 5
        short = (t[: told + 1], x[:told])
        fit = mixed_effects.most_likely(curve, population, short)
        return curve(fit, t)[told:] - x[told:]

    def left_out() -> dict[str, Any]:
        off = []
        for i in range(len(subjects)):
            others = [subject for k, subject in enumerate(subjects) if k != i]
            off.append(error(mixed_effects.fitted(curve, start, others), subjects[i]))
        return {
            "nmse": float(np.mean(np.square(off)) / np.var(values[:, 5:])),
            "per_subject": np.mean(np.square(off), 1).tolist(),
        }

    def made_up() -> dict[str, Any]:
        population = mixed_effects.fitted(curve, start, subjects)
        new = mixed_effects.simulated(curve, population, [t for t, _ in subjects], 600)
        off, variance = np.array([error(population, subject) for subject in new]), np.var([x[5:] for _, x in new])
        twelve = np.mean(off.reshape(-1, 12, off.shape[-1]) ** 2, axis=(1, 2)) / variance
        return {"nmse": float(np.mean(off**2) / variance), "quantiles": np.quantile(twelve, (0.1, 0.5, 0.9)).tolist()}

    yield Job(("theophylline", None, "mixed effects", "prior", 0, 1), left_out)
    yield Job(("theophylline", None, "mixed effects, of subjects that it made up", "prior", 0, 1), made_up)


def _soybean(options: argparse.Namespace) -> Iterator[Job]:
    """Two of eight plots of each variety and year from their first three points, learnt from the other six."""
    columns = {"environment": "Variety+Year", "trajectory": "Plot", "time": "Time"}
    data = lx.load(options.measured / "soybean.csv", columns=columns, channels=["weight"])
    plots = range(data.times.shape[1])
    folds = [([i, i + 1], [k for k in plots if k not in (i, i + 1)]) for i in range(0, len(plots), 2)]
    of = lambda e, i: (data.times[e, i, : data.lengths[e, i]], data.states[e, i, : data.lengths[e, i], 0])
    places = range(len(data.environments))
    curve = lambda test, rest: np.concatenate(
        [forecast_errors(gompertz, np.array([3.0, 2.5, -3.0]), [of(e, i) for i in test], [of(e, i) for i in rest], 3)
         for e in places]
    )  # fmt: skip
    learnt = [(lx.Leads(), Latent(individual=1), lx.Recipe(), None, "leads")]
    yield from _left_out("soybean", data, folds, 3, learnt, curve, options)


def _left_out(
    name: str,
    data: lx.Trajectories,
    folds: list[tuple[list[int], list[int]]],
    warmup: int,
    methods: list[tuple[Any, Latent, lx.Recipe, lx.Units | None, str]],
    curve: Callable[[list[int], list[int]], np.ndarray],
    options: argparse.Namespace,
) -> Iterator[Job]:
    """Cross-validation over trajectories: errors of all that were left out, over the variance of what was forecast."""
    after = lambda part: np.concatenate(
        [part.states[e, i, warmup : part.lengths[e, i], 0] for e, i in np.argwhere(part.lengths > 0)]
    )
    variance = float(np.var(np.concatenate([after(data.select(trajectories=test)) for test, _ in folds])))
    pooled = lambda errors: {"nmse": float(np.mean(np.concatenate(errors) ** 2)) / variance}

    def learnt(method: Any, latent: Latent, recipe: lx.Recipe, units: lx.Units | None) -> dict[str, Any]:
        errors = []
        for test, rest in folds:
            train, held = data.select(trajectories=rest), data.select(trajectories=test)
            about = {"steps": options.steps, "seeds": options.seeds, "latent": latent, "recipe": recipe}
            # A formula is compiled for its units. With round numbers for all folds that is done once.
            chosen = lx.chosen_for(train)
            if units is not None:
                box = Box.around(train, units)
                chosen = dataclasses.replace(chosen, units=units, box=box, longest_step=units.time / 4)
            model = lx.fit(method, train, key=jr.key(0), defaults=chosen, **about)
            found = model.units.raw(_whole_forecasts(model, held, warmup)[..., :1])
            errors.append(
                np.concatenate(
                    [found[e, i, warmup : held.lengths[e, i], 0] - held.states[e, i, warmup : held.lengths[e, i], 0]
                     for e, i in np.argwhere(held.lengths > 0)]
                )
            )  # fmt: skip
            print("left out", test, f"{np.mean(errors[-1] ** 2) / variance:.3g}", flush=True)
        return pooled(errors) | {"per_fold": [float(np.mean(e**2)) / variance for e in errors]}

    for method, latent, recipe, units, about in methods:
        label = f"hidden={latent.hidden}, individual={latent.individual}"
        yield Job(
            (name, None, about, label, options.steps, options.seeds), partial(learnt, method, latent, recipe, units)
        )
    yield Job((name, None, "curve", "prior", 0, 1), lambda: pooled([curve(test, rest) for test, rest in folds]))
    mean = lambda test, rest: _mean_curve(data.select(trajectories=rest), data.select(trajectories=test), warmup)
    yield Job((name, None, "mean curve", "none", 0, 1), lambda: pooled([mean(test, rest) for test, rest in folds]))


def _mean_curve(train: lx.Trajectories, test: lx.Trajectories, warmup: int) -> np.ndarray:
    """Errors of the mean of the other trajectories of the environment, interpolated."""
    errors = []
    for e, i in np.argwhere(test.lengths > 0):
        own = slice(int(test.lengths[e, i]))
        t = test.times[e, i, own]
        count = int(train.counts[e])
        rows = [
            np.interp(t, train.times[e, k, : train.lengths[e, k]], train.states[e, k, : train.lengths[e, k], 0])
            for k in range(count)
        ]
        errors.append((np.mean(rows, axis=0) - test.states[e, i, own, 0])[warmup:])
    return np.concatenate(errors)


def cost(calls: int = 15, steps: int = 40) -> str:
    """How much longer a step takes with inferred starts: medians of calls that take turns, the first one left out.

    Processor time, which other programs do not add to: run it on one core, by `taskset -c 0`.
    """
    data = SYSTEMS["lotka-volterra"](0.05)[0]
    ways = {"exact": GIVEN, "inferred": Latent(0.05), "hidden": Latent(0.05, hidden=1, individual=1)}
    taking = {name: _stepping(data, latent, steps) for name, latent in ways.items()}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(calls + 1):
        for name, step in taking.items():
            begin = time.process_time()
            step()
            seconds[name].append((time.process_time() - begin) / steps)
    medians = {name: float(np.median(found[1:])) for name, found in seconds.items()}
    return "\n".join(f"{name}: {1e3 * m:.2f} ms, {m / medians['exact'] - 1:+.1%}" for name, m in medians.items())


def _stepping(data: lx.Trajectories, latent: Latent, steps: int) -> Callable[[], None]:
    """A function that takes so many training steps, at the end of which restarts are rare."""
    asked = Request(data, jr.key(0), 10 * steps, 1, None, None, "adam", chosen_defaults(data, None, latent, ()),
                    lx.Recipe(), None)  # fmt: skip
    # The same net for all: the polynomial that it would begin at depends on what is believed.
    trainer = Trainer.of(asked, [lx.Leads(net=lx.MLP)], [None])
    task, state = trainer.task, trainer._first_state()
    span = Span(jnp.array(0), jnp.array(10 * steps))

    def step() -> None:
        nonlocal state
        plan = task.stages[0].plan
        state, _ = jax.block_until_ready(advance(plan, task.method, state, task.batch, task.sampling, span, steps))

    return step


def table(rows: list[dict]) -> str:
    """One line per result, as in docs/noise.md."""
    lines = [
        "| data | noise | method | inferred | error | per seed | hidden state, R² |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in sorted(rows, key=lambda row: (row["data"], row["noise"] or 0, row["nmse"])):
        seeds = ", ".join(f"{error:.2g}" for error in row.get("nmse_per_seed", []))
        share = f"{row['recovered']:.3f}" if "recovered" in row else ""
        about = f"{row['data']} | {row['noise']} | {row['method']} | {row['latent']}"
        lines.append(f"| {about} | {row['nmse']:.3g} | {seeds} | {share} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
