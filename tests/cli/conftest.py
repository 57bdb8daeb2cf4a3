"""A folder with small data, a finished run and a module of a user's own: made once, since to compile takes longest.

All tests that train use the same sizes of data, the net `linear` and the solver `euler`, so that they share programs.
"""

import json
import signal
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import leadax as lx
from leadax.cli import run

QUICK = ("--steps", "4", "--look-every", "1", "--net", "linear", "--solver", "euler")

OWN = """
from functools import partial

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np

import leadax as lx


class Mine(lx.Method):
    solver: str | None = eqx.field(static=True, default=None)
    scale: float = 1.0

    def init(self, sizes, *, key):
        return jnp.zeros((sizes.state_shape[0],) * 2), jnp.zeros((sizes.environments, sizes.state_shape[0]))

    def dynamics(self, shared, specific):
        return lx.Flow(lambda t, x, u: self.scale * (x @ shared + specific), "euler")

    def split(self, shared, specific):
        return (lambda t, x, u: self.scale * (x @ shared)), (lambda t, x, u: self.scale * specific)


class Demanding(lx.Leads):
    size: int = eqx.field(static=True, kw_only=True)


class Half(lx.Penalty):
    alpha: float = 0.5

    def init(self, net, *, key):
        return ()

    def __call__(self, net, points, weights, carry):
        return self.alpha * jnp.sum(net.layers[0].matrix() ** 2), carry


def net(shape, *, key):
    return lx.Linear(shape, key=key)


def thorough():
    return lx.Leads(substeps=2)


def leads_of(protocol):
    return lx.Leads()


def decay(protocol):
    return lx.System(
        name="decay",
        channels=("x",),
        times=np.arange(4.0),
        environments={"slow": {"rate": 1.0}, "fast": {"rate": 2.0}},
        tangent=lambda x, p: -p["rate"] * x,
        initial_state=lambda key: jnp.ones(1),
        solve=lambda state, p, times: jnp.exp(-p["rate"] * times)[:, None] * state[None],
        protocol=protocol,
    )


DECAY = decay("clean")
RANDOM = lx.System(**(vars(DECAY) | {"initial_state": lambda key: jr.uniform(key, (1,))}))
BLOWS_UP = lx.System(**(vars(DECAY) | {"solve": lambda state, p, times: jnp.full((4, 1), jnp.inf)}))
SMALL = partial(lx.Linear, init_std=0.5)
HALF = Half(alpha=0.25)
NUMBER = 3
"""


def waves(sizes, **speeds):
    times = np.linspace(0, 6, 8)
    wave = lambda speed, size: size * np.stack([np.sin(speed * times), np.cos(speed * times)], axis=-1)
    states = np.stack([[wave(speed, size) for size in sizes] for speed in speeds.values()])
    return lx.Trajectories.from_arrays(times, states, environments=tuple(speeds))


@pytest.fixture(scope="session")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    waves((1.0, 1.5), slow=0.5, fast=0.8).save(folder / "train.csv")
    waves((1.2, 0.8), slow=0.5, fast=0.8).save(folder / "test.csv")
    waves((1.0, 1.5), mars=0.6, venus=0.7).save(folder / "novel.csv")
    lx.Trajectories.from_arrays(range(8), np.ones((2, 1, 8, 1)), environments=("slow", "fast")).save(
        folder / "narrow.csv"
    )
    (folder / "mine.py").write_text(OWN)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LEADAX_CACHE", "off")
        patch.chdir(folder)
        assert run(["train", "train.csv", "--test", "test.csv", "--out", "run", *QUICK]) == 0
    return folder


@pytest.fixture(autouse=True)
def in_that_folder(request, monkeypatch, tmp_path):
    """Tests that ask for `place` are in it, others in an empty folder of their own."""
    monkeypatch.setenv("LEADAX_CACHE", "off")
    monkeypatch.chdir(request.getfixturevalue("place") if "place" in request.fixturenames else tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())


@pytest.fixture
def stop_at(monkeypatch):
    """Inside, training is told to stop by a signal as it looks at the test data at a step."""

    @contextmanager
    def stop_at(step, number=signal.SIGINT):
        @contextmanager
        def bar(label):
            yield lambda snapshot, steps: signal.raise_signal(number) if snapshot.step == step else None

        with monkeypatch.context() as patch:
            patch.setattr(sys.modules["leadax.cli.train"], "training_bar", bar)
            yield

    return stop_at


@pytest.fixture
def printed(capsys):
    """What a command prints with `--json`."""

    def printed(*arguments):
        capsys.readouterr()
        assert run([*arguments, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return printed


@pytest.fixture
def refused(capsys):
    """The one line that a command refuses to work with; it prints and writes nothing else."""

    def refused(*arguments, status=2):
        before = set(Path().rglob("*"))
        capsys.readouterr()
        assert run(list(arguments)) == status
        out, err = capsys.readouterr()
        assert out == ""
        assert len(err.splitlines()) == 1, f"one line expected, got: {err}"
        assert err.startswith("leadax: error: ")
        left = {path for path in set(Path().rglob("*")) - before if path.name not in (".lock", "config.json")}
        assert not {path for path in left if path.is_file()}, "nothing may be written"
        return err.removeprefix("leadax: error: ").rstrip("\n")

    return refused
