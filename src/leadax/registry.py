"""Open registries: short names for what Leadax brings, import paths for what users bring."""

import importlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar, cast

from ._atomic import one_line
from .errors import InputError, lookup

T = TypeVar("T")

MAIN = "__main__"  # the module of a script, a notebook or a session
_REGISTRIES: "list[Registry[Any]]" = []

# Metadata of a field that is described only if it differs from its default: settings that came later do not change the
# descriptions of methods that do without them.
ONLY_IF_GIVEN = {"only_if_given": True}


class Registry(Mapping[str, Callable[..., T]], Generic[T]):
    """Builders by name. `find` also takes `package.module:Name`, an import path that a user typed.

    **Arguments**

    - `kind`: what an entry is, for messages (`"method"`, `"net"`);
    - `interface`: the class that every entry must build;
    - `entries`: the builders that Leadax brings.
    """

    def __init__(self, kind: str, interface: type[T], entries: Mapping[str, Callable[..., T]]):
        self.kind, self.interface, self._entries = kind, interface, dict(entries)
        _REGISTRIES.append(self)

    def __getitem__(self, name: str) -> Callable[..., T]:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, name: str) -> Callable[..., T]:
        """The builder of that name, or the one that `package.module:Name` imports."""
        if ":" not in name:
            return lookup(self.kind, name, self)
        return self._checked(name, import_object(name))

    def _checked(self, name: str, found: Any) -> Callable[..., T]:
        if isinstance(found, type) and not issubclass(found, self.interface):
            raise InputError(f"`{name}` is not a {self.kind}: it must subclass leadax's `{self.interface.__name__}`")
        if not callable(found):
            raise InputError(f"`{name}` is a {type(found).__name__}, expected a class or function of a {self.kind}")
        return cast("Callable[..., T]", found)


def import_object(path: str) -> Any:
    """What `package.module:Name` names. Only for paths that a user typed: importing a module runs its code."""
    module, _, name = path.partition(":")
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        raise InputError(f"`{path}` cannot be imported: {error}; is its folder on PYTHONPATH?") from error
    except ValueError:
        raise InputError(f"`{path}` is not an import path: write `package.module:Name`") from None
    except Exception as error:  # whatever is wrong with a module of a user's own
        raise InputError(f"`{path}` cannot be imported: {type(error).__name__}: {one_line(error)}") from error
    for part in name.split("."):
        if not part or not hasattr(found, part):
            raise InputError(f"`{path}` cannot be imported: module `{module}` has no `{name}`")
        found = getattr(found, part)
    return found


def name_of(thing: Any) -> str:
    """The registered name of a class, or its import path.

    >>> from leadax import Leads
    >>> name_of(Leads), name_of(Registry)
    ('leads', 'leadax.registry:Registry')
    """
    for registry in _REGISTRIES:
        for name, entry in registry.items():
            if entry is thing:
                return name
    return f"{thing.__module__}:{thing.__qualname__}"


def class_named(name: str, using: Iterable[Any] = ()) -> type:
    """The class that `name_of` named, found without running any code.

    A class of a user's own is found if it is among `using`, or if the module that defines it has been imported
    already. Nothing is imported here: names come from files.
    """
    for registry in _REGISTRIES:
        if isinstance(entry := registry.get(name), type):
            return entry
    found = object_named(name, using)
    if found is None:
        found = _already_imported(name)
    interfaces = tuple(registry.interface for registry in _REGISTRIES)
    if isinstance(found, type) and issubclass(found, interfaces):
        return found
    module, _, own = name.partition(":")
    if module == MAIN:
        raise InputError(
            f"`{own}` was defined in a script or session of its own: put it in a module and name it "
            f"(`Model.load(path, using=[{own}])`, `--using your_module:{own}`)"
        )
    raise InputError(
        f"`{name}` is not part of Leadax and has not been imported: import it first, or name it "
        f"(`Model.load(path, using=[{own}])`, `--using {name}`)"
    )


def object_named(name: str, using: Iterable[Any]) -> Any:
    """The one among `using` that has this import path; None if there is none.

    What was defined in a script is found by its name alone: elsewhere it must live in a module.
    """
    script, _, own = name.partition(":")
    same = lambda thing: name_of(thing) == name or (script == MAIN and thing.__qualname__ == own)
    return next((thing for thing in using if same(thing)), None)


def _already_imported(path: str) -> Any:
    module, _, name = path.partition(":")
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found
