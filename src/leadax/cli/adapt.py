"""`leadax adapt`."""

import math
from functools import partial
from pathlib import Path
from typing import Literal

from .console import Json, check_seed, message, result, shown
from .options import DataFile, RunPath, open_model
from .runtime import prepare
from .train import RunFolderOption, recorded


def adapt(
    run: RunPath,
    data: DataFile,
    /,
    *,
    out: RunFolderOption,
    scheme: Literal["specific", "shared-only", "scratch"] = "specific",
    test: Path | None = None,
    steps: int = 2_500,
    seed: int = 0,
    optimiser: Literal["adam", "muon"] = "adam",
    learning_rate: float = 1e-3,
    decay: Literal["cosine", "constant", "one-cycle"] = "cosine",
    look_every: int = 50,
    checkpoint_every: int = 1_000,
    at: str = "50,2500,10000",
    json: Json = False,
) -> None:
    """Learn novel environments, from as little as one trajectory of each, with what a trained model knows.

    Args:
        scheme: specific: what is shared stays fixed, a new specific part learns; shared-only: nothing learns; scratch:
            a model of the new data alone, to compare with.
        test: A data file with the same novel environments, looked at on the way and never learnt from.
        steps: Gradient steps.
        seed: The same seed gives the same model on the same machine.
        optimiser: Adam, or Muon for weights that are matrices and Adam for the rest.
        learning_rate: The highest on the way: of the first step, but in one cycle.
        decay: What becomes of the learning rate: cosine to zero at the last step; constant as in the paper; one-cycle,
            up and down, for higher rates.
        look_every: Steps between looks at the test set.
        checkpoint_every: Steps between checkpoints.
        at: Steps, with commas between them, at which the test error is reported.
    """
    from ..data import load

    chosen = _steps(at)
    check_seed(seed)
    novel, testing = load(data), load(test) if test else None
    prepare(1)
    import jax.random as jr

    from .. import adapting

    model = open_model(run)
    learn = partial(
        adapting.adapt,
        model,
        novel,
        key=jr.key(seed),
        scheme=scheme,
        steps=steps,
        learning_rate=learning_rate,
        optimiser=optimiser,
        decay=decay,
        look_every=math.gcd(look_every, *(step for step in chosen if 0 < step <= steps)),
        checkpoint_every=checkpoint_every,
    )
    document = recorded(learn, novel, testing, out, title=scheme)
    document |= {"scheme": scheme, "at": {}}
    if testing is not None and scheme == "shared-only":  # it stays as it is
        document["at"] = {str(step): document["test"]["last"] for step in chosen}
    elif testing is not None:
        document["at"] = _errors_at(chosen, out)
    lines = [f"{out}: {scheme}, {document['steps']} steps, environments {', '.join(novel.environments)}"]
    lines += [f"mean squared error {shown(document['mse'])} on the data"]
    lines += [
        f"mean squared error {shown(value)} on the test data after {step} steps"
        for step, value in document["at"].items()
    ]
    if testing is not None:
        lines += [f"mean squared error {shown(document['test']['last'])} on the test data at the end"]
    result(document, "\n".join(lines), as_json=json)
    message(f"forecast with: leadax predict {out} DATA --out FILE")


def _steps(text: str) -> list[int]:
    from ..errors import InputError

    try:
        return [int(word) for word in text.split(",") if word.strip()]
    except ValueError:
        raise InputError(f"`--at` must be step numbers with commas between them, got `{text}`") from None


def _errors_at(steps: list[int], out: Path) -> dict[str, float]:
    """Test error, mean over seeds, at those of the steps that were looked at."""
    from ..checkpoint import RunFolder

    looks = {line["step"]: line["test"] for line in RunFolder(out).metrics()}
    return {str(step): sum(looks[step]) / len(looks[step]) for step in steps if looks.get(step)}
