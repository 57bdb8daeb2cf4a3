"""Before a release: does what is published install and work? By hand (`make matrix`), since it takes a while.

    python -m tools.matrix                       # all
    python -m tools.matrix --only oldest         # those with this in their name
    python -m tools.matrix --licences            # only the licences of what gets installed

Builds a wheel and an sdist, installs each into an empty environment (by uv, which is installed into one of its own) and
runs a smoke test there: without extras, with each extra, and on the oldest versions that pyproject.toml allows.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NOT_FOR_USERS = ("bench", "dev", "docs")
EXTRAS = [name for name in PROJECT["optional-dependencies"] if name not in NOT_FOR_USERS]
# Licences that ask for no more than to be named, or that leave a library its own licence (LGPL, MPL).
GOOD = ("mit", "bsd", "apache", "isc", "python", "psf", "mpl", "mozilla", "lgpl", "zlib", "unlicense", "0bsd", "cc0",
        "hpnd", "public domain")  # fmt: skip
BAD = ("agpl", "gpl-2", "gpl-3", "gplv2", "gplv3", "gnu general public", "proprietary", "commercial")
SMOKE = Path(__file__).with_name("smoke.py")
NAMED = """
import importlib.metadata as m, json
print(json.dumps([[d.name, d.version, d.metadata.get("License-Expression") or "", d.metadata.get("License") or "",
      [c for c in d.metadata.get_all("Classifier") or [] if c.startswith("License")]] for d in m.distributions()]))
"""


def run(*command: object, **options: object) -> str:
    """What a command prints; if it fails, the end of it, and the end of this script."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))[:200]}\n{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout


def cases(built: Path) -> dict[str, tuple[str, list[str]]]:
    """What is installed in each case, and how its versions are chosen."""
    wheel, sdist = next(built.glob("*.whl")), next(built.glob("*.tar.gz"))
    found = {"wheel, newest": (str(wheel), []), "sdist, newest": (str(sdist), [])}
    found |= {f"{extra}, newest": (f"leadax[{extra}] @ {wheel.as_uri()}", []) for extra in EXTRAS}
    # The oldest versions are those of what pyproject.toml names: of a wheel, everything else would be "indirect".
    oldest = ["--resolution", "lowest-direct", "-r", str(ROOT / "pyproject.toml")]
    every = [part for extra in EXTRAS for part in ("--extra", extra)]
    return found | {
        "all extras, newest": (f"leadax[{','.join(EXTRAS)}] @ {wheel.as_uri()}", []),
        "wheel, oldest": (str(wheel), oldest),
        "all extras, oldest": (str(wheel), [*oldest, *every]),
    }


def environment(work: Path, uv: str, name: str, what: str, how: list[str]) -> Path:
    """The Python of an empty environment with Leadax in it."""
    folder = work / name.replace(" ", "-").replace(",", "")
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    install = (uv, "pip", "install", "--quiet", "--python", python)
    if how:
        run(*install, *how)
    run(*install, *(["--no-deps"] if how else []), what)
    return python


def wrong_licences(python: Path) -> list[str]:
    """Distributions whose licence is bad, or not understood."""
    found = []
    for name, version, expression, licence, classifiers in json.loads(run(python, "-c", NAMED)):
        words = " ".join([expression, licence[:200], *classifiers]).lower().replace("lgpl", "lesser")
        if any(bad in words for bad in BAD) or not any(good in words for good in (*GOOD, "lesser")):
            found.append(f"{name} {version}: {(expression or licence or ', '.join(classifiers) or 'nothing')[:80]}")
    return found


def main() -> None:
    """Build, install, try."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a part of the name of the cases")
    parser.add_argument("--licences", action="store_true", help="look at licences only")
    chosen = parser.parse_args()
    failed = []
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        run(sys.executable, "-m", "venv", work / "tools")
        run(work / "tools" / "bin" / "python", "-m", "pip", "install", "--quiet", "uv", "build", "hatchling")
        uv = str(work / "tools" / "bin" / "uv")
        run(work / "tools" / "bin" / "python", "-m", "build", "--no-isolation", "--outdir", work / "dist", ROOT)
        print(*(path.name for path in sorted((work / "dist").iterdir())), flush=True)
        picked = {"all extras, newest": cases(work / "dist")["all extras, newest"]} if chosen.licences else {
            name: case for name, case in cases(work / "dist").items() if chosen.only in name
        }  # fmt: skip
        for name, (what, how) in picked.items():
            try:
                python = environment(work, uv, name, what, how)
                said = "" if chosen.licences else run(python, SMOKE, cwd=work).strip()
                wrong = wrong_licences(python)
            except RuntimeError as error:
                said, wrong = "failed", [str(error)]
            print(f"{name}: {said or 'licences'}" + "".join(f"\n  {line}" for line in wrong), flush=True)
            failed += [name] if wrong else []
    sys.exit(f"not good: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
