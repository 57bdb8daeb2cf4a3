"""Data: the container, its files, its splits."""

from .files import load as load
from .files import save as save
from .trajectories import Trajectories as Trajectories
