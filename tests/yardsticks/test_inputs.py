"""The linear yardstick sees what acts from outside."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from leadax.data import Trajectories
from leadax.errors import InputError
from leadax.yardsticks import Yardsticks

TIMES = np.linspace(0, 4, 41)
DECAY = {"slow": 0.5, "fast": 1.5}


def driven(seed: int, kind: str, seen: slice = slice(0)) -> Trajectories:
    """x' = -a x + 2 u, with an input that is a line between points or held, or that is added to x at once.

    - `seen`: which points are left out.
    """
    rng = np.random.default_rng(seed)
    inputs, states = rng.uniform(-1, 1, (2, 2, len(TIMES))), np.zeros((2, 2, len(TIMES), 1))
    for (e, i), _ in np.ndenumerate(states[:, :, 0, 0]):
        states[e, i, 0] = rng.uniform(-1, 1)
        for k, (before, after) in enumerate(zip(inputs[e, i, :-1], inputs[e, i, 1:], strict=True)):
            along = {"held": lambda t, a=before: a, "linear": lambda t, a=before, b=after: a + (b - a) * t / 0.1}
            push = along.get(kind, lambda t: 0.0)
            field = lambda t, x, push=push, e=e: -list(DECAY.values())[e] * x + 2 * push(t)
            begin = states[e, i, k] + (before if kind.startswith("impulse") else 0.0)
            states[e, i, k + 1] = solve_ivp(field, (0, 0.1), begin, rtol=1e-9, atol=1e-9).y[:, -1]
    states[:, :, seen] = np.nan
    return Trajectories.from_arrays(
        TIMES,
        states,
        channels=("x",),
        environments=tuple(DECAY),
        inputs=inputs[..., None],
        input_names=("u",),
        input_kinds=(kind,),
    )


@pytest.mark.parametrize("kind", ["held", "linear", "impulse:x"])
def test_a_driven_linear_system_is_learnt(kind, tmp_path):
    test = driven(1, kind)
    fitted = Yardsticks.learnt(driven(0, kind))
    errors, late = fitted.errors(test), fitted.errors(test, warmup=8)
    assert max(errors["linear"].nmse, late["linear"].nmse) < 1e-3 < 0.1 < errors["mean"].nmse
    fitted.save(tmp_path / "simple.safetensors")
    assert Yardsticks.load(tmp_path / "simple.safetensors").document(test) == fitted.document(test)


@pytest.mark.parametrize("kind", ["held", "linear", "impulse:x"])
def test_what_acted_in_holes_is_not_lost(kind):
    holes = driven(0, kind, seen=slice(5, 30, 2))
    assert Yardsticks.learnt(holes).errors(driven(1, kind))["linear"].nmse < 1e-2


def test_other_inputs_are_refused():
    with pytest.raises(InputError, match="the data have other inputs"):
        Yardsticks.learnt(driven(0, "held")).errors(driven(1, "linear"))


def test_doses_to_what_nobody_observes_are_left_out():
    data = driven(0, "impulse:hidden0")
    assert np.isfinite(Yardsticks.learnt(data).errors(data)["linear"].nmse)
