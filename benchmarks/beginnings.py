"""How good the polynomials are that nets begin at, before any training: those of LEADS beside those of One-Per-Env.

    python benchmarks/beginnings.py                          # all simulated data sets, a few seconds each
    python benchmarks/beginnings.py --only switch,pendulum   # some of them

The sets of `development_sets.py` are those that the rules were made on, those of `unseen_sets.py` came after them.
Errors are parts of the variance, mean (median) over test trajectories.
"""

import argparse
import time

import numpy as np
from every_set import EVERY

import leadax as lx
from leadax.data.latent import Latent, layout_for
from leadax.data.units import Units
from leadax.trend import best_polynomial, trend_of
from leadax.trend.flow import Law
from leadax.trend.held_out import forecast_errors
from leadax.trend.intervals import Points

SETS = {name: make for name, make in EVERY.items() if name != "fisher"}  # a field has no polynomial


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(SETS), help="data sets, separated by commas")
    print("| data | degree | LEADS | One-Per-Env | seconds of processor time |\n|---|---|---|---|---|")
    for name in parser.parse_args().only.split(","):
        print(row(name, *SETS[name]()), flush=True)


def row(name: str, train: lx.Trajectories, test: lx.Trajectories) -> str:
    """One line of the table."""
    begin = time.process_time()
    units = Units.measured(train)
    layout = layout_for(train, units, Latent())
    found = best_polynomial(train, units, layout)
    if found.degree == 0:
        return f"| {name} | none | – | – | {time.process_time() - begin:.0f} |"
    points, tested = (Points.of(data, units, layout) for data in (train, test))
    law = Law(found.degree, found.region or points.region, points.median_gap / found.finer, zero=found.zero)
    kind, parts = (found.degree, found.region, found.zero), ("common", "own", "alone")
    trend = trend_of(train, units, layout, *kind, law.longest, parts)
    assert trend is not None
    seconds = time.process_time() - begin
    variance = np.nanmean(np.nanvar(units.standard(test.states), axis=(0, 1, 2)))
    errors = [
        forecast_errors(tested, law, c, tested.complete) / variance for c in (trend.common + trend.own, trend.alone)
    ]
    shown = [f"{each.mean():.1e} ({np.median(each):.0e})" for each in errors]
    degree = f"{found.degree}{'' if found.zero is None else ', signed'}"
    return f"| {name} | {degree} | {shown[0]} | {shown[1]} | {seconds:.0f} |"


if __name__ == "__main__":
    main()
