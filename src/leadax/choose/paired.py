"""Whether one method is better than another on the same trajectories, or may only seem so."""

import math
from collections.abc import Sequence

import numpy as np

# A difference that chance explains more often than this is no difference.
SIGNIFICANCE = 0.05


def chance(errors: Sequence[float] | np.ndarray, others: Sequence[float] | np.ndarray) -> float:
    """The probability that a method comes out so much better than another if both are equally good.

    Two tests look at the errors on each trajectory. A sign test counts on how many the method is better; it needs six
    of them, but is not led astray by a few. A paired t-test compares the logarithms, so that factors count; a few
    trajectories that agree are enough for it. The smaller of the two probabilities is doubled, for two attempts. Errors
    that are not numbers are infinite.

    >>> chance([1.0, 1.0, 1.0, 1.0], [3.0, 4.0, 3.5, 2.5]) < 0.05 < chance([1.0, 1.0], [1.1, 3.0])
    True
    """
    from scipy.stats import binomtest  # takes a second to import
    from scipy.stats import t as student

    mine, theirs = (np.nan_to_num(np.asarray(e, float), nan=np.inf, posinf=np.inf) for e in (errors, others))
    wins, losses = int(np.sum(mine < theirs)), int(np.sum(mine > theirs))
    by_sign = float(binomtest(wins, wins + losses).pvalue) if wins > losses else 1.0
    limits = np.finfo(float)
    gain = np.log(np.clip(theirs, limits.tiny, limits.max)) - np.log(np.clip(mine, limits.tiny, limits.max))
    if len(gain) < 2 or gain.mean() <= 0:
        return min(1.0, 2 * by_sign)
    error = gain.std(ddof=1) / math.sqrt(len(gain))
    by_factor = 2 * float(student.sf(gain.mean() / error, len(gain) - 1)) if error > 0 else 0.0
    return min(1.0, 2 * by_sign, 2 * by_factor)
