"""The command line: the only place that prints. Nothing here imports JAX before a command needs it."""

import signal
import sys
from collections.abc import Sequence

import tyro

from ..errors import LeadaxError
from .adapt import adapt
from .bench import bench
from .bound import bound
from .compare import compare
from .console import message
from .demo import demo
from .evaluate import evaluate
from .predict import predict
from .report import report
from .reproduce import reproduce
from .simulate import simulate
from .train import train

COMMANDS = {
    "demo": demo,
    "simulate": simulate,
    "train": train,
    "evaluate": evaluate,
    "adapt": adapt,
    "predict": predict,
    "compare": compare,
    "report": report,
    "reproduce": reproduce,
    "bound": bound,
    "bench": bench,
}

DESCRIPTION = """Learn the dynamics that many environments share, and what sets each apart, from a few trajectories.

Start with: leadax demo"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit: 0 done, 1 failed, 2 wrong use or bad input, 130 interrupted, 143 terminated."""
    # Leave by an exception, so that what is half-written is cleared away.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit status. Errors that a user can act on become one line."""
    if list(arguments) == ["--version"]:
        from .. import __version__

        print(__version__)
        return 0
    try:
        tyro.extras.subcommand_cli_from_dict(
            COMMANDS,
            prog="leadax",
            description=DESCRIPTION,
            args=arguments,
            config=(tyro.conf.FlagCreatePairsOff,),
        )
    except LeadaxError as error:
        message(f"leadax: error: {error}")
        return error.exit_status
    except KeyboardInterrupt:
        message("leadax: interrupted")
        return 130
    except SystemExit as exit:  # help, or wrong use, which tyro has explained
        return exit.code if isinstance(exit.code, int) else 1
    return 0
