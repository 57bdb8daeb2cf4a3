"""The truth: systems to simulate. One file per equation; a new one is a file and a line in `SYSTEMS`."""

from .draws import SPLITS as SPLITS
from .registry import SYSTEMS as SYSTEMS
from .registry import get_system as get_system
from .simulate import simulate as simulate
from .solve import adaptive as adaptive
from .system import System as System
