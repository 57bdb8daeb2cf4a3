"""Defects of the libraries below us that have bitten us: if one goes red, do not ship with that release."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

# jaxlib 0.10.2 and 0.11.0 end in a segmentation fault here, so it runs in a process of its own.
RANK_SEVEN = """
import jax, jax.numpy as jnp
a = jnp.ones((2, 3, 1, 5, 4, 4, 2), jnp.float32)
total = jax.jit(lambda a, b: jnp.sum((a * b) ** 2, axis=(2, 3, 4, 5, 6)))(a, 2 * a)
assert total.shape == (2, 3) and float(total[0, 0]) == 4 * 5 * 4 * 4 * 2, total
"""

# jaxlib 0.11.1 takes time quadratic in the length of a scan that stacks small outputs.
SCAN = """
import time, jax, jax.numpy as jnp
def seconds(length):
    run = jax.jit(lambda x: jax.lax.scan(lambda c, _: (c * 0.999, c), x, None, length=length)[1])
    run(jnp.ones(2)).block_until_ready()
    times = []
    for _ in range(5):
        start = time.perf_counter()
        run(jnp.ones(2)).block_until_ready()
        times.append(time.perf_counter() - start)
    return min(times)
short, long = seconds(20_000), seconds(160_000)
assert long < 30 * short, f"8 times the length takes {long / short:.0f} times as long"
"""


@pytest.mark.parametrize("program", [RANK_SEVEN, SCAN], ids=["rank 7 reduction", "scan is linear"])
def test_in_a_process_of_its_own(program):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"exit status {done.returncode}: {done.stderr[-500:]}"


def test_shift_by_concatenation_is_the_same_compiled():
    # `x.at[1:].set(x[:-1])` followed by a reshape gives wrong numbers when compiled for the CPU: concatenate instead.
    shift = lambda x: jnp.concatenate([x[:1], x[:-1]]).reshape(-1)
    x = jnp.arange(24.0).reshape(6, 4)
    np.testing.assert_array_equal(jax.jit(shift)(x), shift(x))
    np.testing.assert_array_equal(jax.jit(lambda x: jnp.roll(x, 1, 0).reshape(-1))(x), np.roll(x, 1, 0).ravel())
