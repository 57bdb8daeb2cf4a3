"""How to train: what is asked of `fit`, checked; and who is told of its progress."""

import dataclasses
from collections.abc import Callable
from typing import Literal, get_args

import jax.numpy as jnp
from jaxtyping import DTypeLike

from ..data.derivatives import ESTIMATES
from ..errors import InputError, LeadaxError, lookup
from ..methods import Levels
from ..methods.settings import positive
from ..records import Snapshot
from ..systems.system import Protocol
from .optimisers import Decay
from .sampling import ScheduledSampling

MATCHES = ("trajectories", *ESTIMATES)
Listen = Callable[[Snapshot, int], None]


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How to train, beyond what one thinks of first. The defaults suit most data.

    - `decay`: of the learning rate: `cosine` to zero at the last step (the default), `constant` as in the paper, or
      `one-cycle`, up and down, for higher rates;
    - `sampling`: how often forecasts restart from the data: nearly always at first, hardly ever at the end. By default
      the probability falls to 0.01 in the first third of the steps, with a preset as in the paper;
    - `weight_decay`: γ, how strongly weights are kept small, see `leadax.train.loss.loss`; by default that of the
      settings (`Defaults`);
    - `batch_size`: trajectories per environment and step; all by default;
    - `match`: what is compared with the data: `trajectories` (forecasts), or derivatives estimated by
      `finite-differences` or `spline`, without any forecast: cheaper and, where points are far apart, worse;
    - `protocol`: `paper` counts errors as the paper's experiments did, first point included;
    - `warmup`: how many points of a held-out trajectory a forecast is told; by default 1, or 5 where something is
      hidden or individual;
    - `look_every`, `checkpoint_every`: steps between looks at the test data, and between checkpoints;
    - `on_divergence`: what to do when training diverges: `retry` from the last good step with half the learning rate
      (up to eight times in a row), or `stop`.
    """

    decay: Decay | None = None
    sampling: ScheduledSampling | None = None
    weight_decay: float | None = None
    batch_size: int | None = None
    match: str = "trajectories"
    protocol: str = "clean"
    dtype: DTypeLike = jnp.float32
    warmup: int | None = None
    look_every: int = 50
    checkpoint_every: int = 1_000
    on_divergence: Literal["stop", "retry"] = "retry"

    def __post_init__(self):
        for name in ("look_every", "checkpoint_every"):
            positive(name, getattr(self, name))
        for name in ("batch_size", "warmup"):
            if getattr(self, name) is not None:
                positive(name, getattr(self, name))
        if self.weight_decay is not None and not 0 <= self.weight_decay < float("inf"):
            raise InputError(f"`weight_decay` must be zero or a positive number, got {self.weight_decay!r}")
        if self.decay is not None:
            lookup("decay", self.decay, dict.fromkeys(get_args(Decay)))
        lookup("way to match the data", self.match, dict.fromkeys(MATCHES))
        lookup("protocol", self.protocol, dict.fromkeys(get_args(Protocol)))
        lookup("answer to divergence", self.on_divergence, dict.fromkeys(("retry", "stop")))


@dataclasses.dataclass(frozen=True)
class Start:
    """Where training begins, if not from random weights: these parameters, of which only some levels learn."""

    levels: Levels
    trainable: tuple[str, ...] = Levels._fields


# Functions of the module, so that another process may be given a monitor.
def _nobody_listens(snapshot: Snapshot, steps: int) -> None:
    pass


def _nobody_hears(text: str) -> None:
    pass


def _never() -> bool:
    return False


@dataclasses.dataclass(frozen=True)
class Monitor:
    """Who is told of progress, and who may stop it.

    - `listen`: called with each `Snapshot` and the number of steps asked for;
    - `warn`: called with a line of text; `should_stop`: asked about once a second.
    """

    listen: Listen = _nobody_listens
    warn: Callable[[str], None] = _nobody_hears
    should_stop: Callable[[], bool] = _never

    @property
    def warns(self) -> bool:
        """Whether anybody hears warnings: what is only said need not be computed otherwise."""
        return self.warn is not _nobody_hears


class Interrupted(LeadaxError):
    """Training was told to stop, and saved what it had."""

    exit_status = 130
