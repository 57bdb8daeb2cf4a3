"""A case, what it does, and how it ended."""

import io
import json
import sys
import traceback
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, NamedTuple

from leadax.errors import LeadaxError

NOTICED, HARMLESS, TRACEBACK, WRONG, HUNG = "noticed", "harmless", "traceback", "wrong", "hung"
WAYS = (NOTICED, HARMLESS, TRACEBACK, WRONG, HUNG)
# Nothing is right but a refusal.
REFUSED = object()
# Times, and what depends on them. A digest seals them, too.
TIMES = {"seconds", "steps_per_second", "minutes", "sha256", "model_sha256", "run", "out", "versions"}


class Case(NamedTuple):
    """What is done, in a word; how; and what comes of it without the damage."""

    what: str
    act: Callable[[], Any]
    right: Any = REFUSED


class Refusal(Exception):
    """A command ended with a status other than 0."""


def judged(case: Case) -> tuple[str, str]:
    """How a case ends, and what there is to say about it."""
    refusal = None
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as said:
        try:
            found = case.act()
        except (LeadaxError, Refusal) as error:
            found, refusal = None, str(error)
        except BaseException:
            return TRACEBACK, traceback.format_exc()
    if "Traceback" in said.getvalue():
        return TRACEBACK, said.getvalue()
    if refusal is not None:
        return _refused(refusal)
    if case.right is not REFUSED and found == case.right:
        return (NOTICED if "damaged" in said.getvalue() else HARMLESS), said.getvalue()
    expected = "a refusal" if case.right is REFUSED else str(case.right)
    return WRONG, f"expected {expected[:500]}, got {str(found)[:500]}"


def _refused(text: str) -> tuple[str, str]:
    lines = [line for line in text.splitlines() if line.strip()]
    return (NOTICED, text) if len(lines) == 1 else (TRACEBACK, f"an error of {len(lines)} lines:\n{text}")


def command(*arguments: str) -> Any:
    """What a command prints with `--json`, without times; a `Refusal` with its one line if it ends otherwise."""
    from leadax.cli import run

    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as said:
        status = run([*arguments, "--json"])
    if "Traceback" in said.getvalue():
        raise AssertionError(said.getvalue())
    if status != 0:
        raise Refusal(_last_line(said.getvalue()))
    sys.stderr.write(said.getvalue())
    return without_times(json.loads(out.getvalue()))


def _last_line(text: str) -> str:
    """The error, without the lines of progress before it. One of several lines has none that begins like this."""
    lines = text.splitlines()
    starts = [k for k, line in enumerate(lines) if line.startswith("leadax: ")]
    return "\n".join(lines[starts[-1] :] if starts else [text, "no line begins with `leadax:`"])


def without_times(value: Any) -> Any:
    """A JSON document without what may differ between two equal runs."""
    if isinstance(value, dict):
        return {key: without_times(inner) for key, inner in value.items() if key not in TIMES}
    return [without_times(inner) for inner in value] if isinstance(value, list) else value
