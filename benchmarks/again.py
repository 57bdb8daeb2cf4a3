"""How long a second `fit`, `evaluate` and `predict` of the same shapes take, in one process: nothing is compiled twice.

python benchmarks/again.py
"""

import time

import jax.random as jr
import numpy as np

import leadax as lx
from leadax.systems import get_system, simulate


def seconds(work) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def main():
    data = simulate(get_system("lotka-volterra"), key=jr.key(0))
    models = []
    fit = lambda k: models.append(
        lx.fit(lx.Leads(kappa=0.1 * (k + 1)), data, steps=20, learning_rate=1e-3 * (k + 1), key=jr.key(k))
    )
    work = {
        "fit (20 steps)": fit,
        "evaluate": lambda _: lx.evaluate(models[-1], data),
        "predict": lambda k: np.asarray(models[-1].predict(data.states[k, 0, 0], data.times[0, 0], environment=k)),
    }
    for name, once in work.items():
        first, *later = [seconds(lambda k=k, once=once: once(k)) for k in range(4)]
        print(f"{name:15} first {first:6.2f} s, then {1e3 * sorted(later)[1]:7.1f} ms")


if __name__ == "__main__":
    main()
