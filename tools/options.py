"""Options such as `--warmup` stay in one piece: browsers break lines after a hyphen, and leave `--` behind.

A Markdown extension for code within a line. The style is in docs/assets/site.css.
"""

import re

from markdown import Markdown
from markdown.extensions import Extension
from markdown.postprocessors import Postprocessor

CODE = re.compile(r"<code>[^<]*</code>")
OPTION = re.compile(r"--[a-zA-Z][\w-]*")


class Whole(Postprocessor):
    """Marks each option in code."""

    def run(self, text: str) -> str:
        """The page with a mark around each option.

        >>> Whole().run("--a <code>--warmup 4</code>")
        '--a <code><span class="option">--warmup</span> 4</code>'
        """
        marked = lambda found: OPTION.sub(r'<span class="option">\g<0></span>', found[0])
        return CODE.sub(marked, text)


class Options(Extension):
    """The extension."""

    def extendMarkdown(self, md: Markdown) -> None:
        """Before blocks of code are put back, which have lines of their own."""
        md.postprocessors.register(Whole(md), "whole-options", 35)


def makeExtension(**options: object) -> Options:
    """What Markdown calls to load the extension."""
    return Options(**options)
