"""One LEADS training step, side by side: Leadax, PyTorch as a user would write it, PyTorch batched, and the limit.

    make bench                                  # or: python benchmarks/step.py --out benchmarks/results.json

Same shapes, nets, solver, data, float32, both threads. All three first compute the same loss and gradients, to 1e-4
relative. Then they take turns, and medians are compared. The limit is the floating-point operations of the linear maps
of a step (formula in `operations`) over the rate of large matrix products, measured in the same run.
"""

import argparse
import json
import math
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from peers.problem import SYSTEMS, Problem

REPEATS = {"lotka-volterra": (15, 50), "gray-scott": (5, 1), "navier-stokes": (5, 2)}


def operations(problem: Problem) -> float:
    """Σ over linear maps of 2·in·out per point, times evaluations, times 3: forward, and twice that backward.

    Evaluations: stages · intervals of f and of g_e for each trajectory, and one of g_e at each observed state for Ω.
    The first layer needs no gradient with respect to data, and Ω none with respect to states; both are counted.
    """
    m, n, k = problem.batch.times.shape
    stages = 1 if problem.recipe.method.solver == "euler" else 4
    per_net = _per_state(problem.parts.shared, problem.batch.states.shape[3:])
    return 3 * per_net * m * n * (2 * stages * (k - 1) + k)


def _per_state(net, state_shape: tuple[int, ...]) -> float:
    points = math.prod(state_shape[:-1])
    total = 0
    for layer in net.layers:
        if type(layer).__name__ == "SpectralConvolution":
            _, modes, inputs, outputs = layer.weight.shape
            rows, columns = state_shape[:2]
            kept = round(math.sqrt(modes / 2))
            transform = 2 * (2 * kept) * columns * rows + 2 * (2 * 2 * kept) * (2 * rows) * kept
            total += (inputs + outputs) * transform + 2 * modes * (2 * inputs) * (2 * outputs)
        else:
            total += 2 * layer.weight.size * points
    return total


def product_rate() -> float:
    """Operations per second of a product of two 2048 × 2048 matrices, best of several."""
    a = jnp.ones((2048, 2048), jnp.float32)
    product = jax.jit(lambda a: a @ a)
    product(a).block_until_ready()
    times = []
    for _ in range(8):
        begin = time.perf_counter()
        product(a).block_until_ready()
        times.append(time.perf_counter() - begin)
    return 2 * 2048**3 / min(times)


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


def measure(system: str) -> dict[str, float]:
    print(system, file=sys.stderr)
    problem = Problem.of(system)
    repeats, steps = REPEATS[system]
    begin = time.perf_counter()
    run = problem.program()
    run(1)
    compile_s = time.perf_counter() - begin
    runners = {"leadax_ms": (run, steps)}
    expected = problem.loss_and_gradient()
    try:
        import torch
        from peers.torch_step import Batched, Loop
    except ImportError:
        print("  PyTorch and torchdiffeq are not installed: pip install 'leadax[bench]'", file=sys.stderr)
    else:
        torch.set_num_threads(2)
        for name, kind in {"torch_batched_ms": Batched, "torch_loop_ms": Loop}.items():
            peer = kind(problem)
            agree(name, peer, expected)
            runners[name] = (lambda count, peer=peer: [peer() for _ in range(count)], 1)
    times = {name: [] for name in runners}
    rates = []
    for _ in range(repeats):
        rates.append(product_rate())
        for name, (function, count) in runners.items():
            begin = time.perf_counter()
            function(count)
            times[name].append((time.perf_counter() - begin) / count * 1e3)
    rate = statistics.median(rates)
    row = {name: statistics.median(found) for name, found in times.items()}
    work = operations(problem)
    return {
        **row,
        "limit_ms": work / rate * 1e3,
        "compile_s": compile_s,
        "gflop_per_step": work / 1e9,
        "product_gflop_per_s": rate / 1e9,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = {system: measure(system) for system in options.systems.split(",")}
    head = ("leadax", "loop", "batched", "limit")
    print(f"{'':16} " + " ".join(f"{h:>9}" for h in head) + f"  {'x loop':>7} {'x batched':>9} {'of limit':>8}")
    for system, row in rows.items():
        loop, batched = row.get("torch_loop_ms", math.nan), row.get("torch_batched_ms", math.nan)
        ours = row["leadax_ms"]
        print(
            f"{system:16} {ours:6.1f} ms {loop:6.0f} ms {batched:6.0f} ms {row['limit_ms']:6.1f} ms  "
            f"{loop / ours:7.1f} {batched / ours:9.1f} {row['limit_ms'] / ours:8.0%}"
        )
    if options.out:
        options.out.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
