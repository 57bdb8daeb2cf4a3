"""`explain`: the learnt f and g_e as formulas, with how much of them the formulas explain."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..data import Trajectories
from ..errors import expect, lookup
from ..model import Estimate, Model
from .points import Places, places
from .sparse import Law, Quantity, laws
from .terms import FUNCTIONS, library

NEGLIGIBLE = 0.01
PARTS = ("shared", "specific", "learnt")


@dataclass(frozen=True)
class Explanation:
    """Formulas for what a model has learnt, in the units of the data.

    - `part`: `shared` (f), `specific` (g_e) or `learnt` (f + g_e);
    - `laws`: by environment and channel. f is looked at where the data of all environments are, under the name `all`;
    - `parameters`: the numbers of a known formula in each environment; empty without one.
    """

    part: str
    laws: dict[str, dict[str, Law]]
    parameters: dict[str, dict[str, Estimate]]

    def __str__(self) -> str:
        symbol = {"shared": "f", "specific": "g", "learnt": "f + g"}[self.part]
        lines = [
            f"{environment}: {symbol} in d{channel}/dt = {law}"
            for environment, laws in self.laws.items()
            for channel, law in laws.items()
        ]
        lines += [
            f"{environment}: " + ", ".join(f"{name} = {estimate}" for name, estimate in found.items())
            for environment, found in self.parameters.items()
        ]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        laws = {
            environment: {
                channel: {"terms": list(law.terms), "coefficients": list(law.coefficients), "r2": law.r2}
                for channel, law in found.items()
            }
            for environment, found in self.laws.items()
        }
        numbers = {e: {name: value._asdict() for name, value in found.items()} for e, found in self.parameters.items()}
        return {"part": self.part, "laws": laws, "parameters": numbers}


def explain(
    model: Model,
    data: Trajectories | None = None,
    *,
    part: str = "specific",
    degree: int = 3,
    functions: Iterable[str] = tuple(FUNCTIONS),
) -> Explanation:
    """Formulas for a learnt field: few terms of a library, chosen by sparse regression where the data are.

    **Arguments**

    - `data`: where to look; by default states drawn evenly from the range of the training data;
    - `part`: `shared` for f, `specific` for g_e, `learnt` for f + g_e; a known formula is in none of them;
    - `degree`: of products of channels and inputs; `functions`: further terms, see `leadax.explain.terms.FUNCTIONS`.

    >>> import jax.random as jr
    >>> from leadax import Leads, Linear, Trajectories, fit
    >>> t = np.linspace(0, 2, 9)
    >>> train = Trajectories.from_arrays(t, np.stack([np.exp(-a * t) for a in (0.5, 1.0)])[:, None, :, None])
    >>> model = fit(Leads(net=Linear), train, steps=20, key=jr.key(0))
    >>> sorted(explain(model, train).laws)
    ['e0', 'e1']
    """
    expect("model", model, Model, "leadax.Model.load(FILE)")
    if data is not None:
        expect("data", data, Trajectories, "leadax.load(FILE)")
    lookup("part", part, dict.fromkeys(PARTS))
    names = [*model.channels, *model.layout.driving]
    where = {name: places(model, data, name) for name in (model.environments if data is None else data.environments)}
    if part == "shared":
        where = {"all": _together(list(where.values()))}
    quantities: dict[str, list[Quantity]] = {}
    for environment, spot in where.items():
        values = field_values(model, part, environment, spot)
        variables = spot.states if spot.inputs is None else np.concatenate([spot.states, spot.inputs], axis=1)
        terms = library(names, variables, degree=degree, functions=functions)
        quantities[environment] = [
            Quantity(values[:, c], terms, _negligible(model, c)) for c in range(len(model.channels))
        ]
    found: dict[str, dict[str, Law]] = {environment: {} for environment in where}
    for c, channel in enumerate(model.channels):
        for environment, law in zip(where, laws([each[c] for each in quantities.values()]), strict=True):
            found[environment][channel] = law
    return Explanation(part, found, numbers_of(model))


def _negligible(model: Model, channel: int) -> float:
    """What is far smaller than the usual change of a channel is what training left over, and has no law."""
    return NEGLIGIBLE * model.units.scale[channel] / model.units.time


def numbers_of(model: Model) -> dict[str, dict[str, Estimate]]:
    """The numbers of a known formula in all environments; empty without one."""
    found = {name: model.estimates(name) for name in model.environments}
    return {name: values for name, values in found.items() if values}


def field_values(model: Model, part: str, environment: str, spot: Places) -> np.ndarray:
    """f, g_e or their sum at some states, in the units of the data, the mean over members."""
    own = 0 if environment == "all" else environment
    fields = {
        "shared": [model.shared],
        "specific": [model.specific(own)],
        "learnt": [model.shared_in(own), model.specific(own)],
    }
    inputs = None if spot.inputs is None else jnp.asarray(spot.inputs, model.dtype)
    arrays = jnp.asarray(spot.states, model.dtype), jnp.asarray(spot.times, model.dtype), inputs
    at = lambda field: jax.jit(jax.vmap(lambda x, t, u: field(x, t, u)))(*arrays)
    return np.sum([np.asarray(at(field), float) for field in fields[part]], axis=0)


def _together(spots: list[Places]) -> Places:
    inputs = (
        None if spots[0].inputs is None else np.concatenate([spot.inputs for spot in spots if spot.inputs is not None])
    )
    return Places(np.concatenate([s.states for s in spots]), np.concatenate([s.times for s in spots]), inputs)
