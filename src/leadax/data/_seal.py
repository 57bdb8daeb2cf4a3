"""A seal at the end of a file: the fingerprint of the contents, and a checksum of all bytes before it.

HDF5 gives wrong numbers for some flipped bytes and hangs on others, so the bytes are checked before it sees them. The
seal lies outside of what the libraries read (behind the end of HDF5, in the comment of a zip archive). So a flipped
byte in the seal leaves the contents whole, and a program that writes the file anew, with other contents, drops it.
"""

import re
import zlib
from pathlib import Path
from typing import BinaryIO

from ._contents import DamageError

MARK = b"\nleadax seal 1 "
SIZE = len(MARK) + 64 + 1 + 8 + 1
_DIGITS = re.compile(rb"([0-9a-f]{64}) ([0-9a-f]{8})\n")
_BLOCK = 1 << 20


def append(path: Path, fingerprint: str) -> None:
    """Seal the file as it is now."""
    seal = MARK + f"{fingerprint} {checksum(path):08x}\n".encode()
    with path.open("ab") as file:
        file.write(seal)


def check(path: Path) -> str | None:
    """The fingerprint in the seal, once the bytes have been checked; `None` for a file without a seal."""
    with path.open("rb") as file:
        size = file.seek(0, 2) - SIZE
        if size < 0:
            return None
        file.seek(size)
        seal = file.read(SIZE)
        digits, marked = _DIGITS.fullmatch(seal, len(MARK)), seal.startswith(MARK)
        if not marked and digits is None:
            return None
        if not marked or digits is None or int(digits[2], 16) != _checksum(file, size):
            raise DamageError("its bytes are not those that were written; restore it from a copy")
        return digits[1].decode()


def checksum(path: Path) -> int:
    """CRC-32 of a file: notices every change within four neighbouring bytes, and reads 80 MB in 0.07 s."""
    with path.open("rb") as file:
        return _checksum(file, path.stat().st_size)


def _checksum(file: BinaryIO, size: int) -> int:
    file.seek(0)
    found = 0
    while size > 0 and (block := file.read(min(_BLOCK, size))):
        found = zlib.crc32(block, found)
        size -= len(block)
    return found
