from . import theory as theory
from .data import Trajectories as Trajectories
from .data import load as load
from .errors import InputError as InputError
from .errors import LeadaxError as LeadaxError
from .errors import RunError as RunError
from .evaluation import Evaluation as Evaluation
from .evaluation import evaluate as evaluate
from .fitting import fit as fit
from .methods import Leads as Leads
from .methods import Method as Method
from .methods import OneForAll as OneForAll
from .methods import OnePerEnv as OnePerEnv
from .model import Model as Model
from .nets import FNO as FNO
from .nets import MLP as MLP
from .nets import ConvNet as ConvNet
from .nets import Linear as Linear
from .penalty import EmpiricalNorm as EmpiricalNorm
from .penalty import Frobenius as Frobenius
from .penalty import Omega as Omega
from .penalty import SpectralNorm as SpectralNorm
from .systems import System as System
from .systems import simulate as simulate

__version__: str
