"""Trajectories of every kind for the tests of this folder, drawn the same way on every run."""

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
from hypothesis import HealthCheck, settings

from leadax.data import Trajectories

ENDINGS = (".nc", ".zarr", ".npz", ".csv", ".parquet")
GRIDS = (".nc", ".zarr", ".npz")
TABLES = (".csv", ".parquet")

# Names that some format or library gives a meaning, besides text of any letters.
ODD_NAMES = (
    "#a",
    "a,b",
    '"',
    "a/b",
    " x ",
    "NA",
    "nan",
    "é",
    "🦊",
    "coordinates",
    "state",
    "0",
    "_FillValue",
    "leadax",
)
ODD_NUMBERS = (0.0, -0.0, 5e-324, -2.2e-308, 1.7976931348623157e308, -1e308, 0.1, 1 / 3, 123456789.123456789)

names = st.sampled_from(ODD_NAMES) | st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=5)
text = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=8)
numbers = st.sampled_from(ODD_NUMBERS) | st.floats(allow_nan=False, allow_infinity=False)


def examples(count: int):
    """How many examples; always the same ones, and never a failure because the machine was busy."""
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
    return settings(max_examples=count, derandomize=True, deadline=None, database=None, suppress_health_check=slow)


@st.composite
def parts(
    draw, axes: int = 2, min_trajectories: int = 1, min_times: int = 2, named: bool = False, driven: bool = False
) -> dict:
    """Arguments of `from_arrays`: regular or ragged, with or without holes, on a plane, a line or no grid at all.

    - `named`, `driven`: whether trajectories may have names, and inputs.

    Not the trajectories themselves: beartype draws random numbers, which Hypothesis forbids here.
    """
    space = tuple(draw(st.lists(st.integers(1, 3), max_size=axes)))
    shape = (*space, draw(st.integers(1, 3)))
    environments = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    one = _times(min_times)
    if draw(st.booleans()):
        counts, shared = [draw(st.integers(min_trajectories, 3))] * len(environments), draw(one)
        times = [[shared] * count for count in counts]
    else:
        counts = [draw(st.integers(min_trajectories, 3)) for _ in environments]
        times = [[draw(one) for _ in range(count)] for count in counts]
    states = [[draw(_states((len(t), *shape))) for t in row] for row in times]
    per_environment = st.lists(st.floats(), min_size=len(environments), max_size=len(environments))
    several = lambda count: st.lists(names, min_size=count, max_size=count, unique=True)
    trajectory_names = st.tuples(*map(several, counts)) if named else st.none()
    driving = draw(st.integers(0, 2)) if driven else 0
    labels = draw(several(shape[-1] + driving))
    channels, inputs = labels[: shape[-1]], labels[shape[-1] :]
    return {
        "times": times,
        "states": states,
        "environments": environments,
        "channels": channels,
        "parameters": draw(st.dictionaries(names, per_environment, max_size=3)),
        "attributes": draw(st.dictionaries(names, text, max_size=3)),
        "trajectory_names": draw(st.none() | trajectory_names),
        **(draw(_inputs(times, (*draw(st.sampled_from([space, ()])), driving), channels, inputs)) if inputs else {}),
    }


@st.composite
def _inputs(draw, times, shape, channels, names):
    kinds = st.sampled_from(["linear", "held", "impulse:hidden1", *(f"impulse:{name}" for name in channels)])
    given = st.just(np.nan) | numbers
    one = lambda t: draw(hnp.arrays(np.float64, (len(t), *shape), elements=given, fill=given))
    return {
        "inputs": [[one(t) for t in row] for row in times],
        "input_names": names,
        "input_kinds": draw(st.lists(kinds, min_size=len(names), max_size=len(names))),
    }


def _times(at_least: int):
    return st.lists(numbers, min_size=at_least, max_size=5, unique=True).map(sorted).map(np.array)


@st.composite
def _states(draw, shape):
    values = draw(hnp.arrays(np.float64, shape, elements=numbers, fill=numbers))
    if draw(st.booleans()):
        holes = draw(hnp.arrays(bool, shape))
        # Two points must be observed, in some value.
        holes[0].flat[0] = holes[-1].flat[-1] = False
        values = np.where(holes, np.nan, values)
    return values


def assert_same(found: Trajectories, expected: Trajectories) -> None:
    """The same to the bit, field by field, and so by fingerprint."""
    assert found.environments == expected.environments
    assert found.channels == expected.channels
    assert found.trajectory_names == expected.trajectory_names
    assert dict(found.attributes) == dict(expected.attributes)
    assert list(found.parameters) == list(expected.parameters)
    for name, values in expected.parameters.items():
        assert found.parameters[name].tobytes() == values.tobytes(), name
    assert found.states.shape == expected.states.shape
    assert found.times.tobytes() == expected.times.tobytes()
    assert found.states.tobytes() == expected.states.tobytes()
    assert (found.input_names, found.input_kinds) == (expected.input_names, expected.input_kinds)
    assert (found.inputs is None) == (expected.inputs is None)
    if found.inputs is not None and expected.inputs is not None:
        assert found.inputs.shape == expected.inputs.shape
        assert found.inputs.tobytes() == expected.inputs.tobytes()
    assert found.fingerprint == expected.fingerprint
