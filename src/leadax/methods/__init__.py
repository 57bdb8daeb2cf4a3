"""Methods: one file each says what is shared, what is specific and how it predicts; a new one is a file and a line."""

from collections.abc import Callable, Mapping
from functools import partial

from .base import Method as Method
from .base import NetFactory as NetFactory
from .base import Observed as Observed
from .base import Parts as Parts
from .leads import Leads as Leads
from .one_for_all import OneForAll as OneForAll
from .one_per_env import OnePerEnv as OnePerEnv

METHODS: Mapping[str, Callable[..., Method]] = {
    "leads": Leads,
    "leads-no-min": partial(Leads, penalty_weight=0.0),
    "one-for-all": OneForAll,
    "one-per-env": OnePerEnv,
}
