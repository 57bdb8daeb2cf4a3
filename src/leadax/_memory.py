"""What fits into memory: what does not is refused before it is read, with its size and the memory there is."""

import os
from collections.abc import Iterator
from pathlib import Path

from .errors import InputError

COPIES = 3  # data in memory are checked, packed and made read-only, which takes about so many copies at the peak
_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")


def check_fits(what: str, size: int, advice: str = "") -> None:
    """An `InputError` unless data of so many bytes, and what is done to them, fit into memory.

    - `what`: the subject of the sentence; `advice`: what to do.

    >>> check_fits("the file", 10**18, "choose fewer channels")
    Traceback (most recent call last):
    ...
    leadax.errors.InputError: the file takes 1000 PB, of which several copies do not fit into the ... of memory that are
    free: choose fewer channels
    """
    room = free_memory()
    if room is not None and COPIES * size > room:
        raise InputError(
            f"{what} takes {shown(size)}, of which several copies do not fit into the {shown(room)} of memory that are "
            f"free{': ' if advice else ''}{advice}"
        )


def shown(size: float) -> str:
    """A number of bytes for people.

    >>> shown(300), shown(2_147_483_648)
    ('300 bytes', '2.15 GB')
    """
    power = 0
    while size >= 1000 and power < len(_UNITS) - 1:
        size, power = size / 1000, power + 1
    return f"{size:.3g} {_UNITS[power]}" if size < 1000 else f"{size:.0f} {_UNITS[power]}"


def free_memory() -> int | None:
    """The bytes that this process may still use: what is free, or less under a limit. None where nobody says."""
    return min(_rooms(), default=None)


def _rooms() -> Iterator[int]:
    """What each authority would give: the machine, the container, the limit of the process."""
    for line in _text("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            yield 1024 * int(line.split()[1])
    limit, used = _text("/sys/fs/cgroup/memory.max").strip(), _text("/sys/fs/cgroup/memory.current").strip()
    if limit.isdigit() and used.isdigit():
        yield max(0, int(limit) - int(used))
    try:
        import resource
    except ImportError:  # Windows
        return
    most, pages = resource.getrlimit(resource.RLIMIT_AS)[0], _text("/proc/self/statm").split()
    if most != resource.RLIM_INFINITY and pages:
        yield max(0, most - int(pages[0]) * os.sysconf("SC_PAGE_SIZE"))


def _text(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
