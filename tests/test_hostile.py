"""A small part of the fuzzer. All of it: `python -m benchmarks.hostile --cases 10000`."""

import random

import pytest
from benchmarks.hostile import data_files, odd_tables
from benchmarks.hostile.cases import HARMLESS, NOTICED, REFUSED, TRACEBACK, WRONG, Case, judged

from leadax import InputError

CASES = 60


@pytest.mark.parametrize("group", [data_files, odd_tables])
def test_nothing_is_silent(group, tmp_path, monkeypatch):
    group.prepare(tmp_path)
    for number in range(CASES):
        (tmp_path / f"scratch-{number}").mkdir()
        monkeypatch.chdir(tmp_path / f"scratch-{number}")
        case = group.case(tmp_path, random.Random(number))
        ended, details = judged(case)
        assert ended in (NOTICED, HARMLESS), f"{case.what}: {ended}: {details}"


def failing(error):
    def act():
        raise error

    return act


@pytest.mark.parametrize(
    ("act", "right", "ended"),
    [
        (lambda: 1, 1, HARMLESS),
        (lambda: 2, 1, WRONG),
        (lambda: 1, REFUSED, WRONG),
        (failing(InputError("no")), 1, NOTICED),
        (failing(InputError("no\nand more")), 1, TRACEBACK),
        (failing(ValueError("no")), 1, TRACEBACK),
        (failing(SystemExit(1)), 1, TRACEBACK),
    ],
)
def test_endings_are_told_apart(act, right, ended):
    assert judged(Case("", act, right))[0] == ended
