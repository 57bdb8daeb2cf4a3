"""`leadax explain`."""

from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from ..errors import InputError
from .checks import check_count
from .console import File, Json, optional, result
from .options import RunPath, Using, open_model
from .reading import Reading, listed_names
from .runtime import prepare

if TYPE_CHECKING:
    from ..data import Trajectories
    from ..explain import Relations
    from ..model import Model

Part = Literal["shared", "specific", "learnt"]


def explain(
    run: RunPath,
    /,
    *,
    data: File = None,
    part: Part = "specific",
    degree: int = 3,
    functions: str = "drag,sine,cosine",
    relate: Annotated[
        str | None,
        optional("NAME[,…]|all", "Numbers of the environments in DATA: how well each predicts what sets them apart."),
    ] = None,
    using: Using = (),
    reading: tyro.conf.OmitArgPrefixes[Reading] = Reading(),
    json: Json = False,
) -> None:
    """Turn what a model has learnt into formulas, and say how much of it they explain.

    Args:
        data: A data file: formulas are sought at its states. By default states are drawn from the range of the training
            data.
        part: shared: f; specific: g of each environment; learnt: their sum. A known formula is in none of them.
        degree: The largest degree of products of channels and inputs.
        functions: Further terms, separated by commas: drag (x |x|), sine, cosine; or none.
    """
    check_count("--degree", degree)
    if relate is not None and data is None:
        raise InputError("`--relate` needs the numbers of the environments: give them with `--data FILE`")
    observed = None if data is None else reading.load(data)
    prepare()
    model = open_model(run, using, reading)
    from ..explain import explain as explained

    chosen = [] if functions == "none" else listed_names("--functions", functions) or []
    found = explained(model, observed, part=part, degree=degree, functions=chosen)
    document, text = found.to_json(), str(found)
    if relate is not None and observed is not None:
        related = _related(model, observed, relate)
        document |= {"relations": related.to_json()}
        text += f"\nhow much of the differences between environments each number predicts:\n{related}"
    result(document, text, as_json=json)


def _related(model: "Model", data: "Trajectories", relate: str) -> "Relations":
    from ..explain import relations

    names = [] if relate == "all" else listed_names("--relate", relate) or []
    return relations(model, data, names)
