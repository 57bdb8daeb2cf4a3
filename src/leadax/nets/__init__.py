"""Nets: from a state `(*space, channel)` to its tangent, the derivative in time.

Each is built as `Net(state_shape, *, key, ...)`. A new net is one file, and one line in `NETS`.
"""

from collections.abc import Callable

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
from .scaled import Scaled as Scaled
from .scaled import Scales as Scales
from .scaled import measure as measure
from .spectral import SpectralConvolution as SpectralConvolution
from .swish import Swish as Swish

NETS: dict[str, Callable[..., Net]] = {"mlp": MLP, "conv": ConvNet, "fno": FNO, "linear": Linear}
