"""Tables as users have them: columns of any name, some of them not about the data at all."""

import numpy as np
import pandas as pd
import pytest
from tests.data.strategies import TABLES, assert_same

from leadax.data import Trajectories, load, save
from leadax.errors import InputError

KEYS = {"environment": "Diet", "trajectory": "Chick", "time": "Day"}
CHICKS = pd.DataFrame(
    {
        "Chick": ["x, é", "x, é", "7", "7", "7"],
        "Diet": [2, 2, 1, 1, 1],
        "Sex": ["f", "f", "m", "m", "m"],
        "Day": [1.0, 0.0, 0.0, 2.0, 4.0],
        "weight": [50.0, 42.0, 40.0, 49.0, 58.0],
        "height": [5.0, 4.0, 4.0, np.nan, 6.0],
    }
)


def written(rows: pd.DataFrame, folder, ending: str):
    path = folder / f"table{ending}"
    rows.to_csv(path, index=False) if ending == ".csv" else rows.to_parquet(path, index=False)
    return path


def refusal(path, **options) -> str:
    with pytest.raises(InputError) as caught:
        load(path, **options)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message.removeprefix(f"{path}: ")


@pytest.fixture
def chicks(tmp_path, request):
    return written(CHICKS, tmp_path, getattr(request, "param", ".csv"))


every_table = pytest.mark.parametrize("chicks", TABLES, indirect=True)


@every_table
def test_named_columns_and_channels(chicks):
    expected = Trajectories.from_arrays(
        [[[0.0, 1.0]], [[0.0, 2.0, 4.0]]],
        [[[[4.0, 42.0], [5.0, 50.0]]], [[[4.0, 40.0], [np.nan, 49.0], [6.0, 58.0]]]],
        environments=["2", "1"],
        channels=["height", "weight"],
        trajectory_names=[["x, é"], ["7"]],
    )
    assert_same(load(chicks, columns=KEYS, channels=["height", "weight"]), expected)


@every_table
@pytest.mark.parametrize("joined", ["Sex+Diet", " Sex + Diet", ["Sex", "Diet"]])
def test_several_columns_make_an_environment(chicks, joined):
    data = load(chicks, columns=KEYS | {"environment": joined}, channels=["weight"])
    assert data.environments == ("f 2", "m 1")
    assert data.states[1, 0, :, 0].tolist() == [40, 49, 58]


def test_a_column_with_a_plus_in_its_name(tmp_path):
    path = written(CHICKS.rename(columns={"Diet": "a+b"}), tmp_path, ".csv")
    assert load(path, columns=KEYS | {"environment": "a+b"}, channels=["weight"]).environments == ("2", "1")


def test_names_that_join_to_the_same(tmp_path):
    rows = pd.DataFrame({"a": ["p", "p q"], "b": ["q r", "r"], "time": [0, 1], "x": [1, 2]})
    path = written(rows, tmp_path, ".csv")
    assert refusal(path, columns={"environment": "a+b"}) == (
        "two environment names are both `p q r` once their columns are joined: rename one"
    )


@pytest.mark.parametrize("ending", TABLES)
def test_without_a_trajectory_every_environment_is_one(ending, tmp_path):
    """Rows of different environments may be mixed, but times must not go back: that would hide a second trajectory."""
    rows = pd.DataFrame({"environment": ["a", "b", "a", "b"], "time": [0, 5, 1, 6], "x": [1, 2, 3, 4]})
    data = load(written(rows, tmp_path, ending))
    assert data.trajectory_names is None
    assert data.states[:, 0, :, 0].tolist() == [[1, 3], [2, 4]]
    for later, remedy in ((5, "leave one of the rows out"), (4.5, "sort its rows by time")):
        assert refusal(written(rows.assign(time=[0, 5, 1, later]), tmp_path, ending)) == (
            f"times must increase: environment `b` has {later:g} after 5; if it has several trajectories, name their "
            f"column with `--columns trajectory=NAME`; if not, {remedy}"
        )


@every_table
@pytest.mark.parametrize(
    ("columns", "channels", "message"),
    [
        ({"time": "day"}, ["weight"], "no column `day`: it has ALL; did you mean `Day`?"),
        ({"time": "Hour"}, ["weight"], "no column `Hour`: it has ALL"),
        ({}, ["wieght"], "no column `wieght`: it has ALL; did you mean `weight`?"),
        ({"trajectory": "Diet"}, ["weight"], "`columns` has `Diet` twice, for environment and trajectory: use each"),
        ({"environment": "Sex+Sex"}, ["weight"], "`columns` has `Sex` twice, for environment: use each column once"),
        ({"environment": "Sex+"}, ["weight"], "`columns` names no column for `environment`: expected its name"),
        ({"time": ["Day", "height"]}, ["weight"], "the time must be one column, got 2"),
        ({"site": "Sex"}, ["weight"], "`columns` has `site`, expected environment, trajectory or time"),
        ({}, ["weight", "weight"], "`channels` has `weight` twice: name each column once"),
        ({}, ["weight", "Day"], "the column `Day` cannot be a channel: it is a key of the table"),
        ({}, [], "`channels` is empty: name at least one column, or leave it out to take all"),
        ({}, "weight", '`channels` must be a list of names, such as ["weight"], got a text'),
    ],
)
def test_refusals(chicks, columns, channels, message):
    listed = ", ".join(f"`{name}`" for name in CHICKS.columns)
    assert refusal(chicks, columns=KEYS | columns, channels=channels).startswith(message.replace("ALL", listed))


def test_default_names_that_are_not_there(chicks):
    listed = ", ".join(f"`{name}`" for name in CHICKS.columns)
    said = "name the one that holds it, as in `--columns"
    assert refusal(chicks) == f"no column `environment`: it has {listed}; {said} environment=NAME`"
    path = written(CHICKS.rename(columns={"Day": "Time"}), chicks.parent, ".csv")
    assert refusal(path, columns={"environment": "Diet"}).endswith(f"; {said} time=Time`")


def test_a_long_list_of_columns_is_cut(tmp_path):
    path = written(pd.DataFrame({f"c{i}": [1.0] for i in range(100)}), tmp_path, ".csv")
    assert "`c14`, … (100 columns); name" in refusal(path)


def test_text_among_the_channels(tmp_path):
    rows = CHICKS.rename(columns={name: key for key, name in KEYS.items()})
    assert refusal(written(rows, tmp_path, ".csv")) == (
        "line 2, column `Sex`: expected a number, found `f`; if the column is no channel, choose those that are with "
        "`--channels`"
    )
    assert refusal(written(rows, tmp_path, ".csv"), channels=["Sex"]).endswith("expected a number, found `f`")
    assert refusal(written(rows, tmp_path, ".parquet")).endswith("; choose the channels with `--channels`")


def test_columns_that_are_not_used_may_be_anything(tmp_path):
    """R writes the numbers of rows into a column without a name."""
    (tmp_path / "a.csv").write_text(",environment,time,x,y,y\n1,a,0,5,NA,?\n2,a,1,6,NA,?\n")
    assert load(tmp_path / "a.csv", channels=["x"]).states.ravel().tolist() == [5, 6]
    assert refusal(tmp_path / "a.csv", channels=["y"]) == "two columns are called `y`: rename one of them"
    assert refusal(tmp_path / "a.csv").startswith("a column has no name")


def test_a_default_name_that_is_left_over(tmp_path):
    path = written(CHICKS.rename(columns={"height": "time"}), tmp_path, ".csv")
    assert refusal(path, columns=KEYS) == (
        "the column `time` is left over, since another one holds that: choose the channels with `--channels`"
    )
    assert load(path, columns=KEYS, channels=["weight"]).channels == ("weight",)


def test_spaces_after_commas_are_no_part_of_names(tmp_path):
    (tmp_path / "a.csv").write_text(
        "environment, trajectory, time, x\na, u v, 0, 1\na,u v, 1, 2\n a, w, 0, 1\na,w,1,2\n"
    )
    assert load(tmp_path / "a.csv").environments == ("a",)
    assert load(tmp_path / "a.csv").trajectory_names == (("u v", "w"),)


def test_categories_of_which_no_row_is_left(tmp_path):
    rows = CHICKS.assign(Diet=CHICKS["Diet"].astype(str).astype("category"))
    path = written(rows[rows["Diet"] == "1"], tmp_path, ".parquet")
    assert load(path, columns=KEYS, channels=["weight"]).environments == ("1",)


@pytest.mark.parametrize("ending", [".nc", ".zarr", ".npz"])
def test_only_tables_have_columns(ending, tmp_path):
    save(Trajectories.from_arrays(range(3), np.zeros((1, 1, 3, 1))), tmp_path / f"a{ending}")
    for options in ({"columns": {"time": "t"}}, {"channels": ["x0"]}, {"inputs": ["u"]}, {"covariates": ["w"]}):
        message = refusal(tmp_path / f"a{ending}", **options)
        said = "file has no columns to choose from: leave out `--columns`, `--channels`, `--inputs` and `--covariates`"
        assert message.endswith(said)


@pytest.mark.parametrize("ending", TABLES)
def test_a_choice_from_a_table_of_ours(ending, tmp_path):
    """The whole table is still compared with its fingerprint; parameters are about the environments as they were."""
    states = np.arange(24.0).reshape(2, 2, 3, 2)
    data = Trajectories.from_arrays(range(3), states, parameters={"rate": [1, 2]}, attributes={"system": "none"})
    path = tmp_path / f"a{ending}"
    save(data, path)
    expected = Trajectories.from_arrays(
        range(3), states[..., 1:], channels=["x1"], parameters={"rate": [1, 2]}, attributes={"system": "none"}
    )
    assert_same(load(path, channels=["x1"]), expected)
    by_trajectory = load(path, columns={"environment": "environment+trajectory"}, channels=["x1"])
    assert by_trajectory.environments == ("e0 0", "e0 1", "e1 0", "e1 1")
    assert not by_trajectory.parameters
    if ending == ".csv":
        path.write_text(path.read_text().replace(",22,23", ",21,23"))
        assert load_fails_as_damaged(path)


def load_fails_as_damaged(path) -> bool:
    with pytest.raises(InputError, match="is damaged: its contents do not match the fingerprint"):
        load(path, channels=["x1"])
    return True
