"""Which method to use, in one sentence, and how sure that is."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ..errors import InputError
from ..evaluate import Evaluation
from .paired import SIGNIFICANCE, chance

FAR = 10.0  # times the error are not as good, on however many trajectories a forecast is better


class Rival(NamedTuple):
    """Another method, compared with the best one trajectory by trajectory.

    - `wins`, `ties`: the test trajectories on which the best method is better, or no different; `total`: those
      without a tie;
    - `chance`: the probability of so one-sided a result if both were equally good;
    - `in_spread`: whether the difference is within the spread between seeds.
    """

    name: str
    wins: int
    ties: int
    total: int
    chance: float
    in_spread: bool

    @property
    def close(self) -> bool:
        """Whether it may be as good as the best."""
        return self.chance > SIGNIFICANCE or self.in_spread


def verdict(evaluations: Mapping[str, Evaluation], yardsticks: Mapping[str, Evaluation] = MappingProxyType({})) -> str:
    """A sentence or two: which method has the smallest error, which others may be as good, and whether it is of use.

    Errors are normalised: each channel's is divided by its variance.

    Two methods are compared on each test trajectory, by their mean errors over seeds (see `chance`). The difference
    must also exceed the spread between seeds, which is unknown if there is only one.

    **Arguments**

    - `evaluations`: of each method on the same test data;
    - `yardsticks`: of simple forecasts, see `leadax.yardsticks`. If no method is better than the best of them, the
      sentence says that first.

    >>> counts, one = np.ones((1, 9, 1, 1)), np.ones(1)
    >>> of = lambda error: Evaluation(np.full((2, 1, 9, 1, 1), error), counts, ("e",), "clean", ("x",), one, one)
    >>> print(verdict({"leads": of(1.0), "one-for-all": of(3.0)}))
    Use `leads`: the error of `one-for-all` is 3 times as large, and `leads` is better on 9 of 9 test trajectories; the
    probability of this happening by chance is less than 1e-6.
    """
    if not evaluations:
        raise InputError("there is nothing to compare: evaluate at least one method")
    order = sorted(evaluations, key=lambda name: _rank(evaluations[name].nmse))
    best = evaluations[order[0]]
    if not math.isfinite(best.nmse):
        return "No method can be recommended: the forecasts of every one blew up. Try a smaller learning rate."
    finite = [name for name in yardsticks if math.isfinite(yardsticks[name].nmse)]
    simple = min(finite, key=lambda name: yardsticks[name].nmse, default=None)
    lost = f"Of the forecasts of `{order[0]}`, {best.diverged} diverged." if best.diverged else ""
    if simple is not None and yardsticks[simple].nmse <= best.nmse:
        return _joined(_beaten(simple, yardsticks[simple].nmse, order, best.nmse), lost)
    against = "" if simple is None else _against(simple, yardsticks[simple], order[0], best)
    return _joined(_among_methods(evaluations, order), against, lost)


def _joined(*sentences: str) -> str:
    return " ".join(each for each in sentences if each)


def _beaten(simple: str, error: float, order: list[str], of_best: float) -> str:
    """What to do where a simple forecast is better than every method."""
    best = ", the best of them," if len(order) > 1 else ""
    ratio = _ratio(simple, error, order[0], of_best).replace(f"`{order[0]}`", f"`{order[0]}`{best}", 1)
    advice = "More data, a missing input, or `leadax tune` may help."
    return f"No method beats the simple forecast `{simple}`: {ratio}. {advice}"


def _against(simple: str, yardstick: Evaluation, name: str, best: Evaluation) -> str:
    """What a yardstick with a larger error says about the best method; nothing if the method is clearly better."""
    rival = _rival(simple, best, yardstick)
    if not rival.close:
        return ""
    if yardstick.nmse < FAR * best.nmse:
        return f"The simple forecast `{simple}` may be as good: {_counted(name, best.nmse, rival, yardstick.nmse)}."
    return (
        f"The simple forecast `{simple}` is better on {_of_all(rival, rival.total - rival.wins)}, but "
        f"{_ratio(name, best.nmse, simple, yardstick.nmse)}: it is right on some and far off on others."
    )


def _among_methods(evaluations: Mapping[str, Evaluation], order: list[str]) -> str:
    best = evaluations[order[0]]
    if len(order) == 1:
        return f"Only `{order[0]}` was tried: there is nothing to compare it with."
    rivals = [_rival(name, best, evaluations[name]) for name in order[1:]]
    # Report the numbers of the closest rival that may be as good, or else of the runner-up.
    shown = min(rivals, key=lambda rival: (not rival.close, rival.total == 0))
    counted = _counted(order[0], best.nmse, shown, evaluations[shown.name].nmse)
    return _sentence(order[0], best, [rival for rival in rivals if rival.close], shown, counted)


def _sentence(name: str, best: Evaluation, close: list[Rival], shown: Rival, counted: str) -> str:
    if close and shown.total == 0:
        tied = _listed([name, *(rival.name for rival in close)])
        return f"{tied} have the same error ({best.nmse:.2g}) on every test trajectory: use the simplest of them."
    others = (
        f"`{name}` has the smallest error, but {_listed([rival.name for rival in close])} may be as good: {counted}"
    )
    if close and shown.chance <= SIGNIFICANCE:
        return f"{others}, and seeds differ as much as the methods do. More seeds would tell."
    if close:
        return (
            f"{others}, which could happen by chance (probability {shown.chance:.2g}). "
            "More test trajectories or seeds would tell."
        )
    if best.nmse_per_seed.size == 1:
        return (
            f"`{name}` has the smallest error: {counted}. With one seed each, this may be luck with the random initial "
            "weights: train several (`--seeds 4`) before you choose."
        )
    return f"Use `{name}`: {counted}; the probability of this happening by chance is {_small(shown.chance)}."


def _counted(name: str, error: float, rival: Rival, of_rival: float) -> str:
    return f"{_ratio(name, error, rival.name, of_rival)}, and `{name}` is better on {_of_all(rival, rival.wins)}"


def _of_all(rival: Rival, count: int) -> str:
    """So many of the test trajectories."""
    ties = f", with {rival.ties} ties" if rival.ties > 1 else ", with one tie" if rival.ties else ""
    return f"{count} of {rival.total + rival.ties} test trajectories{ties}"


def _ratio(name: str, error: float, other: str, of_other: float) -> str:
    """How much larger the error of the other method is, in words."""
    if not math.isfinite(of_other):
        return f"the error of `{other}` is not finite"
    if of_other == error:
        return f"the error of `{other}` is the same"
    if error == 0:
        return f"`{name}` makes no error, and that of `{other}` is {of_other:.2g}"
    ratio = of_other / error
    if ratio < 1.095:
        percent = 100 * (ratio - 1)
        return f"the error of `{other}` is {f'{percent:.1g}' if percent >= 0.1 else 'less than 0.1'} % larger"
    times = f"{ratio:.2g}" if ratio < 10 else f"{ratio:,.0f}" if ratio < 1e4 else f"{ratio:.0e}"
    return f"the error of `{other}` is {times} times as large"


def _rank(error: float) -> float:
    return error if math.isfinite(error) else math.inf


def _rival(name: str, best: Evaluation, other: Evaluation) -> Rival:
    errors, others = (np.nan_to_num(e.nmse_per_trajectory.mean(axis=0), nan=np.inf) for e in (best, other))
    wins, losses = int(np.sum(errors < others)), int(np.sum(errors > others))
    ties = errors.size - wins - losses
    return Rival(name, wins, ties, wins + losses, chance(errors, others), _within_spread(best, other))


def _within_spread(one: Evaluation, other: Evaluation) -> bool:
    """Whether the difference is within two standard errors of the means over seeds; never with a single seed."""
    a, b = one.nmse_per_seed, other.nmse_per_seed
    if min(a.size, b.size) == 1 or not np.all(np.isfinite([*a, *b])):
        return False
    error = math.sqrt(a.var(ddof=1) / a.size + b.var(ddof=1) / b.size)
    return bool(b.mean() - a.mean() <= 2 * error)


def _small(chance: float) -> str:
    return "less than 1e-6" if chance < 1e-6 else f"{chance:.1g}"


def _listed(names: list[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return " and ".join(part for part in (", ".join(quoted[:-1]), *quoted[-1:]) if part)
