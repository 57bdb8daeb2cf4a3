"""`leadax bench`."""

from typing import Annotated

from .checks import check_positive
from .console import Json, optional, progress_bar, result
from .names import check_name
from .runtime import prepare

# As in `leadax.speed.SYSTEMS`, which a test compares: a wrong name must not have to wait for JAX.
NAMES = ("lotka-volterra", "gray-scott", "navier-stokes")


def bench(*, system: Annotated[str | None, optional("NAME")] = None, seconds: float = 5.0, json: Json = False) -> None:
    """Time a training step of LEADS in the paper's settings, and say how this machine compares.

    Args:
        system: Only this one of lotka-volterra, gray-scott and navier-stokes; by default all three.
        seconds: How long to measure each, in seconds, after its program has been compiled.
    """
    if system is not None:
        check_name("system", system, NAMES)
    check_positive("--seconds", seconds)
    prepare()
    from ..speed import measured, reference

    chosen = (system,) if system else NAMES
    there, rows = reference(), {}
    with progress_bar("bench") as progress:
        for done, name in enumerate(chosen):
            progress(done, len(chosen), name)
            rows[name] = measured(name, seconds)
            rows[name]["times_the_reference"] = there[name]["leadax_ms"] / rows[name]["ms_per_step"]
        progress(len(chosen), len(chosen), "bench")
    result(rows, _text(rows, next(iter(there.values()))["machine"]), as_json=json)


def _text(rows: dict[str, dict[str, float]], machine: str) -> str:
    head = f"{'':16} {'a step':>10} {'first step':>11} {'of the limit':>13} {'of the reference':>17}"
    lines = [
        f"{name:16} {row['ms_per_step']:7.1f} ms {row['first_step_s']:9.1f} s {row['share_of_limit']:13.0%} "
        f"{row['times_the_reference']:16.2f}x"
        for name, row in rows.items()
    ]
    rate = next(iter(rows.values()))["product_gflop_per_s"]
    return "\n".join(
        [
            head,
            *lines,
            f"Matrix products: {rate:.0f} GFLOP/s. The limit: all linear maps of a step as plain products at that rate "
            "(convolutions need fewer multiplications).",
            "First step: includes compilation, unless the program was in the cache on disk.",
            f"The reference: {machine} (docs/performance.md). More than 1x: this machine is faster.",
        ]
    )
