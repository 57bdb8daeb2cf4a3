"""How many steps do groups of environments need? Lotka–Volterra with m environments of n points (Fig. 4 of the paper).

    python examples/choose_steps.py --m 8 --n 20 --steps 2000 4000 6000 12000
    python examples/choose_steps.py --m 4 --n 160 --methods leads one-per-env
    python examples/choose_steps.py --m 8 --n 40 --methods leads --weights 2e-4 2e-5 --steps 12000

The first group of m environments is learnt anew for each number of steps, since the learning rate falls to zero at the
last one. Errors are those of trajectories that are in neither the training nor the test set: the ones after the eight
that may be learnt from. 1/λ, the weight of Ω, may be another than the paper's, too.
"""

import argparse
import time
from pathlib import Path

from leadax.experiments.study import Options
from leadax.experiments.study.groups import SYSTEM, TRAJECTORIES, Group
from leadax.experiments.study.learning import Contender, Data, learn
from leadax.experiments.study.models import CONTENDERS, simulated
from leadax.methods import Leads
from leadax.model import Model

POINTS, HELD_OUT = 20, 8


def contenders(methods: list[str], weights: list[float]) -> dict[str, Contender]:
    """The methods by name, LEADS once for each 1/λ."""
    others = {f"leads-{weight:g}": Contender(Leads(penalty_weight=weight)) for weight in weights}
    chosen = {method: others if method == "leads" and weights else {method: CONTENDERS[method]} for method in methods}
    return {name: contender for found in chosen.values() for name, contender in found.items()}


def divided(group: Group, options: Options) -> Data:
    """The training data of a group, and trajectories to validate on in place of its test data."""
    train = group.data(options).train
    most = max(TRAJECTORIES)
    every = simulated(SYSTEM, "train", options.protocol, options.seed, most + HELD_OUT)
    return Data(SYSTEM, train, every.select(train.environments, slice(most, None)))


def line(method: str, group: Group, steps: int, model: Model, seconds: float) -> str:
    """What came of one run."""
    assert model.training is not None
    history = model.training.history
    smallest, last = model.training.smallest_test_errors, history[-1]
    assert smallest is not None
    assert last.test is not None
    return (
        f"{method:12} m={group.size} n={POINTS * group.n:<4} steps={steps:<6} training {last.error[0]:.2e}  "
        f"validation: last {last.test[0]:.2e}, minimum {smallest[0]:.2e}  seconds {seconds:.0f}"
    )


def main() -> None:
    """Learn with one number of steps after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=["leads", "one-per-env"])
    parser.add_argument("--m", type=int, default=8)
    parser.add_argument("--n", type=int, default=20, help="points per environment, a multiple of 20")
    parser.add_argument("--steps", type=int, nargs="+", default=[2_000, 4_000, 6_000, 12_000])
    parser.add_argument("--weights", type=float, nargs="+", default=[], help="1/λ of LEADS; by default the paper's")
    parser.add_argument("--protocol", default="paper")
    parser.add_argument("--runs", type=Path, default=Path("runs/choose-steps"))
    given = parser.parse_args()
    group = Group(given.m, given.n // POINTS, 0, given.m)
    for method, contender in contenders(given.methods, given.weights).items():
        for steps in given.steps:
            options, begun = Options("hour", 1, steps, given.protocol), time.perf_counter()
            folder = given.runs / f"{method}-m{given.m}-n{given.n}-{given.protocol}-{steps}"
            model = learn(contender, divided(group, options), options, folder)
            print(line(method, group, steps, model, time.perf_counter() - begun), flush=True)


if __name__ == "__main__":
    main()
