"""What goes to the screen: results to standard output, everything else to standard error."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, TypeAlias

import tyro

Json: TypeAlias = Annotated[
    bool, tyro.conf.arg(help="Print one JSON document on standard output, and nothing else there.")
]
Overwrite: TypeAlias = Annotated[bool, tyro.conf.arg(help="Replace the output if it exists.")]
Progress: TypeAlias = Callable[[int, int], None]


def message(text: str) -> None:
    """Tell the user something that is not a result."""
    print(text, file=sys.stderr, flush=True)


def result(document: Mapping[str, Any], text: str, *, as_json: bool) -> None:
    """Print a result: a JSON document, or a text for people."""
    print(json.dumps(document, indent=2) if as_json else text)


@contextmanager
def progress_bar(label: str) -> Iterator[Progress]:
    """A live bar on a terminal, a plain line per tenth otherwise. Yields a function `(done, total)`."""
    if not sys.stderr.isatty():
        yield _plain(label)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _plain(label: str) -> Progress:
    shown = -1

    def update(done: int, total: int) -> None:
        nonlocal shown
        tenth = 10 * done // total
        if tenth > shown:
            shown = tenth
            message(f"{label}: {done} of {total}")

    return update
