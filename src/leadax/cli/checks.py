"""Checks of what was typed, made before anything slow is imported or loaded."""

import math
from pathlib import Path

from .._atomic import check_regular
from ..errors import InputError

# The largest numbers that make sense. Beyond these, a machine would run out of memory long before it had an answer.
LIMITS = {
    "--seeds": 10_000,
    "--substeps": 10_000,
    "--rank": 100_000,
    "--dimension": 10_000,
    **dict.fromkeys(("--hidden", "--individual"), 1_000),
    "--trajectories": 1_000_000,
    **dict.fromkeys(("--m", "--n", "--d", "--W", "--D"), 10**18),  # counts in formulas cost nothing
}
LARGEST = 2**31 - 1


def check_count(option: str, value: int | None, *, least: int = 1) -> None:
    """An `InputError` unless the value is from `least` to the option's limit; None is fine.

    >>> check_count("--seeds", 0)
    Traceback (most recent call last):
    ...
    leadax.errors.InputError: `--seeds` must be at least 1, got 0
    """
    limit = LIMITS.get(option, LARGEST)
    if value is not None and not least <= value <= limit:
        bound = f"at least {least}" if value < least else f"at most {limit}"
        raise InputError(f"`{option}` must be {bound}, got {_short(value)}")


def check_positive(option: str, value: float | None) -> None:
    """An `InputError` unless the value is positive and finite; None is fine."""
    if value is not None and not 0 < value < math.inf:
        raise InputError(f"`{option}` must be a positive number, got {value:g}")


def check_seed(seed: int) -> None:
    """A seed fits into 32 bits, without a sign."""
    if not 0 <= seed < 2**32:
        raise InputError(f"`--seed` must be from 0 to {2**32 - 1}, got {_short(seed)}")


def check_run(folder: Path) -> None:
    """The same for everything in a run folder that training would read."""
    check_regular(folder)
    if folder.is_dir():
        for path in (*folder.iterdir(), *folder.glob("checkpoints/*/*")):
            check_regular(path)


def _short(number: int) -> str:
    """A number of at most 25 digits."""
    text = str(number)
    return text if len(text) <= 25 else f"{text[:22]}…"
