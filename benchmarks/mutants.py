"""How much the tests notice: break the code in many places, one at a time, and count the breaks that turn a test red.

    python benchmarks/mutants.py                               # all of them; prints a table and the count
    python benchmarks/mutants.py --only train                  # those of one room
    python benchmarks/mutants.py --journal runs/mutants.json   # go on where an earlier run was stopped

Each mutant is one replacement in a copy of the sources (`mutant_list.py`). The tests that run are those of its room, up
to the first failure; at the end those that noticed something are run without a break, and what was red anyway does not
count. Nothing in the repository is changed. A verdict in the journal holds until the file that is broken
or the tests that it is tried with change. Programs that a break does not touch are compiled once, for all mutants.
"""

import argparse
import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from mutant_list import MUTANTS, Mutant

ROOT = Path(__file__).parents[1]
CPU_SECONDS = 600  # after which tests are taken for endless
SECONDS = 7200  # after which they are taken for hanging


class Verdict(NamedTuple):
    """What became of a mutant, and what was tried: `key` is a digest of the break, its file and its tests."""

    key: str
    file: str
    new: str
    noticed: bool
    seconds: float
    note: str


def key_of(mutant: Mutant) -> str:
    """Another one as soon as the break, the file that it is in or the tests that are run are others."""
    digest = hashlib.sha256(repr(mutant).encode())
    digest.update((ROOT / "src" / "leadax" / mutant.file).read_bytes())
    for place in (*mutant.tests.split(), "tests/engine.py", "tests/conftest.py"):
        path = ROOT / place
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(file.read_bytes())
    return digest.hexdigest()


def try_mutant(mutant: Mutant, cache: Path) -> Verdict:
    """Run the room's tests against a copy of the sources with this break."""
    begin = time.perf_counter()
    verdict = lambda noticed, note: Verdict(
        key_of(mutant), mutant.file, mutant.new, noticed, round(time.perf_counter() - begin, 1), note
    )
    with tempfile.TemporaryDirectory() as folder:
        sources = Path(folder) / "src"
        shutil.copytree(ROOT / "src", sources, symlinks=False, ignore=shutil.ignore_patterns("__pycache__"))
        path = sources / "leadax" / mutant.file
        text = path.read_text()
        if text.count(mutant.old) != 1:
            return verdict(False, f"`old` stands there {text.count(mutant.old)} times: mend the list")
        path.write_text(text.replace(mutant.old, mutant.new))
        try:
            status, lines = _tested(_tests(mutant, sources), _environment(sources, cache))
        except subprocess.TimeoutExpired:
            return verdict(True, "the tests hang")
    if status == -signal.SIGXCPU:
        return verdict(True, "the tests do not end")
    if status not in (0, 1, 2) or not lines:  # 2: a file of tests could not be imported
        raise RuntimeError(f"pytest did not run for {mutant.file}, status {status}: this says nothing of the tests")
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    return verdict(status == 1, (failed or lines[-1:] or ["nothing was printed"])[0].split(" - ")[0])


def _tested(tests: list[str], environment: dict[str, str], until: str = "-x") -> tuple[int, list[str]]:
    """The exit status of pytest and the lines that it printed. A busy machine is no reason to give up early."""
    command = [sys.executable, "-m", "pytest", until, "-q", "-n0", "-p", "no:cacheprovider", *tests]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(command, cwd=ROOT, env=environment, **pipes) as process:
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 10))
        try:
            printed, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return process.returncode, printed.strip().splitlines()


def _tests(mutant: Mutant, sources: Path) -> list[str]:
    """The places that pytest is given; doctests are those of the copy."""
    return [test.replace("src/", f"{sources}/") for test in mutant.tests.split()]


def _environment(sources: Path, cache: Path) -> dict[str, str]:
    compiled = {"JAX_COMPILATION_CACHE_DIR": str(cache), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.1"}
    return {**os.environ, **compiled, "PYTHONPATH": str(sources), "PYTHONDONTWRITEBYTECODE": "1"}


def _known(journal: Path | None) -> dict[str, Verdict]:
    rows = json.loads(journal.read_text()) if journal and journal.exists() else []
    return {row["key"]: Verdict(**row) for row in rows}


def verdicts(chosen: list[Mutant], journal: Path | None, workers: int) -> Iterator[Verdict]:
    """One after the other, those in the journal at once; each is written there as soon as it is known."""
    known = _known(journal)
    with tempfile.TemporaryDirectory() as cache, ThreadPoolExecutor(workers) as pool:
        tried = pool.map(lambda mutant: known.get(key_of(mutant)) or try_mutant(mutant, Path(cache)), chosen)
        for verdict in tried:
            known[verdict.key] = verdict
            if journal:
                journal.parent.mkdir(parents=True, exist_ok=True)
                journal.write_text(json.dumps([row._asdict() for row in known.values()], indent=1) + "\n")
            yield verdict


def test_of(verdict: Verdict) -> str:
    """The test that noticed, without the case: `tests/nets/test_power.py::test_largest`."""
    return verdict.note.removeprefix("FAILED ").removeprefix("ERROR ").split("[")[0]


def red_anyway(tried: list[Verdict]) -> list[str]:
    """Which of the tests that noticed something fail on the code as it is, too."""
    tests = sorted({test_of(verdict) for verdict in tried if verdict.note.startswith("FAILED tests/")})
    if not tests:
        return []
    with tempfile.TemporaryDirectory() as cache:
        status, lines = _tested(tests, _environment(ROOT / "src", Path(cache)), "--maxfail=1000")
    if status not in (0, 1):
        raise RuntimeError(f"pytest did not run, status {status}: {lines[-1:]}")
    failed = {line.removeprefix("FAILED ").split("[")[0].split(" - ")[0] for line in lines if line.startswith("FAILED")}
    return [test for test in tests if test in failed]


def main() -> int:
    """Try them all; the exit status is 1 if fewer than 95 % are noticed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="mutants whose file begins with this")
    parser.add_argument("--journal", type=Path, help="a JSON file that verdicts are kept in")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    options = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS if mutant.file.startswith(options.only)]
    tried = []
    for verdict in verdicts(chosen, options.journal, options.workers):
        tried.append(verdict)
        mark = "noticed" if verdict.noticed else "MISSED "
        print(f"{mark} {verdict.seconds:5.0f} s  {verdict.file}: {verdict.new[:60]!r}  {verdict.note}", flush=True)
    red = red_anyway(tried)
    for test in red:
        print(f"{test} fails without any break: what it noticed does not count. Mend it, and start a new journal.")
    noticed = sum(verdict.noticed and test_of(verdict) not in red for verdict in tried)
    print(f"{noticed} of {len(chosen)} noticed ({noticed / max(len(chosen), 1):.0%})")
    return 0 if noticed >= 0.95 * len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
