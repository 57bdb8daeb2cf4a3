"""Inputs in canonical form: their names, their kinds, and what they are between the times at which they are given."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import InputError
from . import _canonical

LINEAR, HELD, IMPULSE = "linear", "held", "impulse"
KINDS = f"`{LINEAR}`, `{HELD}` or `{IMPULSE}:CHANNEL`"
_HIDDEN = re.compile(r"hidden\d+")


def impulse_channel(kind: str) -> str | None:
    """The channel that an impulse is added to; `None` for another kind of input.

    >>> impulse_channel("impulse:gut"), impulse_channel("held")
    ('gut', None)
    """
    word, _, channel = kind.partition(":")
    return channel if word == IMPULSE else None


def check_kind(name: str, kind: str) -> None:
    """Raise `InputError` unless the kind of this input is one that there is."""
    if kind not in (LINEAR, HELD) and not impulse_channel(kind):
        raise InputError(f"the input `{name}` must be {KINDS}, got `{kind}`")


def dense(times: Any, inputs: Any, dense_times: np.ndarray) -> np.ndarray:
    """A full array of inputs, from an array or from nested lists `[environment][trajectory]` like those of `times`."""
    values = _canonical.dense(times if _canonical.is_nested(inputs) else dense_times, inputs, "inputs")[1]
    if values.shape[:3] != dense_times.shape:
        raise InputError(f"`inputs` must be given at the times of the states {dense_times.shape}, got {values.shape}")
    return values


def checked(inputs: np.ndarray | None, state_shape: tuple[int, ...]) -> np.ndarray | None:
    """The inputs if they are numbers, or fields on the grid of the states `(env, traj, time, *space, channel)`."""
    if inputs is None or inputs.shape[-1:] == (0,):
        return None
    plain, fields = state_shape[:3], state_shape[:-1]
    if inputs.shape[:-1] not in (plain, fields):
        expected = " or ".join(f"({', '.join(map(str, shape))}, input)" for shape in dict.fromkeys((plain, fields)))
        raise InputError(f"`inputs` must have the shape {expected}, like the states, got {inputs.shape}")
    return inputs


def names_and_kinds(
    inputs: np.ndarray | None, names: Sequence[str], kinds: Sequence[str], channels: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names and kinds of the inputs, checked against each other and against the channels."""
    count = 0 if inputs is None else inputs.shape[-1]
    names = _canonical.unique_names("input_names", names, count)
    kinds = tuple(str(kind) for kind in kinds)
    if len(kinds) != count:
        raise InputError(f"`input_kinds` must have {count} kinds, one per input, got {len(kinds)}")
    for name, kind in zip(names, kinds, strict=True):
        check_kind(name, kind)
        target = impulse_channel(kind)
        if target is not None and target not in channels and not _HIDDEN.fullmatch(target):
            known = ", ".join(f"`{channel}`" for channel in channels)
            raise InputError(f"the input `{name}` adds to `{target}`, expected {known}, or `hidden0`, `hidden1`, …")
        if name in channels:
            raise InputError(f"`{name}` is a channel and an input: rename one of them")
    return names, kinds


def filled(times: np.ndarray, inputs: np.ndarray, kinds: Sequence[str]) -> np.ndarray:
    """Inputs at all points: interpolated, held, or 0 where there is no impulse. NaN where none is ever given."""
    shape = (*times.shape, -1, len(kinds))  # fields as many numbers
    values, found = inputs.reshape(shape), np.zeros(inputs.shape).reshape(shape)
    for c, kind in enumerate(kinds):
        series = values[..., c]
        if impulse_channel(kind) is not None:
            found[..., c] = np.nan_to_num(series)
        else:
            found[..., c] = _between(times[..., None], series, steps=kind == HELD)
    return found.reshape(inputs.shape)


def _between(times: np.ndarray, series: np.ndarray, *, steps: bool) -> np.ndarray:
    """Given values at their points, others from the neighbours in time, along axis 2."""
    given = ~np.isnan(series)
    if given.all():
        return series
    last = series.shape[2] - 1
    place = np.broadcast_to(np.arange(last + 1)[:, None], series.shape)
    before = np.maximum.accumulate(np.where(given, place, -1), axis=2)
    after = np.minimum.accumulate(np.where(given, place, last + 1)[:, :, ::-1], axis=2)[:, :, ::-1]
    # Before the first value it is the next one, after the last value the one before.
    before, after = np.where(before < 0, np.minimum(after, last), before), np.where(after > last, before, after)
    at = lambda array, index: np.take_along_axis(np.broadcast_to(array, series.shape), np.maximum(index, 0), axis=2)
    low, high = at(series, before), at(series, after)
    if steps:
        return low
    begin, end = at(times, before), at(times, after)
    share = np.where(end > begin, (times - begin) / np.where(end > begin, end - begin, 1.0), 0.0)
    return low * (1 - share) + high * share
