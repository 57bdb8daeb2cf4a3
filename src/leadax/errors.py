"""Errors that a user can act on. Each message is one line: what, what was expected, what came, what to do."""


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
