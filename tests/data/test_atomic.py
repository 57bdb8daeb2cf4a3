"""A file or folder is replaced whole or not at all."""

import errno
import os
import resource
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from tests.data.strategies import ENDINGS

from leadax import _atomic
from leadax._atomic import check_destination, replacing
from leadax._temporary import create, remove_left_over
from leadax.data import Trajectories, files, load, save
from leadax.errors import InputError, RunError

OLD = Trajectories.from_arrays(range(3), np.zeros((1, 2, 3, 1)))
NEW = Trajectories.from_arrays(range(30), np.random.default_rng(0).random((4, 50, 30, 2)))


def write(path, text: str) -> None:
    (path / "inner" if path.is_dir() else path).write_text(text)


def replace(path, text: str, *, then=None, **options) -> None:
    with replacing(path, **options) as temporary:
        write(temporary, text)
        if then:
            then()


def listing(path) -> list[str]:
    return sorted(found.name for found in path.iterdir())


def content(path) -> str:
    return (path / "inner" if path.is_dir() else path).read_text()


@pytest.mark.parametrize("folder", [False, True])
def test_replaces(folder, tmp_path):
    target = tmp_path / "a"
    for text in ("one", "two"):
        replace(target, text, folder=folder, overwrite=True)
        assert content(target) == text
        assert listing(tmp_path) == ["a"]


@pytest.mark.parametrize("error", [ValueError("odd"), KeyboardInterrupt(), RunError("diverged")])
@pytest.mark.parametrize("folder", [False, True])
def test_failure_leaves_the_old_one(folder, error, tmp_path):
    target = tmp_path / "a"
    replace(target, "old", folder=folder)

    def fail():
        raise error

    with pytest.raises(type(error)):
        replace(target, "half", folder=folder, overwrite=True, then=fail)
    assert content(target) == "old"
    assert listing(tmp_path) == ["a"]


@pytest.mark.parametrize("folder", [False, True])
@pytest.mark.parametrize("moment", ["fsync", "rename", "replace"])
def test_failing_system_calls(folder, moment, tmp_path, monkeypatch):
    """A disk that fills up shows in `fsync`; a rename can fail; each time the old one must be there."""
    target = tmp_path / "a"
    replace(target, "old", folder=folder)

    def fail(source, *_, original=getattr(os, moment), calls=[]):  # noqa: B006
        calls.append(source)
        # The second rename of a folder is the one that hurts: the old one is aside already.
        if moment == "rename" and len(calls) != 2:
            return original(source, *_)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, moment, fail)
    used = moment == "fsync" or moment == ("rename" if folder else "replace")
    if used:
        with pytest.raises(RunError, match=r"a could not be written: No space left on device; what .* is untouched"):
            replace(target, "new", folder=folder, overwrite=True)
        assert content(target) == "old"
    monkeypatch.undo()
    assert listing(tmp_path) == ["a"]


def test_everything_is_pushed_to_disk_before_the_rename(tmp_path, monkeypatch):
    calls = []
    synced = lambda descriptor: calls.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
    monkeypatch.setattr(os, "fsync", synced)
    rename = os.rename
    monkeypatch.setattr(os, "rename", lambda *names: (calls.append("RENAME"), rename(*names)))
    with replacing(tmp_path / "a", folder=True, overwrite=True) as temporary:
        write(temporary, "one")
        (temporary / "deep").mkdir()
        (temporary / "deep" / "leaf").write_text("two")
    before = calls[: calls.index("RENAME")] if "RENAME" in calls else calls[:-1]
    assert {"inner", "deep", "leaf", temporary.name} <= set(before)
    assert calls[-1] == tmp_path.name


@pytest.mark.parametrize("folder", [False, True])
def test_what_a_killed_process_left_is_removed_by_the_next(folder, tmp_path):
    """But not what one that lives is writing, nor an old version that nothing has replaced, nor what others call so."""
    target, others = tmp_path / "a*", [".ab.0123abcd.partial", ".a*.partial", ".a*.0123abcd.other"]
    for name in others:
        (tmp_path / name).touch()
    _, lock = create(target, folder=folder)
    os.close(lock)  # as the system does when a process is killed
    assert len(listing(tmp_path)) == len(others) + 1
    aside = tmp_path / ".a*.0123abcd.old"
    aside.mkdir()
    with replacing(target, folder=folder) as alive:
        remove_left_over(target)
        assert alive.exists()
        assert listing(tmp_path) == sorted([*others, alive.name, aside.name])
    replace(target, "new", folder=folder, overwrite=True)
    assert listing(tmp_path) == sorted([*others, "a*"])


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    replace(tmp_path / "link", "new", overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_rights_are_kept(tmp_path):
    (tmp_path / "a").write_text("old")
    (tmp_path / "a").chmod(0o640)
    replace(tmp_path / "a", "new", overwrite=True)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


def test_someone_else_was_faster(tmp_path):
    with pytest.raises(RunError, match="another program"):
        replace(tmp_path / "a", "mine", then=lambda: (tmp_path / "a").write_text("theirs"))
    assert (tmp_path / "a").read_text() == "theirs"


def unwritable(tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "there.nc").write_text("x")
    (tmp_path / "folder.nc").mkdir()
    return {
        tmp_path / "missing" / "a.nc": "folder .*missing does not exist: create it first",
        tmp_path / "file" / "a.nc": "folder .*file is not a folder",
        "/proc/a.nc": "the folder /proc is not writable",
        tmp_path
        / "there.nc": r"there.nc exists: choose another name, or overwrite it \(`--overwrite` / overwrite=True\)",
        tmp_path / "folder.nc": "folder.nc exists",
    }


def test_unwritable_places_are_known_before_the_work(tmp_path):
    for path, message in unwritable(tmp_path).items():
        for attempt in (check_destination, files.check_output, lambda path: save(OLD, path)):
            with pytest.raises(InputError, match=f"^{path}.*{message}|{message}") as caught:
                attempt(path)
            assert "\n" not in str(caught.value)
    files.check_output(tmp_path / "there.nc", overwrite=True)
    files.check_output(tmp_path / "new.zarr")
    assert listing(tmp_path) == ["file", "folder.nc", "there.nc"]


def test_only_like_replaces_like(tmp_path):
    (tmp_path / "a.nc").mkdir()
    (tmp_path / "a.zarr").write_text("x")
    (tmp_path / "b.zarr").mkdir()
    (tmp_path / "b.zarr" / "thesis.txt").write_text("precious")
    for name, message in {"a.nc": "is a folder", "a.zarr": "is a file", "b.zarr": "is not a Zarr store"}.items():
        with pytest.raises(InputError, match=message):
            save(OLD, tmp_path / name, overwrite=True)
    assert (tmp_path / "b.zarr" / "thesis.txt").read_text() == "precious"


@contextmanager
def full_disk(size: int):
    """No file may grow beyond `size` bytes: to the libraries this is like a disk that fills up while they write."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.skipif(sys.platform == "win32", reason="needs RLIMIT_FSIZE")
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("size", [0, 5000])
def test_full_disk(ending, size, tmp_path):
    path = tmp_path / f"a{ending}"
    save(OLD, path)
    with full_disk(size), pytest.raises(RunError, match=f"a{ending} could not be written") as caught:
        save(NEW, path, overwrite=True)
    assert "\n" not in str(caught.value)
    assert load(path) == OLD
    assert listing(tmp_path) == [path.name]
    save(NEW, path, overwrite=True)
    assert load(path) == NEW


@pytest.mark.parametrize("ending", ENDINGS)
def test_library_that_breaks_off(ending, tmp_path, monkeypatch):
    path = tmp_path / f"a{ending}"
    save(OLD, path)

    def write_half(data, temporary):
        (temporary / "zarr.json" if temporary.is_dir() else temporary).write_text("half")
        raise RuntimeError("HDF5:\n many\n lines")

    monkeypatch.setattr(files.format_of(path).load(), "write", write_half)
    with pytest.raises(RunError, match="could not be written: HDF5: many lines"):
        save(NEW, path, overwrite=True)
    assert load(path) == OLD
    assert listing(tmp_path) == [path.name]


def test_one_line():
    assert _atomic.one_line(ValueError("a\n  b")) == "a b"
    assert _atomic.one_line(ValueError()) == "ValueError"
    assert len(_atomic.one_line(ValueError("x" * 1000))) == 300
