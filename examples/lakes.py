"""The data of the guides: prey and predators in five lakes, as somebody might have written them down.

    python examples/lakes.py --out docs/guides

Writes `lakes.csv` (five lakes, four series of each, counted every half year with 2 % noise and some gaps), `later.csv`
(three more series of each lake, to test on), `new-lake.csv` (one series of a sixth lake) and `new-lake-later.csv`. The
truth is the equation of Lotka and Volterra, with rates of growth and death of its own in each lake.
"""

import argparse
import csv
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp

LAKES = {"Alder": (0.5, 0.5), "Birch": (0.7, 0.5), "Cedar": (0.9, 0.6), "Elm": (0.5, 0.75), "Fir": (0.7, 0.9)}
NEW = {"Gorse": (0.8, 0.7)}
YEARS = np.arange(0, 10, 0.5)


def series(growth: float, death: float, rng: np.random.Generator, noise: float) -> np.ndarray:
    """Prey and predators over ten years, in thousands."""
    field = lambda _, x: (growth * x[0] - 0.5 * x[0] * x[1], 0.5 * x[0] * x[1] - death * x[1])
    counted = solve_ivp(field, (0, 10), rng.uniform(1, 2, 2), t_eval=YEARS, rtol=1e-8).y.T
    return counted * (1 + noise * rng.normal(size=counted.shape))


def write(path: Path, lakes: dict, count: int, seed: int, noise: float = 0.02, gaps: float = 0.05) -> None:
    """One row per visit. Where nobody counted, a cell is empty; the first visit of a series is complete."""
    rng = np.random.default_rng(seed)
    with path.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["environment", "trajectory", "time", "prey", "predators"])
        for lake, rates in lakes.items():
            for i in range(count):
                counted = series(*rates, rng, noise)
                for year, values in zip(YEARS, counted, strict=True):
                    missing = rng.uniform(size=2) < gaps * (year > 0)
                    cells = ["" if gone else f"{value:.3f}" for value, gone in zip(values, missing, strict=True)]
                    table.writerow([lake, i + 1, f"{year:g}", *cells])


def main() -> None:
    """Write the three files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(), help="the folder to write to, by default this one")
    folder = parser.parse_args().out
    write(folder / "lakes.csv", LAKES, 4, seed=0)
    write(folder / "later.csv", LAKES, 3, seed=1, gaps=0)
    write(folder / "new-lake.csv", NEW, 1, seed=2)
    write(folder / "new-lake-later.csv", NEW, 3, seed=3, gaps=0)


if __name__ == "__main__":
    main()
