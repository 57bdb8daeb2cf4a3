"""How the cost of a LEADS training step grows: environments, trajectories, points, grid, seeds; and memory at peak.

    python benchmarks/scaling.py [--system lotka-volterra]

Each line is a process of its own (so that its peak of memory is its own), one after another, medians of a few calls.
Sizes other than the paper's are its data repeated.
"""

import argparse
import json
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
    *({"system": "gray-scott", "seeds": s, "devices": s} for s in (1, 2)),
    *({"system": "navier-stokes", "seeds": s, "devices": s} for s in (1, 2)),
]


def worker(line: dict[str, Any]) -> None:
    import jax

    seeds, devices = line.pop("seeds", 1), line.pop("devices", 1)
    jax.config.update("jax_num_cpu_devices", devices)
    from leadax.speed import Problem, interleaved

    problem = Problem.of(line.pop("system"), **line)
    run = problem.program(seeds, devices)
    run(1)
    ms = interleaved({"one": (run, 1)}, rounds=2)["one"]
    steps = max(1, round(300 / ms))
    ms = interleaved({"many": (run, steps)}, rounds=5)["many"]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    gflop_per_s = seeds * problem.operations / ms / 1e6
    print(json.dumps({"ms_per_step": round(ms, 2), "gflop_per_s": round(gflop_per_s, 1), "peak_mb": round(peak)}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--system", choices=sorted({line["system"] for line in LINES}), help="only this one")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker(json.loads(options.worker))
        return
    print("| system | what | ms per step | GFLOP/s | peak of memory |\n|---|---|---|---|---|")
    for line in LINES:
        if options.system not in (None, line["system"]):
            continue
        command = [sys.executable, __file__, "--worker", json.dumps(line)]
        row = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        what = ", ".join(f"{name} {value}" for name, value in line.items() if name != "system")
        print(
            f"| {line['system']} | {what} | {row['ms_per_step']} | {row['gflop_per_s']} | {row['peak_mb']} MB |",
            flush=True,
        )


if __name__ == "__main__":
    main()
