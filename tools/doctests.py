"""Examples in docstrings as code: Markdown takes `>>>` for a quotation in a quotation. An extension of Griffe."""

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"(?:^|(?<=\n))>>> .*?(?=\n\s*\n|\Z)", re.DOTALL)


def fenced(text: str) -> str:
    """A docstring with its examples in fences."""
    return EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```", text)


class Fences(griffe.Extension):
    """The extension."""

    def on_object(self, *, obj: griffe.Object, **more: Any) -> None:
        """Change the docstring of everything that has one."""
        if obj.docstring and "```pycon" not in obj.docstring.value:
            obj.docstring.value = fenced(obj.docstring.value)
