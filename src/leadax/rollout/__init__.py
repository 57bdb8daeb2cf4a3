"""Solve dx/dt = f(t, x, u): the states of a trajectory at its observation times.

- `rollout`: fixed Runge–Kutta steps in one `scan`, cheap to differentiate, for training and for forecasts that step as
  in training; `steps_between` chooses the steps;
- `predict`: adaptive steps with error control, also for stiff systems; `solve` and `raise_if_failed` are its pure and
  its raising half, for batches.

Diffrax is imported at the top, which takes 0.7 s on top of Equinox, once: import this package only where you compute.
"""

from .adaptive import predict as predict
from .adaptive import solve as solve
from .bounds import cut_off as cut_off
from .bounds import kept_within as kept_within
from .fixed import rollout as rollout
from .fixed import runge_kutta_step as runge_kutta_step
from .forced import solve_forced as solve_forced
from .outcome import Solution as Solution
from .outcome import raise_if_failed as raise_if_failed
from .solvers import SOLVERS as SOLVERS
from .steps import Restart as Restart
from .steps import Steps as Steps
from .steps import departures as departures
from .steps import steps_between as steps_between
from .tableaux import TABLEAUX as TABLEAUX
from .tableaux import Tableau as Tableau
