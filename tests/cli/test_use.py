"""How the command line answers what was typed: help, names, wrong use. Without JAX where it can be."""

import json
import re
import subprocess
import sys
from typing import get_args

import pytest

import leadax as lx
from leadax.cli import COMMANDS, names, run
from leadax.cli.console import result
from leadax.cli.options import Training
from leadax.cli.parsing import later
from leadax.cli.reproduce import NAMES as TARGET_NAMES
from leadax.train import Recipe

# What takes seconds to import. A limit in seconds would depend on the machine.
HEAVY = ("jax", "numpy", "xarray", "matplotlib", "pyarrow")
BIG = "99999999999999999999"


def test_names_are_those_of_the_registries():
    from leadax.adapt import SCHEMES
    from leadax.defaults import PRESETS
    from leadax.experiments.targets import TARGETS
    from leadax.methods import METHODS
    from leadax.nets import NETS
    from leadax.penalties import PENALTIES
    from leadax.rollout import SOLVERS, TABLEAUX
    from leadax.systems import SYSTEMS
    from leadax.systems.system import Protocol
    from leadax.train.optimisers import Decay, Rule
    from leadax.train.recipe import MATCHES

    for known, registry in [
        (names.METHODS, METHODS),
        (names.NETS, NETS),
        (names.PENALTIES, PENALTIES),
        (names.SOLVERS, TABLEAUX),
        (names.ADAPTIVE, SOLVERS),
        (names.SYSTEMS, SYSTEMS),
        (TARGET_NAMES, TARGETS),
        (get_args(names.Scheme), SCHEMES),
        (get_args(names.Match), MATCHES),
        (get_args(names.Protocol), get_args(Protocol)),
        (get_args(names.Optimiser), get_args(Rule)),
        (get_args(names.Decay), get_args(Decay)),
    ]:
        assert tuple(known) == tuple(registry)
    assert set(get_args(names.Preset)) == set(PRESETS)


@pytest.mark.parametrize(
    ("command", "options", "known"),
    [
        ("train", ("--method", "--net", "--solver", "--penalty"), names.METHODS + names.NETS + names.SOLVERS),
        ("compare", ("--methods", "--preset", "--set"), names.METHODS + get_args(names.Preset)),
        ("simulate", ("--protocol", "--split"), names.SYSTEMS),
        ("predict", ("--times", "--using"), names.ADAPTIVE),
        ("reproduce", ("--budget", "--from"), TARGET_NAMES),
    ],
)
def test_help_lists_names(command, options, known, capsys):
    assert run([command, "--help"]) == 0
    text = re.sub(r"[\s│]+", " ", capsys.readouterr().out)
    assert [name for name in (*options, *known) if name not in text] == []
    assert "None" not in text, "an option without a default says what happens instead"


def test_descriptions_have_no_line_breaks_of_the_source():
    assert [name for name in COMMANDS if re.search(r"\n {12}", later(COMMANDS[name]).__doc__)] == []
    assert re.search(r"\n {12}", COMMANDS["adapt"].__doc__), "which are there"


def test_every_command_has_help_and_the_program_lists_them(capsys):
    assert run(["--help"]) == 0
    text = capsys.readouterr().out
    assert [name for name in COMMANDS if name not in text] == []
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.strip() == lx.__version__


def test_answers_without_heavy_imports():
    """Help, and refusals that need neither data nor a model."""
    commands = [
        (["--help"], 0),
        (["train", "--help"], 0),
        (["simulat"], 2),
        (["adapt", "run", "d.csv", "--out", "x", "--steps", "-1"], 2),
        (["train", "d.csv", "--out", "x", "--steps", BIG], 2),
        (["train", "d.csv", "--out", "x", "--net", "mpl"], 2),
        (["simulate", "liner", "x.nc"], 2),
        (["simulate", "linear", "x.nc", "--trajectories", BIG], 2),
        (["predict", "run", "d.csv", "--out", "x.csv", "--times", "0:1e12:1"], 2),
        (["report", "missing.csv"], 2),
        (["bound", "linear", "--m", BIG], 2),
    ]
    program = f"""
import sys
from leadax.cli import run
for arguments, status in {commands}:
    assert run(arguments) == status, arguments
    heavy = [name for name in {HEAVY} if name in sys.modules]
    assert not heavy, (arguments, heavy)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "say what to do: `leadax demo`"),
        (["simulat"], "unknown command `simulat`: did you mean `simulate`?"),
        (["--steps", "3"], "`--steps` must come after a command"),
        (["train"], "it needs DATA and --out RUN; see `leadax train --help`"),
        (["train", "d.csv", "--out"], "`--out` needs a value"),
        (["train", "d.csv", "--out", "x", "--stepz", "3"], "unknown option `--stepz`: did you mean `--steps`?"),
        (["train", "--stepz", "3", "--out", "x", "d.csv"], "unknown option `--stepz`: did you mean `--steps`?"),
        (
            ["train", "d.csv", "--out", "x", "--look_evry=3"],
            "unknown option `--look-evry`: did you mean `--look-every`",
        ),
        (["train", "d.csv", "--out", "x", "--steps", "many"], "`--steps` must be a whole number, got `many`"),
        (["train", "d.csv", "--out", "x", "--seeds", "9" * 5000], "Error parsing --seeds: Exceeds the limit"),
        (["train", "d.csv", "--out", "x", "--kappa", "much"], "`--kappa` must be a number, got `much`"),
        (["train", "d.csv", "--out", "x", "--rank", "1.5"], "`--rank` must be a whole number, got `1.5`"),
        (["train", "d.csv", "--out", "x", "--match", "all"], "must be finite-differences, spline or trajectories, got"),
        (
            ["train", "d.csv", "--out", "x", "--preset", "lv"],
            "`--preset` must be gray-scott, linear, lotka-volterra or",
        ),
        (["evaluate", "a", "b", "c"], "too many arguments: c"),
        (["train", "d.csv", "--out", "x\0y"], "has a NUL character"),
        (["train", "d.csv", "--out", ""], "an argument is empty"),
        (["train", "d.csv", "--out="], "an argument is empty"),
    ],
)
def test_wrong_use_is_one_line(arguments, expected, refused):
    assert expected in refused(*arguments)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ["train", "d.csv", "--out", "x", "--seeds", BIG],
            f"`--seeds` must be at most 10000, got {BIG}",
        ),
        (["train", "d.csv", "--out", "x", "--seeds", "0"], "`--seeds` must be at least 1, got 0"),
        (["train", "d.csv", "--out", "x", "--substeps", BIG], "`--substeps` must be at most"),
        (["train", "d.csv", "--out", "x", "--rank", BIG], "`--rank` must be at most"),
        (["train", "d.csv", "--out", "x", "--dimension", BIG], "`--dimension` must be at most"),
        (["train", "d.csv", "--out", "x", "--seed", "-1"], "`--seed` must be from 0 to"),
        (["train", "d.csv", "--out", "x", "--learning-rate", "inf"], "`--learning-rate` must be a positive number"),
        (["train", "d.csv", "--out", "x", "--method", "lead"], "unknown method `lead`: did you mean `leads`?"),
        (["train", "d.csv", "--out", "x", "--solver", "rk5"], "unknown solver `rk5`"),
        (["train", "d.csv", "--out", "x", "--penalty", "omga"], "unknown penalty `omga`: did you mean `omega`?"),
        (["compare", "d.csv", "--test", "t.csv", "--out", "x", "--methods", "leads,no"], "unknown method `no`"),
        (["compare", "d.csv", "--test", "t.csv", "--out", "x", "--methods", ","], "`--methods` must be names"),
        (["adapt", "r", "d.csv", "--out", "x", "--at", "soon"], "`--at` must be step numbers"),
        (["predict", "r", "d.csv", "--out", "y.csv", "--times", "0:1e9:1e-9"], "1.0e+18 points, at most 1000000"),
        (["predict", "r", "d.csv", "--out", "y.csv", "--times", "0:1e300:1e-300"], "inf points, at most 1000000"),
        (["predict", "r", "d.csv", "--out", "y.csv", "--times", "0:5:0"], "START:STOP:STEP with a positive STEP"),
        (["predict", "r", "d.csv", "--out", "y.csv", "--times", "1,nan"], "`--times` must be finite numbers"),
        (["predict", "r", "d.csv", "--out", "y.csv", "--solver", "rk4"], "unknown solver `rk4`"),
        (["predict", "r", "d.csv", "--out", "missing/y.csv"], "missing"),
        (["simulate", "linear", "x.xyz"], ".nc"),
        (["demo", "--steps", "0"], "`--steps` must be at least 1"),
        (["bench", "--seconds", "nan"], "`--seconds` must be a positive number"),
        (["bench", "--system", "lorenz"], "unknown system `lorenz`"),
        (["reproduce", "table2"], "unknown target `table2`: did you mean `table1`?"),
        (["reproduce", "table1", "--steps", BIG], "`--steps` must be at most 2147483647"),
        (["report", "missing.csv"], "missing.csv does not exist"),
        (["report", "a" * 300], "name too long"),
        (["train", "missing.csv", "--out", "x"], "missing.csv does not exist"),
    ],
)
def test_values_that_cannot_be(arguments, expected, refused):
    assert expected in refused(*arguments)


def test_options_are_as_documented_and_as_in_python():
    """The contract of the command line: names that scripts use."""
    defaults = Training()
    assert (defaults.steps, defaults.seeds, defaults.seed, defaults.protocol) == (None, 1, 0, "clean")
    assert defaults.preset is None
    for name in ("batch_size", "match", "protocol", "look_every", "checkpoint_every", "on_divergence"):
        assert getattr(defaults, name) == getattr(Recipe(), name), f"Python and the command line differ in {name}"
    assert list(COMMANDS) == [
        *("demo", "simulate", "train", "tune", "evaluate", "adapt", "predict", "explain", "export"),
        *("compare", "report", "reproduce", "bound", "bench"),
    ]


def test_json_has_no_word_for_what_is_not_finite(capsys):
    result({"a": [float("nan"), {"b": float("-inf")}], "c": 1.5}, "", as_json=True)
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail) == {"a": [None, {"b": None}], "c": 1.5}
