"""What must be settled before JAX starts, and how a command is told to stop."""

import os
import platform
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

# Ctrl-C, and what the system says when it wants a process to end: SIGHUP when its terminal is gone, else SIGTERM.
ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
INTERRUPTED, TERMINATED = 130, 143
LEAST_SECONDS = "jax_persistent_cache_min_compile_time_secs"


def prepare(seeds: int = 1, cores: int | None = None) -> None:
    """Start JAX with as many CPU devices as the seeds can be spread over, and keep compiled programs on disk.

    A small system runs no faster on two cores than on one, but two seeds on two devices take little longer than one.
    `cores` defaults to all of them.

    Set LEADAX_CACHE=off to compile everything anew, or to a folder to keep programs there.
    """
    import jax

    cores = cores or os.cpu_count() or 1
    with suppress(RuntimeError):  # too late if JAX has computed something already: the seeds then share what there is
        jax.config.update("jax_num_cpu_devices", max(n for n in range(1, cores + 1) if seeds % n == 0))
    choice = os.environ.get("LEADAX_CACHE", "")
    if choice != "off":
        jax.config.update("jax_compilation_cache_dir", choice or str(_cache_folder()))
        if LEAST_SECONDS.upper() not in os.environ:  # JAX takes its settings from there
            jax.config.update(LEAST_SECONDS, 0.5)


def _cache_folder() -> Path:
    """One folder per release and kind of processor: a program compiled for another one can crash."""
    import jaxlib.version

    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "leadax" / f"{jaxlib.version.__version__}-{_processor()}"


def _processor() -> str:
    import hashlib

    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.split(":", 1)[1] for line in lines if line.startswith(("model name", "flags"))][:2]
    return hashlib.sha256(" ".join([platform.machine(), *names]).encode()).hexdigest()[:12]


def leave_when_told() -> None:
    """Let SIGTERM and SIGHUP end the process by an exception, so that half-written files are removed."""
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, lambda number, frame: sys.exit(TERMINATED))


@contextmanager
def stoppable() -> Iterator[Callable[[], bool]]:
    """Yield a function that tells whether the user (Ctrl-C) or the system (SIGTERM, SIGHUP) wants the command to stop.

    Training then saves a checkpoint and stops; a second signal ends the process at once. The exit status says which
    of the two it was.
    """
    from ..train import Interrupted

    told: list[int] = []

    def note(number: int, frame: object) -> None:
        if told:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        told.append(number)
        # Not `print`: the signal may have come in the middle of one.
        with suppress(OSError):  # nobody may be listening any more
            os.write(2, b"stopping as soon as training can be saved; once more to stop at once\n")

    before: dict[int, Any] = {}
    for number in (signal.SIGINT, *ENDING):
        if signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, note)
    try:
        yield lambda: bool(told)
    except Interrupted as stop:
        stop.exit_status = INTERRUPTED if told[:1] == [signal.SIGINT] else TERMINATED if told else stop.exit_status
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
