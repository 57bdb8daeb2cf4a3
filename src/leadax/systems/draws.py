"""Where initial states come from: JAX keys, or for the protocol `paper` the very numbers behind the published data."""

from collections.abc import Callable
from typing import TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from .._types import PRNGKey

# The place of a split in this list is a part of every initial state: append, never reorder.
SPLITS = ("train", "test", "novel", "novel-test")

Draws: TypeAlias = Callable[[PRNGKey, str, int], Array]


def keys(key: PRNGKey, split: str, count: int) -> Array:
    """One key per trajectory; the i-th depends on the key, the split and i, not on how many there are."""
    split_key = jax.random.fold_in(key, SPLITS.index(split))
    return jax.vmap(lambda i: jax.random.fold_in(split_key, i))(jnp.arange(count))


def published(sample: Callable[[np.random.RandomState], np.ndarray]) -> Draws:
    """Initial states as the paper's code drew them, so that `--protocol paper --seed 0` gives the paper's own data.

    With one training trajectory per environment, results depend strongly on where it starts: numbers can be set beside
    the paper's only from the same start. That code seeds NumPy's old generator with i for the i-th training trajectory
    and with 2³¹ − 1 − i for the i-th test trajectory. Other seeds than 0, and the splits that it does not have, are
    seeded with the whole key, the split and i.
    """

    def draws(key: PRNGKey, split: str, count: int) -> Array:
        words = [int(word) for word in np.asarray(jax.random.key_data(key))]
        known = {"train": lambda i: i, "test": lambda i: 2**31 - 1 - i} if not any(words) else {}
        seed = known.get(split, lambda i: [*words, SPLITS.index(split), i])
        return jnp.asarray([sample(np.random.RandomState(seed(i))) for i in range(count)])

    return draws
