"""Sample sizes (Props 2, 3) and the bound of the linear case (Prop. 5)."""

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from leadax import InputError
from leadax.theory import LinearMaps, Networks, error_bound, samples, samples_novel, smallest_error

PROBLEM = {"b": 5.0, "c": 40.0, "d": 8}
LARGE = Networks(R=1, L=9, W=10**6, D=4, c=1)
norms = st.floats(1e-3, 1e2)
environments = st.integers(1, 50)


def linear(r: float) -> LinearMaps:
    return LinearMaps(r=r, **PROBLEM)


def test_prop_2_by_hand():
    # b = 1/32, c = 1, d = 1: capacity ⌈r/(ε₁/16)² · (2/32)²⌉ log 2 = ⌈r/ε₁²⌉ log 2; at ε₁ = ε₂ = 1, r′ = 3, r = 2:
    # 64/4 · ((log(4/δ) + 3 log 2)/2 + 2 log 2) with δ = 1/2: 16 · (3 log 2 + 3 log 2 + 4 log 2)/2 = 80 log 2 = 55.45
    space = lambda r: LinearMaps(r=r, b=1 / 32, c=1, d=1)
    found = samples(space(3), space(2), epsilon=2.0, m=2, delta=0.5, z=0.5)
    assert found.n == 56
    assert (found.shared, found.specific) == pytest.approx((3 * math.log(2), 2 * math.log(2)))
    # Nothing to learn and any number of environments: 16/ε² is left.
    assert samples(space(0), space(0), epsilon=0.5, m=10**9, z=0.5).n == 64


def test_prop_3_by_hand():
    # 64/0.25 · (log 8 + ⌈2 · 4/4⌉ log 2) = 256 · 5 · log 2 = 887.2, with b such that r·c·d·(32b)²/ε² = 2
    space = LinearMaps(r=0.5, b=1 / 32, c=1, d=1)
    assert samples_novel(space, epsilon=0.5, delta=0.5).n == 888
    assert samples_novel(linear(0.2), epsilon=0.5).n < samples(linear(2.0), linear(0.2), epsilon=0.5, m=1).n


def test_prop_5_by_hand():
    # p = 64/64 · log(4/δ) = log 8; q = ⌈(r′/z² + r/(1−z)²)/4⌉ log 2 = ⌈(4 + 8)/4⌉ log 2 = 3 log 2 at z = ½, m = 1
    found = error_bound(m=1, n=64, r=2, r_shared=1, b=1 / 64, c=1, d=1, delta=0.5, z=0.5)
    p = q = 3 * math.log(2)
    assert (found.p, found.q) == pytest.approx((p, q))
    assert found.epsilon == pytest.approx(math.sqrt((p + math.sqrt(p**2 + 4 * q)) / 2))
    nothing = error_bound(m=10**9, n=64, r=0, r_shared=0, b=1, c=1, d=1)
    assert nothing.epsilon == 0.5, "√(16/n) is left"


@settings(max_examples=50, deadline=None)
@given(r=norms, r_shared=norms, m=environments, epsilon=st.floats(0.1, 3.0), z=st.floats(0.05, 0.95))
def test_n_of_prop_2_gives_epsilon_back(r, r_shared, m, epsilon, z):
    n = samples(linear(r_shared), linear(r), epsilon=epsilon, m=m, z=z).n
    back = error_bound(m=m, n=n, r=r, r_shared=r_shared, **PROBLEM, z=z).epsilon
    # Two ceilings of capacities and that of n separate them; here they count almost a thousand or more.
    assert back == pytest.approx(epsilon, rel=1e-3)


@given(r=norms, r_shared=norms, m=environments, n=st.integers(1, 10**6), scale=st.floats(1, 10))
def test_the_bound_is_monotone(r, r_shared, m, n, scale):
    bound = lambda **other: error_bound(**{"m": m, "n": n, "r": r, "r_shared": r_shared, **PROBLEM, **other}).epsilon
    here = bound() * (1 - 1e-12)
    assert bound(m=m + 1) <= bound()
    assert bound(n=n + 1) <= bound()
    assert bound(r=scale * r) >= here
    assert bound(r_shared=scale * r_shared) >= here


@example(r=0.01, r_shared=0.5, m=50, z=0.5)  # the best z itself, where both ways to say so end at a whole number
@given(r=norms, r_shared=norms, m=environments, z=st.floats(0.01, 0.99))
def test_no_other_z_gives_a_smaller_bound(r, r_shared, m, z):
    arguments = {"m": m, "n": 40, "r": r, "r_shared": r_shared, **PROBLEM}
    assert error_bound(**arguments).epsilon <= error_bound(**arguments, z=z).epsilon * (1 + 1e-12)


@settings(max_examples=30, deadline=None)
@given(r=norms, r_shared=norms, m=environments, z=st.floats(0.01, 0.99))
def test_no_other_split_needs_fewer_samples(r, r_shared, m, z):
    needed = lambda **split: samples(linear(r_shared), linear(r), epsilon=10.0, m=m, **split).n
    # Up to the ceilings, which make it flat in places.
    assert needed() <= needed(z=z) * (1 + 1e-4)


@settings(max_examples=30, deadline=None)
@given(m=environments, R=norms, L=norms, scale=st.floats(1, 10))
def test_samples_of_networks_are_monotone(m, R, L, scale):
    space = lambda R, L: Networks(R=R, L=L, W=100, D=4, c=1.0)
    needed = lambda m, specific: samples(space(scale * R, L), specific, epsilon=R, m=m).n
    assert needed(m + 1, space(R, L)) <= needed(m, space(R, L)) <= needed(m, space(scale * R, scale * L))


@pytest.mark.parametrize("m", [1, 8])
def test_smallest_error_agrees_with_prop_5(m):
    found = smallest_error(linear(1.75), linear(0.2), m=m, n=40)
    assert found == pytest.approx(error_bound(m=m, n=40, r=0.2, r_shared=1.75, **PROBLEM).epsilon, rel=1e-3)


@pytest.mark.parametrize(
    ("build", "what"),
    [
        (lambda: samples(linear(1), linear(1), epsilon=0, m=1), "`epsilon` must be a number above 1e-50, got 0"),
        (lambda: samples(linear(1), linear(1), epsilon=1, m=0), "`m` must be a whole number of at least 1, got 0"),
        (lambda: samples(linear(1), linear(1), epsilon=1, m=1, z=1.0), "`z` must be between 0 and 1, got 1"),
        (lambda: samples(linear(1), linear(1), epsilon=1, m=1, delta=1), "`delta` must be between 0 and 1"),
        (lambda: samples(linear(1), linear(1), epsilon=1e-170, m=1), "`epsilon` must be a number above 1e-50"),
        (lambda: samples_novel(linear(1), epsilon=1.5), "`epsilon` must be between 0 and 1, got 1.5"),
        (lambda: error_bound(m=1, n=1.5, r=1, r_shared=1, **PROBLEM), "`n` must be a whole number"),
        (lambda: error_bound(m=1, n=1, r=-1, r_shared=1, **PROBLEM), "`r` must be zero or a positive number"),
        (
            lambda: smallest_error(*[Networks(R=1, L=9, W=10**6, D=4, c=1)] * 2, m=1, n=10),
            "`n` = 10 samples are too few for any bound",
        ),
    ],
)
def test_outside_the_domain(build, what):
    with pytest.raises(InputError) as error:
        build()
    assert what in str(error.value)
    assert "\n" not in str(error.value)
