"""Settings as JSON and back; names in registries."""

import functools
import json
import math

import jax.numpy as jnp
import numpy as np
import pytest
from tests.engine import tiny

from leadax import Leads
from leadax.describe import check_named, describe, restore
from leadax.errors import InputError
from leadax.methods import METHODS, ContextPenalty
from leadax.nets import FNO, MLP, NETS, ConvNet, Linear, architecture
from leadax.penalties import PENALTIES, EmpiricalNorm, Frobenius, NoPenalty, Omega, SpectralNorm
from leadax.registry import import_object, name_of


def again(setting, **using):
    """Through text, as in a file."""
    return restore(json.loads(json.dumps(describe(setting), allow_nan=False)), **using)


def test_methods_with_settings_of_their_own():
    own = {
        "leads": {"kappa": 0.3, "substeps": 3, "solver": "rk4-38", "penalty": Omega(alpha=0.25)},
        "coda": {"dimension": 5, "penalty": ContextPenalty(0.1, 0.2, 0.3), "penalty_weight": 0.5},
        "maml": {"inner_steps": 3, "first_share": 0.3, "inner_rate": 0.2, "first_order": True},
        "ft-rnn": {"width": 5, "rank": 4},
    }
    for name, build in METHODS.items():
        net = {} if name == "ft-rnn" else {"net": tiny}
        method = build(**net, **own.get(name, {}))
        assert again(method) == method, name
        assert again(build()) == build(), name
    assert describe(Leads())["type"] == "leads"


def test_penalties():
    for penalty in (
        NoPenalty(),
        Frobenius(include_factor=False),
        EmpiricalNorm(p=math.inf, epsilon=1e-3),
        Omega(EmpiricalNorm(3.0, relative=False, per_pixel=True), SpectralNorm(5, "matrix", include_factor=False), 0.2),
        Omega(EmpiricalNorm(1.0), Frobenius(), 0),
    ):
        assert again(Leads(penalty=penalty)).penalty == penalty
    assert {name_of(kind) for kind in PENALTIES.values()} == set(PENALTIES)


def test_nets():
    assert set(NETS) == {"mlp", "conv", "fno", "linear"}, "a new net needs a line here"
    for net in (
        MLP,
        functools.partial(functools.partial(MLP, width=5, depth=3), depth=2, factor=0.1),
        functools.partial(ConvNet, width=4, kernel_size=5),
        functools.partial(FNO, modes=2, grid_input=False),
        Linear,
    ):
        assert again(Leads(net=net)).net == architecture(net)


def test_architectures_are_equal_by_what_they_are():
    assert architecture(functools.partial(MLP, width=5)) == architecture(functools.partial(MLP, width=np.int64(5)))
    assert hash(architecture(functools.partial(MLP, width=5))) == hash(architecture(functools.partial(MLP, width=5)))
    assert architecture(functools.partial(MLP, width=5)) != architecture(functools.partial(MLP, width=6))
    outer = functools.partial(functools.partial(MLP, width=5), width=6)
    assert dict(architecture(outer).options) == {"width": 6}
    with pytest.raises(InputError, match="by name"):
        architecture(functools.partial(MLP, (2,)))
    with pytest.raises(InputError, match="class of nets"):
        architecture(7)


def test_arrays_and_numbers_of_numpy_are_numbers():
    assert describe({"a": np.float32(0.5), "b": jnp.arange(2), "c": -math.inf}) == {
        "mapping": {"a": 0.5, "b": [0, 1], "c": {"number": "-inf"}}
    }
    with pytest.raises(InputError, match="cannot be written"):
        describe(object())


def test_damaged_descriptions_are_refused():
    description = describe(Leads(net=tiny))
    with pytest.raises(InputError, match="`laeds` is not part of Leadax"):
        restore({**description, "type": "laeds"})
    with pytest.raises(InputError, match="cannot be made"):
        restore({**description, "colour": "blue"})
    with pytest.raises(InputError, match="lacks its type"):
        restore({"net": None})


def test_import_paths_that_users_type():
    assert METHODS.find("leads") is Leads
    assert METHODS.find("leadax.methods:Coda") is METHODS["coda"]
    for path, why in {
        "leadax.methods:Kodak": "has no `Kodak`",
        "no.such.module:Name": "cannot be imported",
        "leadax.nets:MLP": "is not a method",
        "leadax:__version__": "expected a class or function",
        "leadax.methods:": "has no ``",
        ":Leads": "is not an import path",
        "laeds": "did you mean `leads`",
    }.items():
        with pytest.raises(InputError, match=why):
            METHODS.find(path)
    assert import_object("leadax.nets:MLP.__call__") is MLP.__call__


def test_a_description_makes_no_other_classes():
    """A file may name any class that has been imported. Only methods, nets, penalties and the like are made."""
    for name in ("pathlib:Path", "subprocess:Popen", "builtins:dict"):
        with pytest.raises(InputError, match="is not part of Leadax"):
            restore({"type": name})


def test_what_has_no_name_is_not_written():
    """All lambdas of a module have the same name: a run could not tell one from another."""
    with pytest.raises(InputError, match="without a name of its own"):
        check_named(describe(Leads(net=lambda shape, *, key, inputs=0: Linear(shape, key=key))), "the model")
    check_named(describe(Leads(net=functools.partial(MLP, width=3))), "the model")
