"""Temporary files and folders next to a target. One whose process was killed is removed by the next that comes.

Their owner holds a lock on them, which the operating system lifts when the process ends, however it ends. Where there
are no such locks (Windows, some network drives), nothing is removed.
"""

import os
import secrets
import shutil
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

PARTIAL, OLD = "partial", "old"


def sibling(target: Path, ending: str) -> Path:
    """A new hidden name next to a target."""
    return target.with_name(f".{target.name}.{secrets.token_hex(4)}.{ending}")


def create(target: Path, *, folder: bool) -> tuple[Path, int | None]:
    """An empty temporary file or folder next to a target, and the lock on it, for `remove`."""
    while True:
        temporary = sibling(target, PARTIAL)
        temporary.mkdir() if folder else temporary.touch(exist_ok=False)
        lock = _locked(temporary)
        if lock is not None or temporary.exists():  # else another process took it for a left-over in the meantime
            return temporary, lock


def remove(temporary: Path, lock: int | None = None) -> None:
    """Remove a temporary file or folder, if it is still there, and lift the lock on it."""
    if temporary.is_dir():
        shutil.rmtree(temporary, ignore_errors=True)
    else:
        temporary.unlink(missing_ok=True)
    if lock is not None:
        os.close(lock)


def remove_left_over(target: Path) -> None:
    """Remove what processes that were killed left of their attempts to write this target.

    An old version that was put aside is removed only if a new one took its place.
    """
    for left in target.parent.glob(f".{_literally(target.name)}.{'[0-9a-f]' * 8}.*"):
        unneeded = left.name.endswith(f".{PARTIAL}") or (left.name.endswith(f".{OLD}") and target.exists())
        if unneeded and (lock := _locked(left)) is not None:
            remove(left, lock)


def _locked(path: Path) -> int | None:
    """A lock on what is at a path; None if somebody else has it, if nothing is there, or if there are no locks."""
    if fcntl is None:
        return None
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_ino == path.stat().st_ino:
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None


def _literally(name: str) -> str:
    """A name as a pattern that matches nothing else."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)
