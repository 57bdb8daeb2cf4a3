"""Run the scripts of the gallery and put what they print into its pages: `make gallery`, or `python -m tools.gallery`.

    python -m tools.gallery flow epidemic                          # only these
    python -m tools.gallery theophylline --data theophylline.csv   # your copy of the data

Pictures and pages in docs/gallery are replaced. A script without its data is left out.
"""

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "gallery"
OUTPUT = re.compile(r"(<!-- output of (\S+) -->\n)```text\n.*?```(?=\n<!-- end of output -->)", re.DOTALL)


def with_output(page: str, printed: str) -> str:
    """A page with what its script printed.

    >>> with_output("<!-- output of a.py -->\\n```text\\nold\\n```\\n<!-- end of output -->", "new\\n")
    '<!-- output of a.py -->\\n```text\\nnew\\n```\\n<!-- end of output -->'
    """
    return OUTPUT.sub(lambda found: f"{found[1]}```text\n{printed}```", page)


def script_of(page: Path) -> Path:
    """The script that makes a page."""
    found = OUTPUT.search(page.read_text())
    assert found, f"{page} has no place for what a script prints"
    return ROOT / found[2]


def main() -> None:
    """Run them one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="names of pages, by default all")
    parser.add_argument("--data", help="the data of theophylline")
    chosen = parser.parse_args()
    pages = [path for path in sorted(PAGES.glob("*.md")) if path.stem != "index"]
    for page in [path for path in pages if not chosen.names or path.stem in chosen.names]:
        script, more = script_of(page), []
        if '"--data"' in script.read_text() or "data={" in script.read_text():
            if not chosen.data:
                print(f"{page.stem}: left out, give --data")
                continue
            more = ["--data", chosen.data]
        begin = time.perf_counter()
        command = [sys.executable, str(script), "--out", str(PAGES), *more]
        printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        kept = "".join(line for line in printed.splitlines(keepends=True) if not line.startswith("picture: "))
        page.write_text(with_output(page.read_text(), kept))
        print(f"{page.stem}: {time.perf_counter() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
