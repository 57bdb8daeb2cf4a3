"""Checks of the arguments of the propositions."""

import math
from typing import TypeAlias

from ..errors import InputError

Number: TypeAlias = float | int
SMALLEST_EPSILON = 1e-50


def positive(**numbers: Number) -> None:
    """Raise `InputError` unless all numbers are positive and finite."""
    for name, value in numbers.items():
        if not 0 < value < math.inf:
            raise InputError(f"`{name}` must be a positive number, got {value:g}")


def not_negative(**numbers: Number) -> None:
    """Raise `InputError` unless all numbers are non-negative and finite."""
    for name, value in numbers.items():
        if not 0 <= value < math.inf:
            raise InputError(f"`{name}` must be zero or a positive number, got {value:g}")


def counts(**numbers: Number) -> None:
    """Raise `InputError` unless all numbers are positive integers."""
    for name, value in numbers.items():
        if not (value >= 1 and float(value).is_integer()):
            raise InputError(f"`{name}` must be a whole number of at least 1, got {value:g}")


def fraction(**numbers: Number) -> None:
    """Raise `InputError` unless all numbers are strictly between 0 and 1."""
    for name, value in numbers.items():
        if not 0 < value < 1:
            raise InputError(f"`{name}` must be between 0 and 1, got {value:g}")


def tolerance(epsilon: Number) -> None:
    """Raise `InputError` unless ε is positive, and not so small that ε² underflows."""
    if not SMALLEST_EPSILON < epsilon < math.inf:
        raise InputError(f"`epsilon` must be a number above {SMALLEST_EPSILON:g}, got {epsilon:g}")
