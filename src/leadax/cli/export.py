"""`leadax export`."""

from pathlib import Path
from typing import Annotated, Literal

from .._atomic import check_destination, replacing
from ..errors import InputError
from .console import Json, Overwrite, optional, result
from .options import RunPath, Using, open_model
from .predict import parsed_times
from .runtime import prepare


def export(
    run: RunPath,
    /,
    *,
    out: Path,
    what: Literal["forecast", "field"] = "forecast",
    times: Annotated[str | None, optional("TIMES")] = None,
    using: Using = (),
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Turn a model into StableHLO, a file that runs wherever JAX does, without Leadax.

    Args:
        out: The file to write. A name that ends in .mlir gets the text of the program, for other tools.
        what: forecast: (environment, states) to states at TIMES; field: (environment, states, time) to dx/dt.
            Environments are numbers, counted from 0.
        times: Of a forecast, from that of the state on: numbers separated by commas, or START:STOP:STEP. They are part
            of the file.
    """
    if (what == "forecast") != (times is not None):
        raise InputError("a forecast needs `--times`, such as 0:10:0.5, and a field takes none")
    check_destination(out, overwrite=overwrite)
    moments = None if times is None else parsed_times(times)
    prepare()
    from ..export import export_field, export_forecast

    model = open_model(run, using)
    exported = export_field(model) if moments is None else export_forecast(model, moments)
    content = exported.mlir_module().encode() if out.suffix == ".mlir" else bytes(exported.serialize())
    with replacing(out, overwrite=overwrite) as temporary:
        temporary.write_bytes(content)
    document = {
        "out": str(out),
        "what": what,
        "environments": list(model.environments),
        "channels": list(model.channels),
        "inputs": list(model.layout.inputs),
        "times": moments,
        "platforms": list(exported.platforms),
        "bytes": len(content),
    }
    known = ", ".join(f"{i} {name}" for i, name in enumerate(model.environments[:6]))
    more = ", …" if len(model.environments) > 6 else ""
    text = f"{out}: {what}, {len(content):,} bytes, for {', '.join(exported.platforms)}\nenvironments: {known}{more}"
    result(document, text, as_json=json)
