"""The sentence that says which method to use."""

import numpy as np
import pytest
from scipy.stats import binomtest, ttest_1samp

from leadax import Evaluation, InputError
from leadax.choose import verdict
from leadax.choose.paired import chance


def evaluation(errors, factors=(1.0, 1.0)):
    """One environment, one point in time, these errors of its trajectories; those of each seed times its factor."""
    sums = np.multiply.outer(np.asarray(factors), np.asarray(errors, float))[:, None, :, None, None]
    return Evaluation(sums, np.ones(sums.shape[1:]), ("e",), "clean", ("x",), np.ones(1), np.ones(1))


def test_a_clear_winner():
    good, bad = np.linspace(1, 2, 20), np.linspace(2, 4, 20)
    text = verdict({"bad": evaluation(bad), "good": evaluation(good)})
    assert text.startswith("Use `good`: the error of `bad` is 2 times as large, and `good` is better on 20 of 20")
    assert "less than 1e-6" in text


def test_too_close_to_call():
    """Half of the trajectories each: the mean alone says little."""
    other = np.where(np.arange(20) < 10, 0.5, 1.8)
    text = verdict({"one": evaluation(np.ones(20)), "other": evaluation(other)})
    assert text.startswith("`one` has the smallest error, but `other` may be as good")
    assert "10 of 20" in text


def test_the_best_on_average_may_lose_most_trajectories():
    """A sign test that counts both sides would call 2 wins of 20 significant, for the wrong method."""
    best, rival = np.ones(20), np.where(np.arange(20) < 2, 99.0, 0.9)
    text = verdict({"best": evaluation(best), "rival": evaluation(rival)})
    assert "`rival` may be as good" in text
    assert "2 of 20" in text
    assert "(probability 0.55)" in text


@pytest.mark.parametrize("error", [0.0, 1.0])
def test_errors_that_are_the_same_everywhere(error):
    same = evaluation(np.full(8, error))
    text = verdict({"a": same, "b": same, "c": evaluation(np.full(8, error + 1))})
    assert text == f"`a` and `b` have the same error ({error:g}) on every test trajectory: use the simplest of them."


def test_errors_that_are_the_same_on_average():
    text = verdict({"a": evaluation([1.0, 2.0]), "b": evaluation([2.0, 1.0])})
    assert "the error of `b` is the same, and `a` is better on 1 of 2 test trajectories" in text


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (1.00001, "is less than 0.1 % larger"),
        (1.03, "is 3 % larger"),
        (1.5, "is 1.5 times as large"),
        (120.0, "is 120 times as large"),
        (1.2e9, "is 1e+09 times as large"),
        (np.inf, "is not finite"),
    ],
)
def test_how_much_larger(error, words):
    assert f"the error of `b` {words}," in verdict({"a": evaluation(np.ones(9)), "b": evaluation(np.full(9, error))})


def test_a_method_without_any_error():
    text = verdict({"a": evaluation(np.zeros(9)), "b": evaluation(np.full(9, 0.25))})
    assert text.startswith("Use `a`: `a` makes no error, and that of `b` is 0.25, and `a` is better on 9 of 9")


def test_few_trajectories_prove_little():
    """Five wins of five have a probability of 1/16, and this is the better of two tests."""
    text = verdict({"a": evaluation(np.ones(5)), "b": evaluation([1.001, 1.001, 1.001, 1.001, 50.0])})
    assert "may be as good" in text
    assert "0.12" in text


def test_few_that_agree_prove_something():
    """Three times as large, give or take little, on four of four."""
    text = verdict({"a": evaluation(np.ones(4)), "b": evaluation([3.0, 3.5, 2.5, 3.0])})
    assert text.startswith("Use `a`")


def test_a_difference_is_proved_by_counts_or_by_factors():
    """Against SciPy's answers. A single wild factor hides the others from the t-test, not from the sign test."""
    ones, factors = np.ones(9), np.array([1.1, 1.2, 1.3, 1.1, 1.2, 1.3, 1.1, 1.2, 1e300])
    assert chance(ones, factors) == pytest.approx(2 * binomtest(9, 9).pvalue)
    factors = np.array([2.0, 3.0, 0.9, 2.5])
    assert chance(ones[:4], factors) == pytest.approx(2 * ttest_1samp(np.log(factors), 0).pvalue)
    assert chance(ones[:4], [np.nan, np.inf, 2.0, 3.0]) < 1
    assert chance(factors, ones[:4]) == 1


def test_forecasts_that_blew_up_lose():
    wild = evaluation([np.nan] * 12)
    assert verdict({"wild": wild, "tame": evaluation(np.ones(12))}).startswith("Use `tame`")
    assert verdict({"wild": wild, "too": wild}).startswith("No method can be recommended")


def test_no_method_or_one():
    assert verdict({"a": evaluation([1.0])}).startswith("Only `a`")
    with pytest.raises(InputError, match="nothing to compare"):
        verdict({})


@pytest.mark.parametrize("count", [1, 5000])
def test_one_or_very_many_trajectories(count):
    text = verdict({"a": evaluation(np.ones(count)), "b": evaluation(2 * np.ones(count))})
    assert ("less than 1e-6" in text) == (count == 5000)


def test_the_numbers_are_those_of_the_method_they_are_about():
    """A clearly worse second, and a third that wins half of the trajectories but loses the others by much."""
    third = np.where(np.arange(20) < 10, 0.5, 9.0)
    text = verdict({"best": evaluation(np.ones(20)), "next": evaluation(2 * np.ones(20)), "third": evaluation(third)})
    assert "`third` may be as good: the error of `third`" in text
    assert "10 of 20" in text


def test_one_seed_is_no_proof():
    good, bad = evaluation(np.ones(20), [1.0]), evaluation(2 * np.ones(20), [1.0])
    text = verdict({"bad": bad, "good": good})
    assert text.startswith("`good` has the smallest error")
    assert "train several" in text


def test_a_difference_that_seeds_explain():
    """All trajectories are won, by the mean over seeds; but one seed of the other is as good."""
    text = verdict({"a": evaluation(np.ones(20)), "b": evaluation(np.ones(20), [0.9, 1.5])})
    assert text.startswith("`a` has the smallest error, but `b` may be as good")
    assert "More seeds would tell" in text


def test_a_yardstick_that_nothing_beats_is_named():
    """Nobody should use a model where a mean curve does as well."""
    good, bad = np.linspace(1, 2, 20), np.linspace(2, 4, 20)
    text = verdict({"leads": evaluation(bad), "other": evaluation(2 * bad)}, {"mean curve": evaluation(good, [1.0])})
    assert text.startswith("No method beats the simple forecast `mean curve`: the error of `leads`, the best of them, ")
    assert "smallest" not in text
    assert "of `leads` is 2 times" in verdict({"leads": evaluation(bad)}, {"mean": evaluation(good, [1.0])})
    tie = verdict({"leads": evaluation(good)}, {"mean": evaluation(good[::-1] + 0.01, [1.0])})
    assert "The simple forecast `mean` may be as good" in tie


def test_a_yardstick_that_is_right_on_half_and_far_off_on_the_others():
    half = np.where(np.arange(16) < 8, 0.0, 1e4)
    text = verdict({"leads": evaluation(np.ones(16))}, {"linear": evaluation(half, [1.0])})
    assert "`linear` is better on 8 of 16 test trajectories, but the error of `linear` is 5,000 times as large" in text
    assert "as good" not in text


def test_ties_and_what_diverged_are_told():
    rival = np.where(np.arange(20) < 3, 1.0, 2.0)
    text = verdict({"a": evaluation(np.ones(20)), "b": evaluation(rival)})
    assert "better on 17 of 20 test trajectories, with 3 ties" in text
    wild = evaluation(np.where(np.arange(20) < 2, 1e9, 1.0))
    assert verdict({"a": wild, "b": evaluation(np.full(20, 1e9))}).endswith("Of the forecasts of `a`, 2 diverged.")


def test_yardsticks_that_are_beaten_are_not_mentioned():
    good, bad = np.linspace(1, 2, 20), np.linspace(2, 4, 20)
    alone = verdict({"leads": evaluation(good), "other": evaluation(bad)})
    assert verdict({"leads": evaluation(good), "other": evaluation(bad)}, {"mean": evaluation(2 * bad, [1.0])}) == alone


def test_methods_are_compared_by_normalised_errors():
    """A channel in small units counts as much as one in large units."""
    both = lambda small, large: Evaluation(
        np.tile(np.array([small, large]), (2, 1, 9, 1, 1)),
        np.ones((1, 9, 1, 2)),
        ("e",),
        "clean",
        ("x", "y"),
        np.array([1e-4, 1e4]),
        np.ones(2),
    )
    text = verdict({"small": both(1e-5, 2e3), "large": both(1e-4, 1e3)})
    assert text.startswith("Use `small`")
