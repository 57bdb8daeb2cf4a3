"""The time of a training step in two versions of the code, interleaved; medians and their ratio.

    git worktree add ../before 7b31a92
    python benchmarks/versions.py ../before
    python benchmarks/versions.py ../before --count   # operations of the loss and its gradient, and the loss

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
    parser.add_argument("--count", action="store_true", help="operations instead of times")
    parser.add_argument("--turns-of", help=argparse.SUPPRESS)
    parser.add_argument("--count-of", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.count_of:
        print(counted(options.count_of))
        return
    if options.turns_of:
        take_turns(options.turns_of)
        return
    for system in options.systems.split(","):
        if options.count:
            for name, tree in {"before": options.before.resolve(), "now": HERE}.items():
                command = [sys.executable, __file__, str(tree), "--count-of", system]
                print(
                    system,
                    name,
                    subprocess.check_output(command, env=_environment(tree), text=True),
                    end="",
                    flush=True,
                )
            continue
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
    worker = subprocess.Popen(command, env=_environment(tree), **pipes)
    assert worker.stdout.readline() == "ready\n", f"{tree} does not run"
    return worker


def _environment(tree: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(tree / "src")}


def counted(system: str) -> str:
    """What the compiler counts in the program of the loss and its gradient; and the loss, in all its digits."""
    import jax

    from leadax.speed import Problem

    problem, jit, found = Problem.of(system), jax.jit, []

    def counting(function):
        def call(*arguments):
            found.append(jit(function).lower(*arguments).compile().cost_analysis())
            return jit(function)(*arguments)

        return call

    jax.jit = counting
    loss = problem.loss_and_gradient()[0]
    return f"{found[0]['flops']:.0f} operations, {found[0]['bytes accessed']:.0f} bytes, loss {loss!r}"


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
