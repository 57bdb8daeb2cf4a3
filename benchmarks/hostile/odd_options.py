"""Options that no command can use: each must be refused in one line, by whichever command it is given to.

Values that mean the same as a plain one (`+60` for `60`) must give the same result as that.
"""

import functools
import random
import shutil
from pathlib import Path
from typing import Any

from leadax.cli import COMMANDS
from leadax.cli.parsing import parse

from .cases import Case, command
from .run_folders import prepare as prepare_runs

QUICK = ("--net", "linear", "--solver", "euler", "--steps", "4", "--look-every", "2", "--validate", "none")
LINEAR = ("--m", "3", "--c", "1", "--n", "99", "--d", "2", "--r", "1", "--r-shared", "1", "--b", "1")
NETWORK = ("--m", "3", "--c", "1", "--epsilon", "0.1", "--R", "1", "--L", "1", "--W", "9", "--D", "2")
HUGE = "9" * 20
COUNTS = ("0", "-1", "x", "1.5", "", "nan", "inf", HUGE, "9" * 5000, "1e3", "0x10", "--", "²")
NUMBERS = ("x", "nan", "", "-1", "-inf", "--", "1,5", "0x1p3")
NAMES = ("", "x", "LEADS!", "a b", "../x", "é", "no.such:thing", ":", "a:", ":a", "x" * 10_000, "-",
         "os:system", "builtins:max", "json:dumps", "os:path")  # fmt: skip
FILES = ("", "nowhere.csv", "nowhere", "/", ".", "/dev/null", "/dev/zero", "x" * 5000, "no/such/file.csv", "-", "~")
COMMON: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("--steps", "--seeds", "--substeps", "--batch-size", "--look-every", "--checkpoint-every"), COUNTS),
    **dict.fromkeys(("--rank", "--dimension", "--warmup"), COUNTS),
    "--seed": ("-1", "x", "1.5", "", "nan", HUGE),
    "--hidden": ("-1", "x", "1.5", "", HUGE),
    "--individual": ("-1", "x", "1.5", "", HUGE),
    "--learning-rate": ("0", *NUMBERS),
    "--penalty-weight": NUMBERS,
    "--kappa": NUMBERS,
    "--lipschitz-weight": NUMBERS,
    **dict.fromkeys(("--method", "--net", "--solver", "--penalty", "--optimiser", "--decay", "--preset"), NAMES),
    **dict.fromkeys(("--protocol", "--match", "--on-divergence"), NAMES),
    "--noise": ("x", "-1", "nan", "inf", ""),
    "--validate": ("1", "0", "-0.5", "nan", "nowhere.csv", "", "1e400"),
    "--set": ("x", "=", "x=", "=1", "girth=1", "kappa=x", "net=x", "solver=1", "kappa=nan", "a=1,a=2"),
    "--columns": ("x", "=", "time=", "time=nowhere", "nowhere=time", "time=time,time=x0", ""),
    "--channels": ("nowhere", "", ",", "time", "x0,x0", "environment"),
    "--inputs": ("nowhere", "", "x0:what", "x0:impulse:nowhere", "time:what"),
    "--covariates": ("nowhere", "", "time", ","),
    "--test": ("2", "0", "-1", "nan", *FILES[1:]),
}
ONLY: dict[str, dict[str, tuple[str, ...]]] = {
    "evaluate": {"--protocol": NAMES, "--warmup": COUNTS, "--using": NAMES[1:5]},
    "predict": {"--times": ("", "x", "1:0:1", "0:1:0", "0:1e12:1", "0:1e9:1e-9", "nan", "0:inf:1", "1,x", "0:1:-1"),
                "--solver": NAMES, "--warmup": COUNTS, "--out": ("", "x", "x.txt", "no/x.csv", "/", "x.zarr/y.csv")},
    "report": {"--out": ("x", "x.txt", "no/x.html", "/", "x.md"), "--data": FILES[1:]},
    "adapt": {"--scheme": NAMES, "--at": ("x", "-1", "0", "1.5"), "--steps": COUNTS, "--test": FILES[1:],
              "--learning-rate": ("0", *NUMBERS)},
    "compare": {"--methods": ("", ",", "x", "leads,x", "../x")},
    "tune": {"--minutes": ("0", *NUMBERS), "--methods": ("", "x", ",")},
    "simulate": {"--trajectories": COUNTS,
                 "--seed": ("-1", "x", HUGE), "--protocol": NAMES, "--environments": ("x", "", "0", "-1", HUGE)},
    "reproduce": {"--system": NAMES, "--seeds": COUNTS, "--workers": COUNTS, "--steps": COUNTS, "--from": FILES[1:5],
                  "--scheduler": ("x", "tcp://127.0.0.1:1", "ftp://x")},
    "bound": {"--delta": ("0", "2", *NUMBERS), "--m": COUNTS, "--n": COUNTS, "--d": COUNTS, "--z": ("0", "2", *NUMBERS),
              **dict.fromkeys(("--c", "--r", "--r-shared", "--b"), NUMBERS)},
    "network": {"--epsilon": ("0", *NUMBERS), "--W": COUNTS, "--D": COUNTS,
                **dict.fromkeys(("--R", "--R-shared", "--L", "--L-shared"), NUMBERS)},
    "explain": {"--degree": COUNTS[1:8], "--part": NAMES, "--functions": ("x", "drag,x", "os:system"),
                "--relate": ("nowhere", "x0"), "--data": FILES[1:]},
    "export": {"--times": ("x", "1:0:1", "0:1e12:1", "nan", "1,x", "0,0"), "--what": NAMES,
               "--out": ("", "no/x.bin", "/")},
    "demo": {"--steps": COUNTS, "--seed": ("-1", "x", "1.5", HUGE)},
    "bench": {"--seconds": ("0", *NUMBERS), "--system": NAMES},
}  # fmt: skip
SAME = {"--steps": ("+4", " 4", "04", "4 ", "0_4"), "--look-every": ("+2", "02"), "--validate": ("none",)}


def prepare(place: Path) -> None:
    """A run to use. A command must be right without its odd option: else it would be refused for another reason."""
    prepare_runs(place)
    for name in ("train", "compare", *ONLY):
        parse(COMMANDS, base(name, place), "")


def base(name: str, place: Path) -> list[str]:
    """The arguments that a command needs."""
    data, run = str(place / "train.csv"), str(place / "run")
    return {
        "train": ["train", data, "--out", "out", *QUICK],
        "compare": ["compare", data, "--test", data, "--out", "out", *QUICK],
        "tune": ["tune", data, "--out", "out"],
        "evaluate": ["evaluate", run, data],
        "predict": ["predict", run, data, "--out", "forecast.npz"],
        "report": ["report", data, "--out", "page.html"],
        "adapt": ["adapt", run, str(place / "new.csv"), "--out", "out", "--steps", "4"],
        "simulate": ["simulate", "lotka-volterra", "out.npz"],
        "reproduce": ["reproduce", "linear", "--runs", "out", "--budget", "smoke"],
        "bound": ["bound", "linear", *LINEAR],
        "network": ["bound", "network", *NETWORK],
        "explain": ["explain", run],
        "export": ["export", run, "--out", "out.bin"],
        "demo": ["demo", "--out", "out"],
        "bench": ["bench"],
    }[name]


@functools.cache
def _right(place: Path) -> Any:
    found = command(*base("train", place))
    shutil.rmtree("out")
    return found


def case(place: Path, chance: random.Random) -> Case:
    """A command with one option that it cannot use, or with one that is written in an unusual way."""
    if chance.random() < 0.03:
        option = chance.choice([*SAME])
        given = [*base("train", place), option, chance.choice(SAME[option])]
        return Case(" ".join(given), lambda: command(*given), _right(place))
    name = chance.choice(["train"] * 12 + ["compare"] * 3 + [*ONLY])
    values = ONLY.get(name, {}) | (COMMON if name in ("train", "compare") else {})
    if chance.random() < 0.06:
        odd = [chance.choice(("--nonsense", "-x", "--stepss", "--out", "a", "--steps=", "\0", "--", "--json=3", "é"))]
    elif chance.random() < 0.06:
        return _odd_files(name, place, chance)
    else:
        option = chance.choice([*values])
        odd = [option, chance.choice(values[option])]
    given = [*base(name, place), *odd]
    return Case(f"{' '.join(given)!r:.300}", lambda: command(*given))


def _odd_files(name: str, place: Path, chance: random.Random) -> Case:
    """A file that does not exist, or is something else, where a command expects data or a run."""
    given = base(name, place)
    own = [k for k, word in enumerate(given) if word.startswith(str(place))]
    if own:
        given[chance.choice(own)] = chance.choice(FILES)
    else:
        given[1:2] = [chance.choice(NAMES)]
    return Case(f"{' '.join(given)!r:.300}", lambda: command(*given))
