"""What `fit` says unasked: it notices what is hidden, too many unknowns, and noise that was learnt."""

import dataclasses
import math
import sys

import jax.random as jr
import numpy as np
import pytest
from tests.data.test_noise import oscillators
from tests.engine import decays, plainly, request_of, untrained

from leadax import Latent, Monitor, Trajectories, fit
from leadax.data.layout import Layout
from leadax.records import Snapshot, Training
from leadax.train import advice
from leadax.train.advice import _error, after_training, before_training
from leadax.train.trainer import Trainer

WHOLE = oscillators()[0]
ALONE = Trajectories.from_arrays(WHOLE.times, WHOLE.states[..., :1])


def test_something_hidden():
    (line,) = before_training(ALONE, Layout(("x0",)))
    assert line.startswith("the same state is followed by different changes")
    assert "--hidden 1" in line
    assert "\n" not in line
    assert before_training(WHOLE, Layout(WHOLE.channels)) == []
    asked = [Layout(("x0",), hidden=1), Layout(("x0",), inputs=("light",), kinds=("linear",))]
    assert [before_training(ALONE, layout) for layout in asked] == [[], []]


def test_data_that_are_mostly_noise():
    (line,) = before_training(ALONE, Layout(("x0",), noise=(0.97,)))
    assert line.startswith("noise is about 97% of the spread")
    assert "their mean may forecast as well" in line
    assert before_training(WHOLE, Layout(WHOLE.channels, noise=(0.9, 0.1))) == []


def test_more_unknowns_than_data():
    data = decays()  # 12 values in each trajectory
    assert before_training(data, Layout(data.channels, hidden=2, individual=2)) == []
    (line,) = before_training(data, Layout(data.channels, hidden=4, individual=1))
    assert line.startswith(
        "a trajectory has about 12 observed values, too few to infer 5 hidden and individual numbers"
    )


def trained_to(error, layout, kept=None):
    """A model of two members whose training ended at this root mean square error."""
    data = oscillators(0.1)[0]
    config = Trainer.of(request_of(data, defaults=plainly(data)), [untrained().method], [None]).configs[0]
    look = lambda step, e: Snapshot(step, (1.0,) * 2, (e**2,) * 2, (0.0,) * 2, None, 1.0)
    history = (look(1, 1.0), look(2, error))
    return dataclasses.replace(untrained(layout=layout), training=Training(config, 2, history, kept))


@pytest.mark.parametrize(("noise", "option"), [(None, "--noise auto"), ((0.1, 0.1), "--weight-decay 0.1")])
def test_noise_that_was_learnt(noise, option):
    data, spread = oscillators(0.1)
    data = Trajectories.from_arrays(data.times, data.states / spread)  # in standard units
    layout = Layout(data.channels, noise=noise)
    (line,) = after_training(trained_to(0.03, layout), data)
    assert "far below the noise" in line
    assert option in line
    assert after_training(trained_to(0.09, layout), data) == []
    assert after_training(trained_to(0.03, layout, kept=(1, 1)), data) == [], "the model kept is an earlier one"
    assert _error(trained_to(0.03, layout, kept=(0, 0)).training) == math.inf, "what it began with has learnt nothing"
    assert after_training(trained_to(0.03, Layout(data.channels)), oscillators()[0]) == [], "there is no noise"


def test_nothing_that_was_learnt_is_kept():
    """Step 0 is kept if no validation error was finite, as with the root of a state that becomes negative."""
    (line,) = after_training(trained_to(0.09, Layout(WHOLE.channels), kept=(2, 0)), WHOLE)
    assert line.startswith("forecasts of the validation data were not finite at any look")


def test_fit_tells_whoever_listens(monkeypatch):
    heard = []
    monkeypatch.setattr("leadax.train.trainer.Trainer.trained", lambda *_: [None])
    # The function has the name of its module.
    monkeypatch.setattr(sys.modules["leadax.train.fit"], "after_training", lambda *_: ["over"])
    fit(untrained().method, ALONE, key=jr.key(0), latent=Latent("none", hidden=0), monitor=Monitor(warn=heard.append))
    assert [line[:30] for line in heard] == ["warning: the same state is fol", "warning: over"]
    # Nobody listens: nothing is computed.
    monkeypatch.setattr(advice, "unexplained", lambda data: pytest.fail("computed for nobody"))
    fit(untrained().method, ALONE, key=jr.key(0), latent=Latent("none", hidden=0))
    assert np.isfinite(ALONE.states).all()
