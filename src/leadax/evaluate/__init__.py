"""How wrong forecasts are, and which method to use."""

from .evaluation import Evaluation as Evaluation
from .evaluation import evaluate as evaluate
from .evaluation import pooled as pooled
from .evaluation import summarise as summarise
from .forecasting import forecast as forecast
from .solver_gap import solver_gap as solver_gap
