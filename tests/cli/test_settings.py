"""Settings as they are typed become those of a method; which there are, the method itself says."""

import numpy as np
import pytest

import leadax as lx
from leadax import InputError
from leadax.cli.options import Training
from leadax.cli.settings import Plan, check_used
from leadax.defaults import chosen_for
from leadax.methods import METHODS
from leadax.penalties import Frobenius


def built(place, method, *, skip=False, **options):
    data = lx.load(place / "train.csv")
    return Training(**options).arguments(method, data, skip=skip)["method"]


@pytest.mark.parametrize(
    ("method", "options", "field", "value"),
    [
        ("leads", {"penalty_weight": 0.1}, "penalty_weight", 0.1),
        ("leads", {"kappa": 0.3}, "kappa", 0.3),
        ("leads", {"penalty": "frobenius"}, "penalty", Frobenius()),
        ("leads", {"solver": "heun", "substeps": 3}, "substeps", 3),
        ("leads", {"set": ("solver=heun",)}, "solver", "heun"),
        ("coda", {"dimension": 5}, "dimension", 5),
        ("coda", {"set": ("direction_std=1",)}, "direction_std", 1.0),
        ("ft-node", {"rank": 4}, "rank", 4),
        ("ft-rnn", {"set": ("width=6,rank=none",)}, "width", 6),
        ("maml", {"set": ("inner_steps=2", "first-order=true")}, "first_order", True),
        ("maml", {"set": ("inner_rate=0.1,first_share=0.25",)}, "first_share", 0.25),
        ("mine:Mine", {"set": ("scale=2",)}, "scale", 2.0),
        ("mine:Demanding", {"set": ("size=2",)}, "size", 2),
        ("mine:thorough", {"kappa": 0.5}, "substeps", 2),
        ("leads", {"net": "mine:SMALL"}, "net", lx.nets.architecture(lx.nets.NETS["linear"]).__class__),
    ],
)
def test_a_setting_arrives(place, method, options, field, value):
    found = getattr(built(place, method, **options), field)
    assert found == value or (isinstance(value, type) and isinstance(found, value))
    assert type(found) is type(value) or isinstance(value, type)


@pytest.mark.parametrize(
    ("method", "options", "words"),
    [
        ("one-for-all", {"penalty_weight": 1.0}, "`one-for-all` has no setting `penalty_weight`; it has net, solver,"),
        ("leads", {"dimension": 2}, "`leads` has no setting `dimension`"),
        ("leads", {"set": ("inner_steps=2",)}, "`leads` has no setting `inner_steps`"),
        ("ft-rnn", {"solver": "rk4"}, "`ft-rnn` has no setting `solver`; it has width, rank"),
        ("ft-rnn", {"net": "mlp"}, "`ft-rnn` has no setting `net`"),
        ("leads-no-min", {"penalty_weight": 1.0}, "has settled on `penalty_weight` = 0"),
        ("leads-no-min", {"kappa": 1.0}, "`leads-no-min` has no penalty, and `kappa` means nothing for it"),
        ("leads-no-min", {"lipschitz_weight": 1.0}, "has the weight 0: leave out `--lipschitz-weight`"),
        ("gbml", {"lipschitz_weight": 1.0}, "`gbml` has no penalty: leave out `--lipschitz-weight`"),
        ("coda", {"lipschitz_weight": 1.0}, "ContextPenalty, has no Lipschitz part"),
        ("coda", {"penalty": "frobenius"}, "`coda` has a penalty of its own"),
        ("leads", {"penalty": "frobenius", "lipschitz_weight": 1.0}, "Frobenius, has no Lipschitz part"),
    ],
)
def test_a_setting_that_a_method_does_not_have(place, method, options, words):
    """It is refused; where there are several methods, it is left out for this one."""
    with pytest.raises(InputError) as error:
        built(place, method, **options)
    assert words in str(error.value)
    assert built(place, method, skip=True, **options) == built(place, method, penalty=None) or "penalty" in options


@pytest.mark.parametrize(
    ("method", "options", "words"),
    [
        ("maml", {"set": ("inner_steps=many",)}, "`inner_steps` must be of type int, got `many`"),
        ("maml", {"set": ("first_order=2",)}, "`first_order` must be of type bool, got `2`"),
        ("maml", {"set": ("inner_steps",)}, "`--set` must be NAME=VALUE, got `inner_steps`"),
        ("maml", {"set": ("inner_steps=2,inner-steps=3",)}, "`--set` has `inner_steps` twice: 2 and 3"),
        ("maml", {"solver": "rk4", "set": ("solver=heun",)}, "given twice: by `--solver` and by `--set`"),
        ("maml", {"set": ("inner_steps=99999999999999999999",)}, "`inner_steps` must be a whole number from 1"),
        ("leads", {"penalty_weight": -1.0}, "must be zero or a positive number, got -1"),
        ("leads", {"penalty_weight": 1.0, "kappa": 1.0}, "not both"),
        ("leads", {"lipschitz_weight": float("nan")}, "must be zero or a positive number, got nan"),
        ("leads", {"preset": "gray-scott"}, "the preset `gray-scott` does not fit"),
        ("mine:Demanding", {}, "missing a required"),
        ("mine:NUMBER", {}, "expected a class or function of a method"),
        ("mine:DECAY", {}, "expected a class or function of a method"),
        ("mine:Half", {}, "`mine:Half` is not a method"),
        ("mine:decay", {}, "cannot be called without arguments"),
        ("mine:nothing", {}, "module `mine` has no `nothing`"),
        ("nowhere:Mine", {}, "cannot be imported: No module named 'nowhere'"),
        ("leads", {"penalty": "mine:Mine"}, "`mine:Mine` is not a penalty"),
        ("leads", {"net": "mine:Half"}, "`mine:Half` is not a net"),
    ],
)
def test_a_value_that_cannot_be(place, method, options, words):
    with pytest.raises(InputError) as error:
        built(place, method, **options)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_the_weight_of_the_lipschitz_part(place):
    assert built(place, "leads", lipschitz_weight=0.7).penalty.alpha == 0.7
    assert built(place, "leads", lipschitz_weight=0.7, penalty="omega").penalty == lx.Omega(alpha=0.7)
    assert built(place, "leads", lipschitz_weight=0.7, penalty="mine:HALF").penalty.alpha == 0.7
    assert built(place, "leads", penalty="mine:HALF").penalty.alpha == 0.25


def test_presets_are_asked_for(place):
    data = lx.load(place / "train.csv")
    ask = lambda **options: Training(**options).arguments("leads", data)
    chosen = ask(preset="lotka-volterra", protocol="paper")
    expected = lx.preset("lotka-volterra", data, protocol="paper")
    assert chosen["defaults"] == expected != lx.preset("lotka-volterra", data)
    assert chosen["recipe"].protocol == "paper"
    assert ask()["defaults"] == chosen_for(data)
    assert ask(preset="lotka-volterra", net="linear")["defaults"].net.build is lx.Linear
    assert ask(preset="lotka-volterra", net="linear")["defaults"].solver == expected.solver


def test_several_methods_need_one_that_has_the_setting():
    check_used(["leads", "coda"], {"dimension": 3})
    with pytest.raises(InputError, match="none of leads, gbml has a setting `dimension`"):
        check_used(["leads", "gbml"], {"dimension": 3})


def test_every_method_can_be_planned():
    for name in METHODS:
        assert type(Plan.of(name).method({}, skip=False)) is type(METHODS[name]())


def test_what_is_to_be_inferred():
    asked = Training(noise="15%", hidden="1", hidden_from_zero=True)
    asked.check()
    assert asked.latent() == lx.Latent("15%", hidden=1, from_zero=True)
    assert Training(noise="0.1").latent() == lx.Latent(0.1)
    for options, message in (
        ({"hidden_from_zero": True}, "`--hidden-from-zero` is about hidden channels"),
        ({"noise": "15%%"}, "a part of each value such as 15%, got `15%%`"),
        ({"hidden": "some"}, "`--hidden` must be `auto` or a whole number from 0 on, got `some`"),
        ({"hidden": "-1"}, "`--hidden`"),
    ):
        with pytest.raises(InputError, match=message):
            Training(**options).check()


def rise_and_fall(turns=True):
    """Two exponentials of opposite signs, or of the same."""
    times = np.linspace(0, 6, 20)
    curves = [np.exp(-0.3 * times) - (-1) ** (not turns) * np.exp(-rate * times) for rate in (1.0, 2.0, 3.0)]
    return lx.Trajectories.from_arrays(times, np.stack(curves)[:, None, :, None])


def test_whether_something_is_hidden_is_decided_by_the_data(capsys):
    decided = lambda data, clock=False, **options: Training(**options).decided(data, clock=clock)
    found = decided(rise_and_fall())
    assert "a hidden channel beside it is inferred (--hidden 0 turns this off)" in capsys.readouterr().err
    assert (found.latent().hidden, found.told) == (1, 5)
    assert decided(rise_and_fall(turns=False)).latent().hidden == 0
    for options in ({"hidden": "0"}, {"individual": 1}, {"match": "spline"}, {"clock": True}):
        assert decided(rise_and_fall(), **options).latent().hidden == 0
    assert decided(rise_and_fall(), hidden="2").latent().hidden == 2
    assert capsys.readouterr().err == ""
