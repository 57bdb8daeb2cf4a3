"""One flipped byte anywhere: refused with one line, or harmless. Never other data, another error, or a hang."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.data.strategies import ENDINGS

from leadax.data import Trajectories, _seal, load, save
from leadax.errors import InputError


def data() -> Trajectories:
    """Something of everything, and small, so that many of the flips hit what matters."""
    states = np.random.default_rng(0).standard_normal((2, 2, 3, 2))
    states[0, 1, 2] = states[0, 0, 0, 0] = states[1, 1] = np.nan
    return Trajectories.from_arrays(
        0.1 * np.arange(3),
        states,
        environments=["a", "é"],
        parameters={"rate": [1, 2], "a/b": [3, 4]},
        attributes={"system": "none", "coordinates": "odd", "time": "days since 1970-01-01"},
        trajectory_names=[["one", "two"], ["é, 3"]],
        inputs=np.where(states > 0, 7.5, np.nan),
        input_names=["rate", "é"],
        input_kinds=["held", "impulse:x1"],
    )


def files(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]


def flips(path: Path, masks: tuple[int, ...], sample: int):
    """Every place of a small file, a fixed sample of a large one, with each way to change the byte there."""
    rng = np.random.default_rng(0)
    for file in files(path):
        original = file.read_bytes()
        places = np.arange(len(original))
        if len(places) > sample:
            places = np.sort(rng.choice(places, sample, replace=False))
        for place in places:
            for mask in masks:
                yield file, original, place, mask


def put(file: Path, place: int, byte: int) -> None:
    """In place: to write a whole file anew takes longer than to load it."""
    with file.open("r+b") as opened:
        opened.seek(place)
        opened.write(bytes([byte]))


def outcome(path: Path, expected: Trajectories) -> str:
    try:
        return "same" if load(path) == expected else "WRONG"
    except InputError as error:
        proper = str(error).startswith(str(path)) and "\n" not in str(error)
        return "refused" if proper else f"WRONG: {error}"


# Every byte of a table, whose bytes have no checksum; a sample of the others, which do. Zarr has many files.
@pytest.mark.parametrize(
    ("ending", "sample"), [(".nc", 300), (".zarr", 50), (".npz", 300), (".csv", 400), (".parquet", 800)]
)
def test_flipped_bytes(ending, sample, tmp_path):
    path, expected, outcomes = tmp_path / f"a{ending}", data(), []
    masks = (0x01, 0xFF) if ending == ".csv" else (0x01,)
    save(expected, path)
    for file, original, place, mask in flips(path, masks, sample):
        put(file, place, original[place] ^ mask)
        outcomes.append(outcome(path, expected))
        around = original[max(0, place - 20) : place + 20]
        assert outcomes[-1] in ("refused", "same"), f"{outcomes[-1]}: byte {place} of {file.name} ^ {mask:#x}: {around}"
        put(file, place, original[place])
    assert load(path) == data()
    # The test sees something: most flips are refused.
    assert outcomes.count("refused") > 0.5 * len(outcomes)


@pytest.mark.parametrize("ending", ENDINGS)
def test_truncated(ending, tmp_path):
    """Cut off anywhere: refused, or harmless where only the seal is cut."""
    path = tmp_path / f"a{ending}"
    save(data(), path)
    for file in files(path):
        original = file.read_bytes()
        for share in (0, 0.1, 0.5, 0.9, 0.99):
            file.write_bytes(original[: int(share * len(original))])
            assert outcome(path, data()) in ("refused", "same"), f"{file} cut to {share:.0%}"
        file.write_bytes(original)
    assert load(path) == data()


def test_lost_rows_of_a_csv(tmp_path):
    save(data(), tmp_path / "a.csv")
    lines = (tmp_path / "a.csv").read_text().splitlines(keepends=True)
    (tmp_path / "a.csv").write_text("".join(lines[:-1]))
    with pytest.raises(InputError, match="is damaged: its contents do not match the fingerprint"):
        load(tmp_path / "a.csv")


@pytest.mark.parametrize(
    "lost", ["state/c", "rate", "time/c/0", "state/c/0/0/0/0", "input", "input/c/0/0/0/0", "input_kind"]
)
def test_lost_parts_of_a_zarr_store(lost, tmp_path):
    """Zarr itself reads a lost chunk as fill values, and says nothing."""
    whole = Trajectories.from_arrays(
        range(3), np.zeros((2, 2, 3, 1)), parameters={"rate": [0, 0]}, inputs=np.zeros((2, 2, 3, 1))
    )
    save(whole, tmp_path / "a.zarr")
    target = tmp_path / "a.zarr" / lost
    shutil.rmtree(target) if target.is_dir() else target.unlink()
    with pytest.raises(InputError, match=r"is damaged: .* is missing"):
        load(tmp_path / "a.zarr")


def test_exchanged_chunks_of_a_zarr_store(tmp_path):
    save(data(), tmp_path / "a.zarr")
    chunks = tmp_path / "a.zarr" / "state" / "c"
    (chunks / "0").rename(chunks / "2")
    (chunks / "1").rename(chunks / "0")
    (chunks / "2").rename(chunks / "1")
    with pytest.raises(InputError, match="is damaged"):
        load(tmp_path / "a.zarr")


def test_other_data_under_our_header(tmp_path):
    """The fingerprint is compared, not only the checksums of the bytes."""
    save(data(), tmp_path / "a.csv")
    save(data().select("a"), tmp_path / "b.csv")
    header = (tmp_path / "a.csv").read_text().splitlines(keepends=True)[0]
    rows = (tmp_path / "b.csv").read_text().splitlines(keepends=True)[1:]
    (tmp_path / "c.csv").write_text(header + "".join(rows))
    with pytest.raises(InputError, match="is damaged"):
        load(tmp_path / "c.csv")


@pytest.mark.parametrize("ending", [".nc", ".npz"])
def test_flipped_seal(ending, tmp_path):
    """Every byte of the seal: without it the contents are whole."""
    path, expected = tmp_path / f"a{ending}", data()
    save(expected, path)
    original = path.read_bytes()
    for place in range(len(original) - _seal.SIZE, len(original), 4):
        path.write_bytes(original[:place] + bytes([original[place] ^ 0x20]) + original[place + 1 :])
        assert outcome(path, expected) in ("refused", "same"), place


@pytest.mark.parametrize("ending", ENDINGS)
def test_fingerprint_is_compared(ending, tmp_path, monkeypatch):
    """Even when all bytes are as written: a library that reads them differently must not go unnoticed."""
    monkeypatch.setattr(Trajectories, "fingerprint", "0" * 64)
    save(data(), tmp_path / f"a{ending}")
    monkeypatch.undo()
    with pytest.raises(InputError, match="do not match the fingerprint"):
        load(tmp_path / f"a{ending}")
