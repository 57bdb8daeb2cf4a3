"""The trial behind the defaults: LEADS with other settings, on data sets that appear in no other table.

    python benchmarks/choices.py [--steps 1000] [--seeds 1] [--only duffing,selkov]
    python benchmarks/choices.py --table

`defaults` begins at the polynomial that held-out forecasts choose. `line` begins at a linear field, `net` at none. The
others change κ. Results are kept in `benchmarks/choices.json`; what is there is not measured again.
"""

import argparse
import json
import time
from functools import partial
from pathlib import Path

import jax.random as jr
from development_sets import DEVELOPMENT

import leadax as lx

RESULTS = Path(__file__).with_name("choices.json")
SETTINGS = {
    "defaults": lambda: lx.Leads(),
    "line": lambda: lx.Leads(net=partial(lx.MLP, degree=1)),
    "net": lambda: lx.Leads(net=lx.MLP),
    "kappa=0.01": lambda: lx.Leads(kappa=0.01),
    "kappa=1": lambda: lx.Leads(kappa=1.0),
    "one-per-env": lambda: lx.OnePerEnv(),
}
# Whoever begins elsewhere learns at the usual rate.
RATES = {"line": 1e-3, "net": 1e-3}


def main() -> None:
    """Measure what is missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--only", default=",".join(DEVELOPMENT), help="data sets, separated by commas")
    parser.add_argument("--settings", default=",".join(SETTINGS))
    parser.add_argument("--table", action="store_true", help="measure nothing")
    options = parser.parse_args()
    rows = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    for setting in () if options.table else options.settings.split(","):
        for name in options.only.split(","):
            wanted = {"data": name, "setting": setting, "steps": options.steps, "seeds": options.seeds}
            if any(row.items() >= wanted.items() for row in rows):
                continue
            rows.append(wanted | measured(**wanted))
            RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
            print(f"{name}, {setting}: {rows[-1]['nmse']:.2g}", flush=True)
    print(table(rows))


def measured(data: str, setting: str, steps: int, seeds: int) -> dict:
    """The errors of one setting on one data set."""
    train, test = DEVELOPMENT[data]()
    begin = time.perf_counter()
    rate = RATES.get(setting)
    model = lx.fit(SETTINGS[setting](), train, steps=steps, seeds=seeds, learning_rate=rate, key=jr.key(0))
    errors = lx.evaluate(model, test)
    return {
        "nmse": errors.nmse,
        "median_nmse": errors.median_nmse,
        "diverged": errors.diverged,
        "degree": dict(model.method.net.options).get("degree", 0),
        "seconds": round(time.perf_counter() - begin),
    }


def table(rows: list[dict]) -> str:
    """A line per data set, a column per setting: mean error (median)."""
    names = [name for name in SETTINGS if any(row["setting"] == name for row in rows)]
    lines = ["| data | degree | " + " | ".join(names) + " |", "|---" * (len(names) + 2) + "|"]
    for data in DEVELOPMENT:
        found = {row["setting"]: row for row in rows if row["data"] == data}
        cells = [f"{r['nmse']:.1e} ({r['median_nmse']:.0e})" if (r := found.get(name)) else "–" for name in names]
        if found:
            lines.append(f"| {data} | {found.get('defaults', {}).get('degree', '–')} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
