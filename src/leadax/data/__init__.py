"""Trajectory data: the container, and the files it is loaded from and saved to."""

from .files import load as load
from .files import save as save
from .holdouts import folds as folds
from .holdouts import hold_out as hold_out
from .trajectories import Trajectories as Trajectories
