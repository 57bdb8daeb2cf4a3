"""Linear maps written out as matrices, to set against what the library computes without them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr


def redraw(create, *sizes, seed=0, scale=1.0):
    """The module that `create()` would make, with normal parameters, biases too, from NumPy: nothing to compile.

    `sizes` are leading axes to stack such modules along.
    """
    draw = np.random.default_rng(seed).normal
    return jax.tree.map(lambda a: jnp.asarray(scale * draw(size=(*sizes, *a.shape))), jax.eval_shape(create))


def as_matrix(linear, shape):
    """The matrix of a linear map of arrays of the given shape: its images of the unit vectors, one per column."""
    basis = jnp.eye(int(np.prod(shape))).reshape(-1, *shape)
    return np.asarray(_images(linear, basis)).reshape(len(basis), -1).T


@eqx.filter_jit  # which takes a method of a layer apart, and so compiles once for all layers of a kind
def _images(linear, basis):
    return jax.vmap(linear)(basis)


def ranks(function, *arguments):
    """Number of axes of every array in the traced function."""

    def walk(jaxpr):
        for equation in jaxpr.eqns:
            yield from (v.aval.ndim for v in equation.outvars if hasattr(v.aval, "ndim"))
            for parameter in jax.tree.leaves(equation.params, is_leaf=lambda p: isinstance(p, ClosedJaxpr | Jaxpr)):
                if isinstance(parameter, ClosedJaxpr | Jaxpr):
                    yield from walk(getattr(parameter, "jaxpr", parameter))

    return set(walk(jax.make_jaxpr(function)(*arguments).jaxpr))
