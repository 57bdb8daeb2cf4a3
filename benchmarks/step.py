"""One LEADS training step, side by side: Leadax, PyTorch as a user would write it, PyTorch batched, and the limit.

    make bench           # all systems; writes benchmarks/results.json, which `leadax bench` compares with
    python benchmarks/step.py --systems lotka-volterra

All have the same shapes, nets, solver and data, in float32. PyTorch runs on one thread and on all, and the faster one
counts. All three first have to compute the same loss and gradients, to a relative 1e-4. Then they take turns, and
medians are compared. The limit is the number of floating-point operations of a step
(`leadax.speed.Problem.operations`) over the rate of large matrix products, measured in the same run.

`leadax bench` times Leadax alone, and needs no PyTorch.
"""

import argparse
import dataclasses
import json
import math
import os
import platform
import statistics
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from leadax.speed import SYSTEMS, Problem, interleaved, product_rate

ROUNDS = {"lotka-volterra": (15, 50), "gray-scott": (5, 1), "navier-stokes": (7, 2)}


def agree(name: str, kind: Any, problem: Problem) -> None:
    """Stop unless the loss and each array of the gradient are the same to 1e-4, relative to the gradient's length.

    Ω is small beside the error, so it is also compared with a thousand times its weight, and without its second part.
    """
    method = problem.method
    heavy = dataclasses.replace(method, penalty_weight=1e3 * method.penalty_weight)
    # Not 0, with which Ω would have no second part to read settings from.
    norm_alone = dataclasses.replace(method.penalty, alpha=1e-12)
    alone = dataclasses.replace(method, penalty_weight=1e6 * method.penalty_weight, penalty=norm_alone)
    for what, other in {
        "": method,
        ", Ω a thousand times as heavy": heavy,
        ", Ω without its Lipschitz part": alone,
    }.items():
        same = dataclasses.replace(problem, method=other)
        peer = kind(same)
        (loss, arrays), (wanted, gradient) = peer.loss_and_gradient(), same.loss_and_gradient()
        # The peer reads a gradient as it reads weights, so that arrays come in its own order and layout.
        read = lambda net, level: [np.asarray(a) for a in type(net)(level).parameters]
        expected = read(peer.f, gradient.shared) + read(peer.g, gradient.specific)
        length = math.sqrt(sum(float(np.sum(np.square(a))) for a in expected))
        worst = max(float(np.linalg.norm(a - b)) for a, b in zip(expected, arrays, strict=True)) / length
        distance = abs(loss / wanted - 1)
        print(f"  {name}{what}: loss differs by {distance:.1e}, gradients by {worst:.1e}", file=sys.stderr)
        if max(distance, worst) > 1e-4:
            sys.exit(f"{name}{what} computes something else: loss {loss} against {wanted}")


def measure(system: str) -> dict[str, Any]:
    try:
        import torch
        from peers.torch_step import Batched, Loop
    except ImportError as error:
        sys.exit(f"{error}: pip install 'leadax[bench]'; `leadax bench` times Leadax alone")

    print(system, file=sys.stderr)
    peers = {"torch_batched": Batched, "torch_loop": Loop}
    problem = Problem.of(system)
    begin = time.perf_counter()
    run = problem.program()
    run(1)
    first = time.perf_counter() - begin
    rounds, steps = ROUNDS[system]
    rates: list[float] = []
    runners: dict[str, Any] = {"leadax_ms": (run, steps), "products": (lambda count: rates.append(product_rate()), 1)}
    threads = sorted({1, os.cpu_count() or 1})

    def turn(count: int, peer: Any, number: int) -> None:
        torch.set_num_threads(number)
        for _ in range(count):
            peer()

    for name, kind in peers.items():
        agree(name, kind, problem)
        peer = kind(problem)
        for number in threads:
            runners[f"{name}@{number}"] = (partial(turn, peer=peer, number=number), 1)
    row = interleaved(runners, rounds)
    rate = statistics.median(rates)
    # With small arrays PyTorch is faster on one thread: its best time counts.
    best = {f"{name}_ms": min(row[f"{name}@{number}"] for number in threads) for name in peers}
    return {
        "leadax_ms": row["leadax_ms"],
        **best,
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
