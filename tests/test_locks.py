"""Locks between processes: taken once, waited for, and gone with the process that had them."""

import errno
import os
import subprocess
import sys
import threading
import time
import warnings

import pytest

from leadax._locks import exclusive, waiting
from leadax.errors import InputError

# Without the package: importing it would take longer than all of the test.
HOLD = """
import sys, time, filelock
lock = filelock.FileLock(sys.argv[1])
lock.acquire()
print("held", flush=True)
time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path):
    """A process that holds the lock of the folder for ten minutes, unless it is killed."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, tmp_path / ".lock"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_another_process_is_kept_out_until_the_first_is_killed(tmp_path, holder):
    expected = f"another process is working on {tmp_path}: wait for it, or choose another --out"
    with pytest.raises(InputError) as caught, exclusive(tmp_path / ".lock"):
        pass
    assert str(caught.value) == expected
    holder.kill()  # SIGKILL
    holder.wait()
    with exclusive(tmp_path / ".lock"):
        pass


def test_waiting_gets_the_lock_of_a_process_that_is_killed(tmp_path, holder):
    kill = threading.Timer(0.3, holder.kill)
    kill.start()
    began = time.monotonic()
    with waiting(tmp_path / ".lock"):
        waited = time.monotonic() - began
    assert 0.25 < waited < 60, f"expected to wait for the kill after 0.3 s, waited {waited:.2f} s"


@pytest.mark.parametrize("outer", [exclusive, waiting])
def test_a_second_lock_in_the_same_process_fails(tmp_path, outer):
    with outer(tmp_path / ".lock"):
        with pytest.raises(InputError, match="another process"), exclusive(tmp_path / ".lock"):
            pass
        # The failed attempt has not released the lock of the first.
        with pytest.raises(InputError, match="another process"), exclusive(tmp_path / ".lock"):
            pass
    with exclusive(tmp_path / ".lock"):
        pass


def test_threads_wait_for_each_other(tmp_path):
    inside, most = 0, 0

    def work():
        nonlocal inside, most
        with waiting(tmp_path / ".lock"):
            inside += 1
            most = max(most, inside)
            time.sleep(0.05)
            inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert most == 1
    assert not any(thread.is_alive() for thread in threads)


@pytest.mark.parametrize("lock", [exclusive, waiting])
def test_released_after_an_error_which_passes_through(tmp_path, lock):
    with pytest.raises(OSError, match="disk full"), lock(tmp_path / ".lock"):
        raise OSError("disk full")
    with exclusive(tmp_path / ".lock"):
        pass


@pytest.mark.parametrize("lock", [exclusive, waiting])
def test_makes_the_folder(tmp_path, lock):
    with lock(str(tmp_path / "new" / "run" / ".lock")):
        assert (tmp_path / "new" / "run").is_dir()


@pytest.mark.parametrize("lock", [exclusive, waiting])
def test_a_folder_that_is_a_file(tmp_path, lock):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot lock the folder"), lock(tmp_path / "file" / ".lock"):
        pass


@pytest.mark.parametrize("lock", [exclusive, waiting])
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_an_unwritable_folder(tmp_path, lock):
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="Permission denied"), lock(tmp_path / ".lock"):
        pass


@pytest.mark.parametrize("lock", [exclusive, waiting])
@pytest.mark.parametrize("code", [errno.EROFS, errno.EPERM, errno.ENOSYS, errno.ENOLCK])
def test_a_file_system_that_refuses_is_one_clear_error(tmp_path, monkeypatch, lock, code):
    """Read-only, forbidden, without locks, out of locks; never a soft lock, which would survive a kill."""

    def refuse(*args):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(pytest.importorskip("fcntl"), "flock", refuse)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match=os.strerror(code)), lock(tmp_path / ".lock"):
            pass
