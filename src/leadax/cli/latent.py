"""What is to be inferred of trajectories, as it is typed."""

from ..errors import InputError
from .checks import check_count


def parsed_noise(text: str) -> str | float:
    """What `--noise` says."""
    if text in ("auto", "none"):
        return text
    try:
        level = float(text.removesuffix("%"))
    except ValueError:
        level = -1.0
    if not 0 <= level < float("inf"):
        raise InputError(
            f"`--noise` must be `auto`, `none`, a number from 0 on, or a part of each value such as 15%, got `{text}`"
        )
    return text if text.endswith("%") and level else level


def parsed_hidden(text: str) -> int | None:
    """What `--hidden` says; None where the data are to decide."""
    if text == "auto":
        return None
    try:
        count = int(text)
    except ValueError:
        raise InputError(f"`--hidden` must be `auto` or a whole number from 0 on, got `{text}`") from None
    check_count("--hidden", count, least=0)
    return count
