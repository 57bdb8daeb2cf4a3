"""Worker processes that end with the process that started them, even if that one is killed."""

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
from multiprocessing.process import BaseProcess

PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """Make this process, started by `multiprocessing`, end as soon as its parent does.

    On every platform a thread waits for the end of the parent. On Linux the kernel watches it as well, whatever Python
    is busy with; there it also counts as the end if the thread that started this process ends. To end at once is safe:
    files are replaced atomically, and runs are resumed.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent.pid:  # it ended before the kernel was told
            os._exit(1)
    threading.Thread(target=_end_after, args=(parent,), name="watch the parent", daemon=True).start()


def _end_after(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)
