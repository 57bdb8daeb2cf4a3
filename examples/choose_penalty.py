"""How small and how smooth must g_e be? LEADS on a field with several weights of Ω (protocol `fast`).

    python examples/choose_penalty.py --system gray-scott --alphas 0.001 0.1 1 --steps 400
    python examples/choose_penalty.py --system navier-stokes --weights 0.001 --alphas 0.001 0.1 --steps 500 --seeds 2

1/λ is the weight of Ω = |g_e|² + α Σ|W|². Errors are those of trajectories that are neither trained on nor in the test
set: the test data of another seed.
"""

import argparse
from dataclasses import replace
from itertools import product

import jax
import jax.numpy as jnp
import jax.random as jr

import leadax as lx
from leadax.experiments.study.models import simulated
from leadax.experiments.study.protocols import PROTOCOLS

FAST = PROTOCOLS["fast"]


def learnt(arguments: argparse.Namespace, weight: float | None, alpha: float) -> lx.Model:
    """LEADS with this 1/λ and α; prints the error during training."""
    train, validation = (
        simulated(arguments.system, "train", "fast", 0),
        simulated(arguments.system, "test", "fast", 1, 8),
    )
    defaults = FAST.defaults(arguments.system, train)
    return lx.fit(
        lx.Leads(penalty=replace(defaults.penalty, alpha=alpha), penalty_weight=weight),
        train,
        test=validation,
        key=jr.key(0),
        steps=arguments.steps,
        seeds=arguments.seeds,
        defaults=defaults,
        monitor=lx.Monitor(
            listen=lambda snapshot, steps: print(f"  step {snapshot.step}: {snapshot.test}", flush=True)
        ),
        **FAST.training(arguments.system, arguments.steps, look_every=80),
    )


def main() -> None:
    """Try them one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--system", choices=["gray-scott", "navier-stokes"], default="gray-scott")
    parser.add_argument("--weights", type=float, nargs="+", default=[None], help="1/λ; by default that of `fast`")
    parser.add_argument("--alphas", type=float, nargs="+", default=[1e-3, 0.1, 1.0])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    train = simulated(arguments.system, "train", "fast", 0)
    states = jnp.asarray(train.states[:, 0], jnp.float32)
    size = lambda field, e: float(jnp.sqrt(jnp.mean(jnp.square(jax.vmap(field)(states[e])))))
    for weight, alpha in product(arguments.weights, arguments.alphas):
        print(f"weight {'of fast' if weight is None else weight}, alpha {alpha:g}")
        model = learnt(arguments, weight, alpha)
        shares = [size(model.specific(name), e) / size(model.shared, e) for e, name in enumerate(train.environments)]
        print(f"  training error {lx.evaluate(model, train).mse:.2e}, |g_e| / |f|: {[f'{s:.2f}' for s in shares]}")


if __name__ == "__main__":
    main()
