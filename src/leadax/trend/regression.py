"""The coefficients of polynomial fields from equations that are linear in them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from .effects import Normal, Widths, effects, evidence
from .intervals import Equations


class Coefficients(NamedTuple):
    """Those of environment e are `common` + `own[e]`.

    - `evidence`: see `leadax.trend.effects.evidence`; `of_channels`: that of each channel, where each is by itself.
    """

    common: Float[np.ndarray, "term channel"]
    own: Float[np.ndarray, "env term channel"]
    evidence: float = -np.inf
    of_channels: tuple[float, ...] = ()

    @property
    def whole(self) -> Float[np.ndarray, "env term channel"]:
        """The coefficients of all environments."""
        return self.common + self.own

    def of(self, environment: int) -> Float[np.ndarray, "term channel"]:
        """The coefficients of one environment."""
        return self.common + self.own[environment]


def regression(
    environments: Sequence[Equations],
    basis: Float[np.ndarray, "channel term coefficient"],
    differ: Bool[np.ndarray, " coefficient"],
    present: Bool[np.ndarray, "coefficient channel"],
) -> Coefficients:
    """The most likely coefficients (`leadax.trend.effects`), for each channel by itself.

    **Arguments**

    - `basis`: from coefficients of each channel that are likely to be few to those of the terms;
    - `differ`: in which of them environments may differ; `present`: which of them a channel has at all.
    """
    count = float(max(sum(len(terms) for terms, _ in environments), 1))
    normals = [_normal(environments, of, k, count) for k, of in enumerate(basis)]
    found = [effects(normal, Widths.wide(differ, here)) for normal, here in zip(normals, present.T, strict=True)]
    whole = [each.times(of) for each, of in zip(found, basis, strict=True)]
    of_channels = tuple(evidence(normal, each.widths) for normal, each in zip(normals, found, strict=True))
    common, own = (np.stack([getattr(each, part) for each in whole], axis=-1) for part in ("common", "own"))
    return Coefficients(common, own, sum(of_channels), of_channels)


def _normal(environments: Sequence[Equations], basis: np.ndarray, channel: int, count: float) -> Normal:
    """What the equations say of the coefficients of one channel."""
    sides = [(terms @ basis, changes[:, channel]) for terms, changes in environments]
    squares = np.stack([terms.T @ terms for terms, _ in sides])
    products = np.stack([terms.T @ changes for terms, changes in sides])
    return Normal(squares, products, float(sum(changes @ changes for _, changes in sides)), count)
