"""Systems to simulate, one file per equation. To add one, write a file and add a line to `SYSTEMS`."""

from .draws import SPLITS as SPLITS
from .registry import SYSTEMS as SYSTEMS
from .registry import get_system as get_system
from .simulate import simulate as simulate
from .solve import adaptive as adaptive
from .system import System as System
