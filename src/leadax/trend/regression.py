"""The coefficients of polynomial fields from equations that are linear in them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from .effects import Normal, Widths, effects, evidence
from .intervals import Equations


class Coefficients(NamedTuple):
    """Those of environment e are `common` + `own[e]`; `evidence`: see `leadax.trend.effects.evidence`."""

    common: Float[np.ndarray, "term channel"]
    own: Float[np.ndarray, "env term channel"]
    evidence: float = -np.inf

    @property
    def whole(self) -> Float[np.ndarray, "env term channel"]:
        """The coefficients of all environments."""
        return self.common + self.own

    def of(self, environment: int) -> Float[np.ndarray, "term channel"]:
        """The coefficients of one environment."""
        return self.common + self.own[environment]


def regression(
    environments: Sequence[Equations],
    basis: Float[np.ndarray, "term coefficient"],
    differ: Bool[np.ndarray, " coefficient"],
) -> Coefficients:
    """The most likely coefficients (`leadax.trend.effects`), for each channel by itself.

    **Arguments**

    - `basis`: from coefficients that are likely to be few to those of the terms;
    - `differ`: in which of them environments may differ.
    """
    sides = [(terms @ basis, changes) for terms, changes in environments]
    squares = np.stack([terms.T @ terms for terms, _ in sides])
    products = np.stack([terms.T @ changes for terms, changes in sides])
    lengths = np.stack([(changes**2).sum(axis=0) for _, changes in sides]).sum(axis=0)
    count = float(max(sum(len(terms) for terms, _ in sides), 1))
    normals = [Normal(squares, products[..., k], float(lengths[k]), count) for k in range(len(lengths))]
    found = [effects(normal, Widths.wide(differ)) for normal in normals]
    whole = [each.times(basis) for each in found]
    return Coefficients(
        np.stack([each.common for each in whole], axis=-1),
        np.stack([each.own for each in whole], axis=-1),
        sum(evidence(normal, each.widths) for normal, each in zip(normals, found, strict=True)),
    )
