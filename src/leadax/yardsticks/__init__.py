"""Simple forecasts, learnt from the same data, that a model has to beat."""

from .fitted import Yardsticks as Yardsticks
from .fitted import yardsticks as yardsticks
