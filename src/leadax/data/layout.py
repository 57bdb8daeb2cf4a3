"""`Layout`: what a state and the inputs of a vector field are made of."""

import re
from dataclasses import dataclass, field

from ..errors import InputError
from ..registry import ONLY_IF_GIVEN, Registry

IMPULSE = "impulse:"
HIDDEN = re.compile(r"hidden\d+")


@dataclass(frozen=True)
class Layout:
    """What a state consists of, what else a vector field sees, and what belongs to one trajectory alone.

    A state has the observed channels first and hidden ones after. The inputs of a field are those of the data, the
    covariates of the environment, and the individual constants of the trajectory, in this order.

    - `channels`: the names of the observed channels; `hidden`: how many channels are never observed;
    - `individual`: how many constants a trajectory has of its own;
    - `noise`: the standard deviation of the noise in each channel, in standard units; None where observations are
      believed. Where there is noise, or anything hidden or individual, the start of each trajectory is inferred;
    - `inputs`, `kinds`: the names of the inputs and how they act, as in `Trajectories`;
    - `covariates`: which parameters of the environments the field sees;
    - `relative_noise`: noise that is added to `noise`, as a part of each value; `from_zero`: whether hidden channels
      start at 0.

    >>> Layout(("prey",), hidden=1, inputs=("dose", "light"), kinds=("impulse:hidden0", "linear")).driving
    ('light',)
    """

    channels: tuple[str, ...]
    hidden: int = 0
    individual: int = 0
    noise: tuple[float, ...] | None = None
    inputs: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    covariates: tuple[str, ...] = ()
    relative_noise: float = field(default=0.0, metadata=ONLY_IF_GIVEN)
    from_zero: bool = field(default=False, metadata=ONLY_IF_GIVEN)

    def __post_init__(self):
        for name in ("channels", "inputs", "kinds", "covariates"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        for name in ("hidden", "individual"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise InputError(f"`{name}` must be a whole number from 0 on, got {value!r}")
        if self.noise is not None:
            object.__setattr__(self, "noise", tuple(float(n) for n in self.noise))
            if len(self.noise) != len(self.channels) or not all(0 <= n < float("inf") for n in self.noise):
                raise InputError(f"`noise` needs a number from 0 on for each channel, got {self.noise}")
        if len(self.inputs) != len(self.kinds):
            raise InputError(f"there are {len(self.inputs)} inputs and {len(self.kinds)} kinds of them")
        for kind in self.kinds:
            # How much is hidden may be decided after the data were looked at. What is missing then is noticed in use.
            if kind.startswith(IMPULSE) and not HIDDEN.fullmatch(kind.removeprefix(IMPULSE)):
                self.target(kind)

    @property
    def inferred(self) -> bool:
        """Whether trajectories have anything of their own that must be inferred."""
        return self.noise is not None or self.hidden > 0 or self.individual > 0

    @property
    def state(self) -> tuple[str, ...]:
        """The names of all channels of a state."""
        return (*self.channels, *(f"hidden{i}" for i in range(self.hidden)))

    @property
    def driving(self) -> tuple[str, ...]:
        """The names of the inputs of the data that a field sees: all but impulses."""
        return tuple(n for n, kind in zip(self.inputs, self.kinds, strict=True) if not kind.startswith(IMPULSE))

    @property
    def seen(self) -> int:
        """How many numbers a field sees beside time and state."""
        return len(self.driving) + len(self.covariates) + self.individual

    def state_shape(self, observed: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of a whole state, from that of what is observed."""
        return (*observed[:-1], observed[-1] + self.hidden)

    def target(self, kind: str) -> int:
        """The channel that an impulse adds to, by position."""
        name = kind.removeprefix(IMPULSE)
        if name not in self.state:
            more = f", or say how many are hidden with `--hidden {1 + int(name[6:])}`" if HIDDEN.fullmatch(name) else ""
            raise InputError(
                f"an impulse adds to `{name}`, which is no channel: use one of {', '.join(self.state)}{more}"
            )
        return self.state.index(name)


# So that files can name it.
Registry("layout", Layout, {"layout": Layout})
