"""Checks of the shapes and sizes that a net is built with."""

from ..errors import InputError


def vector(net: str, state_shape: tuple[int, ...]) -> int:
    """The number of channels of a vector state `(channel,)`. Fields are refused."""
    if len(state_shape) != 1:
        raise InputError(
            f"{net} needs a vector state `(channel,)`, got a state of shape {state_shape}: "
            "for a field use the ConvNet (`--net conv`) or the FNO (`--net fno`)"
        )
    return channels(net, state_shape)


def channels(net: str, state_shape: tuple[int, ...]) -> int:
    """The number of channels of a state of any rank."""
    if not state_shape:
        raise InputError(f"{net} needs a state `(*space, channel)`, got one of shape (): give it the shape (1,)")
    return at_least(1, net, "channels", state_shape[-1])


def field(net: str, state_shape: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """The grid and the number of channels of a field on a line or a plane. Other states are refused."""
    if len(state_shape) not in (2, 3):
        advice = "use the MLP (`--net mlp`)" if len(state_shape) == 1 else "reshape it or reduce its axes"
        raise InputError(
            f"{net} needs a field `(*space, channel)` with 1 or 2 space axes, "
            f"got a state of shape {state_shape}: {advice}"
        )
    *space, channels = (at_least(1, net, "length of an axis", size) for size in state_shape)
    return tuple(space), channels


def at_least(least: int, net: str, name: str, value: int) -> int:
    """`value`, unless it is too small."""
    if value < least:
        raise InputError(f"`{name}` of {net} must be at least {least}, got {value}: use a larger number")
    return value


def odd(net: str, name: str, value: int) -> int:
    """`value`, unless it is even: a kernel of even size has no centre and would shift the field."""
    if at_least(1, net, name, value) % 2 == 0:
        raise InputError(f"`{name}` of {net} must be odd, got {value}: use {value + 1}")
    return value
