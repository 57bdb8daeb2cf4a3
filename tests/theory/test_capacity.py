import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadax import InputError
from leadax.theory import LinearMaps, Networks

sizes = st.floats(1e-3, 1e3)


def test_linear_by_hand():
    # 3 · 2 · 2 · (2 · 0.5)² / 2² = 3, times log 8
    assert LinearMaps(r=3, b=0.5, c=2, d=2).log_capacity(2.0) == pytest.approx(3 * math.log(8))
    # Just above a whole number the ceiling goes up by one.
    assert LinearMaps(r=3.001, b=0.5, c=2, d=2).log_capacity(2.0) == pytest.approx(4 * math.log(8))
    assert LinearMaps(r=0, b=1, c=1, d=3).log_capacity(1.0) == 0


def test_networks_by_hand():
    # 2 · 5 · log(8e · 2 · 3 · 0.5 · 2 / 4) = 10 · (1 + log 12)
    assert Networks(R=0.5, L=2, W=5, D=3, c=4).log_capacity(4.0 - 1e-12) == pytest.approx(10 * (1 + math.log(12)))
    assert Networks(R=1, L=1e-9, W=5, D=3, c=4).log_capacity(1.0) == 0, "never less than one ball"


@given(r=sizes, alpha=sizes, scale=st.floats(1.01, 10))
def test_networks_from_a_penalty(r, alpha, scale):
    space = Networks.from_penalty(r, alpha=alpha, W=7, D=2, c=1.0)
    np.testing.assert_allclose([space.R, space.L], [r**0.5, (r / alpha) ** 0.5])
    epsilon = space.largest_epsilon / 10
    expected = 14 * math.log(8 * math.e * 2 * r / (epsilon * math.sqrt(alpha)))
    assert space.log_capacity(epsilon) == pytest.approx(max(0.0, expected))
    assert Networks.from_penalty(r * scale, alpha=alpha, W=7, D=2, c=1.0).log_capacity(epsilon) >= space.log_capacity(
        epsilon
    )


@given(r=sizes, epsilon=sizes, scale=st.floats(1, 10))
def test_linear_grows_with_r_and_falls_with_epsilon(r, epsilon, scale):
    capacity = LinearMaps(r=r, b=1, c=1, d=8).log_capacity
    assert (
        LinearMaps(r=scale * r, b=1, c=1, d=8).log_capacity(epsilon) >= capacity(epsilon) >= capacity(scale * epsilon)
    )


@pytest.mark.parametrize(
    ("build", "what"),
    [
        (lambda: LinearMaps(r=-1, b=1, c=1, d=2), "`r` must be zero or a positive number, got -1"),
        (lambda: LinearMaps(r=1, b=0, c=1, d=2), "`b` must be a positive number, got 0"),
        (lambda: LinearMaps(r=1, b=1, c=math.nan, d=2), "`c` must be a positive number, got nan"),
        (lambda: LinearMaps(r=1, b=1, c=1, d=0), "`d` must be a whole number"),
        (lambda: Networks(R=1, L=1, W=1, D=1, c=1).log_capacity(4.0), "`epsilon` must be below 4·√c·R = 4"),
        (lambda: Networks.from_penalty(1, alpha=0, W=1, D=1, c=1), "`alpha` must be a positive number"),
    ],
)
def test_outside_the_domain(build, what):
    with pytest.raises(InputError) as error:
        build()
    assert what in str(error.value)
    assert "\n" not in str(error.value)
