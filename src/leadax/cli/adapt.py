"""`leadax adapt`."""

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import tyro

from ..errors import InputError
from .checks import check_count, check_positive, check_run, check_seed
from .console import File, Json, Number, message, optional, result, shown
from .names import Decay, Optimiser, Scheme
from .options import DECAYS, RunFolderOption, RunPath, Using, open_model
from .reading import Reading, warn_of_names
from .runtime import prepare
from .train import recorded

if TYPE_CHECKING:
    from ..model import Model


New: TypeAlias = tyro.conf.UseAppendAction[
    Annotated[
        tuple[str, ...],
        tyro.conf.arg(
            metavar="NAME:COVARIATE=VALUE[,…]",
            help="In place of DATA: an environment of which only its covariates are known.",
        ),
    ]
]


def adapt(
    run: RunPath,
    data: Annotated[Path | None, tyro.conf.Positional, optional("DATA", "A data file; or use --new.")] = None,
    /,
    *,
    out: RunFolderOption,
    new: New = (),
    scheme: Scheme = "auto",
    test: File = None,
    steps: int = 2_500,
    seed: int = 0,
    optimiser: Optimiser = "adam",
    learning_rate: Number = None,
    decay: Annotated[Decay, tyro.conf.arg(help=DECAYS.split(" By")[0])] = "cosine",
    look_every: int = 50,
    checkpoint_every: int = 1_000,
    at: str = "50,2500,10000",
    using: Using = (),
    reading: tyro.conf.OmitArgPrefixes[Reading] = Reading(),
    json: Json = False,
) -> None:
    """Learn new environments, from as little as one trajectory of each, with the help of a trained model.

    Args:
        scheme: What learns, while the shared part stays fixed. mixture: a few numbers that mix the known environments;
            specific: a new specific part; auto: both are tried with a part of the data held out; shared-only: nothing;
            scratch: a model of the new data alone, to compare with.
        test: A data file with the same new environments. Errors on it are measured during training; it is never learnt
            from.
        steps: Gradient steps.
        seed: The same seed gives the same model on the same machine.
        optimiser: adam; or muon, for weights that are matrices, with Adam for the rest.
        learning_rate: The highest learning rate: that of the first step, except in one cycle; by default 1e-3, and 0.03
            for a mixture.
        look_every: Steps between looks at the test data.
        checkpoint_every: Steps between checkpoints.
        at: Steps, separated by commas, at which the test error is reported.
    """
    counts = {"--steps": steps, "--look-every": look_every, "--checkpoint-every": checkpoint_every}
    for option, count in counts.items():
        check_count(option, count)
    check_seed(seed)
    check_positive("--learning-rate", learning_rate)
    check_run(out)
    chosen = _steps(at)
    if (data is None) == (not new):
        raise InputError("give the data of new environments, DATA, or their covariates, `--new NAME:COVARIATE=VALUE`")
    if data is None:
        _unseen(run, parsed_covariates(new), out, using, json)
        return
    novel, testing = reading.load(data), reading.load(test) if test else None
    prepare(1)
    import jax.random as jr

    from ..adapt import adapt as adapt_model
    from ..train import Recipe

    model = open_model(run, using, reading)
    warn_of_names(novel.channels, model.channels)
    every = math.gcd(look_every, *(step for step in chosen if step <= steps))
    recipe = Recipe(decay=decay, protocol=model.protocol, look_every=every, checkpoint_every=checkpoint_every)
    more = {"steps": steps, "learning_rate": learning_rate, "optimiser": optimiser, "recipe": recipe}
    learn = partial(adapt_model, model, novel, key=jr.key(seed), scheme=scheme, test=testing, **more)
    adapted, document = recorded(learn, out, title=scheme)
    document |= {"scheme": _scheme(scheme, adapted), "at": _errors_at(chosen, adapted, document)}
    result(document, _text(document, out, ", ".join(novel.environments)), as_json=json)
    if document["reliable"]:
        message(f"forecast with: leadax predict {out} DATA --out FILE")
    else:
        message("warning: do not trust its forecasts")  # the line above says why


def _unseen(run: Path, covariates: dict[str, dict[str, float]], out: Path, using: tuple[str, ...], json: bool) -> None:
    prepare(1)
    import jax.random as jr

    from ..adapt import adapt as adapt_model
    from ..train import RunFolder

    adapt_model(open_model(run, using), covariates=covariates, key=jr.key(0), run=out)
    document = RunFolder(out).result()
    text = f"{out}: environments {', '.join(covariates)} from their covariates; nothing was learnt"
    result(document | {"scheme": "covariates"}, text, as_json=json)
    message(f"warning: {document['reason']}")


def parsed_covariates(texts: Sequence[str]) -> dict[str, dict[str, float]]:
    """What `--new` says.

    >>> parsed_covariates(["ann:Wt=70,Age=40"])
    {'ann': {'Wt': 70.0, 'Age': 40.0}}
    """
    found: dict[str, dict[str, float]] = {}
    for text in texts:
        name, _, rest = text.rpartition(":")
        pairs = [tuple(word.strip() for word in part.partition("=")[::2]) for part in rest.split(",")]
        try:
            numbers = {key: float(value) for key, value in pairs}
        except ValueError:
            numbers = {}
        if not name or not numbers or len(numbers) < len(pairs) or name in found:
            raise InputError(f"`--new` must be NAME:COVARIATE=VALUE[,…], once for each environment, got `{text}`")
        found[name] = numbers
    return found


def _scheme(wanted: str, new: "Model") -> str:
    """The scheme that was carried out, where the choice was left to `auto`."""
    from ..methods.mixture import Mixture

    if wanted != "auto":
        return wanted
    learnt = new.training is not None and new.training.steps > 0
    return "mixture" if isinstance(new.method, Mixture) else "specific" if learnt else "shared-only"


def _steps(text: str) -> list[int]:
    """The step numbers in `--at`."""
    try:
        steps = [int(word) for word in text.split(",") if word.strip()]
    except ValueError:
        raise InputError(f"`--at` must be step numbers separated by commas, got `{text}`") from None
    for step in steps:
        check_count("--at", step)
    return steps


def _errors_at(steps: list[int], model: "Model", document: dict[str, Any]) -> dict[str, float | None]:
    """The test error, mean over seeds, at those of the steps that were taken."""
    if "test" not in document:
        return {}
    if model.training is None or not model.training.steps:  # nothing was learnt: it stays as it is
        return {str(step): document["test"]["last"] for step in steps}
    seen = {snapshot.step: snapshot.test for snapshot in model.training.history if snapshot.test}
    return {str(step): sum(seen[step]) / len(seen[step]) for step in steps if step in seen}


def _text(document: dict[str, Any], out: Path, environments: str) -> str:
    error = lambda value, where: f"mean squared error {shown(value)} on the {where}"
    lines = [f"{out}: {document['scheme']}, {document['steps']} steps, environments {environments}"]
    lines += [error(document["mse"], "data")]
    lines += [error(value, f"test data after {step} steps") for step, value in document["at"].items()]
    if "test" in document:
        lines += [error(document["test"]["last"], "test data at the end")]
    lines += [f"{'reliable' if document['reliable'] else 'not reliable'}: {document['reason']}"]
    return "\n".join(lines)
