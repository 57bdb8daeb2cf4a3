"""From settings as they were typed to a method. Which settings there are is read from the method's own fields."""

import ast
import dataclasses
import functools
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from .own import called, find_method, find_net, find_penalty, imported

if TYPE_CHECKING:
    from ..defaults import Defaults
    from ..methods import Method

WEIGHTS = ("penalty_weight", "kappa")
OF_THE_PENALTY = ("penalty", *WEIGHTS)
PLAIN = (bool, int, float, str, types.NoneType)
# These are objects: what is typed is their name.
OBJECTS: Mapping[str, Callable[[str], Any]] = {
    "net": find_net,
    "penalty": find_penalty,
    "known": imported,
    "parameters": imported,
}


@dataclasses.dataclass(frozen=True)
class Plan:
    """A method that is yet to be built.

    - `build`: what builds it; `fields`: its settings, with their types; `fixed`: those that its name settles, such as
      the weight of leads-no-min.
    """

    name: str
    build: Any
    fields: Mapping[str, Any]
    fixed: Mapping[str, Any]

    @classmethod
    def of(cls, name: str) -> "Plan":
        """The plan of the method of that name or import path."""
        build = find_method(name)
        fixed = dict(build.keywords) if isinstance(build, functools.partial) else {}
        kind = build.func if isinstance(build, functools.partial) else build
        if not isinstance(kind, type):  # a function: only its result knows its settings
            kind = type(called(name, build))
        if not dataclasses.is_dataclass(kind):
            raise InputError(f"`{name}` gives {kind.__name__}, expected a Method")
        return cls(name, build, _annotations(kind), fixed)

    def method(self, given: Mapping[str, Any], *, skip: bool) -> "Method":
        """The method with these settings; one that it does not have is refused, or skipped."""
        values = {name: self._value(name, value) for name, value in given.items() if self.takes(name, value, skip=skip)}
        if isinstance(self.build, type | functools.partial):
            return called(self.name, self.build, **values)
        return dataclasses.replace(called(self.name, self.build), **values)

    def takes(self, name: str, value: Any, *, skip: bool) -> bool:
        """Whether the method has a setting; if not, it is refused unless it may be skipped."""
        if name in self.fixed:
            problem = f"`{self.name}` has settled on `{name}` = {self.fixed[name]:g}"
        elif name in OF_THE_PENALTY and any(self.fixed.get(weight) == 0 for weight in WEIGHTS):
            problem = f"`{self.name}` has no penalty, and `{name}` means nothing for it"
        elif name not in self.fields:
            problem = f"`{self.name}` has no setting `{name}`; it has {', '.join(self.fields) or 'none'}"
        elif name == "penalty" and not self._fits(name, self._value(name, value)):
            problem = f"`{self.name}` has a penalty of its own"
        else:
            return True
        if not skip:
            raise InputError(f"{problem}: leave it out")
        return False

    def _fits(self, name: str, value: Any) -> bool:
        kinds = tuple(kind for kind in _members(self.fields[name]) if isinstance(kind, type))
        return not kinds or isinstance(value, kinds)

    def _value(self, name: str, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return OBJECTS[name](value) if name in OBJECTS else typed(name, value, self.fields[name])


def check_used(names: Sequence[str], given: Mapping[str, Any]) -> None:
    """An `InputError` if a setting is left out for every one of several methods."""
    plans = [Plan.of(name) for name in names]
    for setting, value in given.items():
        if not any(plan.takes(setting, value, skip=True) for plan in plans):
            raise InputError(f"none of {', '.join(names)} has a setting `{setting}`: leave it out")


def with_lipschitz_weight(
    method: "Method", name: str, alpha: float | None, defaults: "Defaults", *, skip: bool
) -> "Method":
    """The method with another weight α of the Lipschitz part within Ω."""
    if alpha is None:
        return method
    penalty: Any = getattr(method, "penalty", "none")
    penalty = defaults.penalty if penalty is None else penalty
    if any(getattr(method, weight, None) == 0 for weight in WEIGHTS):
        problem = f"the penalty of `{name}` has the weight 0"
    elif isinstance(penalty, str):
        problem = f"`{name}` has no penalty"
    elif "alpha" not in {field.name for field in dataclasses.fields(penalty)}:
        problem = f"the penalty of `{name}`, {type(penalty).__name__}, has no Lipschitz part"
    else:
        return dataclasses.replace(method, penalty=dataclasses.replace(penalty, alpha=alpha))
    if not skip:
        raise InputError(f"{problem}: leave out `--lipschitz-weight`")
    return method


def pairs(texts: Sequence[str]) -> dict[str, str]:
    """What `--set` says, as a dictionary.

    >>> pairs(["inner_steps=2,inner-rate=0.1", "first_order=true"])
    {'inner_steps': '2', 'inner_rate': '0.1', 'first_order': 'true'}
    """
    found: dict[str, str] = {}
    for text in texts:
        for part in re.split(r",(?=\s*[\w-]+\s*=)", text):
            name, equals, value = (word.strip() for word in part.partition("="))
            name = name.replace("-", "_")
            if not (name and equals and value):
                raise InputError(f"`--set` must be NAME=VALUE, got `{part}`")
            if name in found:
                raise InputError(f"`--set` has `{name}` twice: {found[name]} and {value}")
            found[name] = value
    return found


def typed(name: str, text: str, annotation: Any) -> Any:
    """The value of a setting from what was typed, of the type that its field declares.

    >>> typed("first_share", "1", float), typed("first_order", "true", bool), typed("rank", "none", int | None)
    (1.0, True, None)
    """
    value = _literal(text)
    members = _members(annotation)
    kinds = tuple(kind for kind in members if kind in PLAIN)
    if float in kinds and type(value) is int:
        return float(value)
    if type(value) in kinds or (not kinds and not isinstance(value, str)):
        return value
    if str in kinds or annotation is Any:
        return text
    wanted = " or ".join("none" if kind is types.NoneType else kind.__name__ for kind in kinds)
    raise InputError(f"`{name}` must be of type {wanted or annotation}, got `{text}`")


def _literal(text: str) -> Any:
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _annotations(kind: type) -> dict[str, Any]:
    """The settings of a class and their types, as objects where they were written as text."""
    fields = [field for field in dataclasses.fields(kind) if field.init]
    if not any(isinstance(field.type, str) for field in fields):
        return {field.name: field.type for field in fields}
    hints = typing.get_type_hints(kind)
    return {field.name: hints.get(field.name, Any) for field in fields}


def _members(annotation: Any) -> tuple[Any, ...]:
    """The members of a union; any other type alone."""
    is_union = isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union
    return typing.get_args(annotation) if is_union else (annotation,)
