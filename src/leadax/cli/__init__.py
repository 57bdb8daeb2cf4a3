"""The command line: the only place that prints. Nothing here imports JAX before a command needs it."""

import errno
import io
import os
import sys
from collections.abc import Sequence

from .._atomic import one_line
from ..errors import LeadaxError
from .adapt import adapt
from .bench import bench
from .bound import bound
from .compare import compare
from .console import message
from .demo import demo
from .evaluate import evaluate
from .explain import explain
from .export import export
from .own import fault
from .parsing import parse
from .predict import predict
from .report import report
from .reproduce import reproduce
from .runtime import INTERRUPTED, TERMINATED, leave_when_told
from .simulate import simulate
from .train import train
from .tune import tune

COMMANDS = {
    "demo": demo,
    "simulate": simulate,
    "train": train,
    "tune": tune,
    "evaluate": evaluate,
    "adapt": adapt,
    "predict": predict,
    "explain": explain,
    "export": export,
    "compare": compare,
    "report": report,
    "reproduce": reproduce,
    "bound": bound,
    "bench": bench,
}

DESCRIPTION = """Learn the dynamics that many environments share, and what sets each apart, from a few trajectories.

Start with: leadax demo"""

# Mistakes in a path; all else, such as a full disk, is not the user's doing.
OF_A_PATH = {errno.ENOENT, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.EACCES, errno.ENAMETOOLONG, errno.ELOOP}
NOBODY_READS = 141  # as of a program that SIGPIPE has ended


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit: 0 done, 1 failed, 2 wrong use or bad input, 130 interrupted, 143 terminated."""
    leave_when_told()
    # XLA warns of every program that it finds on disk, by lists of 2 000 characters, because preferences of its own
    # (`prefer-no-gather`) are not features of the processor. What is fatal is still said.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # names that the terminal cannot show must not end a command
            stream.reconfigure(errors="backslashreplace")
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit status. Errors that a user can act on become one line; others are bugs."""
    try:
        _run(list(arguments))
        sys.stdout.flush()
    except BrokenPipeError:  # as in `leadax --help | head -1`
        return _nobody_reads()
    except LeadaxError as error:
        return _told(f"error: {error}", error.exit_status)
    except KeyboardInterrupt:
        return _told("interrupted", INTERRUPTED)
    except SystemExit as exit:
        return _told("terminated", TERMINATED) if exit.code == TERMINATED else int(exit.code or 0)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _told(f"error: {where}{one_line(error)}", 2 if error.errno in OF_A_PATH else 1)
    except RecursionError:
        return _told("error: something is nested too deeply", 1)
    except Exception as error:
        if _out_of_memory(error):
            return _told("error: out of memory: try fewer seeds, a smaller --batch-size or a smaller net", 1)
        if (where := fault(error)) is None:
            raise
        return _told(f"error: {where}: {type(error).__name__}: {one_line(error)}", 1)
    return 0


def _run(arguments: list[str]) -> None:
    if arguments == ["--version"]:
        from .. import __version__

        print(__version__)
        return
    try:
        command = parse(COMMANDS, arguments, DESCRIPTION)
    except SystemExit:  # help was asked for
        return
    command()


def _told(text: str, status: int) -> int:
    try:
        message(f"leadax: {text}")
    except BrokenPipeError:
        _nobody_reads()
    return status


def _nobody_reads() -> int:
    """Python writes what is left in its buffers as it ends, and would complain: let it write to nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(nowhere, stream.fileno())
    return NOBODY_READS


def _out_of_memory(error: Exception) -> bool:
    """Whether NumPy, or JAX, ran out of memory."""
    return isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error)
