"""The tables and figures of the paper by name; a new one is a file and a line."""

from collections.abc import Mapping

from .linear import LINEAR
from .study import Target

TARGETS: Mapping[str, Target] = {target.name: target for target in (LINEAR,)}
