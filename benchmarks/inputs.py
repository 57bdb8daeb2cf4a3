"""What inputs, covariates and known formulas are worth: the numbers of docs/inputs.md.

    python benchmarks/inputs.py                                    # all of them
    python benchmarks/inputs.py --only pendulum --steps 500        # one of them
    python benchmarks/inputs.py --table                            # what was measured so far

Each result is written to `benchmarks/inputs.json` as soon as it is there; what is in that file is not measured again.
Errors are normalised by the variance of each channel, on trajectories that were not trained on.
"""

import argparse
import functools
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from input_sets import HOURS, LENGTHS, Pair, forced_oscillators, houses, pendulums, switched_oscillators

import leadax as lx
from leadax.systems.lotka_volterra import lotka_volterra_coda

RESULTS = Path(__file__).with_name("inputs.json")
SEEDS = 2


def pendulum(t, x, u, p):
    """A pendulum without friction; its length is unknown."""
    return jnp.stack([x[1], -9.81 / p.length * jnp.sin(x[0])])


def prey_and_predator(t, x, u, p):
    """Lotka–Volterra, with the growth of prey and the death of predators known."""
    prey, predator = x
    return jnp.stack([0.5 * prey - p.beta * prey * predator, p.delta * prey * predator - 0.5 * predator])


def house(t, x, u, p):
    """Heat leaves a house; how fast is unknown, and what the sun does."""
    return (u[:1] - x) / p.hours


def learnt(make: Callable[[], Pair], method: lx.Method, steps: int) -> tuple[lx.Model, dict]:
    """A model of one data set with all its seeds, and its errors."""
    train, test = make()
    begin = time.perf_counter()
    model = lx.fit(method, train, steps=steps, seeds=SEEDS, key=jr.key(0))
    errors = [lx.evaluate(model.member(k), test).nmse for k in range(SEEDS)]
    found = {"nmse": float(np.mean(errors)), "nmse_per_seed": errors, "train_nmse": lx.evaluate(model, train).nmse}
    return model, {**found, "seconds": round(time.perf_counter() - begin)}


def oscillators(make: Callable[[], Pair], steps: int) -> dict:
    """LEADS under an input."""
    return learnt(make, lx.Leads(), steps)[1]


def with_formula(make: Callable[[], Pair], known: Callable, true: dict[str, Sequence[float]], steps: int) -> dict:
    """LEADS beside a formula; how far its numbers are off at most in any environment and seed, and the learnt rest."""
    numbers = {name: lx.Parameter(float(np.mean(values)) * 1.3, low=0.0) for name, values in true.items()}
    model, found = learnt(make, lx.Leads(known=known, parameters=numbers), steps)
    members = [model.member(k) for k in range(SEEDS)]
    off = lambda name, i: [abs(each.parameters(i)[name].value / true[name][i] - 1) for each in members]
    worst = {name: [max(off(name, i)) for i in range(len(values))] for name, values in true.items()}
    law = lx.explain(model, make()[0], part="learnt")
    return {**found, "off": worst, "longest_step": model.training.config.longest_step, "law": str(law)}


def prey_and_predators() -> Pair:
    """CoDA's data."""
    train, test = (lx.simulate(lotka_volterra_coda(), split=part, key=jr.key(0)) for part in ("train", "test"))
    return train, test


CODA = {name: [each[name] for each in lotka_volterra_coda().environments.values()] for name in ("beta", "delta")}
CASES: dict[str, tuple[Callable[[int], dict], int]] = {
    "prey and predator, formula": (
        functools.partial(with_formula, prey_and_predators, prey_and_predator, CODA), 1_000),
    "pendulum, formula": (functools.partial(with_formula, pendulums, pendulum, {"length": LENGTHS}), 2_000),
    "pendulum, no formula": (functools.partial(oscillators, pendulums), 2_000),
    "houses, formula": (functools.partial(with_formula, houses, house, {"hours": HOURS}), 1_000),
    "houses, no formula": (functools.partial(oscillators, houses), 1_000),
    "oscillators, linear force": (functools.partial(oscillators, forced_oscillators), 4_000),
    "oscillators, force that jumps": (functools.partial(oscillators, switched_oscillators), 4_000),
}  # fmt: skip


def main() -> None:
    """Measure what is missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="a part of the name of what is to be measured")
    parser.add_argument("--steps", type=int, help="instead of the usual number")
    parser.add_argument("--table", action="store_true", help="measure nothing")
    options = parser.parse_args()
    rows = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    for name, (measure, steps) in {} if options.table else CASES.items():
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
