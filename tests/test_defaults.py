"""What is chosen from the data, and the paper's settings where they are asked for."""

import dataclasses
from functools import partial

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from tests.engine import decays, request_of

from leadax import (
    FNO,
    MLP,
    ConvNet,
    EmpiricalNorm,
    Frobenius,
    InputError,
    Latent,
    Leads,
    Linear,
    Omega,
    Sizes,
    SpectralNorm,
    System,
    Trajectories,
    Units,
    chosen_for,
    preset,
    simulate,
)
from leadax.data.units import Box
from leadax.nets import architecture
from leadax.penalties import Points
from leadax.train import Recipe
from leadax.train.request import chosen_defaults

DATA = decays()
FIELDS = Trajectories.from_arrays(range(3), np.random.default_rng(0).normal(size=(1, 1, 3, 12, 12, 1)))


def paper(alpha):
    return Omega(EmpiricalNorm(per_pixel=True), SpectralNorm(5, "matrix", include_factor=False), alpha)


@pytest.mark.parametrize(
    ("name", "net", "solver", "weight", "penalty", "batch_size"),
    [
        ("lotka-volterra", partial(MLP, init_std=0.05), "rk4-38", 1 / 5e3, paper(1e-2), None),
        ("gray-scott", partial(ConvNet, init_std=0.1, factor=1e-3), "rk4-38", 1 / 1e3, paper(1e-2), None),
        ("navier-stokes", partial(FNO, init_std=0.1), "euler", 1 / 1e5, paper(1e-4), 2),
        ("linear", Linear, "rk4-38", 1e-4, Frobenius(), None),
    ],
)
def test_presets_are_those_of_the_paper(name, net, solver, weight, penalty, batch_size):
    """In the units of the data, without anything that the paper did not have."""
    data = FIELDS if batch_size or name == "gray-scott" else DATA
    found, clean = preset(name, data, protocol="paper"), preset(name, data)
    method = found.complete(Leads(), Sizes(data.state_shape, 2))
    assert (method.net, method.solver, method.penalty) == (architecture(net), solver, penalty)
    assert (method.penalty_weight, method.kappa) == (weight, None)
    assert (found.batch_size, found.units) == (batch_size, Units.ones(len(data.channels)))
    assert (found.clip, found.box, found.longest_step) == (None, None, None)
    expected = penalty if name == "linear" else Omega(EmpiricalNorm(), SpectralNorm(), penalty.alpha)
    assert clean.penalty == expected
    with pytest.raises(InputError, match=f"`{name}` does not fit states of shape"):
        preset(name, DATA if data is FIELDS else FIELDS)


def test_unknown_names():
    with pytest.raises(InputError, match="unknown preset `linaer`: did you mean `linear`"):
        preset("linaer", DATA)
    with pytest.raises(InputError, match="unknown net `mpl`: did you mean `mlp`"):
        chosen_for(DATA, "mpl")
    assert chosen_for(DATA, "leadax.nets:Linear").net == architecture(Linear)


def test_chosen_from_the_data():
    found = chosen_for(DATA)
    assert (found.units, found.box) == (Units.measured(DATA), Box.around(DATA, Units.measured(DATA)))
    assert found.net == architecture(partial(MLP, degree=1))
    assert chosen_for(FIELDS).net == architecture(ConvNet)
    assert found.longest_step == pytest.approx(0.2)
    uneven = Trajectories.from_arrays([[[0.0, 1.0, 2.0, 9.0]], [[0.0, 1.0]]], [[np.zeros((4, 1))], [np.zeros((2, 1))]])
    assert chosen_for(uneven).longest_step == 1.0
    assert chosen_for(DATA, partial(MLP, width=3)).net == architecture(partial(MLP, width=3))


def test_the_name_of_a_system_decides_nothing():
    """Data of a system of one's own that is called `linear` are not data of the paper's linear system."""
    system = System(
        name="linear",
        channels=("v", "w"),
        times=np.linspace(0, 1, 4),
        environments={"slow": {"rate": 1.0}, "fast": {"rate": 2.0}},
        tangent=lambda x, p: -p["rate"] * x**2,
        initial_state=lambda key: jnp.array([1.0, 2.0]),
        solve=lambda x, p, times: jnp.stack([x / (1 + p["rate"] * x * t) for t in times]),
    )
    data = simulate(system, trajectories=1, key=jr.key(0))
    assert data.attributes["system"] == "linear"
    chosen = chosen_for(data)
    assert (chosen.net, chosen.solver) == (architecture(partial(MLP, degree=1)), "rk4")
    assert chosen == chosen_for(dataclasses.replace(data, attributes={}))


def test_a_finer_grid_makes_the_penalty_of_unknown_fields_no_larger():
    """The error is a mean over pixels: were Ω a sum, g_e would vanish from fine fields."""
    coarse = np.random.default_rng(0).normal(size=(1, 1, 5, 4, 4, 2))
    fine = coarse.repeat(4, axis=3).repeat(4, axis=4)

    def penalty(states):
        omega = chosen_for(Trajectories.from_arrays(np.arange(5.0), states)).penalty
        assert isinstance(omega, Omega)
        points = Points(jnp.zeros(5), jnp.asarray(states[0, 0]))
        return omega.norm(lambda t, x, u: jnp.tanh(x), points, jnp.ones(5), ())[0]

    np.testing.assert_allclose(penalty(fine), penalty(coarse), rtol=1e-12)


def test_the_same_data_are_looked_at_once():
    """Settings are chosen again for other data and other wishes, and for the same only if they cannot be compared."""
    first, other = decays(), decays(points=7)
    chosen = chosen_defaults(first, None, None, ())
    assert chosen_defaults(decays(), None, None, ()) is chosen
    assert chosen_defaults(other, None, None, ()).longest_step != chosen.longest_step
    assert chosen_defaults(first, None, Latent(hidden=1), ()).layout != chosen.layout
    assert chosen_defaults(first, dataclasses.replace(chosen, clip=0.5), None, ()).clip == 0.5
    without_hash = dataclasses.replace(chosen, clip=np.asarray(0.25))
    assert chosen_defaults(first, without_hash, None, ()).clip == 0.25


@pytest.mark.parametrize(
    ("data", "asked", "expected"),
    [
        (DATA, {}, ("adam", "cosine", 1e-3, None)),
        (FIELDS, {}, ("muon", "one-cycle", 1e-2, 1)),
        (FIELDS, {"optimiser": "adam"}, ("adam", "cosine", 1e-3, 1)),
        (
            FIELDS,
            {"optimiser": "muon", "recipe": Recipe(decay="constant", batch_size=3)},
            ("muon", "constant", 1e-2, 3),
        ),
        (DATA, {"optimiser": "muon"}, ("muon", "cosine", 1e-3, None)),
    ],
)
def test_fields_learn_in_few_large_steps_unless_asked_otherwise(data, asked, expected):
    request = request_of(data, **({"optimiser": None, "steps": None} | asked))
    config = request.with_steps(settled=False).config(Leads(), request.usual_rate)
    assert (config.optimiser, config.decay, config.learning_rate, config.batch_size) == expected
    assert config.steps == (1_000 if data is FIELDS else 12_000)
