"""LEADS: dx/dt = f(x) + g_e(x), with f shared, g_e specific and kept small by Ω."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import jax
from jaxtyping import Array, Float, PyTree

from .._types import PRNGKey, VectorField
from ..errors import InputError
from ..nets.architecture import Architecture
from ..nets.mlp import begun_at
from ..penalties import Penalty
from ..trend import Trend
from .base import Method, Regulariser, Sizes, built, first, stacked, sum_of, zeros
from .dynamics import DEFAULT_SOLVER, Dynamics, Flow
from .settings import (
    known_setting,
    net_setting,
    parameters_setting,
    solver_setting,
    substeps_setting,
    weight_setting,
    without_formula,
)


class Leads(Method):
    """LEADS (Yin et al., NeurIPS 2021): $dx/dt = f(x) + g_e(x)$, learnt with the penalty $\\Omega(g_e) / \\lambda$.

    **Arguments**

    - `net`: the architecture of f and of every g_e, such as `MLP` or `functools.partial(MLP, width=128)`;
    - `solver`: a name in `leadax.rollout.TABLEAUX`; `substeps`: at least so many steps per observed interval;
    - `penalty`: Ω; `penalty_weight`: 1/λ. With 0 it is the paper's ablation *LEADS no min.*;
    - `kappa`: κ in place of 1/λ: the weight is κ · error/Ω, with the present error and Ω. It has no units and follows
      the error down, so that it suits data of any scale and noise;
    - `known`, `parameters`: a formula `h(t, x, u, p)` of which $f + g_e$ is only the rest, and its unknown numbers, see
      `leadax.methods.known.Known`.

    What is `None` is chosen from the data; of `penalty_weight` and `kappa` one at the most may be given.

    >>> import jax
    >>> from leadax.nets import MLP
    >>> shared, specific = Leads(net=MLP).init(Sizes((2,), 10), key=jax.random.key(0))
    >>> specific.denses[0].weight.shape
    (10, 2, 64)
    """

    begins_at: ClassVar[tuple[str, ...]] = ("common", "own")

    net: Architecture | None = net_setting()
    solver: str | None = solver_setting()
    substeps: int = substeps_setting()
    penalty: Penalty | None = None
    penalty_weight: float | Float[Array, ""] | None = weight_setting()
    kappa: float | Float[Array, ""] | None = weight_setting()
    known: Callable[..., Any] | None = known_setting()
    parameters: Any = parameters_setting()

    def __check_init__(self):
        if self.penalty_weight is not None and self.kappa is not None:
            raise InputError("give `penalty_weight` (1/λ) or `kappa`, not both: each says how much Ω weighs")

    def init(self, sizes: Sizes, *, key: PRNGKey) -> tuple[PyTree, PyTree]:
        """f, and one g for each environment."""
        without_formula(self)
        for_f, for_g = jax.random.split(key)
        build = partial(built, self.net, sizes)
        return build(for_f), stacked(build, sizes.environments, for_g)

    def dynamics(self, shared: PyTree, specific: PyTree) -> Dynamics:
        """dx/dt = f + g_e."""
        without_formula(self)
        return Flow(sum_of(shared, specific), self.solver or DEFAULT_SOLVER)

    def begun_at(self, shared: PyTree, specific: PyTree, trend: Trend) -> tuple[PyTree, PyTree]:
        """f begins at what environments have in common, g_e at the rest."""
        return begun_at(shared, trend.common), begun_at(specific, trend.own)

    def settled(self, trend: Trend) -> bool:
        """They do."""
        del trend
        return True

    def split(self, shared: PyTree, specific: PyTree) -> tuple[VectorField, VectorField]:
        """f and g_e."""
        return shared, specific

    def regulariser(self) -> Regulariser | None:
        """Ω(g_e) with its weight; nothing where that is 0."""
        weight = self.kappa if self.penalty_weight is None else self.penalty_weight
        if isinstance(weight, float) and weight == 0:
            return None
        assert self.penalty is not None, "`fit` fills in the penalty"
        assert weight is not None, "`fit` fills in its weight"
        relative = self.penalty_weight is None
        return Regulariser(self.penalty, weight, lambda shared, specific: specific, relative)

    def without_specific(self, known: PyTree) -> PyTree:
        """g = 0: f predicts alone."""
        return zeros(first(known))
