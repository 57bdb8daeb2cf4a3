"""Errors that a user can act on. Each message is one line: what, what was expected, what came, what to do."""

import difflib
import math
import numbers
import operator
from collections.abc import Mapping
from typing import Any, TypeVar


class LeadaxError(Exception):
    """Base of the errors that Leadax raises on purpose; the command line shows them as one line.

    `exit_status` is what the command line exits with.
    """

    exit_status = 1


class InputError(LeadaxError, ValueError):
    """Something that the user gave (a file, an array, an option) cannot be used as it is."""

    exit_status = 2


class RunError(LeadaxError, RuntimeError):
    """The input was fine, but the work failed on the way (a diverging run, a full disk)."""


Entry = TypeVar("Entry")


def lookup(what: str, name: str, registry: Mapping[str, Entry]) -> Entry:
    """The entry of a registry, or an `InputError` that guesses which one was meant and lists them all.

    >>> lookup("system", "gray-scot", {"gray-scott": 1, "linear": 2})
    Traceback (most recent call last):
    ...
    leadax.errors.InputError: unknown system `gray-scot`: did you mean `gray-scott`? Known: gray-scott, linear
    """
    if not isinstance(name, str):
        raise InputError(f"the name of a {what} must be a text, got {name!r:.60}; known: {', '.join(registry)}")
    if name in registry:
        return registry[name]
    close = difflib.get_close_matches(name.lower(), registry, n=1, cutoff=0.5)
    guess = f"did you mean `{close[0]}`? " if close else ""
    raise InputError(f"unknown {what} `{name}`: {guess}Known: {', '.join(registry)}")


def expect(name: str, value: object, kind: type, source: str) -> None:
    """An `InputError` unless an argument is of a kind; `source`: where such a thing comes from.

    >>> expect("model", 3, dict, "leadax.Model.load(FILE)")
    Traceback (most recent call last):
    ...
    leadax.errors.InputError: `model` must be a dict, got an int: use `leadax.Model.load(FILE)`
    """
    if not isinstance(value, kind):
        article = lambda word: f"{'an' if word[0].lower() in 'aeiou' else 'a'} {word}"
        raise InputError(
            f"`{name}` must be {article(kind.__name__)}, got {article(type(value).__name__)}: use `{source}`"
        )


def is_number(value: object) -> bool:
    """Whether this is a finite number.

    >>> [is_number(value) for value in (1, 0.5, True, "1", float("nan"))]
    [True, True, False, False, False]
    """
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)


def whole(name: str, value: Any, least: int = 1, most: int = 2**31 - 1) -> int:
    """`value`, or an `InputError` unless it is a whole number within limits.

    >>> whole("steps", 1.5)
    Traceback (most recent call last):
    ...
    leadax.errors.InputError: `steps` must be a whole number from 1 to 2147483647, got 1.5
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if isinstance(value, bool) or not least <= number <= most:
        raise InputError(f"`{name}` must be a whole number from {least} to {most}, got {value!r:.60}")
    return number
