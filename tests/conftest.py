"""The strict test room: float64 unless asked otherwise, no silent promotion of types or ranks."""

import os

import jax

# Most of the time of most tests goes into compiling small programs, a third of it into making them fast.
# Read when JAX is first used, also by the processes that tests start.
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_backend_optimization_level=0".strip()

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")
