"""Methods: one file each says what is shared, what is specific and how it predicts; a new one is a file and a line."""

from collections.abc import Callable, Mapping
from functools import partial

from .base import Method as Method
from .base import NetFactory as NetFactory
from .base import Observed as Observed
from .base import Parts as Parts
from .base import Phase as Phase
from .coda import Coda as Coda
from .coda import ContextPenalty as ContextPenalty
from .ft_node import FtNode as FtNode
from .ft_rnn import FtRnn as FtRnn
from .gbml import Gbml as Gbml
from .gbml import Maml as Maml
from .leads import Leads as Leads
from .one_for_all import OneForAll as OneForAll
from .one_per_env import OnePerEnv as OnePerEnv

METHODS: Mapping[str, Callable[..., Method]] = {
    "leads": Leads,
    "leads-no-min": partial(Leads, penalty_weight=0.0),
    "one-for-all": OneForAll,
    "one-per-env": OnePerEnv,
    "ft-rnn": FtRnn,
    "ft-node": FtNode,
    "gbml": Gbml,
    "maml": Maml,
    "coda": Coda,
}
