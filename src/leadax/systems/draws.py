"""Random draws of initial states: from JAX keys, or for the protocol `paper` exactly as in the published data."""

from collections.abc import Callable
from typing import TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from .._types import PRNGKey

# The position in this tuple enters the random keys: append new splits, never reorder them.
SPLITS = ("train", "test", "novel", "novel-test")

Draws: TypeAlias = Callable[[PRNGKey, str, int], Array]


def keys(key: PRNGKey, split: str, count: int) -> Array:
    """One key per trajectory. The i-th depends on the key, the split and i, but not on `count`."""
    split_key = jax.random.fold_in(key, SPLITS.index(split))
    return jax.vmap(lambda i: jax.random.fold_in(split_key, i))(jnp.arange(count))


def published(sample: Callable[[np.random.RandomState], np.ndarray]) -> Draws:
    """Draws as in the paper's code, so that `--protocol paper --seed 0` gives the paper's data.

    With one training trajectory per environment, results depend strongly on its initial state, so a comparison with the
    paper's numbers needs the same one. The paper's code seeds NumPy's legacy generator with i for the i-th training
    trajectory and with 2³¹ − 1 − i for the i-th test trajectory. For other seeds, and for splits that the paper does
    not have, the generator is seeded with the key, the split and i.

    **Arguments**

    - `sample`: draws the random numbers for one initial state.
    """

    def draws(key: PRNGKey, split: str, count: int) -> Array:
        words = [int(word) for word in np.asarray(jax.random.key_data(key))]
        papers = {"train": lambda i: i, "test": lambda i: 2**31 - 1 - i} if not any(words) else {}
        seed = papers.get(split, lambda i: [*words, SPLITS.index(split), i])
        return jnp.asarray([sample(np.random.RandomState(seed(i))) for i in range(count)])

    return draws
