"""How smooth must g_e be? LEADS on Gray–Scott with several weights α of the spectral norms in Ω (protocol `fast`).

    python examples/choose_alpha.py --alphas 0.001 0.1 1 10 --steps 400

The error is that of initial states which are neither trained on nor in the test set: the test data of another seed.
"""

import argparse
from dataclasses import replace

import jax.numpy as jnp
import jax.random as jr

import leadax as lx
from leadax.experiments.protocols import PROTOCOLS
from leadax.experiments.table1 import data
from leadax.penalty import Omega

FAST = PROTOCOLS["fast"]


def learnt(alpha: float, steps: int) -> lx.Model:
    """LEADS with this α, after so many steps; prints the error on the way."""
    train, validation = data("gray-scott", "train", "fast", 0), data("gray-scott", "test", "fast", 1, 8)
    settings = FAST.settings(train)
    omega = settings.penalty(FAST.rules)
    assert isinstance(omega, Omega)
    return lx.fit(
        lx.Leads(penalty=replace(omega, alpha=alpha)),
        train,
        test=validation,
        key=jr.key(0),
        steps=steps,
        protocol=FAST.rules,
        settings=settings,
        look_every=80,
        listen=lambda look: print(f"alpha {alpha:g}, step {look.step}: {look.test}"),
        **FAST.training(train, steps),
    )


def main() -> None:
    """Try them one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--alphas", type=float, nargs="+", default=[1e-3, 0.1, 1.0, 10.0])
    parser.add_argument("--steps", type=int, default=400)
    asked = parser.parse_args()
    train = data("gray-scott", "train", "fast", 0)
    states = jnp.asarray(train.states[:, 0], jnp.float32)
    for alpha in asked.alphas:
        model = learnt(alpha, asked.steps)
        size = lambda field, e: float(jnp.sqrt(jnp.mean(jnp.square(jnp.stack([field(x) for x in states[e]])))))
        shares = [size(model.specific(name), e) / size(model.shared, e) for e, name in enumerate(train.environments)]
        print(f"alpha {alpha:g}: training error {lx.evaluate(model, train).mse:.2e}, |g_e| / |f|: {shares}")


if __name__ == "__main__":
    main()
