import dataclasses

import numpy as np
import pytest

from leadax import InputError, Leads, OneForAll, Trajectories, chosen_for, preset
from leadax.data.units import Box, Units
from leadax.defaults import median_gap
from leadax.methods import FtRnn, Sizes
from leadax.nets import MLP, ConvNet, Linear

RNG = np.random.default_rng(0)
VECTOR = Trajectories.from_arrays([0.0, 1.0, 2.0, 10.0], 3 + RNG.standard_normal((2, 1, 4, 2)))
FIELD = Trajectories.from_arrays(range(4), RNG.standard_normal((2, 1, 4, 8, 8, 1)))


def complete(method, data=VECTOR, **how):
    return chosen_for(data, **how).complete(method, Sizes(data.state_shape, 2))


def test_what_a_method_leaves_open_is_chosen_from_the_data():
    found = complete(Leads())
    assert (found.net.build, found.solver, found.kappa, found.penalty_weight) == (MLP, "rk4", 0.1, None)
    assert complete(Leads(), FIELD).net.build is ConvNet
    assert complete(OneForAll()).net.build is MLP
    assert complete(FtRnn()).rank > 1


def test_what_a_method_says_stands():
    assert complete(Leads(net=Linear, solver="euler")).net.build is Linear
    # One weight of Ω is enough: the other is not filled in beside it.
    assert complete(Leads(penalty_weight=0.5)).kappa is None
    assert complete(Leads(kappa=0.5)).penalty_weight is None
    assert complete(Leads(penalty_weight=0)).regulariser() is None
    with pytest.raises(InputError, match="not both"):
        Leads(penalty_weight=1, kappa=1)


def test_the_name_of_a_system_decides_nothing():
    named = dataclasses.replace(VECTOR, attributes={"system": "linear", "protocol": "paper"})
    assert chosen_for(named) == chosen_for(VECTOR)


def test_presets_are_in_the_units_of_the_data_and_have_the_papers_weights():
    found = preset("lotka-volterra", VECTOR, protocol="paper")
    assert (found.units, found.box, found.clip, found.longest_step) == (Units.ones(2), None, None, None)
    assert (found.solver, found.penalty_weight, found.penalty.alpha) == ("rk4-38", 1 / 5e3, 1e-2)
    assert found.penalty.lipschitz.iterations == 5
    assert preset("lotka-volterra", VECTOR).penalty.lipschitz.iterations == 1
    with pytest.raises(InputError, match="does not fit"):
        preset("gray-scott", VECTOR)
    with pytest.raises(InputError, match="did you mean `lotka-volterra`"):
        preset("lotka-voltera", VECTOR)


def test_steps_are_no_longer_than_the_median_gap():
    assert median_gap(VECTOR) == 1.0
    assert chosen_for(VECTOR).longest_step == 1.0


def test_the_box_is_three_times_as_wide_as_the_data():
    data = Trajectories.from_arrays(range(3), np.array([1.0, 3.0, 2.0])[None, None, :, None])
    box = Box.around(data, Units((2.0,), (0.5,)))
    assert box == Box((-6.0,), (6.0,))
    assert box.union(Box((-1.0,), (9.0,))) == Box((-6.0,), (9.0,))
    with pytest.raises(InputError, match="box"):
        Box((1.0,), (0.0,))
