"""How the cost of a LEADS training step grows with environments, trajectories, points, grid and seeds; peak memory.

    python benchmarks/scaling.py [--system lotka-volterra] [--json]

Each line is measured in a process of its own, so that its peak memory is its own; times are medians of a few calls.
For sizes other than the paper's, its data are repeated. Where there are several processes, they run at the same time,
each on a core of its own, and the slowest counts: that is the other way to train several seeds.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
from typing import Any

LINES: list[dict[str, Any]] = [
    *({"system": "lotka-volterra", "environments": m} for m in (1, 2, 4, 8, 16, 32, 64)),
    *({"system": "lotka-volterra", "trajectories": n} for n in (1, 2, 4, 8, 16)),
    *({"system": "lotka-volterra", "points": k} for k in (10, 20, 40, 80)),
    *({"system": "lotka-volterra", "seeds": s, "devices": 1} for s in (1, 2, 4, 8)),
    *({"system": "lotka-volterra", "seeds": s, "devices": 2} for s in (2, 4, 8)),
    *({"system": "gray-scott", "environments": 1, "points": 4, "grid": g} for g in (32, 64, 128)),
    *({"system": "navier-stokes", "environments": 1, "points": 4, "grid": g} for g in (32, 64, 128)),
    *({"system": "navier-stokes", "environments": m} for m in (1, 2, 4, 8)),
    *({"system": "navier-stokes", "trajectories": n} for n in (1, 2, 4)),
    *({"system": "gray-scott", "environments": m} for m in (1, 3)),
    *({"system": "gray-scott", "seeds": s, "devices": s} for s in (1, 2)),
    *({"system": "navier-stokes", "seeds": s, "devices": s} for s in (1, 2)),
    *({"system": s, "seeds": 1, "processes": 2} for s in ("lotka-volterra", "gray-scott", "navier-stokes")),
]


def worker(line: dict[str, Any]) -> None:
    if "core" in line:
        os.sched_setaffinity(0, {line.pop("core")})
    import jax

    seeds, devices = line.pop("seeds", 1), line.pop("devices", 1)
    jax.config.update("jax_num_cpu_devices", devices)
    from leadax.speed import Problem, interleaved

    problem = Problem.of(line.pop("system"), **line)
    run = problem.program(seeds, devices)
    run(1)
    ms = interleaved({"one": (run, 1)}, rounds=2)["one"]
    steps = max(1, round(300 / ms))
    ms = interleaved({"many": (run, steps)}, rounds=9)["many"]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    gflop_per_s = seeds * problem.operations / ms / 1e6
    print(json.dumps({"ms_per_step": round(ms, 2), "gflop_per_s": round(gflop_per_s, 1), "peak_mb": round(peak)}))


def measured(line: dict[str, Any]) -> dict[str, Any]:
    """What a process for this line prints; of several processes the slowest one's, with the sum of their rates."""
    line = dict(line)
    count = line.pop("processes", 1)
    processes = [line] if count == 1 else [line | {"core": core} for core in range(count)]
    start = lambda one: subprocess.Popen(
        [sys.executable, __file__, "--worker", json.dumps(one)], stdout=subprocess.PIPE, text=True
    )
    found = []
    for process in [start(one) for one in processes]:
        out, _ = process.communicate()
        if process.returncode:
            sys.exit(f"the line {line} failed")
        found.append(json.loads(out))
    slowest = max(found, key=lambda row: row["ms_per_step"])
    return slowest | {"gflop_per_s": round(sum(row["gflop_per_s"] for row in found), 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--system", choices=sorted({line["system"] for line in LINES}), help="only this one")
    parser.add_argument("--json", action="store_true", help="one JSON document in place of a table")
    parser.add_argument("--only", default="", help="only lines that have this")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker(json.loads(options.worker))
        return
    wanted = lambda line: options.system in (None, line["system"]) and (not options.only or options.only in line)
    chosen = [line for line in LINES if wanted(line)]
    if options.json:
        print(json.dumps([line | measured(line) for line in chosen], indent=1))
        return
    print("| system | what | ms per step | GFLOP/s | peak of memory |\n|---|---|---|---|---|")
    for line in chosen:
        row = measured(line)
        what = ", ".join(f"{name} {value}" for name, value in line.items() if name != "system")
        print(
            f"| {line['system']} | {what} | {row['ms_per_step']} | {row['gflop_per_s']} | {row['peak_mb']} MB |",
            flush=True,
        )


if __name__ == "__main__":
    main()
