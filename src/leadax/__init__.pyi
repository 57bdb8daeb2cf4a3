from .data import Trajectories as Trajectories
from .data import load as load
from .errors import InputError as InputError
from .errors import LeadaxError as LeadaxError
from .errors import RunError as RunError
from .systems import System as System
from .systems import simulate as simulate

__version__: str
