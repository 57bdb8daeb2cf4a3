"""Errors that a user can act on. Each message is one line: what, what was expected, what came, what to do."""

import difflib
from collections.abc import Iterable


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


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """The message for a name that is not among the known ones, with the likeliest meant.

    >>> unknown("system", "gray-scot", ["gray-scott", "linear"])
    'unknown system `gray-scot`: did you mean `gray-scott`? Known: gray-scott, linear'
    """
    close = difflib.get_close_matches(name, list(known), n=1)
    guess = f"did you mean `{close[0]}`? " if close else ""
    return f"unknown {what} `{name}`: {guess}Known: {', '.join(known)}"
