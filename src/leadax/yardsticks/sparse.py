"""Sparse regression as a yardstick: polynomials with few terms, by pysindy, where `leadax[sindy]` is installed."""

from collections.abc import Callable
from importlib.util import find_spec

import numpy as np

from .history import History, Outside
from .rules import Numbers, Starts, States, Times, Yardstick

THRESHOLD = 0.05  # in standard units, in which all terms are of about the same size
LARGEST = 6  # values in a state: beyond that there are hundreds of terms
FEWEST_POINTS = 5  # a trajectory with fewer has no smooth derivative
# Degrees of the polynomials, and windows to smooth with (0: none). The best on the training data is taken: clean data
# need no smoothing, and with few points high degrees run away.
WAYS = ((2, 0), (3, 0), (2, 5), (3, 5), (3, 9))
SUBSTEPS = 8  # of the solver in each interval


def installed() -> bool:
    """Whether pysindy is there."""
    return find_spec("pysindy") is not None


def learn_polynomials(history: History) -> Numbers:
    """The powers of all terms, and their coefficients for each value; nothing moves where there are too few points."""
    values = history.states.shape[-1]
    still = {"powers": np.zeros((1, values)), "coefficients": np.zeros((values, 1))}
    whole = [(each.times, each.states) for each in history.whole if len(each.times) >= FEWEST_POINTS]
    shortest = min((len(t) for t, _ in whole), default=0)
    tried = [_fitted(whole, degree, window) for degree, window in WAYS if 0 < max(window, 1) <= shortest]
    return min([still, *tried], key=lambda numbers: _training_error(numbers, whole))


def _fitted(whole: list[tuple[np.ndarray, np.ndarray]], degree: int, window: int) -> Numbers:
    import pysindy as ps

    library = ps.PolynomialLibrary(degree=degree)
    smooth = {"window_length": window, "polyorder": 3}
    slopes = ps.SmoothedFiniteDifference(smoother_kws=smooth) if window else ps.FiniteDifference()
    model = ps.SINDy(ps.STLSQ(threshold=THRESHOLD), library, slopes)
    model.fit([x for _, x in whole], t=[t for t, _ in whole])
    return {"powers": library.powers_, "coefficients": np.asarray(model.coefficients())}


def _training_error(numbers: Numbers, whole: list[tuple[np.ndarray, np.ndarray]]) -> float:
    """Of forecasts from the starts; one that runs away counts as wrong by ten units."""
    forecasts = [_follow(numbers, x[:1], t[None])[0] for t, x in whole]
    wrong = [np.nan_to_num(np.abs(forecast - x), nan=10.0) for forecast, (_, x) in zip(forecasts, whole, strict=True)]
    return float(np.mean(np.square(np.clip(np.concatenate(wrong), 0, 10)))) if wrong else 0.0


def follow_polynomials(numbers: Numbers, starts: Starts, times: Times, outside: Outside) -> States:
    """The polynomial field from the start; it knows no inputs."""
    del outside
    return _follow(numbers, starts, times)


def _follow(numbers: Numbers, starts: Starts, times: Times) -> States:
    """The polynomial field by RK4, in several steps per interval; infinite or NaN after it has run away."""
    powers, coefficients = numbers["powers"], numbers["coefficients"]
    field = lambda x: np.prod(x[:, None] ** powers, axis=-1) @ coefficients.T
    state, rows = starts, [starts]
    with np.errstate(over="ignore", invalid="ignore"):
        for gaps in np.diff(times, axis=1).T:
            for _ in range(SUBSTEPS):
                state = _rk4(field, state, gaps[:, None] / SUBSTEPS)
            rows.append(state)
    return np.stack(rows, axis=1)


def _rk4(field: Callable[[np.ndarray], np.ndarray], x: np.ndarray, h: np.ndarray) -> np.ndarray:
    a = field(x)
    b = field(x + h / 2 * a)
    c = field(x + h / 2 * b)
    return x + h / 6 * (a + 2 * b + 2 * c + field(x + h * c))


SPARSE = Yardstick(learn_polynomials, follow_polynomials, LARGEST)
