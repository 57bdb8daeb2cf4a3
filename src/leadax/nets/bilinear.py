"""Bilinear maps with transposes written by hand, differentiable in forward and in reverse mode."""

from collections.abc import Callable, Hashable, Sequence
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jax.typing import ArrayLike
from jaxtyping import Array

Batched = tuple[tuple[bool, bool], ...]
"""For each `vmap`, outermost first, whether it maps over the left and over the right array."""


class Bilinear:
    """A function that is linear in each of two arrays, with given transposes instead of automatic ones.

    It has derivatives of any order in forward mode, in reverse mode, and in any mixture of the two.

    This is a JAX primitive because nothing simpler will do: `jax.custom_vjp` has no forward mode, the rule of a
    `jax.custom_jvp` is transposed automatically, and `jax.custom_derivatives.linear_call` supports neither `vmap` nor
    second derivatives.

    **Arguments:**

    - `function`: `(left, right, *static) -> out`, where `static` are hashable settings;
    - `transpose_left`: `(out, right, *static) -> left`, the transpose of `left -> function(left, right)`;
    - `transpose_right`: `(left, out, *static) -> right`, the transpose of `right -> function(left, right)`.

    Transposes are differentiated in their turn, so write them with functions that have both modes.

    >>> import jax, jax.numpy as jnp
    >>> from leadax.nets.bilinear import Bilinear
    >>> product = Bilinear(jnp.multiply, lambda out, right: product(out, right), lambda left, out: product(left, out))
    >>> jax.grad(jax.grad(lambda x: product(x, x)))(3.0).item()
    2.0
    """

    def __init__(self, function: Callable, transpose_left: Callable, transpose_right: Callable):
        evaluate = partial(_evaluate, function)
        primitive = Primitive(function.__name__)
        primitive.def_impl(jax.jit(evaluate, static_argnames=("batched", "static")))
        primitive.def_abstract_eval(partial(_abstract_eval, function))
        mlir.register_lowering(primitive, mlir.lower_fun(evaluate, multiple_results=False))
        batching.primitive_batchers[primitive] = partial(_batch, primitive)
        ad.defbilinear(primitive, partial(_transpose_left, transpose_left), partial(_transpose_right, transpose_right))
        self._primitive = primitive

    def __call__(self, left: ArrayLike, right: ArrayLike, *static: Hashable) -> Array:
        """`function(left, right, *static)`."""
        dtype = jnp.result_type(left, right)
        return self._primitive.bind(jnp.asarray(left, dtype), jnp.asarray(right, dtype), batched=(), static=static)


def convolution(convolve: Callable, kernel_gradient: Callable) -> Bilinear:
    """A circular convolution with kernels of odd size, given by itself and its gradient with respect to the kernel.

    The two are closed under differentiation. The gradient of a convolution with respect to the field is a convolution
    with the mirrored kernel, and the derivatives of the gradient are convolutions again.

    **Arguments:**

    - `convolve`: `(x, kernel, *static) -> y`, with a kernel `(taps, in, out)` whose taps are all on one axis;
    - `kernel_gradient`: `(x, dy, *static) -> kernel`, the transpose of `convolve` for fixed `x`.
    """
    mirror = lambda kernel: jnp.flip(kernel, axis=0).swapaxes(1, 2)
    convolved = Bilinear(
        convolve,
        lambda dy, kernel, *static: convolved(dy, mirror(kernel), *static),
        lambda x, dy, *static: gradient(x, dy, *static),
    )
    gradient = Bilinear(
        kernel_gradient,
        lambda kernel, dy, *static: convolved(dy, mirror(kernel), *static),
        lambda x, kernel, *static: convolved(x, kernel, *static),
    )
    return convolved


def _evaluate(function: Callable, left: ArrayLike, right: ArrayLike, *, batched: Batched, static: tuple) -> Array:
    """`function` under one `vmap` for each entry of `batched`, whose axes come first."""
    mapped = lambda left, right: function(left, right, *static)
    for of_left, of_right in reversed(batched):
        mapped = jax.vmap(mapped, in_axes=(0 if of_left else None, 0 if of_right else None))
    return mapped(left, right)


def _abstract_eval(
    function: Callable, left: ShapedArray, right: ShapedArray, *, batched: Batched, static: tuple
) -> ShapedArray:
    arguments = (jax.ShapeDtypeStruct(a.shape, a.dtype) for a in (left, right))
    out = _shape(function, *arguments, batched, static)
    return ShapedArray(out.shape, out.dtype)


@cache
def _shape(
    function: Callable, left: Any, right: Any, batched: Batched, static: tuple[Hashable, ...]
) -> jax.ShapeDtypeStruct:
    return jax.eval_shape(partial(_evaluate, function, batched=batched, static=static), left, right)


def _batch(
    primitive: Primitive, arrays: Sequence[Any], axes: Sequence[int | None], *, batched: Batched, static: tuple
) -> tuple[Array, int]:
    first = [a if axis is None else jnp.moveaxis(a, axis, 0) for a, axis in zip(arrays, axes, strict=True)]
    over = tuple(axis is not None for axis in axes)
    return primitive.bind(*first, batched=(over, *batched), static=static), 0


def _transpose_left(
    transpose: Callable, out: Array, _: Any, right: ArrayLike, *, batched: Batched, static: tuple
) -> Array:
    over = tuple((True, of_right) for _, of_right in batched)
    return _sum_over(_evaluate(transpose, out, right, batched=over, static=static), [not of for of, _ in batched])


def _transpose_right(
    transpose: Callable, out: Array, left: ArrayLike, _: Any, *, batched: Batched, static: tuple
) -> Array:
    over = tuple((of_left, True) for of_left, _ in batched)
    return _sum_over(_evaluate(transpose, left, out, batched=over, static=static), [not of for _, of in batched])


def _sum_over(out: Array, shared: list[bool]) -> Array:
    """Sum over the leading axes along which one array was used for all entries."""
    return jnp.sum(out, axis=[axis for axis, of in enumerate(shared) if of]) if any(shared) else out
