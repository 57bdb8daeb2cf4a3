"""The house rules as tests. The sources are parsed, never imported, so this takes a second."""

import ast
import graphlib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1] / "src" / "leadax"

# A room is a module or package of `leadax`. It may import from itself and from the rooms before it.
ROOMS = (
    *("errors", "_types", "_temporary", "_atomic", "_memory", "_locks", "registry", "describe", "arrays", "records"),
    *("data", "systems", "nets", "trend", "rollout", "penalties", "methods", "defaults"),
    *("model", "export", "evaluate", "yardsticks", "train", "adapt", "choose", "theory", "explain", "speed"),
    *("report", "experiments", "cli"),
)
LONGEST_FUNCTION = 60
# (module, module that it imports): imports to leave out of the search for cycles, each for a reason.
CYCLES = {
    ("data.trajectories", "data.files"),  # `Trajectories.save` is short for `save`, imported when it is called
    ("data.trajectories", "data._elsewhere"),  # `to_xarray` and the like, in the same way
}
# (module, name): comparisons with the name of a method or system that cannot be avoided, each for a reason.
NAMES = {
    ("cli.bound", "linear"),  # `leadax bound linear`: the case of a proposition, not the system
}


class Import(NamedTuple):
    """`from module import name`, or `import module` where `name` is empty. Modules are named as in `data.files`."""

    module: str
    name: str
    line: int


# What the checks are made of. A source is a mapping from the names of modules (`data.files`; `data` for a package's
# `__init__`; nothing for `leadax` itself) to their text, so that the checks can be checked on small ones.


def sources(root: Path = ROOT) -> dict[str, str]:
    """The text of all modules. What a package loads lazily is in its stub (`.pyi`), which is added to the module."""
    found: dict[str, str] = {}
    for path in sorted([*root.rglob("*.py"), *root.rglob("*.pyi")]):
        parts = path.relative_to(root).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = f"{found[name]}\n{path.read_text()}" if name in found else path.read_text()
    return found


@cache
def nodes(text: str) -> list[ast.AST]:
    return list(ast.walk(ast.parse(text)))


def room(module: str) -> str:
    return module.partition(".")[0]


def packages(modules: Mapping[str, str]) -> set[str]:
    return {"", *(module.rpartition(".")[0] for module in modules)}


def imports(module: str, modules: Mapping[str, str]) -> Iterator[Import]:
    """All imports of a module from within `leadax`, those inside of functions and for type checkers included."""
    here = module.split(".") if module else []
    if module not in packages(modules):
        here = here[:-1]
    for node in nodes(modules[module]):
        if isinstance(node, ast.Import):
            for name in node.names:
                if name.name.split(".")[0] == "leadax":
                    yield Import(name.name.removeprefix("leadax").removeprefix("."), "", node.lineno)
        elif isinstance(node, ast.ImportFrom):
            origin = _origin(node, here)
            for name in node.names if origin is not None else ():
                yield _resolved(origin or "", name.name, node.lineno, modules)


def _origin(node: ast.ImportFrom, here: list[str]) -> str | None:
    """The module in `from module import ...`; None if it is not in `leadax`."""
    stated = (node.module or "").split(".") if node.module else []
    if node.level:
        return ".".join(here[: len(here) - (node.level - 1)] + stated)
    return ".".join(stated[1:]) if stated[:1] == ["leadax"] else None


def _resolved(origin: str, name: str, line: int, modules: Mapping[str, str]) -> Import:
    inner = f"{origin}.{name}".removeprefix(".")
    return Import(inner, "", line) if inner in modules else Import(origin, name, line)


def wrong_directions(modules: Mapping[str, str], rooms: tuple[str, ...] = ROOMS) -> list[str]:
    order = {name: position for position, name in enumerate(rooms)}
    found = [
        f"`{name}` is not in ROOMS: add it to the list in {Path(__file__).name}, after the rooms that it imports from"
        for name in sorted({room(module) for module in modules} - {"", *rooms})
    ]
    for module in sorted(set(modules) - {""}):  # `leadax` itself shows names of all rooms
        for target, name, line in imports(module, modules):
            where = f"{module}:{line}"
            if target == "" and name != "__version__":
                found.append(f"{where} imports `{name or 'leadax'}` through `leadax`: name the room that it is from")
            elif target and room(target) not in order:
                found.append(f"{where} imports `{target}`, a room that is not in ROOMS")
            elif target and order.get(room(module), -1) < order[room(target)] and room(module) in order:
                found.append(f"{where} imports `{target}`: `{room(target)}` comes after `{room(module)}` in ROOMS")
    return list(dict.fromkeys(found))


def cycles(modules: Mapping[str, str], allowed: set[tuple[str, str]] = CYCLES) -> list[str]:
    """The first cycle in each package."""
    found = []
    for package in sorted({room(module) for module in modules} - {""}):
        members = [module for module in modules if room(module) == package]
        graph = {
            module: {target for target, _, _ in imports(module, modules) if room(target) == package} - {module}
            for module in members
        }
        graph = {a: {b for b in targets if (a, b) not in allowed} for a, targets in graph.items()}
        try:
            graphlib.TopologicalSorter(graph).prepare()
        except graphlib.CycleError as error:
            found.append(" <- ".join(error.args[1]))
    return found


def long_functions(modules: Mapping[str, str], longest: int = LONGEST_FUNCTION) -> list[str]:
    """Functions whose body, without its docstring, has too many lines."""
    found = []
    for module, text in modules.items():
        for node in nodes(text):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
                length = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
                if length > longest:
                    found.append(
                        f"{module}:{node.lineno} `{node.name}` has {length} lines, at most {longest} are allowed"
                    )
    return found


def prints(modules: Mapping[str, str]) -> list[str]:
    """Every use of `print` outside the command line, also as a value (`progress=print`)."""
    return [
        f"{module}:{node.lineno} prints: only `cli` may"
        for module, text in modules.items()
        if room(module) != "cli"
        for node in nodes(text)
        if isinstance(node, ast.Name) and node.id == "print"
    ]


def star_imports(modules: Mapping[str, str]) -> list[str]:
    return [
        f"{module}:{node.lineno} has a star import"
        for module, text in modules.items()
        for node in nodes(text)
        if isinstance(node, ast.ImportFrom) and any(name.name == "*" for name in node.names)
    ]


def registered(modules: Mapping[str, str]) -> dict[str, str]:
    """The names of all methods and systems, with the module that defines each: keys of `METHODS` and `SYSTEMS`."""
    found: dict[str, str] = {}
    for module in sorted(modules):
        if room(module) not in ("methods", "systems"):
            continue
        origins = {name: target for target, name, _ in imports(module, modules) if name}
        for node in nodes(modules[module]):
            if _assigned(node) & {"METHODS", "SYSTEMS"}:
                found |= {key: _first_known(value, origins) or module for key, value in _entries(node)}
    return found


def _assigned(node: ast.AST) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _entries(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for table in ast.walk(node):
        if isinstance(table, ast.Dict):
            for key, value in zip(table.keys, table.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, value


def _first_known(value: ast.AST, origins: Mapping[str, str]) -> str | None:
    """The module of the first imported name, as of `Leads` in `partial(Leads, penalty_weight=0)`."""
    names = [node.id for node in ast.walk(value) if isinstance(node, ast.Name)]
    return next((origins[name] for name in names if name in origins), None)


def compared_names(modules: Mapping[str, str], allowed: set[tuple[str, str]] = NAMES) -> list[str]:
    """Comparisons (`==`, `!=`, `in`, `match`) with the name of a method or system, outside of its own module."""
    homes = registered(modules)
    return [
        f"{module}:{node.lineno} compares something with {name!r}: ask the method or system instead of its name"
        for module, text in modules.items()
        for node in nodes(text)
        if isinstance(node, ast.Compare | ast.MatchValue)
        for name in sorted({constant.value for constant in ast.walk(node) if _is_text(constant)} & set(homes))
        if module != homes[name] and (module, name) not in allowed
    ]


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


# The house.


@pytest.fixture(scope="module")
def house() -> dict[str, str]:
    return sources()


@pytest.mark.parametrize(
    "rule",
    [wrong_directions, cycles, long_functions, prints, star_imports, compared_names],
    ids=lambda rule: rule.__name__,
)
def test_the_house_keeps_its_rules(house, rule):
    broken = rule(house)
    assert not broken, "\n" + "\n".join(broken)


def test_the_checks_see_the_house(house):
    """That what they look for is there to be found."""
    assert len(house) > 100
    assert {"data", "data.files", "theory", "cli.__main__"} <= set(house)
    assert Import("data.trajectories", "Trajectories", 0)[:2] in [found[:2] for found in imports("data.files", house)]
    assert "measure" in {found.name for found in imports("theory", house)}, "names in a stub count as imports"
    homes = registered(house)
    assert homes["leads"] == "methods.leads"
    assert homes["lotka-volterra-coda"] == "systems.lotka_volterra"
    assert len(homes) > 10


def test_exceptions_are_still_needed(house):
    """An exception that nobody needs any more must go from the list."""
    for allowed in CYCLES:
        assert cycles(house, CYCLES - {allowed}) != cycles(house), f"{allowed} is no cycle any more"
    for allowed in NAMES:
        assert compared_names(house, NAMES - {allowed}) != compared_names(house), f"{allowed} is not compared any more"


# The checks, on small houses.

SMALL = ("errors", "data", "nets", "model", "cli")


def small(**changes: str) -> dict[str, str]:
    """A house that keeps all rules, but for these changes. `__` stands for the dot in a name."""
    house = {
        "": "__version__ = '1'\nfrom .model import Model\nfrom .cli import main",
        "errors": "class InputError(Exception): pass",
        "data": "from .files import load",
        "data.files": "from ..errors import InputError\nfrom .container import Container",
        "data.container": "from leadax.errors import InputError",
        "nets": "from . import layers",
        "nets.layers": "import numpy as np",
        "model": "from .data import load\nfrom .nets.layers import Dense\nfrom . import __version__",
        "cli": "def main():\n    from ..model import Model\n    print(Model)",
    }
    return house | {name.replace("__", "."): text for name, text in changes.items()}


def directions(**changes: str) -> list[str]:
    return wrong_directions(small(**changes), SMALL)


def test_a_clean_house_breaks_no_rule():
    assert directions() == []
    assert cycles(small(), set()) == []
    assert prints(small()) == star_imports(small()) == long_functions(small()) == compared_names(small()) == []


@pytest.mark.parametrize(
    "text",
    [
        "from ..model import Model",
        "from .. import model",
        "from leadax.model import Model",
        "from leadax import model",
        "import leadax.model",
        "import leadax.model as m, numpy",
        "def f():\n    from ..model import Model",
        "class A:\n    def f(self):\n        import leadax.model",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..model import Model",
        "try:\n    from ..model import Model\nexcept ImportError:\n    pass",
    ],
)
def test_an_import_of_a_later_room(text):
    (found,) = directions(data__files=text)
    assert found.startswith("data.files:")
    assert "imports `model`: `model` comes after `data` in ROOMS" in found


def test_an_import_of_a_later_room_by_a_module_or_an_init():
    assert len(directions(errors="from .data.files import load")) == 1
    assert len(directions(nets="from ..model import Model\nfrom . import layers")) == 1


@pytest.mark.parametrize(
    "text", ["import leadax", "import leadax as lx", "from leadax import Model", "from .. import Model"]
)
def test_an_import_through_the_front_door(text):
    (found,) = directions(data__files=text)
    assert "through `leadax`" in found


def test_an_unknown_room():
    (found,) = directions(cellar="x = 1")
    assert "`cellar` is not in ROOMS: add it" in found
    found = directions(cellar="x = 1", model="from . import cellar", nets="from .. import __version__")
    assert found[1:] == ["model:1 imports `cellar`, a room that is not in ROOMS"]


def test_what_is_no_import_of_ours():
    assert (
        directions(data__files="import model\nfrom model import x\nfrom leadaxx.model import y\nimport os.path") == []
    )


@pytest.mark.parametrize(
    ("changes", "cycle"),
    [
        ({"data__container": "from .files import load"}, {"data.files", "data.container"}),
        ({"data__container": "def f():\n    from . import files"}, {"data.files", "data.container"}),
        ({"data__container": "from leadax.data.files import load"}, {"data.files", "data.container"}),
        ({"data__container": "from . import load"}, {"data", "data.files", "data.container"}),
        ({"nets__layers": "from ..nets import Net"}, {"nets", "nets.layers"}),
    ],
)
def test_a_cycle(changes, cycle):
    (found,) = cycles(small(**changes), set())
    assert set(found.split(" <- ")) == cycle


def test_an_allowed_cycle():
    house = small(data__container="from .files import load")
    assert cycles(house, {("data.container", "data.files")}) == []
    assert cycles(house, {("data.container", "nets.layers")}) != []


@pytest.mark.parametrize(("lines", "ok"), [(60, True), (61, False)])
@pytest.mark.parametrize("head", ["def f():", "async def f():", "class A:\n  def f(self):"])
def test_a_long_function(lines, ok, head):
    docstring = '    """One line.\n\n' + "    more\n" * 70 + '    """\n'
    text = f"{head}\n{docstring}" + "    x = 1\n" * lines
    assert (long_functions({"model": text}) == []) == ok
    assert (long_functions({"model": f"{head}\n    x = [\n" + "\n" * (lines - 2) + "    ]\n"}) == []) == ok


def test_a_function_of_a_docstring_alone():
    assert long_functions({"model": 'def f():\n    """' + "\n" * 99 + '"""'}) == []


@pytest.mark.parametrize("text", ["print(1)", "def f():\n    print()", "run(progress=print)", "x = lambda: print(1)"])
def test_a_print(text):
    assert prints(small(model=text)) == [f"model:{2 if 'def' in text else 1} prints: only `cli` may"]


def test_what_is_no_print():
    assert prints(small(model='"""print(1)"""\n# print(1)\nfingerprint = 1\nself.print()')) == []


@pytest.mark.parametrize("text", ["from numpy import *", "from .data import *", "if True:\n    from . import *"])
def test_a_star_import(text):
    assert len(star_imports(small(model=text))) == 1


REGISTRIES = {
    "methods": "from functools import partial\nfrom ..registry import Registry\nfrom .leads import Leads\n"
    'METHODS: Registry = Registry("method", {"leads": Leads, "leads-no-min": partial(Leads, weight=0), "own": 1})',
    "methods.leads": "class Leads: pass",
    "systems.registry": 'from .waves import waves\nSYSTEMS = {"waves": waves, "waves-text": waves}',
    "systems.waves": "def waves(): pass",
}


def test_registered_names_and_where_they_live():
    assert registered(REGISTRIES) == {
        "leads": "methods.leads",
        "leads-no-min": "methods.leads",
        "own": "methods",
        "waves": "systems.waves",
        "waves-text": "systems.waves",
    }


@pytest.mark.parametrize(
    "text",
    [
        'if name == "leads": pass',
        'x = "waves-text" != system',
        'if name in ("other", "leads"): pass',
        'y = name not in {"leads": 1}',
        'def f(name):\n    return 1 if "leads" in name else 2',
        'match name:\n    case "leads": pass',
        'match name:\n    case "other" | "waves": pass',
        'z = 0 < x == "leads"',
    ],
)
def test_a_comparison_with_a_name(text):
    (found,) = compared_names({**REGISTRIES, "model": text}, set())
    assert found.startswith("model:")
    assert "compares something with" in found


def test_a_comparison_in_the_own_module_or_allowed():
    text = 'x = name == "leads-no-min"'
    assert compared_names({**REGISTRIES, "methods.leads": text}, set()) == []
    assert compared_names({**REGISTRIES, "model": text}, {("model", "leads-no-min")}) == []
    assert len(compared_names({**REGISTRIES, "methods.other": text}, {("model", "leads-no-min")})) == 1


def test_what_is_no_comparison_with_a_name():
    text = 'x = {"leads": 1}["leads"]\nf("leads")\ny = name == "leadsx"\n"""name == "leads" """'
    assert compared_names({**REGISTRIES, "model": text}, set()) == []


def test_sources_are_found_with_their_stubs(tmp_path):
    (tmp_path / "room").mkdir()
    (tmp_path / "__init__.py").write_text("a = 1")
    (tmp_path / "room" / "__init__.py").write_text("b = 1")
    (tmp_path / "room" / "__init__.pyi").write_text("from .inner import c")
    (tmp_path / "room" / "inner.py").write_text("c = 1")
    found = sources(tmp_path)
    assert set(found) == {"", "room", "room.inner"}
    assert [(i.module, i.name) for i in imports("room", found)] == [("room.inner", "c")]
