"""Pages about fitted models: their errors side by side, and pictures of what they learnt."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..data import Trajectories
from .baselines import best_of, meanings
from .figures import check_names, model_figures, not_drawn
from .learnt import decomposed, share_table, share_text
from .numbers import listed
from .page import Page
from .tables import MAX_COLUMNS, channel_table, cost_table, environment_table, error_table

MAX_NAMED = 6  # forecasts that diverged

if TYPE_CHECKING:
    from ..evaluate import Evaluation
    from ..model import Model


def model_page(
    models: "Mapping[str, Model]",
    evaluations: "Mapping[str, Evaluation]",
    test: Trajectories,
    title: str,
    baselines: "Mapping[str, Evaluation] | None" = None,
) -> Page:
    """A page about models of the same environments: a verdict, tables of their errors, then pictures.

    **Arguments**

    - `models`: by the name to show; `evaluations`: of each model on `test`, by the same names;
    - `baselines`: evaluations of simple forecasts to compare with (`leadax.yardsticks`), by name.
    """
    check_names(models, evaluations)
    evaluations, baselines = {name: evaluations[name] for name in models}, baselines or {}
    page = Page(title)
    _verdict(page, evaluations, baselines)
    _errors(page, models, evaluations, baselines, test)
    _environments(page, evaluations, baselines)
    page.heading("Pictures")
    if omitted := not_drawn(models, test):
        page.text(omitted)
    for caption, figure in model_figures(models, test, evaluations, baselines).items():
        page.figure(figure, caption)
    _shares(page, models, evaluations, test)
    return page


def _verdict(page: Page, evaluations: "Mapping[str, Evaluation]", baselines: "Mapping[str, Evaluation]") -> None:
    from ..choose import verdict

    if len(evaluations) > 1 or baselines:
        page.heading("Verdict")
        page.text(verdict(evaluations, baselines))


def _errors(
    page: Page,
    models: "Mapping[str, Model]",
    evaluations: "Mapping[str, Evaluation]",
    baselines: "Mapping[str, Evaluation]",
    test: Trajectories,
) -> None:
    page.heading("Errors")
    page.text(
        "Of forecasts from the first state of each test trajectory. Normalised errors are mean squared errors divided "
        "by the variance of each channel, then averaged over channels: 1 is as wrong as the mean of the data. The "
        "smallest is bold; where two are equal, both are. R² is the share of the variance that is explained. Median: "
        "half of the trajectories have a smaller normalised error. The mean squared error and its standard deviations "
        "are in the units of the data. Diverged: forecasts that are off by "
        "more than the range of the training data."
    )
    if note := _cross_validated(evaluations, test):
        page.text(note)
    if baselines:
        page.text(meanings(baselines))
    page.table(*error_table(evaluations, baselines))
    if any(evaluation.diverged for evaluation in evaluations.values()):
        lost = [_lost(name, evaluation, test) for name, evaluation in evaluations.items() if evaluation.diverged]
        page.text(f"Forecasts diverged, {listed(lost)}: their errors decide the mean. The median tells of the others.")
    if len(next(iter(evaluations.values())).channels) > MAX_COLUMNS:
        page.text("The normalised error of each channel:")
        page.table(*channel_table({**evaluations, **baselines}))
    page.table(*cost_table(models))


def _lost(name: str, evaluation: "Evaluation", test: Trajectories) -> str:
    """How many forecasts of a model diverged; and which, where the errors are of these test data."""
    found = evaluation.diverged_trajectories
    text = f"{evaluation.diverged:,} of `{name}`"
    if evaluation.environments != test.environments or found.shape != test.lengths.shape:
        return text  # of all folds of a cross-validation
    places = [test.place(e, i) for e, i in np.argwhere(found)]
    more = [f"{len(places) - MAX_NAMED:,} more"] if len(places) > MAX_NAMED else []
    return f"{text} ({listed([*places[:MAX_NAMED], *more])})"


def _cross_validated(evaluations: "Mapping[str, Evaluation]", test: Trajectories) -> str:
    """Errors of a cross-validation are of more trajectories than the pictures."""
    counted = max(evaluation.mse_per_trajectory.shape[1] for evaluation in evaluations.values())
    drawn = int(test.counts.sum())
    if counted <= drawn:
        return ""
    return (
        f"Errors are of a cross-validation: of {counted:,} test trajectories in all folds. Costs, pictures and what "
        f"was learnt are those of the models of one fold, with its {drawn:,} test trajectories."
    )


def _environments(page: Page, evaluations: "Mapping[str, Evaluation]", baselines: "Mapping[str, Evaluation]") -> None:
    page.heading("Errors in each environment")
    best = {best_of(baselines): baselines[best_of(baselines)]} if baselines else {}
    page.text("Normalised errors" + "".join(f"; `{name}` is the best baseline" for name in best) + ".")
    page.table(*environment_table({**evaluations, **best}))


def _shares(
    page: Page, models: "Mapping[str, Model]", evaluations: "Mapping[str, Evaluation]", test: Trajectories
) -> None:
    """How much of the dynamics is specific, for a model with both parts."""
    from .parts import shares

    name = decomposed(models, test, evaluations)
    found = shares(models[name], test) if name is not None else []
    if name is not None and any(share.shared for share in found) and any(share.specific for share in found):
        page.text(share_text(name, found))
        page.table(*share_table(found))
