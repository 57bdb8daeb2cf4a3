"""What nets that are a plain row of layers share: their sizes, their start, their order."""

from collections.abc import Sequence
from itertools import pairwise

from .._types import State, Tangent
from .base import LinearLayer
from .swish import GAIN, Swish

# The last layer starts small, so that an untrained model predicts that hardly anything changes and its rollout is
# finite whatever the step.
LAST_GAIN = 0.1


def sizes(channels: int, width: int, depth: int) -> list[tuple[int, int]]:
    """Channels in and out of each layer."""
    ends = [channels, *[width] * (depth - 1), channels]
    return list(pairwise(ends))


def gains(depth: int) -> list[float]:
    """Gain of each layer: the first sees data, those after an activation make up for what it takes."""
    return ([1.0] + [GAIN] * (depth - 2) if depth > 1 else []) + [LAST_GAIN]


def apply(layers: Sequence[LinearLayer], activations: Sequence[Swish], x: State) -> Tangent:
    """Each layer but the last is followed by its activation."""
    for layer, activation in zip(layers[:-1], activations, strict=True):
        x = activation(layer(x))
    return layers[-1](x)
