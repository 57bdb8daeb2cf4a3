"""`leadax simulate`."""

import time
from pathlib import Path
from typing import Annotated, Literal

import tyro

from .checks import check_count, check_seed
from .console import Count, Json, Overwrite, message, optional, progress_bar, result
from .names import SYSTEMS, Protocol, check_name
from .own import find_system

SystemName = Annotated[
    str,
    tyro.conf.Positional,
    tyro.conf.arg(
        metavar="SYSTEM",
        help=f"{', '.join(SYSTEMS)}; or package.module:NAME, a System of yours, or a function from a protocol to one. "
        "lotka-volterra-coda has nine other environments, navier-stokes-text the fourth forcing as printed.",
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
    protocol: Annotated[Protocol | None, optional("{paper,clean}")] = None,
    split: Literal["train", "test", "novel", "novel-test"] = "train",
    trajectories: Count = None,
    environments: Count = None,
    seed: int = 0,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Simulate a system, of the paper or of your own, and write its trajectories to a file.

    Args:
        protocol: How the equation is solved: with the paper's solvers and tolerances (paper), or to many digits (clean,
            the default).
        split: Which data. Splits never share an initial state; the novel ones have environments of their own.
        trajectories: The number of trajectories per environment; the paper's number by default.
        environments: Only the first so many environments; all by default.
        seed: The same seed gives the same data.
    """
    check_name("system", system, SYSTEMS)
    check_count("--trajectories", trajectories)
    check_count("--environments", environments)
    check_seed(seed)
    from ..data.files import check_output

    check_output(out, overwrite=overwrite)

    import jax.random as jr

    from ..systems import simulate as simulate_system

    start = time.perf_counter()
    chosen = find_system(system, protocol)
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
        "protocol": chosen.protocol,
        "split": split,
        "seed": seed,
        "environments": list(data.environments),
        "trajectories": data.counts.tolist(),
        "fingerprint": data.fingerprint,
        "seconds": time.perf_counter() - start,
    }
    result(document, f"{out}: {data}", as_json=json)
    message(f"look at it: leadax report {out}")
