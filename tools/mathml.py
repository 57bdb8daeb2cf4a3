"""Equations as MathML when the site is built: nothing to download, and no script in the reader's browser.

A Markdown extension: `$x_0$` within a line, `$$...$$` as a paragraph of its own. GitHub shows the same source.
"""

import re
import xml.etree.ElementTree as etree
from re import Match

from latex2mathml.converter import convert
from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor

DISPLAYED = r"(?<![\\$])\$\$(?!\$)([^$]+?)\$\$"
WITHIN_A_LINE = r"(?<![\\$\w])\$(?![\s$])([^$\n]+?)(?<![\s\\])\$(?![\d\w])"


# Where no font for mathematics is installed, a browser lowers a subscript only by what its base has below the line:
# the e of c_e stood beside the c. So such a base is given some depth, which changes nothing where there is a font.
BASE = re.compile(r"<msub>(<mi>[^<]*</mi>)")
DEEP = r'<msub><mpadded depth="0.25em">\1</mpadded>'


class Equation(InlineProcessor):
    """One kind of equation."""

    def __init__(self, pattern: str, md: Markdown, display: str) -> None:
        super().__init__(pattern, md)
        self.display = display

    def handleMatch(self, m: Match[str], data: str) -> tuple[str, int, int]:
        """The MathML of a match, kept as it is by what comes later."""
        found = BASE.sub(DEEP, convert(m.group(1).strip(), display=self.display))
        etree.fromstring(found)  # an equation that is no XML would break the page around it
        return self.md.htmlStash.store(found), m.start(0), m.end(0)


class MathML(Extension):
    """The extension."""

    def extendMarkdown(self, md: Markdown) -> None:
        """Add both kinds, after code has been taken out, before backslashes are."""
        md.inlinePatterns.register(Equation(DISPLAYED, md, "block"), "displayed-equation", 189)
        md.inlinePatterns.register(Equation(WITHIN_A_LINE, md, "inline"), "equation", 188)


def makeExtension(**options: object) -> MathML:
    """What Markdown calls to load the extension."""
    return MathML(**options)
