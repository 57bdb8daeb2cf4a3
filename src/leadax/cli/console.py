"""What goes to the screen: results to standard output, everything else to standard error."""

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import tyro

if TYPE_CHECKING:
    from ..records import Snapshot

Json: TypeAlias = Annotated[
    bool, tyro.conf.arg(help="Print one JSON document on standard output, and nothing else there.")
]
Overwrite: TypeAlias = Annotated[bool, tyro.conf.arg(help="Replace the output if it exists.")]
Progress: TypeAlias = Callable[..., None]


def optional(metavar: str, help: str | None = None) -> Any:
    """An option without a default: its help says what happens if it is left out."""
    return tyro.conf.arg(metavar=metavar, help=help, help_behavior_hint="")


QUIET = 10.0  # seconds without a word

File: TypeAlias = Annotated[Path | None, optional("FILE")]
Count: TypeAlias = Annotated[int | None, optional("INT")]
Number: TypeAlias = Annotated[float | None, optional("FLOAT")]


def shown(value: float | None) -> str:
    """An error for people; None stands for one that is not finite, which JSON has no word for.

    >>> shown(0.00123), shown(None)
    ('1.230e-03', 'not finite')
    """
    return "not finite" if value is None else f"{value:.3e}"


def message(text: str) -> None:
    """Tell the user something that is not a result."""
    print(text, file=sys.stderr, flush=True)


def result(document: Mapping[str, Any] | Sequence[Any], text: str, *, as_json: bool) -> None:
    """Print a result: a JSON document, or a text for people. NaN and infinity are not JSON and become null."""
    print(json.dumps(_finite(document), indent=2, allow_nan=False) if as_json else text)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def progress_bar(label: str, before: str = "") -> Iterator[Progress]:
    """A live bar on a terminal, a plain line per tenth otherwise. Yields a function `(done, total, text)`.

    - `before`: what is done before the first call of it: the bar says so, and a line if it takes long.
    """
    if not sys.stderr.isatty():
        late = Timer(QUIET, message, [f"{label}: {before}"])
        late.daemon = True
        if before:
            late.start()
        try:
            yield _plain(label, late.cancel)
        finally:
            late.cancel()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(f"{label}: {before}" if before else label, total=None)
        yield lambda done, total, text=label: bar.update(task, completed=done, total=total, description=text)


def _plain(label: str, begin: Callable[[], None]) -> Progress:
    """- `begin`: called whenever something is done."""
    shown = -1

    def update(done: int, total: int, text: str = label) -> None:
        nonlocal shown
        begin()
        tenth = 10 * done // max(total, 1)
        if tenth > shown:
            shown = tenth
            message(f"{text}: {done} of {total}")

    return update


@contextmanager
def training_bar(label: str) -> "Iterator[Callable[[Snapshot, int], None]]":
    """Like `progress_bar`, with loss and test error, for `leadax.train.Monitor.listen`."""
    mean = lambda values: sum(values) / len(values)
    with progress_bar(label, before="looking at the data") as progress:

        def listen(snapshot: "Snapshot", steps: int) -> None:
            errors = f", test {mean(snapshot.test):.2e}" if snapshot.test else ""
            progress(snapshot.step, steps, f"{label}: loss {mean(snapshot.loss):.2e}{errors}")

        yield listen
