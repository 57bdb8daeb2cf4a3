"""Methods: each file says what is shared, what is specific and how the two make dynamics.

A new method is one file, and one line in `METHODS`: the command line, the tests and the documentation read it.
"""

from functools import partial

from ..registry import Registry
from .base import Levels as Levels
from .base import Method as Method
from .base import Phase as Phase
from .base import Regulariser as Regulariser
from .base import Sizes as Sizes
from .coda import Coda as Coda
from .coda import ContextPenalty as ContextPenalty
from .dynamics import Dynamics as Dynamics
from .dynamics import Flow as Flow
from .dynamics import Recurrence as Recurrence
from .ft_node import FtNode as FtNode
from .ft_rnn import FtRnn as FtRnn
from .gbml import Gbml as Gbml
from .known import Known as Known
from .known import with_formula as with_formula
from .leads import Leads as Leads
from .maml import Maml as Maml
from .mixture import Mixture as Mixture
from .one_for_all import OneForAll as OneForAll
from .one_per_env import OnePerEnv as OnePerEnv
from .parameters import Parameter as Parameter

METHODS: Registry[Method] = Registry(
    "method",
    Method,
    {
        "leads": Leads,
        "leads-no-min": partial(Leads, penalty_weight=0.0),
        "one-for-all": OneForAll,
        "one-per-env": OnePerEnv,
        "ft-rnn": FtRnn,
        "ft-node": FtNode,
        "gbml": Gbml,
        "maml": Maml,
        "coda": Coda,
    },
)
