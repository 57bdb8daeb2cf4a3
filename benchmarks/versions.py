"""The time of a training step in two versions of the code, interleaved; medians and their ratio.

    git worktree add ../before 7b31a92
    python benchmarks/versions.py ../before

Each version has a process of its own, which takes its turn in each round. Settings are those of `leadax.speed`.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
SYSTEMS = {"lotka-volterra": (60, 15), "navier-stokes": (2, 9), "gray-scott": (1, 7)}  # steps per turn, turns


def main() -> None:
    """Compare, or be one of the two that are compared."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="a checkout of the other version")
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--turns-of", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.turns_of:
        take_turns(options.turns_of)
        return
    for system in options.systems.split(","):
        print(system, compared(system, {"before": options.before.resolve(), "now": HERE}), flush=True)


def compared(system: str, trees: dict[str, Path]) -> str:
    """Medians of both, in milliseconds."""
    workers = {name: _worker(system, tree) for name, tree in trees.items()}
    times: dict[str, list[float]] = {name: [] for name in workers}
    for turn in range(SYSTEMS[system][1]):
        for name in sorted(workers, reverse=bool(turn % 2)):
            times[name].append(_turn(workers[name]))
    for worker in workers.values():
        worker.communicate()
    middle = {name: statistics.median(each) for name, each in times.items()}
    return ", ".join(f"{name} {ms:.2f} ms" for name, ms in middle.items()) + f", {middle['now'] / middle['before']:.3f}"


def _worker(system: str, tree: Path) -> subprocess.Popen:
    command = [sys.executable, __file__, str(tree), "--turns-of", system]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    worker = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(tree / "src")}, **pipes)
    assert worker.stdout.readline() == "ready\n", f"{tree} does not run"
    return worker


def _turn(worker: subprocess.Popen) -> float:
    worker.stdin.write("go\n")
    worker.stdin.flush()
    return float(worker.stdout.readline())


def take_turns(system: str) -> None:
    """Take some steps for each line on standard input, and print how long one took."""
    from leadax.speed import Problem

    steps = SYSTEMS[system][0]
    run = Problem.of(system).program()
    run(1), run(steps)
    print("ready", flush=True)
    for _ in sys.stdin:
        begin = time.perf_counter()
        run(steps)
        print(1e3 * (time.perf_counter() - begin) / steps, flush=True)


if __name__ == "__main__":
    main()
