"""Methods as JSON and back."""

import functools
import json
import math

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from tests.engine import LEADS, decays, tiny

from leadax.describe import describe_method, method_from, scaled
from leadax.errors import InputError
from leadax.experiments import settings_for
from leadax.methods import METHODS, ContextPenalty, Leads
from leadax.nets import FNO, MLP, NETS, ConvNet, Linear, Scaled, measure
from leadax.penalty import EmpiricalNorm, Frobenius, Omega, SpectralNorm

DATA = decays()
SCALES = measure(DATA.states, DATA.times)


def again(method, **own):
    """Through text, as in a file."""
    return method_from(json.loads(json.dumps(describe_method(method), allow_nan=False)), **own)


def structure(net, state_shape=(2,)):
    """Names, shapes and types of all that a net is made of."""
    shapes = jax.eval_shape(lambda key: net(state_shape, key=key), jr.key(0))
    leaves, _ = jax.tree_util.tree_flatten_with_path(shapes)
    return type(shapes), [(jax.tree_util.keystr(place), leaf.shape, leaf.dtype) for place, leaf in leaves]


@pytest.mark.parametrize("name", METHODS)
def test_methods(name):
    penalty = ContextPenalty(0.1, 0.2, 0.3) if name == "coda" else LEADS.penalty
    own = {"coda": {"dimension": 5}, "maml": {"inner_steps": 3, "first_share": 0.3}, "ft-rnn": {"width": 5, "rank": 4}}
    method = METHODS[name](net=tiny, solver="rk4-38", substeps=3, penalty=penalty, **own.get(name, {}))
    found = again(method)
    assert type(found) is type(method)
    assert (found.solver, found.substeps, found.penalty) == ("rk4-38", 3, penalty)
    assert all(getattr(found, setting) == value for setting, value in own.get(name, {}).items())
    assert found.penalty_weight == method.penalty_weight
    assert describe_method(found) == describe_method(method)


@pytest.mark.parametrize(
    "penalty",
    [
        None,
        Frobenius(include_factor=False),
        EmpiricalNorm(p=math.inf, epsilon=1e-3),
        Omega(EmpiricalNorm(3, relative=False, per_pixel=True), SpectralNorm(5, "matrix", include_factor=False), 0.25),
        Omega(EmpiricalNorm(1), Frobenius(), 0),
    ],
    ids=str,
)
def test_penalties(penalty):
    assert again(Leads(net=tiny, penalty=penalty)).penalty == penalty


@pytest.mark.parametrize(
    ("net", "state_shape"),
    [
        (MLP, (3,)),
        (functools.partial(functools.partial(MLP, width=5, depth=3), depth=2, factor=0.1), (3,)),
        (functools.partial(ConvNet, width=4, kernel_size=5), (8, 2)),
        (functools.partial(FNO, modes=2, grid_input=False), (8, 8, 1)),
        (Linear, (4,)),
        (scaled(functools.partial(MLP, width=5), SCALES), (2,)),
        (settings_for(DATA).net, (2,)),
    ],
    ids=["mlp", "partial of partial", "conv", "fno", "linear", "scaled", "chosen from data"],
)
def test_nets(net, state_shape):
    assert set(NETS) == {"mlp", "conv", "fno", "linear"}, "a new net needs a line here"
    once = again(Leads(net=net))
    assert structure(once.net, state_shape) == structure(net, state_shape)
    # A model that was loaded may be saved again.
    assert describe_method(once) == describe_method(Leads(net=net))
    assert structure(again(once).net, state_shape) == structure(net, state_shape)


def test_options_of_the_outer_partial_win():
    outer = functools.partial(functools.partial(MLP, width=5), width=6)
    assert describe_method(Leads(net=outer))["net"] == {"name": "mlp", "options": {"width": 6}, "scaled": False}


def test_numbers_of_numpy_are_numbers():
    method = Leads(net=functools.partial(MLP, width=np.int64(4), init_std=np.float32(0.5)))
    assert json.loads(json.dumps(describe_method(method)))["net"]["options"] == {"width": 4, "init_std": 0.5}


class Own(MLP):
    """An architecture that Leadax does not know."""


def test_a_net_of_your_own_is_asked_for():
    method = Leads(net=functools.partial(Own, activation=jnp.tanh))
    with pytest.raises(InputError, match=r"Own` is not one of mlp, conv, fno, linear: .*net=MyNet"):
        again(method)
    assert again(method, net=Own).net is Own


def test_a_scaled_net_of_your_own():
    method = Leads(net=scaled(Own, SCALES))
    for own in (Own, scaled(Own, SCALES)):
        found = structure(again(method, net=own).net)
        assert found == structure(method.net)
        assert found[0] is Scaled


def test_nothing_chosen_yet():
    assert describe_method(Leads())["net"] is None


def test_refuses_what_it_does_not_know():
    description = describe_method(LEADS)
    with pytest.raises(InputError, match="unknown method `laeds`: did you mean `leads`"):
        method_from({**description, "name": "laeds"})
    with pytest.raises(InputError, match="unknown penalty `Omga`: did you mean `Omega`"):
        method_from({**description, "penalty": {"type": "Omga"}})
