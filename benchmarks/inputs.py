"""What inputs, covariates and known formulas are worth: the numbers of docs/inputs.md.

    python benchmarks/inputs.py                                    # simulated data
    python benchmarks/inputs.py --measured FOLDER                  # and remifentanil.csv in that folder
    python benchmarks/inputs.py --only pendulum --steps 500        # one of them
    python benchmarks/inputs.py --table                            # what was measured so far

Each result is written to `benchmarks/inputs.json` as soon as it is there; what is in that file is not measured again.
Errors are normalised by the variance of each channel, on trajectories that were not trained on.
"""

import argparse
import functools
import json
import time
from collections.abc import Callable
from pathlib import Path

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from input_sets import LENGTHS, Pair, forced_oscillators, pendulums, switched_oscillators
from remifentanil import compared

import leadax as lx
from leadax.systems.lotka_volterra import lotka_volterra_coda

RESULTS = Path(__file__).with_name("inputs.json")


def pendulum(t, x, u, p):
    """A pendulum without friction; its length is unknown."""
    return jnp.stack([x[1], -9.81 / p.length * jnp.sin(x[0])])


def prey_and_predator(t, x, u, p):
    """Lotka–Volterra, with the growth of prey and the death of predators known."""
    prey, predator = x
    return jnp.stack([0.5 * prey - p.beta * prey * predator, p.delta * prey * predator - 0.5 * predator])


def learnt(make: Callable[[], Pair], method: lx.Method, steps: int) -> tuple[lx.Model, dict]:
    """A model of one data set, and its errors."""
    train, test = make()
    begin = time.perf_counter()
    model = lx.fit(method, train, steps=steps, key=jr.key(0))
    found = {"nmse": lx.evaluate(model, test).nmse, "train_nmse": lx.evaluate(model, train).nmse}
    return model, {**found, "seconds": round(time.perf_counter() - begin)}


def oscillators(make: Callable[[], Pair], steps: int) -> dict:
    """LEADS under an input."""
    return learnt(make, lx.Leads(), steps)[1]


def pendulum_known(steps: int) -> dict:
    """LEADS beside the formula; the lengths, and the drag in a formula."""
    method = lx.Leads(known=pendulum, parameters={"length": lx.Parameter(1.0, low=0.0)})
    model, found = learnt(pendulums, method, steps)
    lengths = [model.parameters(name)["length"].value for name in model.environments]
    off = max(abs(length / true - 1) for length, true in zip(lengths, LENGTHS, strict=True))
    law = lx.explain(model, pendulums()[0], part="learnt")
    return {**found, "lengths": lengths, "largest_error_of_length": off, "law": str(law)}


def prey_predator(steps: int, **settings) -> dict:
    """CoDA's data with the form known; β and δ of each environment."""
    make = lambda: tuple(lx.simulate(lotka_volterra_coda(), split=part, key=jr.key(0)) for part in ("train", "test"))
    model, found = learnt(make, lx.Leads(substeps=4, **settings), steps)
    if "known" not in settings:
        return found
    true = make()[0].parameters
    off = {
        name: max(abs(model.parameters(e)[name].value / true[name][i] - 1) for i, e in enumerate(model.environments))
        for name in ("beta", "delta")
    }
    return {**found, "largest_relative_error": off}


BOTH = {name: lx.Parameter(0.7, low=0.0) for name in ("beta", "delta")}
CASES: dict[str, tuple[Callable[[int], dict], int]] = {
    "pendulum, formula": (pendulum_known, 2_000),
    "pendulum, no formula": (lambda steps: learnt(pendulums, lx.Leads(), steps)[1], 2_000),
    "prey and predator, formula": (
        functools.partial(prey_predator, known=prey_and_predator, parameters=BOTH), 1_000),
    "oscillators, linear force": (functools.partial(oscillators, forced_oscillators), 4_000),
    "oscillators, force that jumps": (functools.partial(oscillators, switched_oscillators), 4_000),
    "prey and predator, no formula": (prey_predator, 1_000),
}  # fmt: skip


def main() -> None:
    """Measure what is missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measured", type=Path, help="a folder with remifentanil.csv")
    parser.add_argument("--only", help="a part of the name of what is to be measured")
    parser.add_argument("--steps", type=int, help="instead of the usual number")
    parser.add_argument("--table", action="store_true", help="measure nothing")
    options = parser.parse_args()
    rows = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    cases = dict(CASES)
    if options.measured:
        file = options.measured / "remifentanil.csv"
        cases["remifentanil"] = (functools.partial(compared, file), 1_500)
    for name, (measure, steps) in {} if options.table else cases.items():
        steps = options.steps or steps
        known = [(row["case"], row["steps"]) for row in rows]
        if (options.only and options.only not in name) or (name, steps) in known:
            continue
        rows.append({"case": name, "steps": steps, **measure(steps)})
        RESULTS.write_text(json.dumps(rows, indent=1, default=np.ndarray.tolist) + "\n")
        print(rows[-1], flush=True)
    print(table(rows))


def table(rows: list[dict]) -> str:
    """One line per case, as in docs/inputs.md."""
    lines = ["| case | steps | normalised error | training error | seconds | more |", "|---|---|---|---|---|---|"]
    plain = ("case", "steps", "nmse", "train_nmse", "seconds")
    for row in rows:
        more = "; ".join(f"{name}: {value}" for name, value in row.items() if name not in plain)
        cells = [row["case"], row["steps"], *(f"{row.get(n, float('nan')):.1e}" for n in plain[2:4])]
        lines.append("| " + " | ".join(map(str, [*cells, row["seconds"], more.replace("\n", " ")])) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
