"""How long a user waits for the first training step: at the first start, and at the second, with kept programs.

    python benchmarks/starting.py [--repeats 3] [--system lotka-volterra]

Each start is a process of its own, the first one with an empty cache. The clock starts before Python does.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

SYSTEMS = ("lotka-volterra", "gray-scott", "navier-stokes")
PROGRAM = """
import os, time
begin = float(os.environ["BEGIN"])
from leadax.cli.runtime import prepare
prepare(1)
import jax.random as jr
import leadax as lx
from leadax.systems import get_system
data = lx.simulate(get_system(os.environ["SYSTEM"]), key=jr.key(0))
ready = time.time()
done = lx.Monitor(listen=lambda look, steps: print(ready - begin, time.time() - ready))
settings = lx.preset(os.environ["SYSTEM"], data)
lx.fit(lx.Leads(), data, steps=1, key=jr.key(0), defaults=settings, monitor=done)
"""


def start(system: str, cache: str) -> tuple[float, float]:
    environment = {**os.environ, "LEADAX_CACHE": cache, "SYSTEM": system, "BEGIN": str(time.time())}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    before, fitting = map(float, done.stdout.split())
    return before, fitting


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--system", choices=SYSTEMS, help="only this one")
    options = parser.parse_args()
    chosen = [options.system] if options.system else SYSTEMS
    print(json.dumps({system: waits(system, options.repeats) for system in chosen}, indent=2))


def waits(system: str, repeats: int) -> dict[str, dict[str, float]]:
    """Medians over first and over second starts."""
    times = {"first": [], "second": []}
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as cache:
            for which in times:
                times[which].append(start(system, cache))
    return {
        which: {
            "imports_and_data_s": round(statistics.median(before for before, _ in found), 2),
            "fit_to_first_step_s": round(statistics.median(fitting for _, fitting in found), 2),
        }
        for which, found in times.items()
    }


if __name__ == "__main__":
    main()
