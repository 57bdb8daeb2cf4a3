"""Build the site: `python -m tools.site`, which is what `make docs` runs.

The pages are those of docs/, with CONTRIBUTING and CHANGELOG beside them. They are copied to a folder first: there,
links to files outside docs/ lead to copies of these files, the page of commands is made anew, and scripts are put into
the pages that show them (`<!-- script: PATH -->`). Zensical then builds them, and a broken link or a missing name is an
error.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from . import commands

ROOT = Path(__file__).parents[1]
PAGES = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "README.md": "index.md"}
LINK = re.compile(r"(?<=\]\()(?!https?:|mailto:|#)([^)\s#]+)(#[^)\s]*)?(?=\))")
LINKED = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s#]+)\)")
SCRIPT = re.compile(r"<!-- script: (\S+) -->")


def stage(folder: Path, root: Path = ROOT) -> None:
    """Copy all pages, and what they link to, into an empty folder."""
    for path in sorted((root / "docs").rglob("*")):
        if path.is_file():
            _copy(path, folder / path.relative_to(root / "docs"), folder, root)
    for name, page in PAGES.items():
        if page != "index.md":
            _copy(root / name, folder / page, folder, root)
    (folder / "reference").mkdir(exist_ok=True)
    (folder / "reference" / "commands.md").write_text(commands.page())


def _copy(source: Path, target: Path, folder: Path, root: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.suffix != ".md":
        shutil.copyfile(source, target)
        return
    text = LINKED.sub(lambda found: _without_folders(found, source), source.read_text())
    text = LINK.sub(lambda found: _linked(found, source, target, folder, root) + (found[2] or ""), text)
    target.write_text(SCRIPT.sub(lambda found: _script(root / found[1]), text))


def _without_folders(found: re.Match[str], source: Path) -> str:
    """A link to a folder is of no use on a site: its text stays."""
    return found[1] if (source.parent / found[2]).is_dir() else found[0]


def _linked(found: re.Match[str], source: Path, target: Path, folder: Path, root: Path) -> str:
    """Where a link leads on the site. Files from outside of docs/ are copied to files/."""
    path = (source.parent / found[1]).resolve()
    if not path.exists() or (path.is_relative_to(root / "docs") and source.is_relative_to(root / "docs")):
        return found[1]  # Zensical says so if there is no such page
    name = path.relative_to(root).as_posix()
    if path.is_relative_to(root / "docs"):
        place = folder / path.relative_to(root / "docs")
    elif name in PAGES:
        place = folder / PAGES[name]
    else:
        place = folder / "files" / (name if path.suffix else f"{name}.txt")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
    return Path(os.path.relpath(place, target.parent)).as_posix()


def _script(path: Path) -> str:
    return f'??? note "The whole script: {path.name}"\n\n' + "\n".join(
        f"    {line}".rstrip() for line in ["```python", *path.read_text().splitlines(), "```"]
    )


def build(work: Path, root: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """The site in `work/site`, from `work/docs`; the result says what was wrong."""
    for name in ("docs", "site"):
        shutil.rmtree(work / name, ignore_errors=True)
    (work / "docs").mkdir(parents=True)
    stage(work / "docs", root)
    settings = (root / "mkdocs.yml").read_text().replace("paths: [src]", f"paths: [{root / 'src'}]")
    (work / "mkdocs.yml").write_text(settings)
    paths = [str(root), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "--config-file", work / "mkdocs.yml"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


if __name__ == "__main__":
    made = build(ROOT / "build" / "pages")
    print(re.sub(r"\x1b\[[0-9;]*m", "", made.stdout + made.stderr).strip())
    if not made.returncode:
        print(f"open {(ROOT / 'build' / 'pages' / 'site' / 'index.html').relative_to(ROOT)}")
    sys.exit(made.returncode)
