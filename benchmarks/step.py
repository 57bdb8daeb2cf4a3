"""One LEADS training step, side by side: Leadax, PyTorch as a user would write it, PyTorch batched, and the limit.

    make bench           # all systems; writes benchmarks/results.json, which `leadax bench` compares with
    python benchmarks/step.py --systems lotka-volterra

Same shapes, nets, solver, data, float32, both threads. All three first compute the same loss and gradients, to 1e-4
relative. Then they take turns, and medians are compared. The limit is the floating-point operations of the linear maps
of a step (`leadax.speed.Problem.operations`) over the rate of large matrix products, measured in the same run.
"""

import argparse
import json
import math
import os
import platform
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from leadax.speed import SYSTEMS, Problem, interleaved, product_rate

ROUNDS = {"lotka-volterra": (15, 50), "gray-scott": (5, 1), "navier-stokes": (7, 2)}


def agree(name: str, peer: Any, expected: tuple[float, Any]) -> None:
    """Stop unless loss and gradient are the same to 1e-4: the distance of the gradients relative to their length."""
    loss, arrays = peer.loss_and_gradient()
    # The peer reads a gradient as it reads weights, so that arrays come in its own order and layout.
    read = lambda net, half: [np.asarray(a) for a in type(net)(half).parameters]
    wanted = read(peer.f, expected[1].shared) + read(peer.g, expected[1].specific)
    size = lambda vectors: math.sqrt(sum(float(np.sum(np.square(v))) for v in vectors))
    distance = abs(loss / expected[0] - 1)
    gradients = size(a - b for a, b in zip(wanted, arrays, strict=True)) / size(wanted)
    print(f"  {name}: loss differs by {distance:.1e}, gradients by {gradients:.1e}", file=sys.stderr)
    if max(distance, gradients) > 1e-4:
        sys.exit(f"{name} computes something else: loss {loss} against {expected[0]}")


def measure(system: str) -> dict[str, Any]:
    import torch
    from peers.torch_step import Batched, Loop

    torch.set_num_threads(os.cpu_count() or 1)
    print(system, file=sys.stderr)
    problem = Problem.of(system)
    begin = time.perf_counter()
    run = problem.program()
    run(1)
    first = time.perf_counter() - begin
    rounds, steps = ROUNDS[system]
    runners: dict[str, Any] = {"leadax_ms": (run, steps)}
    expected = problem.loss_and_gradient()
    for name, kind in {"torch_batched_ms": Batched, "torch_loop_ms": Loop}.items():
        peer = kind(problem)
        agree(name, peer, expected)
        runners[name] = (lambda count, peer=peer: [peer() for _ in range(count)], 1)
    rates: list[float] = []
    runners["products"] = (lambda count: rates.append(product_rate()), 1)
    row = interleaved(runners, rounds)
    del row["products"]
    rate = statistics.median(rates)
    return {
        **row,
        "limit_ms": 1e3 * problem.operations / rate,
        "compile_s": first,
        "gflop_per_step": problem.operations / 1e9,
        "product_gflop_per_s": rate / 1e9,
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
    }


def text(rows: dict[str, dict[str, Any]]) -> str:
    """The table of docs/performance.md."""
    lines = [
        "| | Leadax | `torch-loop` | `torch-batched` | limit | over loop | over batched | share of the limit |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for system, row in rows.items():
        ours, loop, batched, limit = (row[f"{n}_ms"] for n in ("leadax", "torch_loop", "torch_batched", "limit"))
        lines.append(
            f"| {system} | {ours:.3g} ms | {loop:.0f} ms | {batched:.0f} ms | {limit:.3g} ms | "
            f"{loop / ours:.1f}× | {batched / ours:.1f}× | {limit / ours:.0%} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--json", action="store_true", help="a JSON document in place of the table")
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    options = parser.parse_args()
    rows = {system: measure(system) for system in options.systems.split(",")}
    document = json.dumps(rows, indent=2)
    print(document if options.json else text(rows))
    if options.out:
        options.out.write_text(document + "\n")


if __name__ == "__main__":
    main()
