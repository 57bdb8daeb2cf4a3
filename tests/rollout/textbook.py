"""Runge–Kutta as textbooks write it, in NumPy, with nothing skipped."""

import itertools

import numpy as np


def plain_step(field, a, b, c, t, x, h, ends):
    """One step; `ends` are the inputs at its start and its end."""
    tangents = []
    for i in range(len(b)):
        z = x + h * sum((a[i, j] * tangents[j] for j in range(i)), np.zeros_like(x))
        tangents.append(np.asarray(field(t + c[i] * h, z, ends[0] + c[i] * (ends[1] - ends[0]))))
    return x + h * sum(weight * k for weight, k in zip(b, tangents, strict=True))


def plain_rollout(field, table, start, times, counts, inputs, restart=None):
    """States at `times` by `counts[k]` steps in interval k, where inputs go from `inputs[k, 0]` to `inputs[k, 1]`."""
    a, b, c = table
    states = [start]
    for k in range(len(times) - 1):
        x = restart.states[k] if restart is not None and restart.where[k] else states[-1]
        h = (times[k + 1] - times[k]) / counts[k]
        for j in range(counts[k]):
            ends = [inputs[k, 0] + s / counts[k] * (inputs[k, 1] - inputs[k, 0]) for s in (j, j + 1)]
            x = plain_step(field, a, b, c, times[k] + j * h, x, h, ends)
        states.append(x)
    return np.stack(states)


def ends_of_steps(inputs, counts):
    """Inputs at both ends of each step, from those at both ends of each interval; for `Steps.inputs`."""
    rows = []
    for (first, last), count in zip(inputs, counts, strict=True):
        at = [first + j / count * (last - first) for j in range(count + 1)]
        rows += itertools.pairwise(at)
    return np.array(rows)
