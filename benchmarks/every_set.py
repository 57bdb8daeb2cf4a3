"""All simulated data sets by name, of whatever file."""

from amount_sets import AMOUNTS
from development_sets import DEVELOPMENT
from exact_sets import EXACT, EXACT_LATER
from input_sets import pendulums
from own_data_sets import SIMULATED
from saturating_sets import SATURATING, SATURATING_LATER
from turning_sets import TURNING
from unseen_sets import UNSEEN

EVERY = (
    DEVELOPMENT
    | SIMULATED
    | {"drag": pendulums}
    | UNSEEN
    | SATURATING
    | SATURATING_LATER
    | EXACT
    | EXACT_LATER
    | AMOUNTS
    | TURNING
)
