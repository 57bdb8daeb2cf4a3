"""How wrong forecasts are, and which method to use."""

from .evaluation import Evaluation as Evaluation
from .evaluation import evaluate as evaluate
from .evaluation import summarise as summarise
