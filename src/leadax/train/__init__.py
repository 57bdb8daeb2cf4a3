"""Training: `fit`, its choices, its run folder, its loop, its step, its loss."""

from .fit import fit as fit
from .fit import fit_side_by_side as fit_side_by_side
from .fit import usual_steps as usual_steps
from .optimisers import Times as Times
from .recipe import Interrupted as Interrupted
from .recipe import Monitor as Monitor
from .recipe import Recipe as Recipe
from .recipe import Start as Start
from .run_folder import RunFolder as RunFolder
from .sampling import ScheduledSampling as ScheduledSampling
from .tensorboard import tensorboard as tensorboard
