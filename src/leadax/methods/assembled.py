"""Methods whose environments have weights of their own, put together from a shared and a specific half."""

import abc
from dataclasses import dataclass
from typing import Any

from jaxtyping import Array, PyTree

from .._types import VectorField
from .base import Method, Observed


@dataclass(frozen=True)
class Assembled(Method):
    """$dx/dt = F(x; \\theta_e)$ with weights $\\theta_e$ made of both halves."""

    @abc.abstractmethod
    def assemble(self, shared: PyTree, specific: PyTree | None) -> VectorField:
        """The vector field of one environment; with None that of no environment in particular."""

    def decompose(self, shared: PyTree, specific: PyTree) -> tuple[VectorField, VectorField]:
        """The field of no environment in particular, and what this environment adds to it."""
        f, whole = self.assemble(shared, None), self.assemble(shared, specific)
        return f, lambda x: whole(x) - f(x)

    def predict(self, shared: PyTree, specific: PyTree, asked: Observed) -> Array:
        """Integrate the environment's field."""
        return self.integrate(self.assemble(shared, specific), asked)

    def penalised(self, shared: PyTree, specific: PyTree) -> Any:
        """Nothing."""
