"""What the propositions assume of their numbers."""

import math
from typing import TypeAlias

from ..errors import InputError

Number: TypeAlias = float | int
SMALLEST = 1e-50


def positive(**numbers: Number) -> None:
    """An `InputError` unless all are positive and finite."""
    for name, value in numbers.items():
        if not 0 < value < math.inf:
            raise InputError(f"`{name}` must be a positive number, got {value:g}")


def not_negative(**numbers: Number) -> None:
    """An `InputError` unless all are zero or positive, and finite."""
    for name, value in numbers.items():
        if not 0 <= value < math.inf:
            raise InputError(f"`{name}` must be zero or a positive number, got {value:g}")


def counts(**numbers: Number) -> None:
    """An `InputError` unless all are 1, 2, 3, …"""
    for name, value in numbers.items():
        if not (value >= 1 and float(value).is_integer()):
            raise InputError(f"`{name}` must be a whole number of at least 1, got {value:g}")


def fraction(**numbers: Number) -> None:
    """An `InputError` unless all are between 0 and 1."""
    for name, value in numbers.items():
        if not 0 < value < 1:
            raise InputError(f"`{name}` must be between 0 and 1, got {value:g}")


def tolerance(epsilon: Number) -> None:
    """An `InputError` unless an error is positive, and large enough for its square to be one."""
    if not SMALLEST < epsilon < math.inf:
        raise InputError(f"`epsilon` must be a number above {SMALLEST:g}, got {epsilon:g}")
