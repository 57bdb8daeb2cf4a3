"""The commands as a user types them, and what they say when something is wrong."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import leadax as lx
from leadax.cli import run
from leadax.cli.simulate import NAMES
from leadax.systems import SYSTEMS

FAST = ["--environments", "2", "--trajectories", "2"]


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_simulate_and_report(capsys):
    assert run(["simulate", "lotka-volterra", "lv.nc", *FAST, "--json"]) == 0
    out, err = capsys.readouterr()
    document = json.loads(out)
    data = lx.load("lv.nc")
    assert document["fingerprint"] == data.fingerprint
    assert document["trajectories"] == [2, 2]
    assert "2 of 2" in err, "progress goes to standard error"

    assert run(["report", "lv.nc", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"out": "lv.html"}
    page = Path("lv.html").read_text()
    assert page.count("<svg") == 1
    assert data.fingerprint in page
    assert all(name in page for name in data.environments)


def test_same_seed_same_file():
    for name, seed in [("a.npz", "3"), ("b.npz", "3"), ("c.npz", "4")]:
        assert run(["simulate", "linear", name, *FAST, "--seed", seed]) == 0
    assert Path("a.npz").read_bytes() == Path("b.npz").read_bytes()
    assert lx.load("a.npz") != lx.load("c.npz")


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_report_as_a_picture(ending):
    save_wave("w.csv")
    assert run(["report", "w.csv", "--out", f"w.{ending}"]) == 0
    first = Path(f"w.{ending}").read_bytes()
    assert run(["report", "w.csv", "--out", f"w.{ending}", "--overwrite"]) == 0
    assert Path(f"w.{ending}").read_bytes() == first, "the same picture every time"


def test_demo(capsys):
    assert run(["demo", "--steps", "2"]) == 0
    assert Path("demo/report.html").stat().st_size > 10_000
    out = capsys.readouterr().out
    assert "demo/report.html" in out
    assert all(method in out for method in ("leads", "one-per-env", "one-for-all"))


def test_the_command_knows_every_system(capsys):
    assert run(["simulate", "--help"]) == 0
    text = capsys.readouterr().out
    assert [name for name in SYSTEMS if name not in text] == []
    assert set(NAMES) == set(SYSTEMS)


def test_version(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.strip() == lx.__version__


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["simulate", "lotka-voltera", "x.nc"], "did you mean `lotka-volterra`"),
        (["simulate", "linear", "x.xyz"], ".nc"),
        (["simulate", "linear", "x"], ".nc"),
        (["simulate", "linear", "missing/x.nc"], "missing"),
        (["simulate", "linear", "exists.nc"], "--overwrite"),
        (["simulate", "linear", "x.nc", "--trajectories", "-1"], "at least 1, got -1"),
        (["simulate", "linear", "x.nc", "--environments", "9"], "from 1 to 8, got 9"),
        (["simulate", "gray-scott", "x.csv", *FAST], ".nc"),
        (["simulate", "linear", "x.nc", "--seed", "99999999999999"], "`--seed` must be from 0"),
        (["report", "missing.nc"], "does not exist"),
        (["report", "nowhere/x.csv"], "nowhere/x.csv does not exist"),
        (["report", "."], "holds no finished run"),
        (["report", "exists.nc"], "exists.nc"),
        (["report", "w.csv", "--out", "w.docx"], ".html"),
        (["report", "w.csv", "--out", "w.html"], "--overwrite"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_line_and_writes_nothing(arguments, words, capsys):
    Path("exists.nc").write_text("not a data file")
    save_wave("w.csv")
    Path("w.html").write_text("kept")
    before = {path: path.read_bytes() for path in Path().iterdir()}
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    lines = [line for line in err.splitlines() if not re.search(r": \d+ of \d+$", line)]
    assert len(lines) == 1, f"one line expected, got: {err}"
    assert lines[0].startswith("leadax: error: ")
    assert words in lines[0]
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


@pytest.mark.parametrize(
    "arguments",
    [["simulat"], ["simulate"], ["simulate", "linear", "x.nc", "--trajectories", "many"], ["report", "x", "--colour"]],
    ids=" ".join,
)
def test_wrong_use(arguments, capsys):
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err


def test_a_simulation_that_blows_up_writes_nothing(monkeypatch, capsys):
    import jax.numpy as jnp

    from leadax.systems import System, registry

    system = System(
        name="explosion",
        channels=("x",),
        times=np.arange(4.0),
        environments={"only": {"rate": 1.0}},
        tangent=lambda x, p: p["rate"] * x**2,
        initial_state=lambda key: jnp.ones(1),
    )
    monkeypatch.setitem(registry.SYSTEMS, "explosion", lambda protocol: system)  # type: ignore[arg-type]
    monkeypatch.setattr(sys.modules["leadax.cli.simulate"], "NAMES", ("explosion",))
    assert run(["simulate", "explosion", "x.nc"]) == 1
    assert "blows up in environment `only`" in capsys.readouterr().err
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["simulate", "--help"], ["report", "missing.nc"], ["simulate", "liner", "x.nc"]],
    ids=" ".join,
)
def test_answers_without_importing_jax(arguments):
    # A limit in seconds would depend on the machine; what takes seconds is the import of JAX, and that can be asked.
    program = f"""
import sys
from leadax.cli import run
from leadax.cli.simulate import NAMES
run({arguments})
heavy = [name for name in ("jax", "xarray", "matplotlib", "pyarrow") if name in sys.modules]
sys.exit(f"imported {{heavy}}" if heavy else 0)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def save_wave(path: str) -> None:
    times = np.linspace(0, 6, 30)
    states = np.stack([np.sin(times), np.cos(times)], axis=-1)[None, None]
    lx.Trajectories.from_arrays(times, states, channels=("a", "b")).save(path)
