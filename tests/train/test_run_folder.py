"""A run can be stopped anywhere, damaged, killed, and resumed: it ends with the bits of one that never was."""

import dataclasses
import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest
from tests.engine import LINEAR, compiled, decays, full_disk, same_bits

from leadax import InputError, Latent, Model, Monitor, Recipe, RunError, ScheduledSampling, Trajectories, evaluate, fit
from leadax.arrays import read_arrays, write_tree
from leadax.records import Config, Snapshot
from leadax.train import Interrupted, RunFolder, loop, run_folder
from leadax.train.finish import check_belongs, yardsticks_of
from leadax.train.run_folder import CONFIG, MODEL, RESULT, SCHEMA, STATE, YARDSTICKS
from leadax.yardsticks import Yardsticks

GOLDEN = Path(__file__).parents[1] / "golden"
STEPS = 60
RECIPE = {"look_every": 7, "checkpoint_every": 10}


def train(run=None, method=LINEAR, data=None, recipe=None, warn=None, monitor=Monitor(), **settings):
    chosen = {"steps": STEPS, "learning_rate": 0.02, "key": jr.key(0), **settings}
    monitor = Monitor(warn=warn) if warn else monitor
    recipe = Recipe(**{**RECIPE, **(recipe or {})})
    return fit(method, data or decays(), run=run, recipe=recipe, monitor=monitor, **chosen)


@pytest.fixture(scope="module")
def whole():
    """The run that nothing happened to."""
    return train()


@pytest.fixture(scope="module")
def finished(tmp_path_factory, whole):
    folder = tmp_path_factory.mktemp("finished")
    assert same_bits(train(folder), whole)
    return folder


@pytest.fixture
def folder(finished, tmp_path):
    """A finished run to do harm to."""
    shutil.copytree(finished, tmp_path / "run")
    return tmp_path / "run"


def unfinished(folder: Path) -> Path:
    """The same, killed just before its end was written."""
    (folder / RESULT).unlink()
    return folder


def stopping_at(steps, monkeypatch):
    """`should_stop` that says so once each of these steps is done; asked after every step."""
    monkeypatch.setattr(loop, "SECONDS_PER_CALL", 0.0)
    left = sorted(steps)

    def starting(step):
        """From which step on it is asked."""
        done = iter(range(step + 1, 10_000))
        return Monitor(should_stop=lambda: next(done) in left)

    return starting


def newest(folder: Path) -> int:
    return max((int(place.name[5:]) for place in (folder / "checkpoints").glob("step-*")), default=0)


def checkpoints(folder: Path) -> list[str]:
    return sorted(place.name for place in (folder / "checkpoints").iterdir())


def logged(folder: Path) -> list[Snapshot]:
    return [Snapshot.from_json(json.loads(line)) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def without_seconds(history) -> list[Snapshot]:
    return [dataclasses.replace(snapshot, seconds=0.0) for snapshot in history]


def assert_as_if_nothing_happened(model, folder: Path, whole) -> None:
    assert same_bits(model, whole)
    history = model.training.history
    assert without_seconds(history) == without_seconds(whole.training.history) == without_seconds(logged(folder))
    assert [snapshot.seconds for snapshot in history] == sorted(snapshot.seconds for snapshot in history)
    assert newest(folder) == STEPS
    assert RunFolder(folder).result()["steps"] == STEPS


# Stopped, and resumed


@pytest.mark.parametrize("stops", [(1,), (7,), (10, 20), (3, 4, 5, 33, 59), (13, 26, 39, 52)], ids=str)
def test_interrupted_and_resumed(stops, whole, tmp_path, monkeypatch):
    """With checkpoints that are written more or less often, too."""
    starting = stopping_at(stops, monkeypatch)
    for k, stop in enumerate(stops):
        with pytest.raises(Interrupted, match=f"stopped at step {stop} of 60; .* {tmp_path}"):
            train(tmp_path, monitor=starting(newest(tmp_path)), recipe={"checkpoint_every": (10, 3, 1000)[k % 3]})
        assert newest(tmp_path) == stop
        assert not RunFolder(tmp_path).finished
    assert_as_if_nothing_happened(train(tmp_path), tmp_path, whole)


def test_a_finished_run_is_not_run_again(finished, whole, monkeypatch):
    monkeypatch.setattr(loop.Loop, "run", None)
    before = {path: path.stat().st_mtime_ns for path in finished.rglob("*") if path.name != ".lock"}
    model = train(finished)
    assert_as_if_nothing_happened(model, finished, whole)
    assert (model.method, model.training.config) == (whole.method, whole.training.config)
    assert {path: path.stat().st_mtime_ns for path in finished.rglob("*") if path.name != ".lock"} == before


def test_what_a_finished_run_says(finished, whole):
    assert checkpoints(finished) == ["step-000000050", "step-000000060"]
    config = json.loads((finished / "config.json").read_text())
    assert set(config.pop("versions")) >= {"leadax", "jax", "jaxlib", "backend", "devices", "xla_flags"}
    assert Config.from_json(config) == whole.training.config
    result = RunFolder(finished).result()
    found = evaluate(whole, decays()).to_json()
    assert {name: result[name] for name in found} == found
    assert (result["steps"], result["seeds"], result["parameters"], result["run"]) == (60, 1, 12, str(finished))
    assert result["steps_per_second"] == pytest.approx(60 / result["seconds"])
    assert "test" not in result


def test_the_result_has_the_errors_on_test_data(tmp_path):
    test = decays(trajectories=3)
    model = train(tmp_path, test=test)
    found, history = RunFolder(tmp_path).result()["test"], model.training.history
    assert found["last"] == found["mse"] == evaluate(model, test).mse
    assert found["minimum"] == min(snapshot.test[0] for snapshot in history)
    assert found["minimum_per_seed"] == [found["minimum"]]


# Damaged


def damaged(path: Path, place: int, mask: int) -> None:
    original = path.read_bytes()
    path.write_bytes(original[:place] + bytes([original[place] ^ mask]) + original[place + 1 :])


def test_flipped_byte_in_the_newest_checkpoint(finished, folder, whole):
    """The older one is used, with a warning, whichever byte it is."""
    rng, state = np.random.default_rng(0), Path("checkpoints", "step-000000060", STATE)
    size = (finished / state).stat().st_size
    for place, mask in zip(rng.choice(size, 12, replace=False), [0x01, 0x20, 0x80, 0xFF] * 3, strict=True):
        shutil.rmtree(folder)
        shutil.copytree(finished, folder)
        damaged(unfinished(folder) / state, place, mask)
        said: list[str] = []
        assert_as_if_nothing_happened(train(folder, warn=said.append), folder, whole)
        (text,) = said
        assert "damaged checkpoint" in text
        assert "step-000000060" in text
        # What was damaged has been written again.
        assert checkpoints(folder) == ["step-000000050", "step-000000060"]
        quiet: list[str] = []
        train(unfinished(folder), warn=quiet.append)
        assert not quiet


@pytest.mark.parametrize("harm", ["missing", "renamed", "both"])
def test_damaged_checkpoints(harm, folder, whole):
    """A file is missing; one of another step is not believed; both are damaged and all starts again."""
    place = unfinished(folder) / "checkpoints" / "step-000000060"
    if harm == "missing":
        (place / STATE).unlink()
    elif harm == "renamed":
        place.rename(place.with_name("step-000000055"))
    else:
        for each in (folder / "checkpoints").iterdir():
            damaged(each / STATE, 1000, 0x01)
    said: list[str] = []
    assert_as_if_nothing_happened(train(folder, warn=said.append), folder, whole)
    assert len(said) == (2 if harm == "both" else 1)


def test_a_damaged_checkpoint_does_not_take_the_place_of_a_good_one(folder, whole, monkeypatch):
    damaged(unfinished(folder) / "checkpoints" / "step-000000060" / STATE, 1000, 0x01)
    for begin, stop in ((50, 52), (52, 54)):
        with pytest.raises(Interrupted):
            train(folder, monitor=stopping_at([stop], monkeypatch)(begin))
    assert checkpoints(folder) == ["step-000000052", "step-000000054"]
    assert_as_if_nothing_happened(train(folder), folder, whole)


def test_what_a_killed_process_left_is_removed(folder, whole):
    shutil.rmtree(unfinished(folder) / "checkpoints" / "step-000000060")
    for left in (".step-000000060.0123abcd.partial", ".step-000000060.4567cdef.old"):
        (folder / "checkpoints" / left).mkdir()
        (folder / "checkpoints" / left / STATE).write_text("half")
    assert_as_if_nothing_happened(train(folder), folder, whole)
    assert checkpoints(folder) == ["step-000000050", "step-000000060"]


@pytest.mark.parametrize("harm", [None, b"", b"\xff\n[]\n{}\n", b'{"step": 7, "loss": [1e9]}\n'], ids=str)
def test_metrics_are_for_people_only(harm, folder, whole):
    """Lost, emptied, garbage or invented: what was seen comes from the sealed checkpoint."""
    path = unfinished(folder) / "metrics.jsonl"
    shutil.rmtree(folder / "checkpoints" / "step-000000060")
    path.unlink() if harm is None else path.write_bytes(harm)
    said: list[str] = []
    assert_as_if_nothing_happened(train(folder, warn=said.append), folder, whole)
    assert not said


# The end of a run


@pytest.mark.parametrize("name", [RESULT, MODEL])
def test_a_damaged_end_is_refused_in_one_line_and_can_be_mended(name, folder, whole):
    text = (folder / RESULT).read_text()
    if name == RESULT:
        (folder / RESULT).write_text(text.replace('"steps": 60', '"steps": 61'))
    else:
        damaged(folder / MODEL, 2000, 0x01)
    for read in (lambda: train(folder), RunFolder(folder).result):
        with pytest.raises(InputError, match=f"{folder / name} is damaged or .*: remove it") as caught:
            read()
        assert "\n" not in str(caught.value)
    (folder / name).unlink()
    assert not RunFolder(folder).finished
    assert_as_if_nothing_happened(train(folder), folder, whole)
    mended, fresh = (
        json.loads((folder / RESULT).read_text()),
        ("sha256", "model_sha256", "yardsticks_sha256", "seconds", "steps_per_second", "run"),
    )
    old = json.loads(text)
    assert {name for name in old if old[name] != mended[name]} <= {*fresh}


def test_the_model_of_another_run_is_refused(folder, tmp_path):
    train(tmp_path / "other", key=jr.key(1))
    shutil.copy(tmp_path / "other" / MODEL, folder / MODEL)
    with pytest.raises(InputError, match=rf"{MODEL} .* another run"):
        train(folder)
    # Whoever only uses the model is told as well, with or without the result beside it.
    check_belongs(Model.load(tmp_path / "other" / MODEL), tmp_path / "other")
    for lost in (None, RESULT):
        if lost:
            (folder / lost).unlink()
        with pytest.raises(InputError, match=rf"{MODEL} .* another run"):
            check_belongs(Model.load(folder / MODEL), folder)
    # Copied together they agree with each other, but not with what was asked for here.
    for name in (RESULT, YARDSTICKS):
        shutil.copy(tmp_path / "other" / name, folder / name)
    with pytest.raises(InputError, match=rf"{MODEL} .* another run"):
        train(folder)


def test_a_finished_run_without_its_yardsticks_is_refused(folder):
    (folder / YARDSTICKS).unlink()
    with pytest.raises(InputError, match=f"{YARDSTICKS} is damaged, lost or of another run"):
        train(folder)


def test_yardsticks_of_other_data_are_refused(folder, whole):
    assert yardsticks_of(folder, whole).train == decays().fingerprint
    Yardsticks.learnt(decays(points=5)).save(folder / YARDSTICKS)
    with pytest.raises(InputError, match=f"{YARDSTICKS} is damaged, lost or of another run"):
        yardsticks_of(folder, whole)
    (folder / RESULT).rename(folder / "aside")
    with pytest.raises(InputError, match=f"{YARDSTICKS} belongs to another run"):
        yardsticks_of(folder, whole)
    (folder / YARDSTICKS).unlink()
    assert yardsticks_of(folder, whole) is None
    (folder / "aside").rename(folder / RESULT)
    with pytest.raises(InputError, match=f"{YARDSTICKS} is damaged, lost or of another run"):
        yardsticks_of(folder, whole)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
@pytest.mark.parametrize("name", [CONFIG, RESULT, YARDSTICKS])
def test_nobody_waits_for_a_pipe(name, folder, whole):
    (folder / name).unlink()
    os.mkfifo(folder / name)
    check = yardsticks_of if name == YARDSTICKS else lambda place, model: check_belongs(model, place)
    with pytest.raises(InputError, match=f"{name} is a pipe"):
        check(folder, whole)


# Another run's folder


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("other", "key"),
    [
        ({"key": jr.key(1)}, "key"),
        ({"seeds": 2}, "seeds"),
        ({"steps": 61}, "steps"),
        ({"learning_rate": 0.01}, "learning_rate"),
        ({"optimiser": optax.sgd(0.1), "learning_rate": None}, "clip"),
        ({"optimiser": "muon"}, "optimiser"),
        ({"method": dataclasses.replace(LINEAR, solver="heun")}, "method.solver"),
        ({"method": dataclasses.replace(LINEAR, penalty_weight=0.02)}, "method.penalty_weight"),
        ({"recipe": {"look_every": 8}}, "look_every"),
        ({"recipe": {"decay": "constant"}}, "decay"),
        ({"recipe": {"sampling": ScheduledSampling(0.5)}}, "sampling.decay"),
        ({"recipe": {"batch_size": 1}}, "batch_size"),
        ({"recipe": {"match": "spline"}}, "match"),
        ({"recipe": {"protocol": "paper"}}, "protocol"),
        ({"recipe": {"dtype": jnp.float64}}, "dtype"),
        ({"test": decays()}, "test"),
        ({"validation": decays()}, "validation"),
        ({"data": Trajectories.from_arrays(decays().times + 1, decays().states)}, "train"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_refuses_the_folder_of_another_run(other, key, finished):
    before = contents(finished)
    with pytest.raises(InputError, match=f"{finished} holds another run: its `{key}` is .*; choose another --out"):
        train(finished, **other)
    assert contents(finished) == before


@pytest.mark.parametrize("end", [True, False], ids=["finished", "unfinished"])
def test_a_lost_configuration_does_not_let_another_run_in(end, folder, whole):
    """Checkpoints and models are sealed with theirs."""
    (folder / "config.json").unlink()
    if not end:
        unfinished(folder)
        (folder / MODEL).unlink()
    for other in ({"key": jr.key(1)}, {"seeds": 2}):
        with pytest.raises(InputError, match=r"holds another run: its `(key|seeds)` is"):
            train(folder, **other)
        assert not (folder / "config.json").exists()
    assert_as_if_nothing_happened(train(folder), folder, whole)
    assert (folder / "config.json").exists()


def test_checkpoints_of_another_run_are_refused(folder, tmp_path):
    """They have the right shapes, and the configuration beside them is right, too."""
    train(tmp_path / "other", key=jr.key(1))
    (unfinished(folder) / MODEL).unlink()
    shutil.rmtree(folder / "checkpoints")
    shutil.copytree(tmp_path / "other" / "checkpoints", folder / "checkpoints")
    with pytest.raises(InputError, match="holds another run: its `key` is"):
        train(folder)


def test_refuses_an_optimiser_that_it_cannot_go_on_with(tmp_path, monkeypatch):
    """All that the folder says of an optimiser of your own is `custom`."""
    settings = {"learning_rate": None}
    with pytest.raises(Interrupted):
        train(tmp_path, optimiser=optax.sgd(0.1), monitor=stopping_at([3], monkeypatch)(0), **settings)
    with pytest.raises(InputError, match=r"step-000000003 does not fit this model: `.*` is in "):
        train(tmp_path, optimiser=optax.adam(0.01), **settings)
    assert checkpoints(tmp_path) == ["step-000000003"]
    before = len(compiled)
    train(tmp_path, optimiser=optax.sgd(0.1), **settings)
    assert "jit(_advance)" not in compiled[before:], "an equal one is the same program"


def test_refuses_a_checkpoint_of_a_newer_version(folder):
    place = unfinished(folder) / "checkpoints" / "step-000000060"
    arrays, about = read_arrays(place / STATE)
    write_tree(place / STATE, arrays, {**about, "schema": SCHEMA + 1})
    before = contents(folder)
    with pytest.raises(InputError, match=f"step-000000060 has schema {SCHEMA + 1}, .*install a newer"):
        train(folder)
    assert contents(folder) == before


@pytest.mark.parametrize("text", ["{", "[1]", "\x00", "{}"], ids=["cut", "list", "zero", "empty"])
def test_refuses_a_damaged_config(text, folder):
    (folder / "config.json").write_text(text)
    if text == "{}":
        assert train(folder).members == 1  # as if it were lost
        return
    with pytest.raises(InputError, match=r"config.json is damaged"):
        train(folder)


def test_refuses_a_file_in_place_of_a_folder(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="file is a file, expected a folder"):
        train(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_run_of_version_0_1_is_refused_in_one_line(tmp_path):
    shutil.copytree(GOLDEN / "run-1", tmp_path / "run")
    before = contents(tmp_path)
    with pytest.raises(InputError, match=r"run is a run of Leadax 0\.1, which this version cannot resume") as caught:
        train(tmp_path / "run", steps=6)
    assert "\n" not in str(caught.value)
    assert contents(tmp_path).items() >= before.items()
    # Nor are its checkpoints taken for one's own where the configuration is lost.
    (tmp_path / "run" / "config.json").unlink()
    with pytest.raises(InputError, match="schema 1"):
        train(tmp_path / "run", steps=6)


# Two processes

HOLD = """
import fcntl, sys
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


def test_a_second_process_is_refused(folder):
    command = [sys.executable, "-S", "-c", HOLD, str(folder / ".lock")]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(InputError, match=f"another process is working on {folder}"):
            train(folder)
    finally:
        holder.kill()
        holder.communicate()
    # However it ends, it leaves no lock behind.
    train(folder)


def test_the_lock_is_held_while_training_and_given_back(tmp_path):
    refused = []

    def snapshot(*_):
        with pytest.raises(InputError, match="another process"), RunFolder(tmp_path).locked():
            pass
        refused.append(True)

    train(tmp_path, monitor=Monitor(listen=snapshot))
    assert len(refused) == 9
    with RunFolder(tmp_path).locked():
        pass


# A full disk


def test_a_full_disk_while_a_checkpoint_is_written(tmp_path, whole, monkeypatch):
    written = []

    def full(path, tree, about):
        if about["step"] == 30:
            path.write_bytes(b"half")
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(about["step"])
        write_tree(path, tree, about)

    monkeypatch.setattr(run_folder, "write_tree", full)
    with pytest.raises(RunError, match=r"step-000000030 could not be written: No space left on device; .*untouched"):
        train(tmp_path)
    assert written == [10, 20]
    assert checkpoints(tmp_path) == ["step-000000010", "step-000000020"]
    monkeypatch.undo()
    assert_as_if_nothing_happened(train(tmp_path), tmp_path, whole)


def test_a_full_disk_for_each_file(tmp_path, whole):
    """The system itself refuses to write on."""
    run, config, snapshot = RunFolder(tmp_path), whole.training.config, whole.training.history[0]
    run.save_checkpoint({"a": np.arange(500.0)}, 1, config, [snapshot])
    run.log(snapshot)
    line = (tmp_path / "metrics.jsonl").read_text()
    with full_disk(1000), pytest.raises(RunError, match="could not be written: File too large"):
        run.save_checkpoint({"a": np.arange(500.0)}, 2, config, [snapshot])
    with full_disk(15), pytest.raises(RunError, match=r"metrics.jsonl could not be written: File too large"):
        run.log(snapshot)
    with full_disk(15), pytest.raises(RunError, match=r"result.json could not be written: File too large"):
        run.write_json(RESULT, {"key": "a long value"})
    assert checkpoints(tmp_path) == ["step-000000001"]
    state, step, history = run.load_checkpoint(lambda step: {"a": np.zeros(500)}, config)
    assert (state["a"].tolist(), step, history) == (list(range(500)), 1, (snapshot,))
    assert (tmp_path / "metrics.jsonl").read_text() == line
    assert not run.finished


# Killed

KILLED = """
import os, random, signal, sys, time
from pathlib import Path
import jax, jax.random as jr, optax
from tests.engine import LINEAR, decays
from leadax import Recipe, fit

place, kills = Path(sys.argv[1]), int(sys.argv[2])

def start(name):
    "Train in a child. The libraries are loaded, but JAX has not started: that would not survive a fork."
    child = os.fork()
    if child:
        return child
    jax.config.update("jax_disable_most_optimizations", True)
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_compilation_cache_dir", str(place / "cache"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    recipe = Recipe(look_every=4, checkpoint_every=1)
    fit(LINEAR, decays(), key=jr.key(0), learning_rate=0.02, steps=60, recipe=recipe, run=place / name)
    os._exit(0)

def newest():
    return max((int(step.name[5:]) for step in (place / "killed" / "checkpoints").glob("step-*")), default=0)

chance = random.Random(0)
for _ in range(kills):
    # Nearly all the time goes into checkpoints: some steps, and a part of one.
    goal, child = min(60, newest() + chance.randint(1, 8)), start("killed")
    while newest() < goal:
        time.sleep(0.001)
        ended = os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        assert ended is None or newest() >= goal, "failed by itself"
    time.sleep(chance.uniform(0.0, 0.02))
    os.kill(child, signal.SIGKILL)
    # On a machine that lets us wait too long, it may have come to its end.
    if os.waitpid(child, 0)[1] == signal.SIGKILL:
        print("killed after step", newest(), flush=True)
assert os.waitpid(start("killed"), 0)[1] == 0
"""


def test_killed_at_any_moment(tmp_path):
    command = [sys.executable, "-W", "ignore", "-c", KILLED, str(tmp_path), "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:] + done.stdout
    assert done.stdout.count("killed after step") >= 1, done.stdout
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    train(whole, recipe={"look_every": 4, "checkpoint_every": 1})
    states = [read_arrays(folder / "checkpoints" / "step-000000060" / STATE)[0] for folder in (killed, whole)]
    assert same_bits(*states)
    assert same_bits(*(read_arrays(folder / MODEL)[0] for folder in (killed, whole)))
    assert [line.step for line in logged(killed)] == [*range(4, 61, 4)]
    assert without_seconds(logged(killed)) == without_seconds(logged(whole))
    assert checkpoints(killed) == ["step-000000059", "step-000000060"]
    mse = [RunFolder(folder).result()["mse"] for folder in (killed, whole)]
    assert mse[0] == mse[1]


def test_channels_that_are_never_observed_together(tmp_path):
    """Starts are inferred, so that training needs no whole state. Simple forecasts do, and there are none."""
    data = decays()
    states = np.where((np.arange(data.times.shape[2])[:, None] + np.arange(2)) % 2, np.nan, data.states)
    asynchronous = Trajectories.from_arrays(data.times, states, environments=data.environments)
    model = fit(LINEAR, asynchronous, key=jr.key(0), steps=2, latent=Latent(noise=0.05), run=tmp_path / "run")
    assert np.isfinite(RunFolder(tmp_path / "run").result()["nmse"])
    assert yardsticks_of(tmp_path / "run", model) is None
