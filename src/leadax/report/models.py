"""Pages about fitted models: their errors side by side, and pictures of what they learnt."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..data import Trajectories
from ..errors import InputError
from .curves import error_over_time, learning_curves
from .decomposition import vector_fields
from .fields import field_comparison
from .forecasts import Forecasts, forecast_first
from .page import Page
from .portraits import portraits
from .tables import environment_table, method_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..evaluation import Evaluation
    from ..model import Model

MAX_ENVIRONMENTS = 12


def model_page(
    models: "Mapping[str, Model]", evaluations: "Mapping[str, Evaluation]", test: Trajectories, title: str
) -> Page:
    """A page about fitted models of the same environments: tables of their errors, then the pictures.

    **Arguments**

    - `models`: by the name that a reader sees;
    - `evaluations`: of each model on `test`, by the same names.
    """
    evaluations = _in_order(models, evaluations)
    page = Page(title)
    page.heading("Errors")
    page.text("Mean squared error of forecasts from the first state of each test trajectory. The smallest is bold.")
    page.table(*method_table(models, evaluations))
    page.heading("Errors in each environment")
    page.table(*environment_table(evaluations))
    page.heading("Pictures")
    if len(test.environments) > MAX_ENVIRONMENTS:
        page.text(f"Where environments are shown one by one, these are the first of {len(test.environments)}.")
    for caption, figure in model_figures(models, test, evaluations).items():
        page.figure(figure, caption)
    return page


def model_figures(
    models: "Mapping[str, Model]", test: Trajectories, evaluations: "Mapping[str, Evaluation] | None" = None
) -> "dict[str, Figure]":
    """The pictures of fitted models by caption: how they learnt, how they forecast, and which f and g_e they found.

    **Arguments**

    - `models`: by the name that a reader sees;
    - `evaluations`: of each model on `test`, by the same names; made here if not given.
    """
    if evaluations is None:
        from ..evaluation import evaluate

        evaluations = {name: evaluate(model, test) for name, model in models.items()}
    figures: dict[str, Figure] = {}
    if (curves := learning_curves(models)) is not None:
        figures[
            "Test error and training loss (with its penalty, of forecasts that may restart from the data): the mean "
            "over seeds, and a band from the best seed to the worst"
        ] = curves
    caption = "Mean squared error over the time of a forecast, of all test trajectories"
    figures[caption] = error_over_time(_in_order(models, evaluations), test)
    several = any(model.seeds > 1 for model in models.values())
    note = "; each forecast is the mean over seeds" if several else ""
    for caption, figure in _comparisons(forecast_first(models, test, MAX_ENVIRONMENTS), test).items():
        figures[caption + note] = figure
    name = _decomposed(models, evaluations)
    if test.state_shape == (2,) and name is not None:
        which = ", its first seed" if models[name].seeds > 1 else ""
        caption = f"What {name} learnt{which}: f, shared by all environments, and g of single ones; dots are test data"
        figures[caption] = vector_fields(models[name], test)
    return figures


def _comparisons(forecasts: list[Forecasts], test: Trajectories) -> "dict[str, Figure]":
    """True against predicted states of the first test trajectory of each environment."""
    of = "the first test trajectory of each environment"
    if not test.space:
        where = f"in the plane of {test.channels[0]} and {test.channels[1]}" if len(test.channels) > 1 else "over time"
        return {f"Truth and forecasts of {of}, {where}": portraits(forecasts, test.channels)}
    shown = "at its last time" if len(test.space) == 2 else "over space (upwards) and time"
    return {
        f"Channel {name}: truth, forecasts and their errors, {of} {shown}": field_comparison(forecasts, c, name)
        for c, name in enumerate(test.channels)
    }


def _decomposed(models: "Mapping[str, Model]", evaluations: "Mapping[str, Evaluation]") -> str | None:
    """The model to show f and g_e of: LEADS if there is one, else the best of those that have them."""
    from ..methods import Leads

    having = [name for name, model in models.items() if model.method.has_field]
    best_first = sorted(having, key=lambda name: np.nan_to_num(evaluations[name].mse, nan=np.inf))
    return next((name for name in having if isinstance(models[name].method, Leads)), next(iter(best_first), None))


def _in_order(models: "Mapping[str, Model]", evaluations: "Mapping[str, Evaluation]") -> "dict[str, Evaluation]":
    if not models or set(models) != set(evaluations):
        raise InputError(
            "`models` and `evaluations` must have the same names, at least one; "
            f"got {', '.join(models)} and {', '.join(evaluations)}"
        )
    return {name: evaluations[name] for name in models}
