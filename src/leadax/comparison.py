"""Which method to use, and how sure that is."""

import math
from collections.abc import Mapping

import numpy as np

from .evaluation import Evaluation


def verdict(evaluations: Mapping[str, Evaluation]) -> str:
    """One sentence: the method with the smallest error, and whether the next could be as good.

    The two are compared trajectory by trajectory, which are equally hard for both: if they were equally good, either
    would win half of them (a sign test). Seeds count by the mean of their errors; a difference must also be larger than
    their spread explains, and with one seed nobody knows that spread.
    """
    order = sorted(evaluations, key=lambda name: _rank(evaluations[name].mse))
    best = order[0]
    if len(order) == 1:
        return f"Only `{best}` was tried: there is nothing to compare it with."
    rivals = [(name, *_duel(evaluations[best], evaluations[name])) for name in order[1:]]
    lucky = lambda name: _within_spread(evaluations[best], evaluations[name])
    close = [name for name, _, _, chance in rivals if chance > 0.05 or lucky(name)]
    # The numbers are those of the closest that may be as good, or else of the next.
    name, wins, total, chance = next((rival for rival in rivals if rival[0] in close), rivals[0])
    ratio = evaluations[name].mse / evaluations[best].mse
    behind = f"{ratio:.2g} times that of `{best}`" if math.isfinite(ratio) else "not a number"
    counted = f"the error of `{name}` is {behind}, which is better on {wins} of {total} test trajectories"
    if close and chance <= 0.05:
        return (
            f"`{best}` has the smallest error, but {_listed(close)} may be as good: {counted}, and the errors of seeds "
            "differ as much as those of the methods. More seeds would tell."
        )
    if close:
        return (
            f"`{best}` has the smallest error, but {_listed(close)} may be as good: {counted}, as chance alone could "
            f"do (probability {chance:.2g}). More test trajectories or seeds would tell."
        )
    if evaluations[best].mse_per_seed.size == 1:
        return (
            f"`{best}` has the smallest error: {counted}. With one seed each that may be the luck of random weights: "
            "train several (`--seeds 4`) before you choose."
        )
    return f"Use `{best}`: {counted}; by chance alone that has a probability of {_small(chance)}."


def _rank(error: float) -> float:
    return error if math.isfinite(error) else math.inf


def _duel(one: Evaluation, other: Evaluation) -> tuple[int, int, float]:
    """Trajectories that `one` wins, all that are decided, and how probable so one-sided a result is by chance."""
    errors = [np.nan_to_num(e.mse_per_trajectory.mean(axis=0), nan=np.inf, posinf=np.inf) for e in (one, other)]
    wins, losses = int(np.sum(errors[0] < errors[1])), int(np.sum(errors[0] > errors[1]))
    total = wins + losses
    # Exact, in whole numbers: 2^total is too large for a float where there are thousands.
    tail = sum(math.comb(total, k) for k in range(wins, total + 1))
    return wins, total, min(1.0, 2 * (tail / (1 << total)) if wins > losses else 1.0)


def _within_spread(one: Evaluation, other: Evaluation) -> bool:
    """Whether two standard errors of the means over seeds cover the difference; with one seed nobody knows."""
    a, b = one.mse_per_seed, other.mse_per_seed
    if a.size == 1 or not np.all(np.isfinite([*a, *b])):
        return False
    error = math.sqrt(a.var(ddof=1) / a.size + b.var(ddof=1) / b.size)
    return bool(b.mean() - a.mean() <= 2 * error)


def _small(chance: float) -> str:
    return "less than 1e-6" if chance < 1e-6 else f"{chance:.1g}"


def _listed(names: list[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + " and " + quoted[-1]
