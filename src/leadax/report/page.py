"""A page in one file: HTML with its pictures inside, no scripts, nothing fetched from anywhere."""

import html
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .._atomic import replacing
from .style import rendered, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LONGEST_CELL = 300
MOST_ROWS = 200
# Longer tables open on a click.
FOLDED = 24
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; overflow-wrap: anywhere; } h2 { font-size: 1.2rem; margin-top: 2rem; }
table { border-collapse: collapse; margin: 1rem 0; }
td, th { padding: .2rem .8rem; border-bottom: 1px solid #ddd; text-align: left; font-variant-numeric: tabular-nums;
  overflow-wrap: anywhere; }
tr.muted td { color: #777; font-style: italic; } .wide { overflow-x: auto; }
figure { margin: 1rem 0; } figure svg { max-width: 100%; height: auto; font-family: system-ui, sans-serif; }
figcaption { color: #555; font-size: .9rem; }
code, pre { background: #f4f4f4; padding: .1rem .3rem; border-radius: 3px; }
"""


class Bold(str):
    """A table cell in bold."""


class Page:
    """Collects headings, text, tables and figures, and writes them to one HTML file.

    >>> page = Page("Errors")
    >>> page.table(["method", "error"], [["LEADS", "1e-3"]])
    >>> "<td>LEADS</td>" in page.html()
    True
    """

    def __init__(self, title: str):
        self._title = short(title, LONGEST_CELL)
        self._parts: list[str] = []

    def heading(self, text: str) -> None:
        """Start a section."""
        self._parts.append(f"<h2>{html.escape(text)}</h2>")

    def text(self, text: str) -> None:
        """Add a paragraph."""
        self._parts.append(f"<p>{html.escape(text)}</p>")

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]], muted: Collection[int] = ()) -> None:
        """Add a table. An empty header is left out, long cells and long tables are cut, `Bold` cells are in bold.

        - `muted`: the positions of rows in grey.
        """
        kind = lambda k: ' class="muted"' if k in muted else ""
        lines = [_line("th", header)] if any(header) else []
        lines += [_line("td", row, kind(k)) for k, row in enumerate(rows[:MOST_ROWS])]
        table = f'<div class="wide"><table>{"".join(lines)}</table></div>'
        if len(rows) > FOLDED:
            table = f"<details><summary>{len(rows):,} rows</summary>{table}</details>"
        self._parts.append(table)
        if len(rows) > MOST_ROWS:
            self.text(f"The first {MOST_ROWS} of {len(rows):,} rows.")

    def figure(self, figure: "Figure", caption: str) -> None:
        """Add a picture, as inline SVG."""
        svg = rendered(figure, "svg").decode()
        # Ids must not clash between the figures of one page.
        number = len(self._parts)
        svg = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>f{number}-", svg[svg.index("<svg") :])
        self._parts.append(f"<figure>{svg}<figcaption>{html.escape(caption)}</figcaption></figure>")

    def html(self) -> str:
        """The whole page."""
        title = html.escape(self._title)
        head = f'<meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>'
        body = "\n".join(self._parts)
        return f'<!doctype html><html lang="en"><head>{head}</head><body><h1>{title}</h1>\n{body}\n</body></html>\n'

    def write(self, path: Path) -> None:
        """Write the page to a file, whole or not at all; a full disk is a `RunError`."""
        with replacing(path, overwrite=True) as temporary:
            temporary.write_text(self.html(), encoding="utf-8")


def _line(tag: str, cells: Sequence[str], kind: str = "") -> str:
    return f"<tr{kind}>" + "".join(f"<{tag}>{_cell(cell)}</{tag}>" for cell in cells) + "</tr>"


def _cell(text: str) -> str:
    shown = html.escape(short(text, LONGEST_CELL))
    return f"<strong>{shown}</strong>" if isinstance(text, Bold) else shown
