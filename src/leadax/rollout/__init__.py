"""States at the observation times of a trajectory, under a vector field x ↦ dx/dt: to learn, and to predict.

- `rollout`, `rollout_free`: fixed Runge–Kutta steps in one `scan`, cheap to differentiate: training, and evaluation
  exactly as trained;
- `predict`: adaptive steps with an error under control, stiff systems included; `solve` and `raise_if_failed` are its
  pure and its raising half, for those who batch.

Diffrax is imported here at the top (0.7 s beyond Equinox, once): nobody imports this room who is not about to compute.
"""

from .adaptive import predict as predict
from .adaptive import solve as solve
from .fixed import rollout as rollout
from .fixed import rollout_free as rollout_free
from .fixed import runge_kutta_step as runge_kutta_step
from .outcome import Solution as Solution
from .outcome import raise_if_failed as raise_if_failed
from .solvers import SOLVERS as SOLVERS
from .tableaux import TABLEAUX as TABLEAUX
from .tableaux import Tableau as Tableau
