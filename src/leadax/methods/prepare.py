"""Between data and programs: batches with the solver's steps, and methods whose numbers are arrays."""

from collections.abc import Sequence
from functools import partial
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import DTypeLike

from ..arrays import on_device
from ..data import Trajectories
from ..data.batch import Batch, to_batch
from ..data.forcing import Forcing
from ..data.layout import Layout
from ..data.units import Box, Units
from ..errors import InputError
from ..rollout import Steps, steps_between
from .base import Method

M = TypeVar("M", bound=Method)


def prepare(
    data: Trajectories,
    units: Units,
    method: Method,
    *,
    longest: float | None = None,
    box: Box | None = None,
    dtype: DTypeLike = jnp.float32,
    layout: Layout | None = None,
) -> Batch:
    """The arrays of a data set with the steps that a method's solver takes along each trajectory.

    **Arguments**

    - `longest`: the longest step allowed, in standard time; by default one step per observed interval is enough;
    - `box`: where the field is known; None for everywhere;
    - `layout`: what states and inputs are made of; by default states are what is observed, and nothing acts on them.
    """
    return to_batch(data, units, dtype, partial(steps_for, method, longest=longest, box=box, dtype=dtype), layout)


def steps_for(
    method: Method,
    times: np.ndarray,
    begin: np.ndarray | float,
    forcing: Forcing | None = None,
    *,
    longest: float | None,
    box: Box | None,
    dtype: DTypeLike,
) -> Steps:
    """The steps of a method's solver between times `(…, time)`, counted from `begin`; the rest is as in `prepare`."""
    divided = {"longest": longest, "substeps": substeps_of(method), "dtype": dtype}
    steps = steps_between(times, begin=begin, forcing=forcing, **divided)
    if box is None:
        return steps
    bounds = np.asarray([box.low, box.high])
    return steps._replace(bounds=on_device(np.broadcast_to(bounds, (*times.shape[:-1], *bounds.shape)), dtype))


def substeps_of(method: Method) -> int:
    """The least number of steps per observed interval; 1 for a method that says nothing about it."""
    return getattr(method, "substeps", 1)


def numbers_as_arrays(method: M, dtype: DTypeLike) -> M:
    """The method with its numbers as arrays, so that programs do not depend on their values.

    Zero stays what it is: what is switched off is left out of the program.
    """
    is_number = lambda leaf: isinstance(leaf, float) and leaf != 0
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype) if is_number(leaf) else leaf, method)


def side_by_side(methods: Sequence[Method], repeats: int, dtype: DTypeLike) -> Method:
    """One method whose numbers have a leading axis: each candidate in turn, `repeats` times.

    The candidates may differ in numbers only (λ, α), not in anything that changes the program.
    """
    arrays, static = zip(*(eqx.partition(numbers_as_arrays(m, dtype), eqx.is_array) for m in methods), strict=True)
    same = lambda a, b: jax.tree.structure(a) == jax.tree.structure(b) and jax.tree.leaves(a) == jax.tree.leaves(b)
    if not all(same(s, static[0]) for s in static) or len({jax.tree.structure(a) for a in arrays}) > 1:
        raise InputError(
            "candidates that are trained side by side may differ in numbers only, such as `penalty_weight`: "
            "train those with other nets, solvers or penalties on their own"
        )
    stack = lambda *leaves: on_device(np.repeat(np.stack(leaves), repeats, axis=0))
    return eqx.combine(jax.tree.map(stack, *arrays), static[0])


class Frozen:
    """What a program depends on beside arrays: the static half of a tree, hashable, equal if its contents are."""

    def __init__(self, tree: Any):
        self.tree = tree
        self._key = (jax.tree.structure(tree), tuple(jax.tree.leaves(tree)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frozen) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)
