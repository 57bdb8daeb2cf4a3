"""What must be settled before JAX starts, and how a command is told to stop."""

import os
import platform
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def prepare(seeds: int = 1, cores: int | None = None) -> None:
    """Start JAX: as many CPU devices as seeds can be spread over, and compiled programs kept on disk.

    A small system runs no faster on two cores than on one, but two seeds on two devices take little longer than one.
    `cores` are all by default.

    Set LEADAX_CACHE=off to compile everything anew, or to a folder to keep programs there.
    """
    import jax

    cores = cores or os.cpu_count() or 1
    with suppress(RuntimeError):  # too late where JAX has computed something already: seeds then share what there is
        jax.config.update("jax_num_cpu_devices", max(n for n in range(1, cores + 1) if seeds % n == 0))
    choice = os.environ.get("LEADAX_CACHE", "")
    if choice != "off":
        jax.config.update("jax_compilation_cache_dir", choice or str(_cache_folder()))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)


def _cache_folder() -> Path:
    """One per release and kind of processor: a program compiled for another one can crash."""
    import jaxlib.version

    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "leadax" / f"{jaxlib.version.__version__}-{_processor()}"


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.split(":", 1)[1] for line in lines if line.startswith(("model name", "flags"))][:2]
    import hashlib

    return hashlib.sha256(" ".join([platform.machine(), *names]).encode()).hexdigest()[:12]


@contextmanager
def stoppable() -> Iterator[Callable[[], bool]]:
    """Yield a function that tells whether the user (Ctrl-C) or the system (SIGTERM) wants the command to stop.

    The work in hand is finished and saved first; a second signal stops at once. The exit status says which it was.
    """
    from ..job import Interrupted

    told: list[int] = []

    def note(number: int, frame: object) -> None:
        if told:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        told.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(told)
    except Interrupted as stop:
        stop.exit_status = 128 + told[0] if told else stop.exit_status
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
