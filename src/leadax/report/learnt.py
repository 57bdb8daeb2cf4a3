"""What a model learnt: pictures of f and g_e, and how large g_e is."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..data import Trajectories
from .decomposition import MAX_ENVIRONMENTS as FIELDS_DRAWN
from .decomposition import vector_fields
from .numbers import readable
from .slices import MAX_ENVIRONMENTS as SLICES_DRAWN
from .slices import slices
from .style import short, which_of
from .tables import Table, finite_or_inf
from .tangents import MAX_ENVIRONMENTS as TANGENTS_DRAWN
from .tangents import tangents

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..evaluate import Evaluation
    from ..model import Model
    from .parts import Share

MAX_CHANNELS = 4


def decomposed(
    models: "Mapping[str, Model]", test: Trajectories, evaluations: "Mapping[str, Evaluation]"
) -> str | None:
    """The model whose f and g_e are shown: LEADS if there is one, otherwise the best that has a field.

    None of those whose fields see more than the observed state, which would have to be chosen for a picture.
    """
    from ..methods import Leads

    alone = lambda model: not (model.layout.seen or model.layout.hidden)
    drawn = lambda model: model.state_shape == test.state_shape and len(test.space) <= 2
    fits = lambda model: drawn(model) and alone(model) and model.has_field
    rank = lambda name: (not isinstance(models[name].method, Leads), finite_or_inf(evaluations[name].nmse))
    return min((name for name, model in models.items() if fits(model)), key=rank, default=None)


def decomposition_figures(name: str, model: "Model", test: Trajectories) -> "dict[str, Figure]":
    """f and g_e by caption: arrows for two channels, curves for other vectors, changes of a state for fields."""
    who = f"What {short(name)} learnt" + (" (mean over seeds)" if model.members > 1 else "")
    if test.space:
        at = f"at the start of the first test trajectory of {which_of(len(test.environments), TANGENTS_DRAWN)}"
        captions = {
            c: f"{who}: the rates of change of {short(channel)} by f, shared by all environments, and by g, {at}"
            for c, channel in enumerate(test.channels[:MAX_CHANNELS])
        }
        return {caption: tangents(model, test, c) for c, caption in captions.items()}
    if len(test.channels) == 2:
        shared = f"f, shared by all environments, and g of {which_of(len(test.environments), FIELDS_DRAWN)}"
        return {f"{who}: {shared}; dots are test data": vector_fields(model, test)}
    others = "; the other channels are held at the mean of the data" if len(test.channels) > 1 else ""
    strong = "Strong where the environment has test data, pale where it has none; ticks below are test data"
    return {
        f"{who}: f, f + g and g of {which_of(len(test.environments), SLICES_DRAWN)}{others}. {strong}": slices(
            model, test
        )
    }


def share_table(found: "list[Share]") -> Table:
    """The sizes of f and g_e in each environment."""
    row = lambda s: [short(s.environment), readable(s.shared), readable(s.specific), percent(s.of_specific)]
    return Table(["environment", "size of f", "size of g", "share of g"], [row(share) for share in found])


def share_text(name: str, found: "list[Share]") -> str:
    """What the table says, in words."""
    of = np.array([share.of_specific for share in found])
    of = of[np.isfinite(of)]
    if not len(of):
        return f"The f and g of {short(name)} are not finite."
    low, middle, high = percent(of.min()), percent(float(np.median(of))), percent(of.max())
    span = low if low == high else f"{low} to {high}, {middle} in the median environment"
    return (
        f"The share of g, what is specific to an environment, in what {short(name)} learnt: {span}. It is "
        "|g| / (|f| + |g|), where |·| is the root mean square over test states, in standard deviations of a "
        "channel per unit of time."
    )


def percent(share: float) -> str:
    """A share as a percentage.

    >>> percent(0.1234), percent(0.0004), percent(float("nan"))
    ('12 %', '0.04 %', '–')
    """
    return (
        f"{100 * share:.0f} %" if share >= 0.095 else "0 %" if share == 0 else "–" if share != share else _small(share)
    )


def _small(share: float) -> str:
    return f"{100 * share:.1g} %" if share >= 1e-4 else "less than 0.01 %"
