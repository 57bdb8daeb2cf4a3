"""A run can be stopped anywhere, damaged, killed, and resumed: it ends with the bits of one that never was."""

import dataclasses
import errno
import json
import shutil
import subprocess
import sys
from pathlib import Path

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest
from tests.engine import LINEAR, compiled_once, full_disk, ragged, same_bits

from leadax import InputError, RunError, checkpoint, fit, job
from leadax.arrays import read_arrays, write_tree
from leadax.checkpoint import STATE, RunFolder
from leadax.data import Trajectories
from leadax.job import Interrupted
from leadax.objective import ScheduledSampling

GOLDEN = Path(__file__).parent / "golden" / "run-1"
STEPS = 60
SETTINGS = {"steps": STEPS, "decay": "constant", "learning_rate": 0.01, "look_every": 7, "checkpoint_every": 10}


@pytest.fixture(autouse=True, scope="module")
def _compile_once():
    with compiled_once():
        yield


def train(run=None, **settings):
    chosen = {**SETTINGS, "key": jr.key(0), **settings}
    return fit(chosen.pop("method", LINEAR), chosen.pop("data", ragged()), run=run, **chosen)


@pytest.fixture(scope="module")
def whole():
    """The run that nothing happened to."""
    return train()


@pytest.fixture(scope="module")
def finished(tmp_path_factory, whole):
    folder = tmp_path_factory.mktemp("finished")
    assert same_bits(train(folder).parts, whole.parts)
    return folder


@pytest.fixture
def folder(finished, tmp_path):
    """A finished run to do harm to."""
    shutil.copytree(finished, tmp_path / "run")
    return tmp_path / "run"


def stopping_at(steps, monkeypatch):
    """`should_stop` that says so once each of these steps is done; asked after every step."""
    monkeypatch.setattr(job, "SECONDS_PER_CALL", 0.0)
    left = sorted(steps)

    def starting(step):
        """From which step on it is asked."""
        done = iter(range(step + 1, 10_000))
        return lambda: next(done) in left

    return starting


def newest(folder: Path) -> int:
    return max((int(place.name[5:]) for place in (folder / "checkpoints").glob("step-*")), default=0)


def checkpoints(folder: Path) -> list[str]:
    return sorted(place.name for place in (folder / "checkpoints").iterdir())


def logged(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def without_seconds(looks: list[dict]) -> list[dict]:
    return [{name: value for name, value in look.items() if name != "seconds"} for look in looks]


def assert_as_if_nothing_happened(model, folder: Path, whole) -> None:
    assert same_bits(model.parts, whole.parts)
    assert without_seconds(model.about["looks"]) == without_seconds(whole.about["looks"])
    assert without_seconds(logged(folder)) == without_seconds(whole.about["looks"])
    seconds = [look["seconds"] for look in model.about["looks"]]
    assert seconds == sorted(seconds)
    assert newest(folder) == STEPS


# Stopped, and resumed


@pytest.mark.parametrize("stops", [(1,), (7,), (10, 20), (3, 4, 5, 33, 59), (13, 26, 39, 52)], ids=str)
@pytest.mark.parametrize("every", [(10,), (3, 1000, 7)], ids=["as often", "more or less often"])
def test_interrupted_and_resumed(stops, every, whole, tmp_path, monkeypatch):
    starting = stopping_at(stops, monkeypatch)
    for k, stop in enumerate(stops):
        with pytest.raises(
            Interrupted, match=f"stopped at step {stop} of 60; run the same again to go on from {tmp_path}"
        ):
            train(tmp_path, should_stop=starting(newest(tmp_path)), checkpoint_every=every[k % len(every)])
        assert newest(tmp_path) == stop
    assert_as_if_nothing_happened(train(tmp_path), tmp_path, whole)


def test_a_finished_run_is_not_run_again(finished, whole, monkeypatch):
    monkeypatch.setattr(job.Job, "_until_next_event", None)
    before = {path: path.stat().st_mtime_ns for path in finished.rglob("*") if path.name.startswith("step-")}
    assert_as_if_nothing_happened(train(finished), finished, whole)
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())


def test_two_checkpoints_are_kept(finished):
    assert checkpoints(finished) == ["step-000000050", "step-000000060"]


def test_what_a_run_folder_says(finished):
    config = json.loads((finished / "config.json").read_text())
    assert config["train"] == ragged().fingerprint
    assert config["method"]["name"] == "leads"
    assert config["schedule"]["steps"] == STEPS
    assert set(config["versions"]) >= {"leadax", "jax", "jaxlib", "backend", "devices", "xla_flags"}
    manifest = json.loads((finished / "checkpoints" / "step-000000060" / "manifest.json").read_text())
    assert (manifest["schema"], manifest["step"], set(manifest["files"])) == (1, 60, {STATE})


# Damaged


def damaged(path: Path, place: int, mask: int) -> None:
    original = path.read_bytes()
    path.write_bytes(original[:place] + bytes([original[place] ^ mask]) + original[place + 1 :])


def test_flipped_byte_in_the_newest_checkpoint(finished, folder, whole):
    """The older one is used, with a warning, whichever byte it is; unless the byte means nothing."""
    rng, passed_over = np.random.default_rng(0), 0
    for name in (STATE, "manifest.json"):
        size = (finished / "checkpoints" / "step-000000060" / name).stat().st_size
        for place, mask in zip(rng.choice(size, 20, replace=False), [0x01, 0x20, 0x80, 0xFF] * 5, strict=True):
            shutil.rmtree(folder)
            shutil.copytree(finished, folder)
            damaged(folder / "checkpoints" / "step-000000060" / name, place, mask)
            said: list[str] = []
            model = train(folder, warn=said.append)
            assert_as_if_nothing_happened(model, folder, whole)
            assert checkpoints(folder) == ["step-000000050", "step-000000060"]
            passed_over += len(said)
            assert len(said) <= 1
            assert all("passing over a damaged checkpoint" in text and "step-000000060" in text for text in said)
            # What was damaged has been written again.
            if said:
                quiet: list[str] = []
                train(folder, warn=quiet.append)
                assert not quiet
    # The arrays are sealed; in the manifest, some letters of versions are for the reader only.
    assert passed_over >= 30


@pytest.mark.parametrize("missing", [STATE, "manifest.json"])
def test_missing_file_in_the_newest_checkpoint(missing, folder, whole):
    (folder / "checkpoints" / "step-000000060" / missing).unlink()
    said: list[str] = []
    assert_as_if_nothing_happened(train(folder, warn=said.append), folder, whole)
    assert len(said) == 1


def test_a_checkpoint_under_the_name_of_another_step_is_not_believed(folder, whole):
    (folder / "checkpoints" / "step-000000060").rename(folder / "checkpoints" / "step-000000055")
    said: list[str] = []
    assert_as_if_nothing_happened(train(folder, warn=said.append), folder, whole)
    assert len(said) == 1


def test_a_whole_file_in_the_place_of_another_is_not_believed(folder, whole):
    place = folder / "checkpoints" / "step-000000060" / STATE
    arrays, about = read_arrays(place)
    write_tree(place, {name: array + 1 for name, array in arrays.items()}, about)
    said: list[str] = []
    assert_as_if_nothing_happened(train(folder, warn=said.append), folder, whole)
    assert len(said) == 1
    assert "does not match its SHA-256" in said[0]


def test_both_damaged_starts_again(folder, whole):
    for place in (folder / "checkpoints").iterdir():
        damaged(place / STATE, 1000, 0x01)
    said: list[str] = []
    assert_as_if_nothing_happened(train(folder, warn=said.append), folder, whole)
    assert len(said) == 2


def test_a_damaged_checkpoint_does_not_take_the_place_of_a_good_one(folder, whole, monkeypatch):
    damaged(folder / "checkpoints" / "step-000000060" / STATE, 1000, 0x01)
    for stop in (52, 54):
        with pytest.raises(Interrupted):
            train(folder, should_stop=stopping_at([stop], monkeypatch)(50 if stop == 52 else 52))
    assert checkpoints(folder) == ["step-000000052", "step-000000054"]
    assert_as_if_nothing_happened(train(folder), folder, whole)


def test_what_a_killed_process_left_is_removed(folder, whole, monkeypatch):
    shutil.rmtree(folder / "checkpoints" / "step-000000060")
    for left in (".step-000000060.0123abcd.partial", ".step-000000060.4567cdef.old"):
        (folder / "checkpoints" / left).mkdir()
        (folder / "checkpoints" / left / STATE).write_text("half")
    assert_as_if_nothing_happened(train(folder), folder, whole)
    assert checkpoints(folder) == ["step-000000050", "step-000000060"]


def test_a_line_cut_off_in_the_metrics(folder, whole):
    """The process was killed while it wrote: it had not saved that step."""
    shutil.rmtree(folder / "checkpoints" / "step-000000060")
    text = (folder / "metrics.jsonl").read_text()
    said: list[str] = []
    for cut in (1, 2, 30, 100):
        (folder / "metrics.jsonl").write_text(text[:-cut])
        assert_as_if_nothing_happened(train(folder, warn=said.append), folder, whole)
        shutil.rmtree(folder / "checkpoints" / "step-000000060")
    assert not said


@pytest.mark.parametrize("harm", [b"\xff", b"[]", b"{}", b'{"step": "7"}', b"", b"{"], ids=str)
def test_damaged_line_in_the_metrics(harm, folder, whole):
    lines = (folder / "metrics.jsonl").read_bytes().splitlines()
    (folder / "metrics.jsonl").write_bytes(b"\n".join([lines[0], harm, *lines[2:]]) + b"\n")
    said: list[str] = []
    model = train(folder, warn=said.append)
    assert same_bits(model.parts, whole.parts)
    assert [look["step"] for look in model.about["looks"]] == [7, 21, 28, 35, 42, 49, 56, 60]
    (text,) = said
    assert "metrics.jsonl is damaged: 1 of its 9 lines cannot be read" in text


def test_lost_metrics(folder, whole):
    (folder / "metrics.jsonl").unlink()
    assert same_bits(train(folder).parts, whole.parts)


# Another run's folder


@pytest.mark.parametrize(
    ("other", "key"),
    [
        ({"key": jr.key(1)}, "key"),
        ({"seeds": 2}, "seeds"),
        ({"steps": 61}, "schedule.steps"),
        ({"learning_rate": 0.02}, "schedule.learning_rate"),
        ({"look_every": 8}, "schedule.look_every"),
        ({"optimiser": optax.sgd(0.1)}, "optimiser"),
        ({"optimiser": "muon"}, "optimiser"),
        ({"method": dataclasses.replace(LINEAR, solver="heun")}, "method.solver"),
        ({"sampling": ScheduledSampling(0.5)}, "sampling.decay"),
        ({"batch_size": 1}, "batch_size"),
        ({"trainable": ("specific",)}, "trainable"),
        ({"protocol": "paper"}, "protocol"),
        ({"test": ragged()}, "test"),
        ({"dtype": jnp.float64}, "dtype"),
        ({"data": Trajectories.from_arrays(ragged().times + 1, ragged().states)}, "train"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)  # fmt: skip
def test_refuses_the_folder_of_another_run(other, key, finished):
    before = {path: path.read_bytes() for path in finished.rglob("*") if path.is_file()}
    with pytest.raises(InputError, match=f"{finished} holds another run: its `{key}` is .*; choose another --out"):
        train(finished, **other)
    assert {path: path.read_bytes() for path in finished.rglob("*") if path.is_file()} == before


def test_refuses_an_optimiser_that_it_cannot_go_on_with(folder):
    """Of an optimiser of your own the folder knows no more than that it is one."""
    config = (folder / "config.json").read_text()
    (folder / "config.json").write_text(config.replace('"optimiser": "adam"', '"optimiser": "custom"'))
    with pytest.raises(InputError, match=r"step-000000060 does not fit this model: `.*` is in one of them only"):
        train(folder, optimiser=optax.sgd(0.01))
    assert checkpoints(folder) == ["step-000000050", "step-000000060"]


def test_refuses_a_checkpoint_of_a_newer_version(folder):
    place = folder / "checkpoints" / "step-000000060"
    arrays, about = read_arrays(place / STATE)
    write_tree(place / STATE, {}, {**about, "schema": 2})
    manifest = json.loads((place / "manifest.json").read_text())
    manifest |= {"schema": 2, "files": {STATE: checkpoint._sha256(place / STATE)}}
    (place / "manifest.json").write_text(json.dumps(manifest))
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(InputError, match=r"step-000000060 has schema 2, .*up to schema 1: install a newer one"):
        train(folder)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert arrays


@pytest.mark.parametrize("text", ["{", "[1]", "\x00"], ids=["cut", "list", "zero"])
def test_refuses_a_damaged_config(text, folder):
    (folder / "config.json").write_text(text)
    with pytest.raises(InputError, match=r"config.json is damaged"):
        train(folder)


def test_refuses_a_file_in_place_of_a_folder(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="file cannot be written"):
        train(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


# Two processes

HOLD = """
import fcntl, sys
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


def test_a_second_process_is_refused(folder):
    command = [sys.executable, "-c", HOLD, str(folder / ".lock")]
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

    def look(_):
        with pytest.raises(InputError, match="another process"), RunFolder(tmp_path).locked():
            pass
        refused.append(True)

    train(tmp_path, listen=look)
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

    monkeypatch.setattr(checkpoint, "write_tree", full)
    with pytest.raises(RunError, match=r"step-000000030 could not be written: No space left on device; .*untouched"):
        train(tmp_path)
    assert written == [10, 20]
    assert checkpoints(tmp_path) == ["step-000000010", "step-000000020"]
    monkeypatch.undo()
    assert_as_if_nothing_happened(train(tmp_path), tmp_path, whole)


def test_a_full_disk_for_each_file(tmp_path):
    """The system itself refuses to write on."""
    run = RunFolder(tmp_path)
    run.save_checkpoint({"a": np.arange(500.0)}, 1)
    run.log({"step": 1})
    with full_disk(1000), pytest.raises(RunError, match="could not be written: File too large"):
        run.save_checkpoint({"a": np.arange(500.0)}, 2)
    with full_disk(15), pytest.raises(RunError, match=r"metrics.jsonl could not be written: File too large"):
        run.log({"step": 2})
    with full_disk(15), pytest.raises(RunError, match=r"config.json could not be written: File too large"):
        run.agree({"key": "a long value"})
    assert checkpoints(tmp_path) == ["step-000000001"]
    state, step = run.load_checkpoint(lambda step: {"a": np.zeros(500)})
    assert (state["a"].tolist(), step) == (list(range(500)), 1)
    assert run.metrics(up_to=9) == [{"step": 1}]
    assert not (tmp_path / "config.json").exists()


# Killed

KILLED = """
import os, random, signal, sys, time
from pathlib import Path
import jax, jax.random as jr, optax
from tests.engine import LINEAR, ragged
from leadax import fit

place, kills = Path(sys.argv[1]), int(sys.argv[2])

def start(name):
    "Train in a child. The libraries are loaded, but JAX has not started: that would not survive a fork."
    child = os.fork()
    if child:
        return child
    jax.config.update("jax_compilation_cache_dir", str(place / "cache"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    fit(LINEAR, ragged(), key=jr.key(0), steps=60, look_every=4, checkpoint_every=1, run=place / name)
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
for name in ("killed", "whole"):
    assert os.waitpid(start(name), 0)[1] == 0, name
"""


def test_killed_at_any_moment(tmp_path):
    command = [sys.executable, "-W", "ignore", "-c", KILLED, str(tmp_path), "3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:] + done.stdout
    assert done.stdout.count("killed after step") >= 2, done.stdout
    killed, whole = (
        read_arrays(tmp_path / name / "checkpoints" / "step-000000060" / STATE) for name in ("killed", "whole")
    )
    assert killed[1] == whole[1]
    assert same_bits(killed[0], whole[0])
    steps = [*range(4, 61, 4)]
    assert [line["step"] for line in logged(tmp_path / "killed")] == steps
    assert without_seconds(logged(tmp_path / "killed")) == without_seconds(logged(tmp_path / "whole"))
    assert checkpoints(tmp_path / "killed") == ["step-000000059", "step-000000060"]


# A run folder of the first format, which all later versions must go on with. Made once; never make it anew.


def golden_forecasts(model) -> list:
    state, times = np.array([1.0, 0.5]), np.array([0.0, 0.25, 0.5, 1.5])
    return [model.predict(state, times, environment=name).tolist() for name in model.environments]


def golden_run(folder: Path):
    return train(folder, steps=6, look_every=2, checkpoint_every=3)


def write_golden() -> None:
    """`python -c "from tests.test_checkpoint import write_golden; write_golden()"` wrote tests/golden/run-1."""
    model = golden_run(GOLDEN)
    (GOLDEN / ".lock").unlink()
    (GOLDEN / "forecasts.json").write_text(json.dumps(golden_forecasts(model)) + "\n")


@pytest.mark.parametrize("finish", [True, False], ids=["finished", "resumed"])
def test_golden_run(finish, tmp_path):
    shutil.copytree(GOLDEN, tmp_path / "run")
    if not finish:
        shutil.rmtree(tmp_path / "run" / "checkpoints" / "step-000000006")
    said: list[str] = []
    model = fit(
        LINEAR, ragged(), key=jr.key(0), run=tmp_path / "run", warn=said.append,
        **{**SETTINGS, "steps": 6, "look_every": 2, "checkpoint_every": 3},
    )  # fmt: skip
    assert said == []
    assert [look["step"] for look in model.about["looks"]] == [2, 4, 6]
    recorded = json.loads((GOLDEN / "forecasts.json").read_text())
    # Another version may round otherwise on the way, but reads the same numbers.
    tolerance = 1e-6 if finish else 1e-4
    np.testing.assert_allclose(golden_forecasts(model), recorded, rtol=tolerance, atol=tolerance)
