"""How learnt dynamics are divided: the size of f and of g_e where the data are.

    python examples/decomposition.py RUN [RUN ...] --data test.nc

Prints the root mean square of f(x), g_e(x) and their sum over all observed states, and a Lipschitz bound of g_e (the
product of the spectral norms of its layers, in the model's standard units): mean and range over the seeds.
"""

import argparse
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import leadax as lx


def sizes(model: lx.Model, data: lx.Trajectories) -> np.ndarray:
    """RMS of f, g_e and f + g_e, and the Lipschitz bound of g_e: `(seed, 4)`."""
    return np.stack([_sizes(model.member(seed), data) for seed in range(model.members)])


def _sizes(model: lx.Model, data: lx.Trajectories) -> np.ndarray:
    states = np.where(data.observed, data.states, np.nan).reshape(len(data.environments), -1, *data.state_shape)
    squares, bounds = np.zeros(3), []
    for points, environment in zip(states, data.environments, strict=True):
        x = jnp.asarray(points[np.isfinite(points).all(axis=tuple(range(1, points.ndim)))], jnp.float32)
        f, g = (jax.vmap(part)(x) for part in (model.shared, model.specific(environment)))
        squares += [float(jnp.mean(jnp.square(v))) for v in (f, g, f + g)]
        e = model.environment_index(environment)
        bounds.append(lipschitz(jax.tree.map(lambda a, e=e: a[0, e], model.levels.specific)))
    return np.array([*np.sqrt(squares / len(data.environments)), np.mean(bounds)])


def lipschitz(net: object) -> float:
    """The product of the spectral norms of a net's layers; NaN for what is not a net."""
    layers = getattr(net, "layers", ())
    norms = [np.linalg.norm(np.asarray(layer.matrix()), 2) for layer in layers]
    return float(np.prod(norms)) if norms else float("nan")


def main() -> None:
    """One line per run."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("runs", nargs="+", type=Path)
    options.add_argument("--data", type=Path, required=True)
    chosen = options.parse_args()
    data = lx.load(chosen.data)
    print(f"{'run':30} {'f':>24} {'g_e':>24} {'f + g_e':>24} {'Lipschitz bound of g_e':>24}")
    for run in chosen.runs:
        table = sizes(lx.Model.load(run / "model.safetensors"), data)
        cells = [f"{c.mean():.3g} ({c.min():.3g} to {c.max():.3g})" for c in table.T]
        print(f"{run.name:30} " + " ".join(f"{cell:>24}" for cell in cells))


if __name__ == "__main__":
    main()
