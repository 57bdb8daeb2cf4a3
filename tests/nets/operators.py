"""Linear maps written out as matrices, to set against what the library computes without them."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr


def as_matrix(linear, shape):
    """The matrix of a linear map of arrays of the given shape: its images of the unit vectors, one per column."""
    basis = jnp.eye(int(np.prod(shape))).reshape(-1, *shape)
    return np.asarray(jax.jit(jax.vmap(linear))(basis)).reshape(len(basis), -1).T


def ranks(function, *arguments):
    """Number of axes of every array in the traced function."""

    def walk(jaxpr):
        for equation in jaxpr.eqns:
            yield from (v.aval.ndim for v in equation.outvars if hasattr(v.aval, "ndim"))
            for parameter in jax.tree.leaves(equation.params, is_leaf=lambda p: isinstance(p, ClosedJaxpr | Jaxpr)):
                if isinstance(parameter, ClosedJaxpr | Jaxpr):
                    yield from walk(getattr(parameter, "jaxpr", parameter))

    return set(walk(jax.make_jaxpr(function)(*arguments).jaxpr))
