"""Ways to harm a file."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

Harm = Callable[[Path, random.Random], None]
DEEP = b"[" * 100_000
GARBAGE = (b"", b"null", b"{}", b"[]", b'""', b"0", b"\n", b"\xff\xfe", b"\0" * 64, b"PK\3\4", b"\x89HDF\r\n\x1a\n",
           b"PAR1PAR1", b"<html>", b"a,b,c\n1,2,3\n", DEEP, b'{"a":' * 50_000)  # fmt: skip


def _changed(path: Path, change: Callable[[bytearray], bytes | bytearray]) -> None:
    path.write_bytes(change(bytearray(path.read_bytes())))


def flip_bit(path: Path, chance: random.Random) -> None:
    def change(raw: bytearray) -> bytearray:
        if raw:
            raw[chance.randrange(len(raw))] ^= 1 << chance.randrange(8)
        return raw

    _changed(path, change)


def other_byte(path: Path, chance: random.Random) -> None:
    def change(raw: bytearray) -> bytearray:
        if raw:
            raw[chance.randrange(len(raw))] = chance.choice(b'\0\n ,"{}[]-.019e\xff')
        return raw

    _changed(path, change)


def other_digit(path: Path, chance: random.Random) -> None:
    """Another digit for one: what is left may well be valid."""

    def change(raw: bytearray) -> bytearray:
        digits = [place for place, byte in enumerate(raw) if byte in b"0123456789"]
        if digits:
            raw[chance.choice(digits)] = chance.choice(b"0123456789")
        return raw

    _changed(path, change)


def scramble(path: Path, chance: random.Random) -> None:
    def change(raw: bytearray) -> bytearray:
        for _ in range(chance.randint(2, 200)):
            if raw:
                raw[chance.randrange(len(raw))] = chance.randrange(256)
        return raw

    _changed(path, change)


def cut(path: Path, chance: random.Random) -> None:
    _changed(path, lambda raw: raw[: chance.randrange(len(raw))] if raw else raw)


def behead(path: Path, chance: random.Random) -> None:
    _changed(path, lambda raw: raw[chance.randint(1, len(raw)) :] if raw else raw)


def lose_block(path: Path, chance: random.Random) -> None:
    """A piece in the middle reads as zeros, as after a crash of the system."""

    def change(raw: bytearray) -> bytearray:
        begin = chance.randrange(len(raw) + 1)
        end = min(len(raw), begin + chance.choice((1, 16, 512, 4096)))
        raw[begin:end] = bytes(end - begin)
        return raw

    _changed(path, change)


def repeat_block(path: Path, chance: random.Random) -> None:
    begin, size = chance.random(), chance.choice((1, 8, 100))
    _changed(path, lambda raw: raw[: int(begin * len(raw)) + size] + raw[int(begin * len(raw)) :])


def append(path: Path, chance: random.Random) -> None:
    _changed(path, lambda raw: bytes(raw) + chance.choice((b"\0", b"\n", b"x", b"1,2,3,4\n", bytes(4096))))


def empty(path: Path, chance: random.Random) -> None:
    path.write_bytes(b"")


def replace(path: Path, chance: random.Random) -> None:
    path.write_bytes(chance.choice(GARBAGE))


def noise(path: Path, chance: random.Random) -> None:
    path.write_bytes(chance.randbytes(path.stat().st_size))


def remove(path: Path, chance: random.Random) -> None:
    path.unlink()


def folder(path: Path, chance: random.Random) -> None:
    path.unlink()
    path.mkdir()
    if chance.random() < 0.5:
        (path / "within").write_text("x")


def pipe(path: Path, chance: random.Random) -> None:
    path.unlink()
    os.mkfifo(path)


def circle(path: Path, chance: random.Random) -> None:
    path.unlink()
    path.symlink_to(path.name)


def dangle(path: Path, chance: random.Random) -> None:
    path.unlink()
    path.symlink_to("nowhere")


HARMS: dict[Harm, float] = {
    flip_bit: 30, other_byte: 15, other_digit: 10, scramble: 5, cut: 12, behead: 4, lose_block: 6, repeat_block: 4,
    append: 4, empty: 2, replace: 6, noise: 2, remove: 3, folder: 2, pipe: 2, circle: 1, dangle: 1,
}  # fmt: skip


def harmed(path: Path, chance: random.Random) -> str:
    """Harm a file in some way; its name, and what was done."""
    (harm,) = chance.choices([*HARMS], [*HARMS.values()])
    harm(path, chance)
    return f"{path.as_posix()}: {harm.__name__}"


def copied(source: Path, target: Path) -> Path:
    """A copy of a file or a folder, to do harm to."""
    (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    return target


def files_in(place: Path) -> list[Path]:
    """A file, or all files in a folder, always in the same order."""
    return [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.is_file())
