"""Why FT-RNN confuses environments: Lotka–Volterra in three kinds of units.

    python examples/ft_rnn_units.py

A factored layer is W_e x + b: it is the same in all environments where x = 0. In units in which the mean of all states
is zero, that is in the midst of the data. Errors are those of the validation data of `leadax reproduce baselines`.
"""

import argparse
import dataclasses

import jax.random as jr

import leadax as lx
from leadax.data.units import Units
from leadax.experiments.study.models import simulated

SYSTEM, PROTOCOL = "lotka-volterra", "paper"


def kinds(data: lx.Trajectories) -> dict[str, Units]:
    """Units of the spread with and without a shift by the mean, and those of the data."""
    spread = Units.measured(data)
    zero = (0.0,) * len(spread.mean)
    return {
        "centred and scaled": spread,
        "scaled": dataclasses.replace(spread, mean=zero),
        "the data's": Units.ones(len(zero)),
    }


def main() -> None:
    """Learn with each kind of units, with as many parameters as LEADS and with few."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=12_000)
    steps = parser.parse_args().steps
    train, validation = (simulated(SYSTEM, *which) for which in (("train", PROTOCOL, 0), ("test", PROTOCOL, 1)))
    recipe = lx.Recipe(protocol=PROTOCOL, look_every=50)
    for rank in (None, 12):
        for name, units in kinds(train).items():
            defaults = dataclasses.replace(lx.preset(SYSTEM, train, protocol=PROTOCOL), units=units)
            how = {"test": validation, "key": jr.key(0), "steps": steps, "defaults": defaults, "recipe": recipe}
            model = lx.fit(lx.FtRnn(rank=rank), train, **how)
            assert model.training is not None
            assert model.training.smallest_test_errors is not None
            print(f"rank {rank or 'of LEADS'}, {name}: {model.training.smallest_test_errors[0]:.2e}", flush=True)


if __name__ == "__main__":
    main()
