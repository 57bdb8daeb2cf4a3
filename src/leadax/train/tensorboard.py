"""Training curves in TensorBoard, for those who have it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import InputError
from ..records import Snapshot
from .recipe import Listen


@contextmanager
def tensorboard(folder: str | Path) -> Iterator[Listen]:
    """Yield a listener for `Monitor` that writes what it hears to a folder, which `tensorboard --logdir` shows.

        with lx.tensorboard("logs") as listen:
            lx.fit(method, data, monitor=lx.Monitor(listen=listen), key=key)

    Members have lines of their own: `loss/0`, `loss/1`, … It needs `leadax[tensorboard]`.
    """
    try:
        from tensorboardX import SummaryWriter
    except ImportError as error:
        raise InputError("TensorBoard files need tensorboardX: pip install 'leadax[tensorboard]'") from error
    with SummaryWriter(str(folder)) as writer:

        def listen(snapshot: Snapshot, steps: int) -> None:
            for name in ("loss", "error", "penalty", "test", "validation"):
                for member, value in enumerate(getattr(snapshot, name) or ()):
                    writer.add_scalar(f"{name}/{member}", value, snapshot.step)

        yield listen
