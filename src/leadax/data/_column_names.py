"""Find a column of a table by what a user calls it, and say what there is if there is no such column."""

import difflib
from collections.abc import Sequence

from ..errors import InputError
from ._inputs import LINEAR

MOST_SHOWN = 15


def place_of(name: str, names: Sequence[str], key: str | None = None) -> int:
    """The position of a column; `key` if it was looked for by the name that a key has by default.

    >>> place_of("time", ["site", "time"])
    1
    """
    if names.count(name) > 1:
        raise InputError(f"two columns are called `{name}`: rename one of them")
    if name not in names:
        near = _near(name, names)
        advice = f"; did you mean `{near}`?" if near else ""
        if key is not None:
            advice = f"; name the one that holds it, as in `--columns {key}={near or 'NAME'}`"
        raise InputError(f"no column `{name}`: it has {listed(names)}{advice}")
    return names.index(name)


def kind_of(given: str, names: Sequence[str]) -> tuple[str, str]:
    """The column of an input, and its kind if one is named: `rate:held`. A name may have colons in it.

    >>> kind_of("rate:held", ["rate"]), kind_of("a:b", ["a:b"])
    (('rate', 'held'), ('a:b', 'linear'))
    """
    before = [given[:place].strip() for place, letter in enumerate(f"{given}:") if letter == ":"]
    name = next((name for name in reversed(before) if name in names), before[0])
    _, colon, kind = given.removeprefix(name).partition(":")
    return name, kind.strip() if colon else LINEAR


def level_of(given: str, names: Sequence[str]) -> tuple[int, str | None]:
    """The column of a covariate, and the text that counts as 1 if one is named: `Sex=Male`.

    >>> level_of("Sex=Male", ["Wt", "Sex"]), level_of("Wt", ["Wt", "Sex"])
    ((1, 'Male'), (0, None))
    """
    name, _, level = (word.strip() for word in given.partition("="))
    return (place_of(name, names), level) if level and given not in names else (place_of(given, names), None)


def listed(names: Sequence[str]) -> str:
    """The names of the columns for a message, as many as one can read."""
    shown = ", ".join(f"`{name}`" for name in names[:MOST_SHOWN]) or "none"
    return shown + (f", … ({len(names)} columns)" if len(names) > MOST_SHOWN else "")


def _near(name: str, known: Sequence[str]) -> str | None:
    lower = {word.lower(): word for word in known if word}
    close = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.7)
    return lower[close[0]] if close else None
