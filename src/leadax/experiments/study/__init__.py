"""Who trains what: options, protocols, runs, and the models that several targets share."""

from .options import Options as Options
from .runs import Outcome as Outcome
from .runs import Run as Run
from .runs import carry_out as carry_out
from .runs import unfinished as unfinished
from .target import Target as Target
