"""Nets: vector fields `net(t, x, u)` from time, a state `(*space, channel)` and inputs to the derivative of the state.

Each is built as `Net(state_shape, *, key, inputs=0, ...)`. A new net is one file and one line in `NETS`.
"""

from ..registry import Registry
from .architecture import Architecture as Architecture
from .architecture import architecture as architecture
from .base import LinearLayer as LinearLayer
from .base import Net as Net
from .conv import ConvNet as ConvNet
from .fno import FNO as FNO
from .layers import Convolution as Convolution
from .layers import Dense as Dense
from .linear import Linear as Linear
from .mlp import MLP as MLP
from .recurrent import GRU as GRU
from .recurrent import Cell as Cell
from .recurrent import PredRNN as PredRNN
from .spectral import SpectralConvolution as SpectralConvolution
from .swish import Swish as Swish
from .timed import Timed as Timed

NETS: Registry[Net] = Registry("net", Net, {"mlp": MLP, "conv": ConvNet, "fno": FNO, "linear": Linear})
