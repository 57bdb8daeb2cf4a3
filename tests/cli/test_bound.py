"""`leadax bound`: the numbers of `leadax.theory`, and what it says when letters are missing."""

import json
import subprocess
import sys

import pytest

from leadax.cli import run
from leadax.theory import LinearMaps, Networks, error_bound, samples, samples_novel, smallest_error

LINEAR = ["bound", "linear", *["--m", "8", "--d", "8", "--r", "0.22", "--r-shared", "1.75", "--b", "5", "--c", "250"]]
NETWORK = ["bound", "network", *["--m", "4", "--c", "1", "--R", "1", "--L", "2", "--W", "100", "--D", "4"]]


def test_linear(capsys):
    assert run([*LINEAR, "--n", "80", "--epsilon", "0.5", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    problem = {"b": 5.0, "c": 250.0, "d": 8}
    expected = error_bound(m=8, n=80, r=0.22, r_shared=1.75, **problem)
    assert (document["bound"], document["z"]) == (expected.epsilon, expected.z)
    shared, specific = LinearMaps(r=1.75, **problem), LinearMaps(r=0.22, **problem)
    assert document["n_needed"] == samples(shared, specific, epsilon=0.5, m=8).n
    assert document["n_novel"] == samples_novel(specific, epsilon=0.5).n
    assert {"m", "n", "d", "r", "r_shared", "b", "c", "delta", "z"} <= set(document)


def test_network(capsys):
    assert run([*NETWORK, "--n", "1000000", "--json"]) == 0
    space = Networks(R=1, L=2, W=100, D=4, c=1)
    expected = smallest_error(space, space, m=4, n=1_000_000)
    assert json.loads(capsys.readouterr().out)["bound"] == pytest.approx(expected)


def test_for_people(capsys):
    assert run([*LINEAR, "--n", "4", "--epsilon", "2"]) == 0
    text = capsys.readouterr().out
    assert "it guarantees nothing" in text
    assert "is about ε below 1" in text


@pytest.mark.parametrize("command", [[*LINEAR, "--n", "80"], [*NETWORK, "--epsilon", "3"]])
def test_picture(command, tmp_path):
    assert run([*command, "--picture", str(tmp_path / "bound.png")]) == 0
    assert (tmp_path / "bound.png").stat().st_size > 5_000


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (LINEAR, "give `--n` for the bound from so many samples, `--epsilon` for the samples needed, or both"),
        (["bound", "linear", "--m", "1", "--c", "1", "--n", "1"], "needs `--r`, `--r-shared`, `--b`, `--d`"),
        ([*LINEAR, "--n", "1", "--W", "3"], "`--W` have no meaning for `linear`"),
        ([*LINEAR, "--n", "0"], "`--n` must be at least 1, got 0"),
        ([*LINEAR, "--n", "1", "--delta", "2"], "`delta` must be between 0 and 1, got 2"),
        ([*LINEAR, "--n", "1", "--picture", "bound.gif"], "`--picture` must end in .png, .svg, .pdf"),
        ([*NETWORK, "--n", "1"], "`n` = 1 samples are too few"),
    ],
)
def test_wrong_use(arguments, what, capsys):
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert what in err
    assert err.count("\n") == 1


def test_without_jax():
    code = f"import sys; from leadax.cli import run; run({[*LINEAR, '--n', '80']}); sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0
