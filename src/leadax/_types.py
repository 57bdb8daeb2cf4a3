"""The vocabulary: names of axes and arrays, used in every signature.

Axes, always in this order, channel last, in memory and in files:

    (env, traj, time, *space, channel)

- `env`: an environment, one instance of the system (a patient, a site, a machine, one set of parameters);
- `traj`: one trajectory observed in it;
- `time`: one point of that trajectory;
- `space`: nothing for an ODE, `x` for a field on a line, `y, x` for a field on a plane;
- `channel`: what is measured (prey and predator; two concentrations; vorticity).

A *state* is `(*space, channel)`. A *tangent* has the shape of a state and is its derivative in time. Data on disk and
in `Trajectories` are NumPy float64 (their types are in `data/`, which loads without JAX, so that a wrong file name is
answered at once). Programs compute with JAX arrays in standard units (`data/units.py`).
"""

from collections.abc import Callable
from typing import TypeAlias

from jaxtyping import Array, Float, Key

Time: TypeAlias = Float[Array, ""]
State: TypeAlias = Float[Array, "*space channel"]
Tangent: TypeAlias = Float[Array, "*space channel"]
Inputs: TypeAlias = Float[Array, "..."] | None

VectorField: TypeAlias = Callable[[Array, Array, Array | None], Array]
"""`field(t, x, u) -> dx/dt`: time, one state, and the inputs at that time (None where there are none)."""

PRNGKey: TypeAlias = Key[Array, ""]
