"""Settings that several methods have, declared and checked once."""

import inspect
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax

from ..errors import InputError, lookup, whole
from ..nets.architecture import architecture
from ..registry import ONLY_IF_GIVEN
from ..rollout import TABLEAUX
from .parameters import as_parameters


def net_setting() -> Any:
    """The architecture of a net; None: chosen from the data."""
    return eqx.field(static=True, default=None, converter=architecture)


def solver_setting() -> Any:
    """The Runge–Kutta method; None: chosen from the data."""
    return eqx.field(static=True, default=None, converter=_solver)


def substeps_setting() -> Any:
    """The least number of steps per observed interval."""
    return eqx.field(static=True, default=1, converter=_substeps)


def weight_setting(default: float | None = None) -> Any:
    """The weight of a penalty; None: chosen from the data."""
    return eqx.field(default=default, converter=_weight)


def known_setting() -> Any:
    """A formula `h(t, x, u, p)` in the units of the data, to which what is learnt is added; None for none."""
    return eqx.field(static=True, default=None, converter=_formula, metadata=ONLY_IF_GIVEN)


def parameters_setting() -> Any:
    """The numbers `p` of the formula: a mapping of names to `Parameter`s, or to the numbers at which they start."""
    return eqx.field(static=True, default=(), converter=as_parameters, metadata=ONLY_IF_GIVEN)


def without_formula(method: Any) -> None:
    """An `InputError` if a method has a formula that it would ignore: its nets are only the rest beside it."""
    if method.known is not None:
        raise InputError(
            f"{type(method).__name__} with a known formula needs the units of its data: give it to `fit`, "
            "or call `leadax.methods.with_formula(method, units)` first"
        )


def positive(name: str, value: Any) -> int:
    """`value`, or an `InputError` unless it is a whole number of at least 1 that fits into 32 bits."""
    return whole(name, value)


def _solver(name: Any) -> str | None:
    if name is not None:
        lookup("solver", str(name), TABLEAUX)
    return name


def _formula(value: Any) -> Any:
    if value is not None and not callable(value):
        raise InputError(f"`known` must be a function h(t, x, u, p) that returns dx/dt, got {value!r}")
    if value is not None:
        _check_arguments(value)
    return value


def _check_arguments(formula: Callable[..., Any]) -> None:
    try:
        signature = inspect.signature(formula)
    except ValueError:  # some functions do not say what they take
        return
    try:
        signature.bind("t", "x", "u", "p")
    except TypeError as error:
        name = getattr(formula, "__name__", "h")
        raise InputError(f"`known` must be a function h(t, x, u, p), got `{name}{signature}`") from error


def _substeps(value: Any) -> int:
    return positive("substeps", value)


def _weight(value: Any) -> Any:
    if value is None or isinstance(value, jax.Array):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise InputError(f"the weight of a penalty (1/λ or κ) must be zero or a positive number, got {value!r}")
    return float(value)
