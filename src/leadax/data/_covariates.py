"""Columns of a table that say something about its environments: one number for each, such as a weight."""

import math
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from .dates import MISSING

if TYPE_CHECKING:
    import pyarrow as pa


def per_environment(
    name: str, column: "pa.DictionaryArray", environment: "pa.DictionaryArray", level: str | None = None
) -> tuple[np.ndarray, str | None]:
    """The number of each environment, and what 0 and 1 stand for if the column has texts.

    - `name`: that of the column; `level`: the text that counts as 1.
    """
    texts = [text.strip() for text in column.dictionary.to_pylist()]
    numbers, meaning = _numbers(name, texts, level)
    code = column.indices.fill_null(len(texts)).to_numpy()
    values = np.append(numbers, np.nan)[code]
    low, high = np.full((2, len(environment.dictionary)), np.nan)
    np.fmin.at(low, environment.indices.to_numpy(), values)
    np.fmax.at(high, environment.indices.to_numpy(), values)
    where = lambda e: f"environment `{environment.dictionary[int(e)].as_py()}`"
    for e in np.flatnonzero(low < high)[:1]:
        shown = [texts[int(np.flatnonzero(numbers == number)[0])] for number in (low[e], high[e])]
        raise InputError(
            f"the covariate `{name}` changes within {where(e)}: it has {shown[0]} and {shown[1]}, expected one value; "
            f"what changes in time is an input (`--inputs {name}`)"
        )
    for e in np.flatnonzero(np.isnan(low))[:1]:
        raise InputError(f"the covariate `{name}` has no value in {where(e)}: every environment needs one")
    return low, meaning


def _numbers(name: str, texts: list[str], level: str | None) -> tuple[np.ndarray, str | None]:
    """The number of each text, NaN for missing ones, and what they mean where they are not numbers themselves."""
    known = sorted({text for text in texts if text not in MISSING})
    try:
        numbers = {text: float(text) for text in known} if level is None else {}
    except ValueError:
        numbers, level = {}, _second_of_two(name, known)
    if level is None:
        for text in (text for text, number in numbers.items() if not math.isfinite(number)):
            raise InputError(f"the covariate `{name}` must be a finite number, got `{text}`")
        return np.array([numbers.get(text, math.nan) for text in texts]), None
    for text in known:
        if level not in known and text.lower() == level.lower():
            raise InputError(f"the covariate `{name}` is never `{level}`: did you mean `{name}={text}`?")
    if level not in known and len(known) > 1:  # one text alone may well be the other one
        raise InputError(f"the covariate `{name}` is never `{level}`: it has {_shown(known)}")
    found = [math.nan if text in MISSING else float(text == level) for text in texts]
    others = [text for text in known if text != level]
    return np.array(found), f"{', '.join(others)} 0, {level} 1" if others else f"{level} 1"


def _second_of_two(name: str, known: list[str]) -> str:
    if len(known) == 1:
        raise InputError(
            f"the covariate `{name}` is `{known[0]}` throughout, and may be 0 or 1: name the text that is 1, as in "
            f"`{name}={known[0]}` (of two texts, it is the second in the alphabet)"
        )
    if len(known) > 2:
        raise InputError(
            f"the covariate `{name}` has {len(known)} different texts ({_shown(known)}), expected numbers or two "
            "texts: write numbers, or one column of 0 and 1 for each"
        )
    return known[1]


def _shown(texts: list[str]) -> str:
    return ", ".join(f"`{text}`" for text in texts[:5]) + (", …" if len(texts) > 5 else "")
