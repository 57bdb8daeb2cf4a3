"""From what was typed to a command that is ready to run. Wrong use becomes one line."""

import difflib
import functools
import io
import itertools
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from typing import Any

import tyro

from ..errors import InputError, lookup

Command = Callable[..., Any]
CONFIG = (tyro.conf.FlagCreatePairsOff,)

# What Python says about a value of the wrong type, and what a user needs to know.
MEANINGS = {
    r"Error parsing (\S+): invalid literal for int\(\) with base 10: '(.*)'": r"`\1` must be a whole number, got `\2`",
    r"Error parsing (\S+): could not convert string to float: '(.*)'": r"`\1` must be a number, got `\2`",
    r"Error parsing (\S+): no type matching .*INT could .* from \['(.*)'\]\.": r"`\1` must be a whole number, got `\2`",
    r"Error parsing (\S+): no type matching .*FLOAT could .* from \['(.*)'\]\.": r"`\1` must be a number, got `\2`",
    r"Missing value for argument '(\S+)'\. Expected 1 values\.": r"`\1` needs a value",
    r"Unrecognized options: (.*)": r"too many arguments: \1",
}


def parse(commands: Mapping[str, Command], arguments: Sequence[str], description: str) -> Callable[[], None]:
    """The command with its arguments. Help is printed here, and ends in `SystemExit(0)`.

    Parsing is kept apart from running: an error of the command itself is none of the parser's.
    """
    if any("\0" in argument for argument in arguments):
        raise InputError("an argument has a NUL character in it, which no file name or option can have")
    if any(not argument or re.fullmatch(r"--[\w-]+=", argument) for argument in arguments):
        raise InputError("an argument is empty: a variable of the shell that it came from may have no value")
    if not arguments:
        raise InputError(f"say what to do: `leadax demo` to begin with, or {', '.join(list(commands)[1:])}; see --help")
    name, rest = arguments[0], arguments[1:]
    if name in ("-h", "--help") or name.startswith("--tyro-"):  # such as --tyro-print-completion
        return _ask(tyro.extras.subcommand_cli_from_dict, dict(commands), "leadax", arguments, description)
    if name.startswith("-"):
        raise InputError(f"`{name}` must come after a command; see `leadax --help`")
    command = lookup("command", name, commands)
    return _ask(tyro.cli, later(command), f"leadax {name}", rest)


def later(command: Command) -> Callable[..., Callable[[], None]]:
    """A command with the same signature and help that returns the call instead of making it."""

    @functools.wraps(command)
    def put_off(*arguments: Any, **options: Any) -> Callable[[], None]:
        return functools.partial(command, *arguments, **options)

    # tyro would keep the line breaks within the description of an option.
    put_off.__doc__ = re.sub(r"\n {12,}", " ", command.__doc__ or "")
    return put_off


def _ask(parser: Any, subject: Any, program: str, arguments: Sequence[str], description: str | None = None) -> Any:
    with redirect_stderr(io.StringIO()) as box:
        try:
            return parser(subject, prog=program, description=description, args=arguments, config=CONFIG)
        except SystemExit as exit:
            if exit.code in (0, None):
                raise
            wrong = box.getvalue()
    what = _unknown_option(subject, arguments) if callable(subject) else None
    raise InputError(f"{what or one_line(wrong)}; see `{program} --help`")


def _unknown_option(command: Command, arguments: Sequence[str]) -> str | None:
    """Which option does not exist, and what may have been meant."""
    known = sorted(set(_options(command)))
    for argument in arguments:
        option = argument.partition("=")[0].replace("_", "-")
        if re.match(r"--[a-zA-Z]", option) and option not in known:
            close = [name for name in known if name.startswith(option)]
            close += difflib.get_close_matches(option, known, n=1, cutoff=0.6)
            return f"unknown option `{option}`" + (f": did you mean `{close[0]}`?" if close else "")
    return None


def _options(command: Command) -> Iterator[str]:
    """All options of a command, as its help lists them."""
    with redirect_stdout(io.StringIO()) as help_text, suppress(SystemExit):
        tyro.cli(command, args=["--help"], config=CONFIG)
    yield from re.findall(r"(?<![\w-])--[a-zA-Z][\w-]*", _plain(help_text.getvalue()))


def one_line(box: str) -> str:
    """What a box of tyro's says, in one line; without its headline, its help texts and the frame.

    >>> one_line("╭─ Value error ─╮\\n│ Error parsing --n: invalid literal for int() with base 10: 'x' │\\n╰─╯")
    '`--n` must be a whole number, got `x`'
    """
    first = _first_section(box)
    if first and first[0].startswith("Missing from"):
        return "it needs " + " and ".join(line.strip() for line in first if re.match(r" {4}\S", line))
    text = " ".join(line.strip() for line in first)
    if choice := re.match(r"invalid choice '(.*)' for argument '(\S+)'\. Expected one of \((.*)\)\.", text):
        value, option, words = choice.groups()
        choices = sorted(set(re.findall(r"'([^']+)'", words)) - {"None"})
        return f"`{option}` must be {', '.join(choices[:-1])} or {choices[-1]}, got `{value}`"
    for pattern, meaning in MEANINGS.items():
        text = re.sub(pattern, meaning, text)
    return text or "this cannot be understood"


def _first_section(box: str) -> list[str]:
    """The lines from the headline to the first rule. Where a terminal cannot show a frame, there is none."""
    lines = [line.strip("│").rstrip("│ ") for line in _plain(box).splitlines()[1:]]
    is_rule = lambda line: not line.strip(" ─-╰╯")
    lines = list(itertools.dropwhile(is_rule, lines))
    return textwrap.dedent("\n".join(itertools.takewhile(lambda line: not is_rule(line), lines))).splitlines()


def _plain(text: str) -> str:
    """Without colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)
