"""The tables and figures of the paper by name. A new one is a file here, and a line."""

from collections.abc import Mapping

from ..study import Target
from .baselines import BASELINES
from .coda import CODA
from .draws import DRAWS
from .environments import ENVIRONMENTS
from .figures import FIGURES
from .linear import LINEAR
from .norms import NORMS
from .novel import NOVEL
from .table1 import TABLE1
from .validation import VALIDATION

_EVERY = (TABLE1, ENVIRONMENTS, NOVEL, LINEAR, NORMS, FIGURES, BASELINES, DRAWS, VALIDATION, CODA)
TARGETS: Mapping[str, Target] = {target.name: target for target in _EVERY}
