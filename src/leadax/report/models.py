"""Pages about fitted models: their errors side by side, and pictures of what they learnt."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..data import Trajectories
from ..errors import InputError
from .curves import error_over_time, learning_curves
from .decomposition import vector_fields
from .fields import field_comparison
from .forecasts import forecast_first
from .page import Page
from .portraits import portraits
from .style import short
from .tables import environment_table, method_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..evaluate import Evaluation
    from ..model import Model

MAX_ENVIRONMENTS = 12
MAX_CHANNELS = 8


def model_page(
    models: "Mapping[str, Model]", evaluations: "Mapping[str, Evaluation]", test: Trajectories, title: str
) -> Page:
    """A page about models of the same environments: tables of their errors, then pictures.

    **Arguments**

    - `models`: by the name to show; `evaluations`: of each model on `test`, by the same names.
    """
    figures = model_figures(models, test, evaluations)
    evaluations = {name: evaluations[name] for name in models}
    page = Page(title)
    page.heading("Errors")
    page.text(
        "Mean squared error of forecasts from the first state of each test trajectory; the smallest is bold. "
        "R² is the share of the variance that is explained. Diverged: trajectories whose forecast left all bounds."
    )
    page.table(*method_table(models, evaluations))
    page.heading("Errors in each environment")
    page.table(*environment_table(evaluations))
    page.heading("Pictures")
    for what, count, most in (
        ("environments", len(test.environments), MAX_ENVIRONMENTS),
        ("channels", len(test.channels), MAX_CHANNELS),
    ):
        if count > most:
            page.text(f"Where {what} are shown one by one, these are the first of {count:,}.")
    for caption, figure in figures.items():
        page.figure(figure, caption)
    return page


def model_figures(
    models: "Mapping[str, Model]", test: Trajectories, evaluations: "Mapping[str, Evaluation]"
) -> "dict[str, Figure]":
    """The pictures of models by caption: how they learnt, how they forecast, and which f and g_e they found.

    **Arguments**

    - `models`: by the name to show; `evaluations`: of each model on `test`, by the same names.
    """
    _check_names(models, evaluations)
    figures: dict[str, Figure] = {}
    if (curves := learning_curves(models)) is not None:
        figures[
            "Errors and training loss (with its penalty, and of forecasts that may restart from the data): the mean "
            "over seeds, and a band from the best seed to the worst"
        ] = curves
    caption = "Mean squared error of all test trajectories over the time of a forecast"
    figures[caption] = error_over_time({name: evaluations[name] for name in models}, test)
    return figures | _comparisons(models, test) | _decomposition(models, test, evaluations)


def _comparisons(models: "Mapping[str, Model]", test: Trajectories) -> "dict[str, Figure]":
    """True and predicted states of the first test trajectory of each environment."""
    if len(test.space) > 2:
        return {}
    forecasts = forecast_first(models, test, MAX_ENVIRONMENTS)
    of, channels = "the first test trajectory of each environment", [short(name) for name in test.channels]
    note = "; each forecast is the mean over seeds" if any(model.members > 1 for model in models.values()) else ""
    if not test.space:
        where = f"in the plane of {channels[0]} and {channels[1]}" if len(channels) > 1 else "over time"
        return {f"Truth and forecasts of {of}, {where}{note}": portraits(forecasts, test.channels)}
    shown = "at its last time" if len(test.space) == 2 else "over space (upwards) and time"
    caption = lambda name: f"Channel {name}: truth, forecasts and their errors, {of} {shown}{note}"
    return {caption(name): field_comparison(forecasts, c, name) for c, name in enumerate(channels[:MAX_CHANNELS])}


def _decomposition(
    models: "Mapping[str, Model]", test: Trajectories, evaluations: "Mapping[str, Evaluation]"
) -> "dict[str, Figure]":
    """f and g_e of one model with two channels: of LEADS if there is one, otherwise of the best that has them."""
    from ..methods import Leads
    from .predicted import has_field

    having = [name for name, model in models.items() if test.state_shape == (2,) and has_field(model)]
    if not having:
        return {}
    error = lambda name: np.nan_to_num(evaluations[name].mse, nan=np.inf, posinf=np.inf)
    name = min(having, key=lambda name: (not isinstance(models[name].method, Leads), error(name)))
    who = short(name) + (" (mean over seeds)" if models[name].members > 1 else "")
    caption = f"What {who} learnt: f, shared by all environments, and g of single ones; dots are test data"
    return {caption: vector_fields(models[name], test)}


def _check_names(models: "Mapping[str, Model]", evaluations: "Mapping[str, Evaluation]") -> None:
    if not models or set(models) != set(evaluations):
        names = lambda given: ", ".join(map(short, given)) or "none"
        raise InputError(
            f"`models` and `evaluations` must have the same names, at least one; got {names(models)} and "
            f"{names(evaluations)}"
        )
