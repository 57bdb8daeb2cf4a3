"""One training step of each paper setting, as Leadax computes it and as plain arrays that another library can take."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

import leadax as lx
from leadax.data.batch import to_batch
from leadax.experiments import complete, settings_for
from leadax.model import cast
from leadax.objective import ScheduledSampling, init_carry, objective
from leadax.systems import get_system
from leadax.training import Recipe, advance_program, init_state

SYSTEMS = ("lotka-volterra", "gray-scott", "navier-stokes")


@dataclass
class Problem:
    """A method with weights, and the data of one step: all trajectories, or as many as the setting takes at once."""

    system: str
    recipe: Recipe
    parts: Any
    carry: Any
    batch: Any
    restart: np.ndarray

    @classmethod
    def of(cls, system: str, *, environments: int | None = None, trajectories: int | None = None) -> "Problem":
        """The paper's setting, protocol `paper`, from random weights, with a draw of scheduled sampling at ε = 0.5."""
        data = lx.simulate(get_system(system, "paper"), environments=environments, key=jr.key(0))
        settings = settings_for(data)
        count = trajectories or settings.batch_size or data.states.shape[1]
        batch = jax.tree.map(lambda a: a[:, :count], to_batch(data, jnp.float32))
        method = complete(lx.Leads(), settings, "paper")
        m = len(data.environments)
        parts = cast(jax.jit(lambda key: method.init(data.state_shape, m, key=key))(jr.key(0)), jnp.float32)
        carry = jax.jit(lambda key: init_carry(method, parts, key, m))(jr.key(1))
        restart = np.broadcast_to(np.random.default_rng(0).uniform(size=batch.times.shape[-1]) < 0.5, batch.times.shape)
        import optax

        recipe = Recipe(method, optax.adam(1e-3), ScheduledSampling(), error_scale=np.ones(len(data.channels)))
        return cls(system, recipe, parts, carry, batch, restart)

    def loss_and_gradient(self) -> tuple[float, Any]:
        """By Leadax; the gradient is as the parts."""
        scale = jnp.ones(self.batch.states.shape[-1], jnp.float32)
        loss = partial(objective, self.recipe.method)
        value = lambda parts: loss(parts, self.carry, self.batch, jnp.asarray(self.restart), scale)
        (total, _), gradient = jax.jit(jax.value_and_grad(value, has_aux=True))(self.parts)
        return float(total), gradient

    def program(self, seeds: int = 1, devices: int = 1):
        """`steps -> None`: runs so many whole training steps, Adam and scheduled sampling included."""
        m = self.batch.times.shape[0]
        one = lambda key: init_state(self.recipe, self.parts, m, key)
        state = jax.jit(jax.vmap(one))(jr.split(jr.key(2), seeds))
        advance = advance_program(self.recipe, devices)

        def run(steps: int) -> None:
            nonlocal state
            state, progress = advance(state, self.batch, steps)
            jax.block_until_ready(progress)

        return run
