"""The page of all commands, from their own help: `python -m tools.commands` writes docs/reference/commands.md."""

import contextlib
import html
import io
import os
import re
from collections.abc import Iterator
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "commands.md"
HEAD = """# Commands

Every command of `leadax`, as its own `--help` describes it. This page is written by `python -m tools.commands`.

Results go to standard output, messages and progress to standard error; with `--json`, a result is one JSON document.
The exit status is 0 if all went well, 1 if the work failed, 2 for wrong use or bad input, 130 after Ctrl-C and 143
after SIGTERM. A command that trains can be run again after either: it goes on where it stopped.
"""


def page() -> str:
    """The whole page."""
    from leadax.cli import COMMANDS

    return "\n".join([HEAD, *(section(name) for name in COMMANDS)])


def section(name: str) -> str:
    """One command: what it does, and tables of its arguments."""
    lines = help_of(name).splitlines()
    usage = lines[0].removeprefix("usage: ")
    text = "\n".join(_paragraph(lines[1:])).strip()
    return "\n".join([f"## leadax {name}", "", f"```text\n{usage}\n```", "", text, "", *_tables(lines)])


def help_of(name: str) -> str:
    """What `leadax NAME --help` prints, without colours, in a wide window."""
    from leadax.cli import run

    before = {key: os.environ.get(key) for key in ("COLUMNS", "NO_COLOR")}
    os.environ.update(COLUMNS="200", NO_COLOR="1")
    try:
        # With an encoding: only then are help texts framed.
        with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO(), encoding="utf-8")) as shown:
            run([name, "--help"])
    finally:
        for key, value in before.items():
            os.environ.pop(key, None) if value is None else os.environ.update({key: value})
    shown.seek(0)
    return re.sub(r"\x1b\[[0-9;]*m", "", shown.read())


def _paragraph(lines: list[str]) -> Iterator[str]:
    for line in lines:
        if line.startswith("╭"):
            return
        yield line.strip()


def _tables(lines: list[str]) -> Iterator[str]:
    for heading, entries in boxes(lines):
        yield f"| {heading} | |\n|---|---|"
        for names, text in entries:
            # A bar within code would end the cell.
            code = f"<code>{html.escape(names)}</code>" if "|" in names else f"`{names}`"
            yield f"| {code.replace('|', '&#124;')} | {text.replace('|', '&#124;')} |"
        yield ""


def boxes(lines: list[str]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The headings of the frames, each with its arguments and what is said about them."""
    heading, entries = "", []
    for line in lines:
        if line.startswith("╭"):
            heading, entries = line.strip("╭─╮ "), []
        elif line.startswith("╰"):
            yield heading.removeprefix("positional "), [entry for entry in entries if entry[0] != "-h, --help"]
        elif line.startswith("│"):
            _add(line.strip("│").rstrip(" ")[1:], entries)


def _add(line: str, entries: list[tuple[str, str]]) -> None:
    """An argument begins at the left edge; what is said about it goes on further right."""
    if line.startswith("─"):  # what came before was a description of all of them
        entries.clear()
    elif line and not line.startswith(" "):
        names, _, text = line.partition("  ")
        entries.append((names.strip(), text.strip()))
    elif entries and line.strip():
        names, text = entries[-1]
        entries[-1] = (names, f"{text} {line.strip()}".strip())


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page())
