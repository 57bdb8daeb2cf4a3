"""Inputs and covariates in files: tables of users, arrays of other programs, and files of ours."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from tests.data.strategies import TABLES, assert_same
from tests.data.test_columns import refusal, written

from leadax.data import Trajectories, load, save

NAN = np.nan
KEYS = {"environment": "Patient", "time": "Hour"}
DRUG = pd.DataFrame(
    {
        "Patient": ["a", "a", "a", "b", "b", "b"],
        "Hour": [0.0, 1.0, 2.0, 0.0, 1.0, 3.0],
        "conc": [1.0, NAN, 2.0, 3.0, 4.0, 5.0],
        "rate": [7.0, 0.0, NAN, 8.0, NAN, NAN],
        "dose": [NAN, 5.0, NAN, NAN, NAN, NAN],
        "Sex": ["Male", "Male", "Male", "Female", "Female", "Female"],
        "Wt": [72.0, 72.0, 72.0, 60.5, NAN, 60.5],
        "note": ["x", "y", "z", "", "", ""],
    }
)
INPUTS = {"rate": "held", "dose": "impulse:conc"}


def read(path, **changes) -> Trajectories:
    return load(path, **{"columns": KEYS, "channels": ["conc"], "inputs": INPUTS} | changes)


@pytest.fixture
def drug(tmp_path, request):
    return written(DRUG, tmp_path, getattr(request, "param", ".csv"))


every_table = pytest.mark.parametrize("drug", TABLES, indirect=True)


@every_table
def test_columns_of_inputs_and_covariates(drug):
    expected = Trajectories.from_arrays(
        [[[0.0, 1.0, 2.0]], [[0.0, 1.0, 3.0]]],
        [[[[1.0], [NAN], [2.0]]], [[[3.0], [4.0], [5.0]]]],
        environments=["a", "b"],
        channels=["conc"],
        inputs=[[[[7.0, NAN], [0.0, 5.0], [NAN, NAN]]], [[[8.0, NAN], [NAN, NAN], [NAN, NAN]]]],
        input_names=["rate", "dose"],
        input_kinds=["held", "impulse:conc"],
        parameters={"Sex": [1, 0], "Wt": [72, 60.5]},
        attributes={"Sex": "Female 0, Male 1"},
    )
    assert_same(read(drug, covariates=["Sex", "Wt"]), expected)


@every_table
def test_what_is_left_are_channels(drug):
    path = written(DRUG.drop(columns="note"), drug.parent, drug.suffix)
    data = load(path, columns=KEYS, inputs=["rate"], covariates=["Wt", "Sex"])
    assert data.channels == ("conc", "dose")
    assert data.input_kinds == ("linear",)


@pytest.mark.parametrize("ending", TABLES)
def test_an_environment_called_by_its_covariate(ending, tmp_path):
    rows = pd.DataFrame({"dose": [0.5, 0.5, 2, 2], "time": [0, 1, 0, 1], "x": [1, 2, 3, 4]})
    data = load(written(rows, tmp_path, ending), columns={"environment": "dose"}, covariates=["dose"])
    assert data.channels == ("x",)
    assert data.parameters["dose"].tolist() == [0.5, 2]


@pytest.mark.parametrize("ending", TABLES)
def test_a_covariate_is_the_very_number_in_the_table(ending, tmp_path):
    numbers = np.random.default_rng(0).standard_normal(50) * 10.0 ** np.arange(-25, 25)
    rows = pd.DataFrame({"environment": np.repeat(np.arange(50), 2), "time": [0, 1] * 50, "x": 1.0})
    path = written(rows.assign(w=np.repeat(numbers, 2)), tmp_path, ending)
    np.testing.assert_array_equal(load(path, covariates=["w"]).parameters["w"], numbers)


def test_texts_of_which_only_one_is_in_the_table(tmp_path):
    """The number must not depend on who else is in the table."""
    men, women = (written(DRUG[DRUG["Sex"] == sex], tmp_path / sex, ".csv") for sex in sexes(tmp_path))
    assert refusal(men, columns=KEYS, channels=["conc"], covariates=["Sex"]) == (
        "the covariate `Sex` is `Male` throughout, and may be 0 or 1: name the text that is 1, as in `Sex=Male` (of "
        "two texts, it is the second in the alphabet)"
    )
    assert read(men, covariates=["Sex=Male"]).parameters["Sex"].tolist() == [1]
    assert read(women, covariates=["Sex=Male"]).parameters["Sex"].tolist() == [0]
    assert read(women, covariates=["Sex=Female"]).attributes == {"Sex": "Female 1"}
    both = written(DRUG, tmp_path, ".csv")
    assert read(both, covariates=["Sex=Female"]).parameters["Sex"].tolist() == [0, 1]
    said = refusal(both, columns=KEYS, channels=["conc"], covariates=["Sex=male"])
    assert said == "the covariate `Sex` is never `male`: did you mean `Sex=Male`?"
    said = refusal(both, columns=KEYS, channels=["conc"], covariates=["Sex=Femal"])
    assert said == "the covariate `Sex` is never `Femal`: it has `Female`, `Male`"


def sexes(folder) -> tuple[str, str]:
    (folder / "Male").mkdir()
    (folder / "Female").mkdir()
    return "Male", "Female"


@every_table
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"covariates": ["rate"], "inputs": None}, "the covariate `rate` changes within environment `a`: it has 0"),
        ({"covariates": ["dose"], "inputs": None}, "the covariate `dose` has no value in environment `b`: every"),
        (
            {"covariates": ["note"]},
            "the covariate `note` has 3 different texts (`x`, `y`, `z`), expected numbers or two",
        ),
        ({"covariates": ["Hour"]}, "the column `Hour` cannot be a covariate: it is the time"),
        ({"covariates": ["rate"]}, "the column `rate` cannot be an input: it is a covariate"),
        ({"covariates": ["Wt", "Wt"]}, "`covariates` has `Wt` twice: name each column once"),
        ({"covariates": ["wt"]}, "no column `wt`: it has"),
        ({"covariates": ["Wt="]}, "no column `Wt=`: it has"),
        ({"covariates": "Wt"}, '`covariates` must be a list of names, such as ["Wt"], got a text'),
        ({"inputs": "rate"}, '`inputs` must be a list of names, such as ["rate"], got a text'),
        ({"inputs": ["Hour"]}, "the column `Hour` cannot be an input: it is a key of the table"),
        ({"inputs": ["conc"]}, "the column `conc` cannot be a channel: it is an input"),
        ({"inputs": ["Rate"]}, "no column `Rate`: it has"),
        ({"inputs": ["rate:held", "rate"]}, "`inputs` has `rate` twice: name each column once"),
        ({"inputs": ["rat:held"]}, "no column `rat`: it has"),
        ({"inputs": ["rate:"]}, "the input `rate` must be `linear`, `held` or `impulse:CHANNEL`, got ``"),
        ({"inputs": ["rate:hold"]}, "the input `rate` must be `linear`, `held` or `impulse:CHANNEL`, got `hold`"),
        ({"inputs": {"rate": "step"}}, "the input `rate` must be `linear`, `held` or `impulse:CHANNEL`, got `step`"),
        ({"inputs": {"rate": "impulse:gut"}}, "the input `rate` adds to `gut`, expected `conc`, or `hidden0`"),
    ],
)
def test_refusals(drug, options, message):
    assert refusal(drug, **{"columns": KEYS, "channels": ["conc"], "inputs": INPUTS} | options).startswith(message)


def test_kinds_after_a_colon(tmp_path):
    """Names of columns may have colons in them, too."""
    rows = DRUG.rename(columns={"rate": "in: a:b", "dose": "in", "conc": "x:y"})
    path = written(rows, tmp_path, ".csv")
    for given, name, kind in (
        ("in: a:b", "in: a:b", "linear"),
        ("in: a:b:held", "in: a:b", "held"),
        ("in: a:b : impulse:x:y", "in: a:b", "impulse:x:y"),
        ("in:held", "in", "held"),
    ):
        data = load(path, columns=KEYS, channels=["x:y"], inputs=[given])
        assert (data.input_names, data.input_kinds) == ((name,), (kind,))


def test_text_among_the_inputs(tmp_path):
    path = written(DRUG, tmp_path, ".csv")
    said = refusal(path, columns=KEYS, channels=["conc"], inputs=["Sex"])
    assert said == "line 2, column `Sex`: expected a number, found `Male`"


@pytest.mark.parametrize("ending", TABLES)
def test_a_row_for_the_dose_and_a_row_for_what_was_measured(ending, tmp_path):
    """Amounts at one time add up; what else is given twice must be the same."""
    rows = pd.DataFrame(
        {
            "environment": ["a"] * 5,
            "time": [0.0, 0.0, 0.0, 1.0, 1.0],
            "x": [NAN, 3.0, NAN, 2.0, NAN],
            "rate": [7.0, 7.0, NAN, NAN, NAN],
            "dose": [4.0, 0.0, 1.0, NAN, NAN],
        }
    )
    inputs = {"rate": "held", "dose": "impulse:x"}
    data = load(written(rows, tmp_path, ending), inputs=inputs)
    np.testing.assert_array_equal(data.times, [[[0, 1]]])
    np.testing.assert_array_equal(data.states, [[[[3], [2]]]])
    np.testing.assert_array_equal(data.inputs, [[[[7, 5], [NAN, NAN]]]])  # pyright: ignore[reportArgumentType]
    named = rows.assign(trajectory="t").iloc[[3, 1, 4, 0, 2]]
    assert_same(load(written(named, tmp_path, ending), inputs=inputs).select(), renamed(data, "t"))
    for column, value in (("x", 3.5), ("rate", 0.0)):
        path = written(rows.assign(**{column: [value, *rows[column][1:]]}), tmp_path, ending)
        assert refusal(path, inputs=inputs) == "two rows have environment `a`, time 0: each point must occur once"
    assert refusal(written(rows.assign(trajectory="t"), tmp_path, ending)).startswith("two rows have environment `a`")


def renamed(data: Trajectories, name: str) -> Trajectories:
    return Trajectories.from_arrays(
        data.times,
        data.states,
        environments=data.environments,
        channels=data.channels,
        inputs=data.inputs,
        input_names=data.input_names,
        input_kinds=data.input_kinds,
        trajectory_names=[[name]],
    )


@pytest.mark.parametrize("ending", TABLES)
def test_a_choice_from_a_table_of_ours(ending, tmp_path, drug):
    """It knows its inputs; they may be asked for in another way."""
    data = read(drug, channels=["conc", "Wt"], covariates=["Sex"])
    path = tmp_path / f"ours{ending}"
    save(data, path)
    assert_same(load(path), data)
    assert load(path, channels=["conc"]).input_kinds == data.input_kinds
    other = load(path, inputs={"rate": "linear"})
    assert (other.channels, other.input_names, other.input_kinds) == (("conc", "Wt"), ("rate",), ("linear",))
    assert load(path, channels=["conc", "rate"]).input_names == ("dose",)
    assert load(path, inputs=[]).channels == ("conc", "Wt")
    assert load(path, channels=["conc"], covariates=["Wt"]).parameters.keys() == {"Sex", "Wt"}


def foreign(dims: tuple[str, ...]) -> xr.Dataset:
    """A field on a line, and inputs with these dimensions."""
    sizes = {"environment": 3, "trajectory": 2, "time": 5, "x": 4, "input": 2, "control": 2}
    rng = np.random.default_rng(0)
    state = (("time", "x", "channel", "trajectory", "environment"), rng.random((5, 4, 1, 2, 3)))
    given = (dims, rng.random([sizes[name] for name in dims]))
    return xr.Dataset({"state": state, "input": given}, coords={"time": np.arange(5.0)})


@pytest.mark.parametrize("ending", [".nc", ".zarr"])
@pytest.mark.parametrize(
    "dims",
    [
        ("environment", "trajectory", "time", "input"),
        ("input", "x", "time", "trajectory", "environment"),
        ("time", "input"),
        ("control", "time", "environment"),
        ("time",),
    ],
)
def test_foreign_dataset(ending, dims, tmp_path):
    dataset = foreign(dims)
    path = tmp_path / f"a{ending}"
    dataset.to_netcdf(path) if ending == ".nc" else dataset.to_zarr(path, zarr_format=2, consolidated=True)
    data = load(path)
    axis = next((name for name in dims if name in ("input", "control")), "input")
    sizes = {"environment": 3, "trajectory": 2, "time": 5} | ({"x": 4} if "x" in dims else {})
    expected = dataset["input"].variable.set_dims(sizes | {axis: 1 if axis not in dims else 2}).transpose(*sizes, axis)
    np.testing.assert_array_equal(data.inputs, expected.to_numpy())  # pyright: ignore[reportArgumentType]
    assert data.input_names == ("u0", "u1")[: expected.shape[-1]]
    assert set(data.input_kinds) == {"linear"}


def test_foreign_names_and_kinds(tmp_path):
    dims = ("environment", "trajectory", "time", "control")
    dataset = foreign(dims).assign_coords(control=["wind", "sun"], input_kind=("control", ["held", "linear"]))
    dataset.to_netcdf(tmp_path / "a.nc")
    data = load(tmp_path / "a.nc")
    assert (data.input_names, data.input_kinds) == (("wind", "sun"), ("held", "linear"))
    foreign(dims).rename(x="y").assign(input=(("time", "y", "a", "b"), np.ones((5, 4, 1, 1)))).to_netcdf(
        tmp_path / "b.nc"
    )
    assert refusal(tmp_path / "b.nc").startswith(
        "`input` must have the dimensions of `state`, with `input` for `channel`"
    )


def test_a_parameter_called_input_is_no_input(tmp_path):
    """As in files from before there were inputs."""
    dataset = foreign(("time",)).drop_vars("input").assign(input=("environment", [1.0, 2.0, 3.0]))
    dataset.to_netcdf(tmp_path / "a.nc")
    data = load(tmp_path / "a.nc")
    assert data.inputs is None
    assert data.parameters["input"].tolist() == [1, 2, 3]


def test_foreign_npz(tmp_path):
    states, inputs = np.ones((2, 3, 4, 1), np.float32), np.arange(48).reshape(2, 3, 4, 2)
    np.savez(tmp_path / "a.npz", X=states, t=np.arange(4), U=inputs)
    assert_same(load(tmp_path / "a.npz"), Trajectories.from_arrays(range(4), states, inputs=inputs))
    np.savez(tmp_path / "a.npz", X=states, t=np.arange(4), U=inputs, input_kinds=["held", "linear"])
    assert load(tmp_path / "a.npz").input_kinds == ("held", "linear")
    np.savez(tmp_path / "a.npz", X=states, t=np.arange(4), U=inputs[:, :, 1:])
    assert refusal(tmp_path / "a.npz").startswith("`times` and `inputs` differ in length")
