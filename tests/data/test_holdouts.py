import numpy as np
import pytest

from leadax.data import Trajectories, folds, hold_out
from leadax.errors import InputError


def numbered(environments: int, trajectories: int, points: int) -> Trajectories:
    """Every value is different, so that nothing can be mixed up."""
    shape = (environments, trajectories, points, 1)
    return Trajectories.from_arrays(range(points), np.arange(np.prod(shape), dtype=float).reshape(shape))


def test_whole_trajectories_are_held_out_where_there_are_several():
    data = numbered(2, 5, 6)
    train, held = hold_out(data)
    np.testing.assert_array_equal(train.states, data.states[:, :4])
    np.testing.assert_array_equal(held.states, data.states[:, 4:])
    train, held = hold_out(data, 0.5)
    assert (train.states.shape[1], held.states.shape[1]) == (3, 2)


def test_ends_are_held_out_where_there_is_one_trajectory():
    data = numbered(2, 1, 20)
    train, held = hold_out(data, 0.2)
    np.testing.assert_array_equal(train.states, data.states[:, :, :16])
    assert held.lengths.tolist() == [[20], [20]]
    # The start is there to forecast from, the past does not count.
    np.testing.assert_array_equal(held.states[:, :, 0], data.states[:, :, 0])
    assert np.isnan(held.states[:, :, 1:16]).all()
    np.testing.assert_array_equal(held.states[:, :, 16:], data.states[:, :, 16:])


def test_ends_of_trajectories_that_start_late_keep_their_first_whole_state():
    states = np.ones((1, 1, 20, 2))
    states[0, 0, 0, 1] = np.nan
    _, held = hold_out(Trajectories.from_arrays(range(20), states), 0.2)
    assert np.isfinite(held.states[0, 0, 1]).all()
    assert np.isnan(held.states[0, 0, 2:16]).all()


@pytest.mark.parametrize(("points", "told"), [(20, 5), (8, 3)])
def test_ends_keep_the_points_that_a_forecast_is_told(points, told):
    """At most half of what is learnt from: of 8 points, 6 are learnt from."""
    data = numbered(2, 1, points)
    train, held = hold_out(data, 0.25, warmup=5)
    np.testing.assert_array_equal(held.states[:, :, :told], data.states[:, :, :told])
    assert np.isnan(held.states[:, :, told : train.lengths[0, 0]]).all()


def test_auto_leaves_few_data_alone():
    data = numbered(2, 3, 6)
    assert hold_out(data) == (data, None)
    assert hold_out(data, "none") == (data, None)
    assert hold_out(numbered(2, 1, 15))[1] is not None


@pytest.mark.parametrize("how", [0.0, 1.0, -0.2, "half", float("nan")])
def test_what_is_no_fraction_is_refused(how):
    with pytest.raises(InputError, match="fraction between 0 and 1"):
        hold_out(numbered(2, 5, 6), how)


def test_two_points_cannot_be_divided():
    with pytest.raises(InputError, match="two points"):
        hold_out(numbered(1, 1, 2), 0.5)
    with pytest.raises(InputError, match=r"leaves one of the 5 points .*: hold out a smaller part"):
        hold_out(numbered(1, 1, 5), 0.9)


def test_every_trajectory_is_held_out_once():
    data = numbered(2, 5, 4)
    parts = folds(data, 3)
    assert [held.counts.tolist() for _, held in parts] == [[2, 2], [2, 2], [1, 1]]
    first = lambda part: set(part.states[:, :, 0].ravel().tolist())
    assert set().union(*(first(held) for _, held in parts)) == first(data)
    assert all(not first(kept) & first(held) for kept, held in parts)


def test_no_more_folds_than_trajectories():
    assert len(folds(numbered(2, 2, 4), 3)) == 2
    ((past, future),) = folds(numbered(2, 1, 10), 3)
    assert past.times.shape[2] == 8
    assert np.isnan(future.states[:, :, 1:8]).all()
    with pytest.raises(InputError, match="at least two folds, got 1"):
        folds(numbered(2, 2, 4), 1)


def test_a_part_that_leaves_nothing_to_learn_from():
    with pytest.raises(InputError, match="holding out 75% of the trajectories leaves none of the 2 of env"):
        hold_out(numbered(2, 2, 9), 0.75)
