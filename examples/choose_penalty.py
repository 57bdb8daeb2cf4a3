"""How small and how smooth must g_e be? LEADS on a field with several weights of Ω (protocol `fast`).

    python examples/choose_penalty.py --system gray-scott --alphas 0.001 0.1 1 --steps 400
    python examples/choose_penalty.py --system navier-stokes --weights 0.001 --alphas 0.001 0.1 --steps 500 --seeds 2

1/λ is the weight of Ω = |g_e|² + α Σ|W|². The error is that of initial states which are neither trained on nor in the
test set: the test data of another seed.
"""

import argparse
from dataclasses import replace
from itertools import product

import jax.numpy as jnp
import jax.random as jr

import leadax as lx
from leadax.experiments.protocols import PROTOCOLS
from leadax.experiments.table1 import data
from leadax.penalty import Omega

FAST = PROTOCOLS["fast"]


def learnt(asked: argparse.Namespace, weight: float | None, alpha: float) -> lx.Model:
    """LEADS with this 1/λ and α; prints the error on the way."""
    train, validation = data(asked.system, "train", "fast", 0), data(asked.system, "test", "fast", 1, 8)
    settings = FAST.settings(train)
    omega = settings.penalty(FAST.rules)
    assert isinstance(omega, Omega)
    return lx.fit(
        lx.Leads(penalty=replace(omega, alpha=alpha), penalty_weight=weight),
        train,
        test=validation,
        key=jr.key(0),
        steps=asked.steps,
        seeds=asked.seeds,
        protocol=FAST.rules,
        settings=settings,
        look_every=80,
        listen=lambda look: print(f"  step {look.step}: {look.test}", flush=True),
        **FAST.training(train, asked.steps),
    )


def main() -> None:
    """Try them one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--system", choices=["gray-scott", "navier-stokes"], default="gray-scott")
    parser.add_argument("--weights", type=float, nargs="+", default=[None], help="1/λ; that of `fast` by default")
    parser.add_argument("--alphas", type=float, nargs="+", default=[1e-3, 0.1, 1.0])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--seeds", type=int, default=1)
    asked = parser.parse_args()
    train = data(asked.system, "train", "fast", 0)
    states = jnp.asarray(train.states[:, 0], jnp.float32)
    for weight, alpha in product(asked.weights, asked.alphas):
        print(f"weight {'of fast' if weight is None else weight}, alpha {alpha:g}")
        model = learnt(asked, weight, alpha)
        size = lambda field, e: float(jnp.sqrt(jnp.mean(jnp.square(jnp.stack([field(x) for x in states[e]])))))
        shares = [size(model.specific(name), e) / size(model.shared, e) for e, name in enumerate(train.environments)]
        print(f"  training error {lx.evaluate(model, train).mse:.2e}, |g_e| / |f|: {[f'{s:.2f}' for s in shares]}")


if __name__ == "__main__":
    main()
