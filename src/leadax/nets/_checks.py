"""What a net can be built for: its state's rank and its sizes, refused early and in words."""

from ..errors import InputError


def vector(net: str, state_shape: tuple[int, ...]) -> int:
    """Channels of a vector state `(channel,)`; a field is refused."""
    if len(state_shape) != 1:
        raise InputError(
            f"{net} needs a vector state `(channel,)`, got a state of shape {state_shape}: "
            "for a field use the ConvNet (`--net conv`) or the FNO (`--net fno`)"
        )
    return channels(net, state_shape)


def channels(net: str, state_shape: tuple[int, ...]) -> int:
    """Channels of a state of any rank."""
    if not state_shape:
        raise InputError(f"{net} needs a state `(*space, channel)`, got one of shape (): give it the shape (1,)")
    return at_least(1, net, "channels", state_shape[-1])


def field(net: str, state_shape: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """Grid and channels of a field `(*space, channel)` on a line or a plane; anything else is refused."""
    if len(state_shape) not in (2, 3):
        advice = "use the MLP (`--net mlp`)" if len(state_shape) == 1 else "reshape it or reduce its axes"
        raise InputError(
            f"{net} needs a field `(*space, channel)` with 1 or 2 space axes, "
            f"got a state of shape {state_shape}: {advice}"
        )
    *space, channels = (at_least(1, net, "length of an axis", size) for size in state_shape)
    return tuple(space), channels


def at_least(least: int, net: str, name: str, value: int) -> int:
    """`value`, or an error that names it."""
    if value < least:
        raise InputError(f"`{name}` of {net} must be at least {least}, got {value}: use a larger number")
    return value


def odd(net: str, name: str, value: int) -> int:
    """`value`, or an error: a kernel of even size has no centre and would shift the field."""
    if at_least(1, net, name, value) % 2 == 0:
        raise InputError(f"`{name}` of {net} must be odd, got {value}: use {value + 1}")
    return value
