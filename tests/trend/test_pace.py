"""Trajectories with intervals of their own take steps of their own."""

import numpy as np
import pytest

from leadax.trend.pace import steps_through


@pytest.fixture
def gaps():
    rng = np.random.default_rng(0)
    found = rng.gamma(0.4, 2.5, (50, 40))
    found[rng.random(found.shape) < 0.1] = 0
    return found


def test_every_interval_is_gone_through_once_and_in_order(gaps):
    entered, left, total = [[] for _ in gaps], [[] for _ in gaps], np.zeros(gaps.shape)
    for step in steps_through(gaps, 0.7):
        assert np.all(step.gap <= 0.7 + 1e-5)
        np.add.at(total, (np.arange(len(gaps)), step.interval), step.gap[:, 0])
        for place, found in ((step.enters, entered), (step.leaves, left)):
            for row in np.flatnonzero(place):
                found[row].append(int(step.interval[row]))
    assert total == pytest.approx(gaps)
    assert entered == left == [np.flatnonzero(row).tolist() for row in gaps]


def test_there_are_no_more_steps_than_the_slowest_trajectory_needs(gaps):
    assert sum(1 for _ in steps_through(gaps, 0.7)) == np.ceil(gaps / 0.7).sum(axis=1).max()
    assert list(steps_through(np.zeros((3, 0)), 1.0)) == []


def test_inputs_are_lines_along_an_interval():
    first, last = np.array([[[1.0], [5.0]]]), np.array([[[3.0], [5.0]]])
    ends = [step.between(first, last) for step in steps_through(np.array([[1.0, 0.5]]), 0.5)]
    assert [[float(side[0, 0]) for side in pair] for pair in ends] == [[1, 2], [2, 3], [5, 5]]
