"""Defaults on data that no preset knows: LEADS, other methods and simple forecasts on a dozen data sets.

    python benchmarks/own_data.py                                  # simulated data sets
    python benchmarks/own_data.py --measured FOLDER                # and real ones (theophylline.csv and others)
    python benchmarks/own_data.py --only van-der-pol --seeds 20    # one of them, for example to count divergences
    python benchmarks/own_data.py --only rosenzweig,friction       # those of other files have to be named
    python benchmarks/own_data.py --table                          # what was measured so far

Nothing is chosen for a data set: every method has its defaults. Each result is written to `benchmarks/own_data.json` as
soon as it is there; what is in that file is not measured again. Errors are normalised by the variance of each channel.
"""

import argparse
import json
import time
from pathlib import Path

import jax
import jax.random as jr
from every_set import EVERY
from own_data_sets import SIMULATED, measured

import leadax as lx
from leadax.methods import METHODS

RESULTS = Path(__file__).with_name("own_data.json")
KEYS = ("data", "method", "asked_steps", "seeds", "hidden", "told")


def main() -> None:
    """Measure what is missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measured", type=Path, help="a folder with real measurements")
    parser.add_argument("--only", help="data sets, separated by commas")
    parser.add_argument("--methods", default="leads,one-per-env")
    parser.add_argument("--steps", type=int, help="by default those that `fit` chooses")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--hidden", type=int, help="channels; by default those that `fit` chooses")
    parser.add_argument("--told", type=int, help="points of each test trajectory that a forecast is told; 1 by default")
    parser.add_argument("--table", action="store_true", help="measure nothing")
    options = parser.parse_args()
    rows = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    if not options.table:
        _measure(options, rows)
    print(table(rows))


def _measure(options: argparse.Namespace, rows: list[dict]) -> None:
    usual = SIMULATED | (measured(options.measured) if options.measured else {})
    sets = usual | EVERY
    names = options.only.split(",") if options.only else list(usual)
    for name in names:
        for method in ("yardsticks", *options.methods.split(",")):
            asked = (None, 1, None) if method == "yardsticks" else (options.steps, options.seeds, options.hidden)
            wanted = (name, method, *asked, options.told)
            if wanted in [tuple(row.get(key) for key in KEYS) for row in rows]:
                continue
            train, test = sets[name]()
            rows += [(_yardsticks if method == "yardsticks" else _learnt)(wanted, train, test)]
            RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
            print(f"{name}: {method} {rows[-1]['nmse']:.3g}", flush=True)


def _yardsticks(wanted: tuple, train: lx.Trajectories, test: lx.Trajectories) -> dict:
    found = lx.yardsticks(train, test, warmup=wanted[-1] or 1)
    errors = {simple: each.nmse for simple, each in found.items()}
    best = min(errors, key=errors.__getitem__)
    return {**dict(zip(KEYS, wanted, strict=True)), "nmse": errors[best], "best": best, "all": errors}


def _learnt(wanted: tuple, train: lx.Trajectories, test: lx.Trajectories) -> dict:
    _, method, steps, seeds, hidden, told = wanted
    begin = time.perf_counter()
    latent = None if hidden is None else lx.Latent(hidden=hidden)
    model = lx.fit(METHODS[method](), train, steps=steps, seeds=seeds, latent=latent, key=jr.key(0))
    errors = lx.evaluate(model, test, warmup=told or 1)
    return {
        **dict(zip(KEYS, wanted, strict=True)),
        "steps": model.training.steps,
        "nmse": errors.nmse,
        "nmse_per_seed": errors.nmse_per_seed.tolist(),
        "median_nmse": errors.median_nmse,
        "mse": errors.mse,
        "diverged": errors.diverged,
        "train_nmse": lx.evaluate(model, train, warmup=told or 1).nmse,
        "seconds": round(time.perf_counter() - begin),
        "devices": jax.local_device_count(),
    }


def table(rows: list[dict]) -> str:
    """One line per data set, as in docs/own-data.md; of several rows of a method, that of the most seeds."""
    lines = ["| data | LEADS | its median | seeds | diverged | One-Per-Env | best simple forecast |", "|---" * 7 + "|"]
    groups: dict[tuple, dict[str, dict]] = {}
    for row in sorted(rows, key=lambda row: row["seeds"]):
        known = groups.setdefault((row["data"], row.get("told")), {})
        method = f"{row['method']}, {row['hidden']} hidden" if row.get("hidden") is not None else row["method"]
        known[method] = row
    for (data, told), known in groups.items():
        own, alone, simple = known.get("leads"), known.get("one-per-env"), known.get("yardsticks")
        if own is None:
            continue
        cells = [
            data if told is None else f"{data}, told {told} points",
            _error(own), f"{own['median_nmse']:.1e}", str(own["seeds"]), str(own["diverged"]),
            "–" if alone is None else _error(alone),
            "–" if simple is None else f"{simple['nmse']:.2g} ({simple['best']})",
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _error(row: dict) -> str:
    """The mean over seeds, and half of their range."""
    spread = max(row["nmse_per_seed"]) - min(row["nmse_per_seed"])
    return f"{row['nmse']:.2g} ± {spread / 2:.0g}"


if __name__ == "__main__":
    main()
