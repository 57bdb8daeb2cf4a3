"""What nets made of a sequence of layers share: their sizes, initial gains, order and inputs."""

from collections.abc import Sequence
from itertools import pairwise

import jax.numpy as jnp
from jaxtyping import Array, Float

from .._types import Inputs, State, Tangent
from ..errors import InputError
from .base import LinearLayer
from .swish import GAIN, Swish

# The last layer starts small: an untrained model then predicts almost no change, and its rollout stays finite for any
# step size.
LAST_GAIN = 0.1


def sizes(channels: int, inputs: int, width: int, depth: int) -> list[tuple[int, int]]:
    """The number of channels into and out of each layer."""
    ends = [channels + inputs, *[width] * (depth - 1), channels]
    return list(pairwise(ends))


def gains(depth: int) -> list[float]:
    """The gain of each layer. Layers after an activation compensate for the variance that it removes."""
    return ([1.0] + [GAIN] * (depth - 2) if depth > 1 else []) + [LAST_GAIN]


def apply(layers: Sequence[LinearLayer], activations: Sequence[Swish], x: Float[Array, "*space in"]) -> Tangent:
    """Apply the layers in order, with an activation after each but the last."""
    for layer, activation in zip(layers[:-1], activations, strict=True):
        x = activation(layer(x))
    return layers[-1](x)


def with_inputs(x: State, u: Inputs, inputs: int) -> Float[Array, "*space joined"]:
    """The channels of the state, followed by those of the inputs.

    **Arguments:**

    - `x`: the state; `inputs`: how many inputs the net was built for;
    - `u`: one number per input, `(input,)`, which is then the same at every point of space; or one field per input,
      `(*space, input)`; or None if `inputs` is 0.
    """
    if u is None and inputs == 0:
        return x
    space = x.shape[:-1]
    if u is None or inputs == 0 or u.shape not in {(inputs,), (*space, inputs)}:
        raise InputError(_misfit(space, u, inputs))
    return jnp.concatenate([x, jnp.broadcast_to(u, (*space, inputs)).astype(x.dtype)], axis=-1)


def _misfit(space: tuple[int, ...], u: Inputs, inputs: int) -> str:
    got = "`u` is None" if u is None else f"`u` has the shape {u.shape}"
    if inputs == 0:
        return f"the net was built without inputs, but {got}: build it with `inputs=...`, or pass `u=None`"
    shapes = " or ".join(str(shape) for shape in dict.fromkeys([(inputs,), (*space, inputs)]))
    return f"the net was built with `inputs={inputs}` and needs `u` of shape {shapes}, but {got}"
