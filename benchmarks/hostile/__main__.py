"""Run it: see the package."""

import argparse
import importlib
import json
import math
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from . import __doc__ as description
from .cases import HARMLESS, NOTICED, WAYS
from .workers import answers, apart

SHARES = {"data": 0.35, "runs": 0.25, "models": 0.12, "tables": 0.12, "options": 0.09, "functions": 0.07}
MODULES = {"data": "data_files", "runs": "run_folders", "models": "forged_models", "tables": "odd_tables",
           "options": "odd_options", "functions": "odd_arguments"}  # fmt: skip
# Imported before the fork, so that no child has to; JAX itself is started by each child.
LIBRARIES = ("adapt", "choose", "cli", "data", "evaluate", "experiments.targets", "report", "train")


SAVED_EVERY = 100  # cases


def module_of(group: str) -> ModuleType:
    return importlib.import_module(f"{__package__}.{MODULES[group]}")


def prepared(group: ModuleType, place: Path) -> Path:
    """What the cases of a group damage, made by a child, since a process with a running JAX cannot be forked."""
    child = os.fork()
    if not child:
        os.chdir(place)
        apart(lambda: group.prepare(place))
    if os.waitpid(child, 0)[1] != 0:
        raise SystemExit(f"{group.__name__}: what is to be damaged could not be made")
    return place


Journal = dict[str, dict[str, str]]


def hunt(name: str, numbers: list[int], seed: int, journal: Journal, until: float, save: Callable[[], None]) -> None:
    """All cases of a group that the journal does not have yet, for as long as there is time. Bad ends are printed."""
    done = journal.setdefault(name, {})
    left = [number for number in numbers if str(number) not in done]
    if not left or time.monotonic() > until:
        return
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        group = module_of(name)
        for number, what, ended, details in answers(group, prepared(group, Path(folder)), left, seed):
            done[str(number)] = ended
            if len(done) % SAVED_EVERY == 0:
                save()
            if ended not in (NOTICED, HARMLESS):
                print(f"--- {name} {number}: {ended}: {what}\n{details.strip()}", flush=True)
            if time.monotonic() > until:
                break


def table(journal: Journal) -> str:
    rows = [[name, len(done), *(Counter(done.values())[way] for way in WAYS)] for name, done in journal.items()]
    rows.append(["all", *(sum(int(row[k]) for row in rows) for k in range(1, len(WAYS) + 2))])
    lines = [["", "cases", *WAYS], ["---"] * (len(WAYS) + 2), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="hostile", description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default=",".join(SHARES), help="groups, separated by commas")
    parser.add_argument("--case", type=int, help="only the case of this number")
    parser.add_argument("--journal", type=Path, help="where endings are kept; the same command goes on from there")
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop after so long; the journal says where")
    options = parser.parse_args()
    file = options.journal and options.journal.absolute()
    journal = json.loads(file.read_text()) if file and file.exists() else {}
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # as the command line does
    for library in LIBRARIES:
        importlib.import_module(f"leadax.{library}")
    save = lambda: file.write_text(json.dumps(journal) + "\n") if file else None
    begin = time.monotonic()
    until = begin + 60 * options.minutes
    for name in options.only.split(","):
        count = round(SHARES[name] * options.cases)
        chosen = [options.case] if options.case is not None else list(range(count))
        try:
            hunt(name, chosen, options.seed, journal, until, save)
        finally:
            save()
        print(f"{name}: {time.monotonic() - begin:.0f} s so far", flush=True)
    print(table(journal))


if __name__ == "__main__":
    main()
