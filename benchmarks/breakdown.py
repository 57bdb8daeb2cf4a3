"""Where the time of a LEADS training step goes, by kind of operation.

    python benchmarks/breakdown.py gray-scott [--steps 3] [--all]

Thread-milliseconds per step, summed over all threads, from `jax.profiler`. The rest of threads × wall time is waiting,
starting operations, and whatever the profiler does not name. Operations are sorted by the compiler's names for them.
"""

import argparse
import collections
import gzip
import json
import os
import re
import tempfile
import time
from pathlib import Path
from typing import Any

# The first that matches counts. XLA names a fusion after what it fuses, in order.
KINDS = {
    "matrix products": r"dot|gemm|ynn|onednn|custom-call|convolution",
    "Fourier transforms": r"fft",
    "residuals written and read": r"dynamic-update-slice|dynamic_update_slice|dynamic-slice|dynamic_slice",
    "gathering and rolling neighbours": r"gather|concatenate|pad|roll",
    "copies and transpositions": r"copy|transpose|bitcast|reshape",
    "activations and their derivatives": r"logistic|exponential|tanh|log|softplus|divide",
    "sums": r"reduce",
    "other, element by element": r".",
}
# What holds other operations, or waits for them.
STRUCTURE = r"while|call|Execute|Thunk|body|condition|tuple|parameter|end:|.*::"


def operations(system: str, steps: int) -> tuple[float, dict[str, tuple[int, float]]]:
    """Milliseconds per step, and for each name of an operation how often it ran per step and for how long."""
    import jax

    from leadax.speed import Problem

    run = Problem.of(system).program()
    run(steps)
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder, create_perfetto_trace=True):
            begin = time.perf_counter()
            run(steps)
            wall = (time.perf_counter() - begin) / steps * 1e3
        events = _events(Path(folder))
    found: dict[str, list[float]] = collections.defaultdict(lambda: [0, 0.0])
    for event in events:
        name = re.sub(r"[.\d]+$", "", event["name"])
        found[name][0] += 1 / steps
        found[name][1] += event["dur"] / steps / 1e3
    return wall, {name: (round(count), ms) for name, (count, ms) in found.items()}


def _events(folder: Path) -> list[dict[str, Any]]:
    """Operations on the threads that compute."""
    (file,) = folder.rglob("*perfetto_trace.json.gz")
    content = json.loads(gzip.decompress(file.read_bytes()))
    events = content if isinstance(content, list) else content["traceEvents"]
    threads = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e.get("name") == "thread_name"}
    computes = lambda e: e.get("ph") == "X" and "XLA" in threads.get((e["pid"], e["tid"]), "")
    return [e for e in events if computes(e) and not re.match(STRUCTURE, e["name"])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("system", choices=["lotka-volterra", "gray-scott", "navier-stokes"])
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--all", action="store_true", help="also list the forty names that take longest")
    options = parser.parse_args()
    wall, found = operations(options.system, options.steps)
    kinds: dict[str, list[float]] = {kind: [0, 0.0] for kind in KINDS}
    for name, (count, ms) in found.items():
        kind = next(kind for kind, pattern in KINDS.items() if re.search(pattern, name))
        kinds[kind][0] += count
        kinds[kind][1] += ms
    threads = os.cpu_count() or 1
    print(
        f"a step takes {wall:.1f} ms: {threads * wall:.0f} thread-ms\n\n| {options.system} | operations | thread-ms |"
    )
    print("|---|---|---|")
    for kind, (count, ms) in sorted(kinds.items(), key=lambda item: -item[1][1]):
        if count:
            print(f"| {kind} | {count:.0f} | {ms:.1f} |")
    print(f"| waiting, starting operations | | {threads * wall - sum(ms for _, ms in kinds.values()):.1f} |")
    if options.all:
        for name, (count, ms) in sorted(found.items(), key=lambda item: -item[1][1])[:40]:
            print(f"{ms:9.2f} ms  {count:6d} x  {name}")


if __name__ == "__main__":
    main()
