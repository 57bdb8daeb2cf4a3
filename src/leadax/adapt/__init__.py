"""New environments, from as little as one trajectory of each."""

from .adapt import SCHEMES as SCHEMES
from .adapt import adapt as adapt
