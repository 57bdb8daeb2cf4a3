"""Which method to use, and how sure we can be."""

import math
from collections.abc import Mapping

import numpy as np

from .evaluation import Evaluation

SIGNIFICANCE = 0.05


def verdict(evaluations: Mapping[str, Evaluation]) -> str:
    """One sentence: which method has the smallest error, and which others may be as good.

    Two methods are compared on each test trajectory, by the mean of their errors over the seeds. If both were equally
    good, each would win half of the trajectories (a sign test). The difference must also exceed the spread between
    seeds, which is unknown when there is only one.
    """
    order = sorted(evaluations, key=lambda name: _rank(evaluations[name].mse))
    best = order[0]
    if len(order) == 1:
        return f"Only `{best}` was tried: there is nothing to compare it with."
    rivals = [(name, *_sign_test(evaluations[best], evaluations[name])) for name in order[1:]]
    in_spread = lambda name: _within_spread(evaluations[best], evaluations[name])
    close = [name for name, _, _, chance in rivals if chance > SIGNIFICANCE or in_spread(name)]
    # Report the numbers of the closest rival that may be as good, or else of the runner-up.
    name, wins, total, chance = next((rival for rival in rivals if rival[0] in close), rivals[0])
    ratio = evaluations[name].mse / evaluations[best].mse
    behind = f"{ratio:.2g} times that of `{best}`" if math.isfinite(ratio) else "not a number"
    counted = f"the error of `{name}` is {behind}, which is better on {wins} of {total} test trajectories"
    if close and chance <= SIGNIFICANCE:
        return (
            f"`{best}` has the smallest error, but {_listed(close)} may be as good: {counted}, and seeds differ as "
            "much as the methods do. More seeds would tell."
        )
    if close:
        return (
            f"`{best}` has the smallest error, but {_listed(close)} may be as good: {counted}, which could happen by "
            f"chance (probability {chance:.2g}). More test trajectories or seeds would tell."
        )
    if evaluations[best].mse_per_seed.size == 1:
        return (
            f"`{best}` has the smallest error: {counted}. With one seed each, this may be luck with the random initial "
            "weights: train several (`--seeds 4`) before you choose."
        )
    return f"Use `{best}`: {counted}; the probability of this happening by chance is {_small(chance)}."


def _rank(error: float) -> float:
    return error if math.isfinite(error) else math.inf


def _sign_test(one: Evaluation, other: Evaluation) -> tuple[int, int, float]:
    """The trajectories that `one` wins, those without a tie, and the probability of so one-sided a result by chance."""
    from scipy.stats import binomtest  # takes a second to import

    errors = [np.nan_to_num(e.mse_per_trajectory.mean(axis=0), nan=np.inf, posinf=np.inf) for e in (one, other)]
    wins, losses = int(np.sum(errors[0] < errors[1])), int(np.sum(errors[0] > errors[1]))
    chance = float(binomtest(wins, wins + losses).pvalue) if wins > losses else 1.0
    return wins, wins + losses, chance


def _within_spread(one: Evaluation, other: Evaluation) -> bool:
    """Whether the difference is within two standard errors of the means over seeds; never with a single seed."""
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
