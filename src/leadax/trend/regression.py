"""The coefficients of polynomial fields from equations that are linear in them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from .effects import Normal, effects
from .intervals import Equations


class Coefficients(NamedTuple):
    """Those of environment e are `common` + `own[e]`."""

    common: Float[np.ndarray, "term channel"]
    own: Float[np.ndarray, "env term channel"]

    def of(self, environment: int) -> Float[np.ndarray, "term channel"]:
        """The coefficients of one environment."""
        return self.common + self.own[environment]


def regression(environments: Sequence[Equations]) -> Coefficients:
    """The most likely coefficients (`leadax.trend.effects`), for each channel by itself."""
    squares = np.stack([terms.T @ terms for terms, _ in environments])
    products = np.stack([terms.T @ changes for terms, changes in environments])
    lengths = np.stack([(changes**2).sum(axis=0) for _, changes in environments]).sum(axis=0)
    count = float(max(sum(len(terms) for terms, _ in environments), 1))
    channels = [effects(Normal(squares, products[..., k], float(lengths[k]), count)) for k in range(len(lengths))]
    return Coefficients(
        np.stack([found.common for found in channels], axis=-1), np.stack([found.own for found in channels], axis=-1)
    )
