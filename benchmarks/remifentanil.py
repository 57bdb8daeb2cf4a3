"""Remifentanil in the blood of 65 patients under infusion: the curve of each from its first five points.

    python benchmarks/remifentanil.py FOLDER          # has remifentanil.csv, of R's package nlme
    python benchmarks/remifentanil.py FOLDER --only leadax --steps 30

Patients are left out in five groups of 13. The model of Leadax is a compartment model as known formula, whose numbers
depend on age and lean body mass and have a random effect each, beside a net for the rest. It has two or three
compartments, whichever the patients that are trained on make more likely. The yardsticks of
`benchmarks/compartments.py` are told the same points and have the same model of noise. What was measured of a group is
kept in `runs/remifentanil.json`, and not measured again.
"""

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import compartments
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

import leadax as lx

GROUPS, TOLD = 5, 6  # told: no drug at the beginning, and five points
TISSUE, EFFECT = 40.0, 0.4  # the unit of hidden channels; the usual size of random effects, until it is found
JOURNAL = Path("runs/remifentanil.json")
# Compartments, covariates, points told, and the least noise. That of Leadax is 0.32, 1 % of the spread: yardsticks are
# also given another one. The last is no forecast: what it leaves is mostly noise.
MODELS = {
    "one compartment": (1, 1, TOLD, 0.32),
    "two compartments": (2, 1, TOLD, 0.32),
    "two compartments, age and lean mass": (2, 3, TOLD, 0.32),
    "three compartments": (3, 1, TOLD, 0.32),
    "small floor, one compartment": (1, 1, TOLD, 0.018),
    "small floor, two compartments": (2, 1, TOLD, 0.018),
    "small floor, two compartments, age and lean mass": (2, 3, TOLD, 0.018),
    "small floor, three compartments": (3, 1, TOLD, 0.018),
    "all points told, two compartments": (2, 1, 999, 0.32),
}


def patients(file: Path) -> lx.Trajectories:
    """All patients as trajectories of one environment; the rate is held, age and lean body mass are constant inputs."""
    data = lx.load(file, columns={"environment": "ID", "time": "Time"}, channels=["conc"], inputs=["Rate:held"],
                   covariates=["Age", "LBM"])  # fmt: skip
    states, times = data.states[:, 0].copy(), data.times[:, 0]
    states[:, 0] = 0.0
    constant = [np.broadcast_to(np.asarray(data.parameters[name])[:, None], times.shape) for name in ("Age", "LBM")]
    inputs = np.where(np.isnan(times)[..., None], np.nan, np.stack([data.inputs[:, 0, :, 0], *constant], axis=-1))
    return lx.Trajectories.from_arrays(times[None], states[None], channels=["conc"], inputs=inputs[None],
                                       input_names=["Rate", "Age", "LBM"], input_kinds=["held"] * 3)  # fmt: skip


# Of the blood, then of each tissue: a volume and what flows out of it in a minute; where the search begins.
NUMBERS = {2: {"volume": 6.0, "clearance": 2.5, "tissue": 10.0, "flow": 1.2},
           3: {"volume": 5.0, "clearance": 2.5, "tissue": 9.0, "flow": 2.0, "deep": 5.0, "slow": 0.08}}  # fmt: skip


def compartments_with(names: Sequence[str], x: jax.Array, u: jax.Array, p: Mapping[str, jax.Array]) -> jax.Array:
    """Blood and tissues that nobody sees; each number depends on age and lean body mass, and has a random effect."""
    rate, age, lean, *effects = u
    about = lambda name: p[f"{name}_age"] * jnp.log(age / 40) + p[f"{name}_lean"] * jnp.log(lean / 55)
    volume, clearance, *tissues = [
        p[name] * jnp.exp(about(name) + EFFECT * own) for name, own in zip(names, effects, strict=True)
    ]
    over = [flow * (x[0] - TISSUE * x[1 + k]) for k, flow in enumerate(tissues[1::2])]
    into = [amount / size / TISSUE for amount, size in zip(over, tissues[0::2], strict=True)]
    return jnp.stack([(rate - clearance * x[0] - sum(over)) / volume, *into])


def two_compartments(t, x, u, p):
    """Blood and a tissue."""
    return compartments_with(list(NUMBERS[2]), x, u, p)


def three_compartments(t, x, u, p):
    """Blood, a tissue that fills fast, and one that fills slowly."""
    return compartments_with(list(NUMBERS[3]), x, u, p)


FORMULAS = {2: two_compartments, 3: three_compartments}


def by_leadax(data: lx.Trajectories, kept: list[int], out: list[int], count: int, steps: int) -> np.ndarray:
    """Forecasts of the patients that were left out."""
    numbers = NUMBERS[count]
    parameters = {name: lx.Parameter(value, shared=True, low=0.0) for name, value in numbers.items()}
    slopes = [f"{name}_{of}" for name in numbers for of in ("age", "lean")]
    parameters |= {name: lx.Parameter(0.0, shared=True, prior=(0.0, 0.3)) for name in slopes}
    latent = lx.Latent(noise="18%", hidden=count - 1, individual=len(numbers), from_zero=True)
    method = lx.OneForAll(known=FORMULAS[count], parameters=parameters)
    model = lx.fit(method, data.choose([kept]), steps=steps, latent=latent, key=jr.key(0))
    found = lx.forecast(model, data.choose([out]), warmup=TOLD).states[0, :, :, 0]
    return np.pad(found, [(0, 0), (0, data.times.shape[2] - found.shape[1])])


def everyone(data: lx.Trajectories, covariates: int, floor: float) -> compartments.Patients:
    """All patients for the yardsticks."""
    times, conc, inputs = data.times[0], data.states[0, :, :, 0], data.inputs[0]
    last = np.nanmax(times, axis=1, keepdims=True)
    age, lean = np.log(np.nanmax(inputs[..., 1:], axis=1) / [40.0, 55.0]).T
    about = np.stack([np.ones(len(times)), age, lean], axis=1)[:, :covariates]
    rates = np.nan_to_num(inputs[..., 0])
    return compartments.Patients(np.where(np.isnan(times), last, times), np.nan_to_num(conc), rates,
                                 np.isfinite(conc), np.full(len(times), floor), about)  # fmt: skip


def by_compartments(data: lx.Trajectories, kept: list[int], out: list[int], model: str) -> np.ndarray:
    """The same by maximum a posteriori."""
    count, covariates, told, floor = MODELS[model]
    patients = everyone(data, covariates, floor)
    with jax.enable_x64(True):
        prior = compartments.population(count, patients.some(kept))
        held = patients.some(out)
        return compartments.forecasts(prior, held, np.cumsum(held.seen, axis=1) <= told)


def likeliest(data: lx.Trajectories, kept: list[int]) -> int:
    """How many compartments these patients call for, by the Bayesian information criterion."""
    found = {}
    for count in FORMULAS:
        patients, numbers = everyone(data, 3, 0.32).some(kept), 2 * count
        with jax.enable_x64(True):
            likelihood = compartments.likelihood(compartments.population(count, patients), patients)
        found[count] = likelihood - 0.5 * np.log(len(kept)) * (3 * numbers + numbers * (numbers + 1) / 2)
    print("log-likelihoods, less their penalties:", found, flush=True)
    return max(found, key=found.get)


def compared(file: Path, steps: int, only: str = "", groups: Sequence[int] = range(GROUPS)) -> list[dict]:
    """Errors of each model in each group, from the journal or measured now."""
    data = patients(file)
    rows = json.loads(JOURNAL.read_text()) if JOURNAL.exists() else []
    for name in ("leadax", *MODELS):
        for group in groups:
            asked = {"model": name, "group": group, "steps": steps if name == "leadax" else None}
            if not name.startswith(only) or any(asked.items() <= row.items() for row in rows):
                continue
            out = [i for i in range(data.times.shape[1]) if i % GROUPS == group]
            kept = [i for i in range(data.times.shape[1]) if i % GROUPS != group]
            begin = time.perf_counter()
            if name == "leadax":
                found = by_leadax(data, kept, out, likeliest(data, kept), steps)
            else:
                found = by_compartments(data, kept, out, name)
            truth = data.states[0, out, :, 0]
            seen = np.isfinite(truth)
            after = seen & (np.cumsum(seen, axis=1) > TOLD)
            rows += [asked | {"seconds": round(time.perf_counter() - begin), "found": found[after].tolist(),
                              "truth": truth[after].tolist(), "patient": np.nonzero(after)[0].tolist()}]  # fmt: skip
            JOURNAL.parent.mkdir(exist_ok=True)
            JOURNAL.write_text(json.dumps(rows))
            print(f"group {group}: {table([row for row in rows if row['group'] == group])}", flush=True)
    return rows


def table(rows: list[dict]) -> str:
    """Of each model: the error at all points over their variance, its median over patients, and that of logarithms."""
    lines = [
        "| model | groups | normalised error | half of the patients below | root mean square of log |",
        "|---|---|---|---|---|",
    ]
    for name, steps in dict.fromkeys((row["model"], row["steps"]) for row in rows):
        own = [row for row in rows if (row["model"], row["steps"]) == (name, steps)]
        found, truth = (np.concatenate([row[key] for row in own]) for key in ("found", "truth"))
        patient = np.concatenate([np.array(row["patient"]) + 100 * row["group"] for row in own])
        squares = (found - truth) ** 2 / np.var(truth)
        middle = np.median([squares[patient == each].mean() for each in np.unique(patient)])
        logs = np.log(np.maximum(found, 0.05) / np.maximum(truth, 0.05))
        label = name if steps is None else f"{name}, {steps} steps"
        lines.append(
            f"| {label} | {len(own)} | {squares.mean():.4f} | {middle:.4f} | {np.sqrt(np.mean(logs**2)):.3f} |"
        )
    return "\n".join(lines)


def leads(rows: list[dict]) -> str:
    """How much smaller the squares of Leadax are than those of other models, with 90 % of bootstraps over patients."""
    squares: dict[str, dict[tuple, float]] = {}
    for row in rows:
        own = squares.setdefault(row["model"], {})
        for patient, found, truth in zip(row["patient"], row["found"], row["truth"], strict=True):
            place = (row["group"], patient)
            own[place] = own.get(place, 0.0) + (found - truth) ** 2
    mine, rng, lines = squares.pop("leadax"), np.random.default_rng(0), []
    for name, others in squares.items():
        total, apart = sum(others.values()), np.array([mine[place] - others[place] for place in mine])
        low, high = np.quantile(rng.choice(apart, (4000, len(apart))).sum(axis=1) / total, [0.05, 0.95])
        two = sum(sorted(others.values())[-2:]) / total
        lines.append(
            f"beside {name}: {apart.sum() / total:+.0%} ({low:+.0%} to {high:+.0%}); its two worst have {two:.0%}"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure what is missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a folder with remifentanil.csv")
    parser.add_argument("--only", default="", help="the beginning of the name of a model")
    parser.add_argument("--steps", type=int, default=30, help="of training")
    parser.add_argument("--groups", type=int, nargs="+", default=range(GROUPS), help="that are left out")
    options = parser.parse_args()
    rows = compared(options.folder / "remifentanil.csv", options.steps, options.only, options.groups)
    asked = [row for row in rows if row["steps"] in (None, options.steps) and row["group"] in options.groups]
    print(table(asked))
    if sum(row["model"] == "leadax" for row in asked) == len(options.groups):
        print(leads(asked))


if __name__ == "__main__":
    main()
