"""Options such as `--warmup` and numbers such as 1e-3 stay in one piece: browsers break lines after a hyphen.

A Markdown extension. The style is in docs/assets/site.css.
"""

import re

from markdown import Markdown
from markdown.extensions import Extension
from markdown.postprocessors import Postprocessor

MARK = r'<span class="whole">\g<0></span>'
OPTION = re.compile(r"--[a-zA-Z][\w-]*")
NUMBER = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?e-\d+")
TEXT = re.compile(r"<code>[^<]*</code>|(?<=>)[^<]+")


class Whole(Postprocessor):
    """Marks each option in code, and each number with an exponent in text."""

    def run(self, text: str) -> str:
        """The page with a mark around each of them.

        >>> Whole().run("<p>--a <code>--warmup 4</code>, 1e-3</p>")
        '<p>--a <code><span class="whole">--warmup</span> 4</code>, <span class="whole">1e-3</span></p>'
        """
        return TEXT.sub(lambda found: (OPTION if found[0].startswith("<") else NUMBER).sub(MARK, found[0]), text)


class Options(Extension):
    """The extension."""

    def extendMarkdown(self, md: Markdown) -> None:
        """Before blocks of code are put back, which have lines of their own."""
        md.postprocessors.register(Whole(md), "whole-options", 35)


def makeExtension(**options: object) -> Options:
    """What Markdown calls to load the extension."""
    return Options(**options)
