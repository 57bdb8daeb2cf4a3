"""Every command that the documents show exists, with the options that they show."""

import re
import shlex
import tomllib
from pathlib import Path

import jax.random as jr
import numpy as np
import pytest

import leadax as lx
from leadax.cli import COMMANDS, run
from leadax.data import Trajectories
from leadax.systems import get_system

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def shown_commands(start: str) -> list[str]:
    blocks = [block for doc in DOCUMENTS for block in re.findall(r"```sh\n(.*?)```", doc.read_text(), re.DOTALL)]
    code = r"(?<!`)`(leadax\s[^`]+|make \w+)`(?!`)"
    found = [shown for doc in DOCUMENTS for shown in re.findall(code, doc.read_text())]
    inline = [" ".join(shown.split()) for shown in found]  # a command may go on in the next line
    lines = [line.split("#")[0].strip() for block in blocks for line in block.splitlines()] + inline
    return sorted({line for line in lines if line.startswith(start)})


@pytest.mark.parametrize("command", shown_commands("leadax "))
def test_leadax_commands_exist(command, capsys):
    _, name, *arguments = shlex.split(command)
    if name.startswith("-"):
        assert run([name]) == 0
        return
    assert name in COMMANDS, f"`{command}` is shown, but there is no command `{name}`"
    assert run([name, "--help"]) == 0
    known = capsys.readouterr().out
    for argument in arguments:
        if argument.startswith("--"):
            assert re.search(rf"{argument}\b", known), f"`{command}` is shown, but {name} has no option {argument}"


@pytest.mark.parametrize("command", shown_commands("make "))
def test_make_targets_exist(command):
    target = command.split()[1]
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE), f"no target `{target}`"


def test_the_check_sees_commands():
    assert len(shown_commands("leadax ")) >= 3
    assert {"make demo", "make test"} <= set(shown_commands("make "))


def test_one_version():
    import leadax

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == leadax.__version__
    assert f"version: {leadax.__version__}" in (ROOT / "CITATION.cff").read_text()


def test_public_names_are_there():
    import leadax

    for name in leadax.__all__:
        assert getattr(leadax, name).__doc__, f"leadax.{name} has no docstring"


def test_the_method_of_the_guide_is_trained():
    """Its net is a plain class, as a user would write it."""
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/guides/own-method.md").read_text(), re.DOTALL)
    written: dict = {"__name__": "my_methods"}
    exec(compile(example, "own-method.md", "exec"), written)
    data = Trajectories.from_arrays(range(4), np.random.default_rng(0).uniform(1, 2, (2, 2, 4, 2)))
    model = lx.fit(written["Offset"](), data, steps=2, key=jr.key(0))
    assert model.specific("e1")(np.ones(2)).shape == (2,)


def test_the_python_example_runs(tmp_path, monkeypatch, capsys):
    """With shorter data, and with fewer steps."""
    monkeypatch.chdir(tmp_path)
    environments = tuple(get_system("lotka-volterra").environments)
    states = np.random.default_rng(0).uniform(1, 2, (len(environments), 4, 4, 2))
    short = Trajectories.from_arrays(range(4), states, environments=environments)
    monkeypatch.setattr(lx, "simulate", lambda system, **how: short)
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    example, shortened = re.subn(r"steps=\d+", "steps=2", example)
    assert shortened == 1
    exec(compile(example, "README.md", "exec"), {})
    assert "mean squared error" in capsys.readouterr().out
