"""Locks between processes, by a file that they all open.

The operating system keeps the lock (`flock` on Unix, `msvcrt.locking` on Windows), so it is released when the process
that holds it ends, even by `kill -9`. The file itself may stay behind: it means nothing.
"""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from .errors import InputError


@contextmanager
def exclusive(path: str | os.PathLike[str]) -> Iterator[None]:
    """Hold the lock on the file `path`, or raise `InputError` at once if it is taken.

    It does not matter who has it: another process, another thread, or this one.

    **Arguments**

    - `path`: the lock file. It is created when needed, and so is its folder, which the error message names.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, exclusive(folder + "/.lock"), exclusive(folder + "/.lock"):
    ...     pass
    Traceback (most recent call last):
    ...
    leadax.errors.InputError: another process is working on ...: wait for it, or choose another --out
    """
    with _acquire(Path(path), blocking=False):
        yield


@contextmanager
def waiting(path: str | os.PathLike[str]) -> Iterator[None]:
    """Wait until the lock on the file `path` is free, then hold it. Arguments as in `exclusive`."""
    with _acquire(Path(path), blocking=True):
        yield


def _acquire(path: Path, *, blocking: bool) -> AbstractContextManager[object]:
    # Not a singleton: a second lock on the same file must fail, even in the same process. No soft lock on file systems
    # without `flock`: that is the mere existence of the file, which outlives a process that is killed.
    lock = FileLock(path, is_singleton=False, fallback_to_soft=False)
    try:
        return lock.acquire(blocking=blocking)
    except Timeout:
        raise InputError(f"another process is working on {path.parent}: wait for it, or choose another --out") from None
    except OSError as error:
        raise InputError(
            f"cannot lock the folder {path.parent}: {error.strerror}; make it writable, or choose another --out"
        ) from error
