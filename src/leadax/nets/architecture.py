"""A net that is yet to be built."""

import functools
import inspect
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from .._types import PRNGKey
from ..errors import InputError
from ..registry import Registry
from .base import Net


@dataclass(frozen=True)
class Architecture:
    """A class of nets and the options to build it with; equal if these are, so that programs can be shared.

    Wherever a net is asked for, the class itself, a `functools.partial` of it or any function
    `(state_shape, *, key, inputs) -> Net` will do: `architecture` turns it into this.

    >>> from leadax.nets import MLP
    >>> architecture(functools.partial(MLP, width=8)) == Architecture(MLP, (("width", 8),))
    True
    """

    build: Callable[..., Net]
    options: tuple[tuple[str, Hashable], ...] = ()

    def __call__(self, state_shape: tuple[int, ...], *, key: PRNGKey, inputs: int = 0) -> Net:
        """The net for states of this shape and so many inputs."""
        # A net that knows no inputs works where there are none.
        more = {"inputs": inputs} if inputs else {}
        net = self.build(state_shape, key=key, **more, **dict(self.options))
        if not isinstance(net, Net):
            raise InputError(f"{_named(self.build)} gives {type(net).__name__}, expected a Net")
        return net


def architecture(net: Any) -> Architecture | None:
    """An `Architecture` from a class of nets, a `functools.partial` or a function; None stays None."""
    if net is None or isinstance(net, Architecture):
        return net
    options: dict[str, Any] = {}
    while isinstance(net, functools.partial):
        if net.args:
            raise InputError("a net's options must be given by name: `functools.partial(MLP, width=128)`")
        options = {**net.keywords, **options}
        net = net.func
    if not callable(net):
        raise InputError(f"`net` must be a class of nets such as `MLP`, or a function that builds one, got {net!r}")
    chosen = tuple(sorted((name, _hashable(name, value)) for name, value in options.items()))
    try:
        inspect.signature(net).bind((), key=None, **dict(chosen))
    except (TypeError, ValueError) as error:  # some functions of C do not say what they take
        raise InputError(f"{_named(net)} builds no net by `(state_shape, *, key, inputs)`: {error}") from error
    return Architecture(cast("Callable[..., Net]", net), chosen)


def _named(build: Any) -> str:
    return f"`{getattr(build, '__qualname__', repr(build))}`"


def _hashable(name: str, value: Any) -> Hashable:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple):
        return tuple(_hashable(name, item) for item in value)
    if not isinstance(value, Hashable):
        raise InputError(f"option `{name}` of a net must be a number, text or a function, got {type(value).__name__}")
    return value


# So that files can name it.
Registry("architecture", Architecture, {"net": Architecture})
