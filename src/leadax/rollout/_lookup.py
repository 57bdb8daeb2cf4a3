"""Finding an entry of a registry by its name, with an error that helps."""

import difflib
from collections.abc import Mapping
from typing import TypeVar

from leadax.errors import InputError

Entry = TypeVar("Entry")


def lookup(argument: str, name: str, registry: Mapping[str, Entry]) -> Entry:
    """The entry called `name`, or an `InputError` that lists the names and guesses which one was meant."""
    if name in registry:
        return registry[name]
    close = difflib.get_close_matches(name.lower(), registry, n=1, cutoff=0.5)
    guess = f"; did you mean {close[0]!r}?" if close else ""
    raise InputError(f"`{argument}` must be one of {', '.join(registry)}; got {name!r}{guess}")
