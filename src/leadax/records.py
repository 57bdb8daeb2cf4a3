"""Records: what was asked of a training run, what was seen on the way, what a model knows of its training.

Typed, immutable, and plain JSON in files. A record that comes from a file is checked entry by entry.
"""

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

from .errors import InputError

T = TypeVar("T")


def entry(document: Mapping[str, Any], name: str, kind: type[T] | tuple[type, ...], what: str) -> Any:
    """An entry of a JSON document; `InputError` if it is missing or of another type."""
    if not isinstance(document, Mapping) or name not in document:
        raise InputError(f"{what} lacks `{name}`: it is damaged, or was changed by hand")
    value = document[name]
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if (isinstance(value, bool) and bool not in kinds) or not isinstance(value, kinds) or not _fits(value):
        names = " or ".join(k.__name__ for k in kinds)
        raise InputError(f"`{name}` of {what} is a {type(value).__name__}, expected {names}: it was changed by hand")
    return value


def _fits(value: Any) -> bool:
    """Whether a whole number could be made a float: JSON has numbers of any length."""
    return not isinstance(value, int) or abs(value) < 2**1000


def texts(document: Mapping[str, Any], name: str, what: str) -> tuple[str, ...]:
    """An entry that is a list of names."""
    values = entry(document, name, list, what)
    if not values or not all(isinstance(value, str) for value in values):
        raise InputError(f"`{name}` of {what} must be a list of names")
    return tuple(values)


def numbers(document: Mapping[str, Any], name: str, what: str) -> tuple[float, ...]:
    """An entry that is a list of numbers; null stands for one that is not finite."""
    values = entry(document, name, list, what)
    number = lambda value: isinstance(value, int | float) and not isinstance(value, bool) and _fits(value)
    if not all(value is None or number(value) for value in values):
        raise InputError(f"`{name}` of {what} must be a list of numbers")
    return tuple(math.nan if value is None else float(value) for value in values)


def _kept(document: Mapping[str, Any], what: str) -> tuple[int, ...] | None:
    steps = entry(document, "kept", (list, type(None)), what) if "kept" in document else None
    if steps is not None and not all(type(step) is int and _fits(step) for step in steps):
        raise InputError(f"`kept` of {what} must be a list of steps")
    return None if steps is None else tuple(steps)


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """How training stood at one step, one number per member.

    - `loss`; `error` and `penalty`: its two parts, the penalty without its weight;
    - `test`, `validation`: the errors on such data, if there are any; `seconds`: time spent so far.
    """

    step: int
    loss: tuple[float, ...]
    error: tuple[float, ...]
    penalty: tuple[float, ...]
    test: tuple[float, ...] | None
    seconds: float
    validation: tuple[float, ...] | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; null for what is not finite."""
        plain = lambda values: None if values is None else [v if math.isfinite(v) else None for v in values]
        document = {name: plain(getattr(self, name)) for name in ("loss", "error", "penalty", "test", "validation")}
        return {"step": self.step, **document, "seconds": self.seconds}

    @classmethod
    def from_json(cls, document: Mapping[str, Any], what: str = "a line of metrics") -> "Snapshot":
        """From what `to_json` gave."""
        perhaps = lambda name: None if document.get(name) is None else numbers(document, name, what)
        return cls(
            step=entry(document, "step", int, what),
            loss=numbers(document, "loss", what),
            error=numbers(document, "error", what),
            penalty=numbers(document, "penalty", what),
            test=perhaps("test"),
            seconds=float(entry(document, "seconds", (int, float), what)),
            validation=perhaps("validation"),
        )


@dataclasses.dataclass(frozen=True, eq=False)
class Config:
    """What was asked for: the same configuration on the same machine gives the same bits.

    - `method`, `units`, `sampling`: their descriptions as JSON; `optimiser`: its name;
    - `clip`: the largest length of a gradient; `weight_decay`: how strongly weights are kept small;
    - `longest_step`: of the solver; `box`: where forecasts are kept;
    - `layout`: what is hidden, what acts from outside, what belongs to one trajectory; `warmup`: how many points of a
      held-out trajectory a forecast is told;
    - `start`: the fingerprint of the parameters that training began with, where they were given;
    - `train`, `test`, `validation`: fingerprints of the data.
    """

    method: Mapping[str, Any]
    units: Mapping[str, Any]
    steps: int
    learning_rate: float
    decay: str
    optimiser: str
    clip: float | None
    longest_step: float | None
    box: Mapping[str, Any] | None
    sampling: Mapping[str, Any]
    batch_size: int | None
    match: str
    trainable: tuple[str, ...] | None
    look_every: int
    seeds: int
    key: tuple[int, ...]
    protocol: str
    dtype: str
    train: str
    test: str | None
    validation: str | None = None
    start: str | None = None
    layout: Mapping[str, Any] | None = None
    warmup: int = 1
    weight_decay: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return json.loads(self._text)

    @classmethod
    def from_json(cls, document: Mapping[str, Any], what: str = "a configuration") -> "Config":
        """From what `to_json` gave; every entry must be of its type."""
        values = {name: entry(document, name, kinds, what) for name, kinds in _CONFIG_TYPES.items()}
        trainable, key = values["trainable"], values["key"]
        if not all(isinstance(k, int) for k in key):
            raise InputError(f"`key` of {what} must be a list of whole numbers")
        return cls(**values | {"trainable": None if trainable is None else tuple(trainable), "key": tuple(key)})

    @cached_property
    def _text(self) -> str:
        return json.dumps(dataclasses.asdict(self), sort_keys=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


_CONFIG_TYPES: dict[str, tuple[type, ...]] = {
    "method": (dict,),
    "units": (dict,),
    "steps": (int,),
    "learning_rate": (int, float),
    "decay": (str,),
    "optimiser": (str,),
    "clip": (int, float, type(None)),
    "longest_step": (int, float, type(None)),
    "box": (dict, type(None)),
    "sampling": (dict,),
    "batch_size": (int, type(None)),
    "match": (str,),
    "trainable": (list, type(None)),
    "look_every": (int,),
    "seeds": (int,),
    "key": (list,),
    "protocol": (str,),
    "dtype": (str,),
    "train": (str,),
    "test": (str, type(None)),
    "validation": (str, type(None)),
    "start": (str, type(None)),
    "layout": (dict, type(None)),
    "warmup": (int,),
    "weight_decay": (int, float),
}


@dataclasses.dataclass(frozen=True)
class Reliability:
    """Whether the forecasts of a model can be trusted, and the reason."""

    reliable: bool
    reason: str


@dataclasses.dataclass(frozen=True)
class Training:
    """What a model knows of its training: what was asked, how many steps were taken, what was seen on the way.

    - `kept`: the step at which each member was best on the validation data, and from which it was kept; None without
      such data: then it is the last step;
    - `reliability`: of a model that was adapted to new environments.
    """

    config: Config
    steps: int
    history: tuple[Snapshot, ...] = ()
    kept: tuple[int, ...] | None = None
    reliability: Reliability | None = None

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.history[-1].seconds if self.history else 0.0

    @property
    def smallest_test_errors(self) -> tuple[float, ...] | None:
        """The smallest test error of each member on the way; errors that are not a number are passed over."""
        seen = [snapshot.test for snapshot in self.history if snapshot.test is not None]
        if not seen:
            return None
        smallest = lambda values: min((v for v in values if not math.isnan(v)), default=math.nan)
        return tuple(smallest(values) for values in zip(*seen, strict=True))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        kept = None if self.kept is None else list(self.kept)
        history = history_to_json(self.history)
        document = {"config": self.config.to_json(), "steps": self.steps, "looks": history, "kept": kept}
        return document | {"reliability": self.reliability and dataclasses.asdict(self.reliability)}

    @classmethod
    def from_json(cls, document: Mapping[str, Any], what: str) -> "Training":
        """From what `to_json` gave."""
        return cls(
            config=Config.from_json(entry(document, "config", dict, what), what),
            steps=entry(document, "steps", int, what),
            history=history_from_json(entry(document, "looks", list, what), what),
            kept=_kept(document, what),
            reliability=_reliability(document.get("reliability"), what),
        )


def _reliability(document: Any, what: str) -> Reliability | None:
    if document is None:
        return None
    return Reliability(entry(document, "reliable", bool, what), entry(document, "reason", str, what))


def history_to_json(history: Sequence[Snapshot]) -> list[dict[str, Any]]:
    """All snapshots as plain JSON."""
    return [snapshot.to_json() for snapshot in history]


def history_from_json(documents: Sequence[Any], what: str) -> tuple[Snapshot, ...]:
    """All snapshots from plain JSON."""
    return tuple(Snapshot.from_json(document, what) for document in documents)
