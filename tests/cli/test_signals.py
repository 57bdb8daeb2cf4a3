"""What happens to a command beside what it is told: signals, closed pipes, pipes for files, a failing system."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import QUICK

from leadax import cli
from leadax.cli import run

# A command that waits to be told to stop, without JAX: `main` with another `demo`.
WAITING = """
import os, signal, sys, time
from leadax import cli
cli.COMMANDS["demo"] = lambda: (os.kill(os.getpid(), signal.SIGHUP), time.sleep(0.5), print("survived"))
cli.main(["demo"])
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)])
def test_training_saves_and_stops(place, number, status, stop_at, capsys):
    before = signal.getsignal(number)
    with stop_at(1, number):
        assert run(["train", "train.csv", "--test", "test.csv", "--out", f"told-{number}", *QUICK]) == status
    assert "stopped at step 2 of 4; " in capsys.readouterr().err
    assert list(Path(f"told-{number}/checkpoints").iterdir())
    assert signal.getsignal(number) is before


def test_a_hangup_ends_a_command_that_does_not_train():
    done = subprocess.run([sys.executable, "-c", WAITING], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (143, "", "leadax: terminated\n")


def test_nohup_is_respected():
    program = "import signal\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n" + WAITING
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "survived\n")


def unread(*arguments, messages=subprocess.PIPE):
    """Run Python with its output into a pipe that nobody reads."""
    # Without buffers, nothing is left to be written at the end.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, *arguments]
    done = subprocess.run(command, stdout=writing, stderr=messages, env=environment, text=True, check=False)
    os.close(writing)
    return done.returncode, done.stderr


@pytest.mark.parametrize("arguments", [["adapt", "--help"], ["--version"]])
def test_nobody_reads(arguments):
    """As in `leadax adapt --help | head -1`, with the pipe closed from the start."""
    assert unread("-m", "leadax.cli", *arguments) == (141, "")


def test_nobody_reads_messages_either():
    """As in `leadax … 2>&1 | head -1`: a result is still to be written when a message cannot be."""
    program = """
from leadax import cli
cli.COMMANDS["demo"] = lambda: (print("a result"), cli.message("a message"))
cli.main(["demo"])
"""
    assert unread("-c", program, messages=subprocess.STDOUT) == (141, None)
    assert unread("-m", "leadax.cli", "nonsense", messages=subprocess.STDOUT) == (2, None)


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "pipe.csv", "--out", "x"],
        ["train", "train.csv", "--test", "pipe.csv", "--out", "x"],
        ["train", "train.csv", "--out", "odd"],
        ["evaluate", "pipe.safetensors", "test.csv"],
        ["evaluate", "run", "pipe.csv"],
        ["evaluate", "odd", "test.csv"],
        ["report", "pipe.csv"],
        ["report", "run", "--data", "pipe.csv", "--out", "x.html"],
        ["reproduce", "table1", "--from", "odd"],
    ],
)
def test_a_pipe_for_a_file_is_refused(place, arguments, refused):
    Path("odd").mkdir(exist_ok=True)
    for name in ("pipe.csv", "pipe.safetensors", "odd/config.json", "odd/model.safetensors", "odd/table1.csv"):
        if not Path(name).exists():
            os.mkfifo(name)
    assert "is a pipe or a device, expected a file" in refused(*arguments)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train", "folder.csv", "--out", "x"], "is a folder, expected a CSV file"),
        (["evaluate", "folder", "test.csv"], "model.safetensors is a folder, expected a model file"),
        (["demo", "--out", "train.csv"], "train.csv: File exists"),
    ],
)
def test_a_folder_for_a_file_is_refused(place, arguments, words, refused):
    for name in ("folder.csv", "folder/model.safetensors"):
        Path(name).mkdir(parents=True, exist_ok=True)
    assert words in refused(*arguments)


@pytest.mark.parametrize(
    ("error", "line", "status"),
    [
        (OSError(28, "No space left on device", "x.csv"), "leadax: error: x.csv: No space left on device", 1),
        (PermissionError(13, "Permission denied", "x.csv"), "leadax: error: x.csv: Permission denied", 2),
        (MemoryError(), "leadax: error: out of memory", 1),
        (RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating"), "leadax: error: out of memory", 1),
        (RecursionError("maximum recursion depth"), "leadax: error: something is nested too deeply", 1),
        (KeyboardInterrupt(), "leadax: interrupted", 130),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_a_system_that_fails_is_one_line(monkeypatch, error, line, status, capsys):
    def failing() -> None:
        raise error

    monkeypatch.setitem(cli.COMMANDS, "demo", failing)
    assert run(["demo"]) == status
    err = capsys.readouterr().err
    assert err.startswith(line)
    assert err.count("\n") == 1


def test_a_bug_is_not_hidden(monkeypatch):
    def failing() -> None:
        raise ZeroDivisionError

    monkeypatch.setitem(cli.COMMANDS, "demo", failing)
    with pytest.raises(ZeroDivisionError):
        run(["demo"])
