"""Methods, nets, penalties and systems of the user's own: `package.module:Name` wherever a name is asked for.

Only what a user typed is imported, never what a file says: importing a module runs its code.
"""

import functools
import inspect
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import InputError
from ..registry import Registry, import_object

if TYPE_CHECKING:
    from ..penalties import Penalty
    from ..systems import System

T = TypeVar("T")

_MODULES: set[str] = set()  # that users named


def imported(path: str) -> Any:
    """What `package.module:Name` names, where modules in the current folder can be imported too."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    if ":" not in path:
        raise InputError(f"`{path}` is not an import path: write `package.module:Name`")
    _MODULES.add(path.partition(":")[0])
    return import_object(path)


def fault(error: Exception) -> str | None:
    """Where in a module that the user named an error was raised; None if it was in none of them."""
    frames = [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    own = [(frame, line) for frame, line in frames if frame.f_globals.get("__name__") in _MODULES]
    return f"{Path(own[-1][0].f_code.co_filename).name}, line {own[-1][1]}" if own else None


def all_imported(paths: Iterable[str]) -> list[Any]:
    """What the paths name, given one by one or with commas between them: classes and functions."""
    return [_with_a_name(imported(path.strip())) for path in ",".join(paths).split(",") if path.strip()]


def _with_a_name(thing: Any) -> Any:
    """The class of an object, the function of a partial one: files name these."""
    while isinstance(thing, functools.partial):
        thing = thing.func
    return thing if hasattr(thing, "__qualname__") else type(thing)


def find(registry: "Registry[T]", name: str) -> Any:
    """The entry of a registry, or the user's own."""
    if ":" in name:
        imported(name)  # so that the registry finds it
    return registry.find(name)


def find_method(name: str) -> Any:
    """What builds a method: a class, or a function without arguments."""
    from ..methods import METHODS

    return find(METHODS, name)


def find_net(name: str) -> Any:
    """What builds a net: a class, or a function `(state_shape, *, key, inputs) -> Net`."""
    from ..nets import NETS

    return find(NETS, name)


def find_penalty(name: str) -> "Penalty":
    """A penalty: as it is, or of a class or function that can be called without arguments."""
    from ..penalties import PENALTIES, Penalty

    found = find(PENALTIES, name)
    penalty = found if isinstance(found, Penalty) else called(name, found)
    if not isinstance(penalty, Penalty):
        raise InputError(f"`{name}` gives {type(penalty).__name__}, expected a Penalty")
    return penalty


def find_system(name: str, protocol: str | None) -> "System":
    """A system of the paper, or the user's own: a `System`, or a function from a protocol to one."""
    from ..systems import System, get_system

    if ":" not in name:
        return get_system(name, protocol or "clean")
    found = imported(name)
    if isinstance(found, System) and protocol not in (None, found.protocol):
        raise InputError(f"`{name}` is one system, whatever the protocol: leave out `--protocol {protocol}`")
    system = found if isinstance(found, System) or not callable(found) else called(name, found, protocol or "clean")
    if not isinstance(system, System):
        raise InputError(f"`{name}` gives {type(system).__name__}, expected a System or a function that returns one")
    return system


def called(name: str, build: Any, *arguments: Any, **settings: Any) -> Any:
    """What a class or function of the user's gives; an `InputError` if it takes other arguments."""
    try:
        inspect.signature(build).bind(*arguments, **settings)
    except (TypeError, ValueError) as error:  # some functions of C do not say what they take
        given = f"with {', '.join(map(repr, arguments))}" if arguments else "without arguments"
        raise InputError(f"`{name}` cannot be called {given}: {error}") from error
    return build(*arguments, **settings)
