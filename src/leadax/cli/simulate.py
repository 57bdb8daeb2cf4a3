"""`leadax simulate`."""

import time
from pathlib import Path
from typing import Annotated, Literal

import tyro

from ..errors import InputError, lookup
from .console import Json, Overwrite, check_seed, message, progress_bar, result

# Also in `leadax.systems.SYSTEMS` (tested): a wrong name is answered without waiting for JAX.
NAMES = ("lotka-volterra", "lotka-volterra-coda", "gray-scott", "navier-stokes", "navier-stokes-text", "linear")

SystemName = Annotated[
    str,
    tyro.conf.Positional,
    tyro.conf.arg(
        metavar="SYSTEM",
        help="lotka-volterra, lotka-volterra-coda (nine other environments), gray-scott, navier-stokes, "
        "navier-stokes-text (the fourth forcing as the paper prints "
        "it), or linear.",
    ),
]
Out = Annotated[
    Path,
    tyro.conf.Positional,
    tyro.conf.arg(metavar="OUT", help="The file to write: .nc, .zarr, .npz, .csv or .parquet."),
]


def simulate(
    system: SystemName,
    out: Out,
    /,
    *,
    protocol: Literal["paper", "clean"] = "clean",
    split: Literal["train", "test", "novel", "novel-test"] = "train",
    trajectories: int | None = None,
    environments: int | None = None,
    seed: int = 0,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Simulate a system of the paper and write its trajectories to a file.

    Args:
        protocol: How the data are solved: with the paper's solvers and tolerances, or to many digits.
        split: Which data: splits never share an initial state; the novel ones have environments of their own.
        trajectories: How many per environment; the paper's number by default.
        environments: Only the first so many environments; all by default.
        seed: The same seed gives the same data.
    """
    from ..data.files import check_output

    lookup("system", system, dict.fromkeys(NAMES))
    for name, count in (("trajectories", trajectories), ("environments", environments)):
        if count is not None and count < 1:
            raise InputError(f"`--{name}` must be at least 1, got {count}")
    check_seed(seed)
    check_output(out, overwrite=overwrite)

    import jax.random as jr

    from ..systems import get_system
    from ..systems import simulate as simulate_system

    start = time.perf_counter()
    chosen = get_system(system, protocol)
    with progress_bar(f"{system}, {split}") as progress:
        data = simulate_system(
            chosen,
            key=jr.key(seed),
            split=split,
            trajectories=trajectories,
            environments=environments,
            progress=progress,
        )
    data.save(out, overwrite=overwrite)
    document = {
        "out": str(out),
        "system": system,
        "protocol": protocol,
        "split": split,
        "seed": seed,
        "environments": list(data.environments),
        "trajectories": data.counts.tolist(),
        "fingerprint": data.fingerprint,
        "seconds": time.perf_counter() - start,
    }
    result(document, f"{out}: {data}", as_json=json)
    message(f"look at it: leadax report {out}")
