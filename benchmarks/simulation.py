"""How fast Gray–Scott and Navier–Stokes are simulated, next to a straightforward loop with SciPy and NumPy.

    python benchmarks/simulation.py [--json]

Both sides solve the same trajectories with the same equation, scheme and tolerance, one after the other in one run;
compile time is reported separately. The loop is what one would write first: one trajectory after another, NumPy arrays,
SciPy's solver or an explicit loop over time steps.
"""

import argparse
import dataclasses
import json
import statistics
import time

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import scipy.integrate

from leadax.systems import get_system, simulate
from leadax.systems.draws import keys

REPEATS = 3


def gray_scott_loop(initial, environments, times):
    """SciPy's adaptive 5(4) pair at the paper's tolerance, the stencil with `np.roll`."""

    def laplacian(a):
        shifted = lambda dy, dx: np.roll(a, (dy, dx), (0, 1))
        sides = shifted(1, 0) + shifted(-1, 0) + shifted(0, 1) + shifted(0, -1)
        corners = shifted(1, 1) + shifted(1, -1) + shifted(-1, 1) + shifted(-1, -1)
        return -3 * a + 0.5 * sides + 0.25 * corners

    def solve(state, p):
        def rate(t, flat):
            u, v = flat.reshape(2, 32, 32)
            du = p["D_u"] * laplacian(u) - u * v**2 + p["F"] * (1 - u)
            dv = p["D_v"] * laplacian(v) + u * v**2 - (p["F"] + p["k"]) * v
            return np.stack([du, dv]).ravel()

        start = np.moveaxis(state, -1, 0).ravel()
        solution = scipy.integrate.solve_ivp(rate, times[[0, -1]], start, t_eval=times, rtol=1e-3, atol=1e-6)
        return np.moveaxis(solution.y.T.reshape(-1, 2, 32, 32), 1, -1)

    return np.stack([[solve(state, p) for state in initial] for p in environments])


def navier_stokes_loop(initial, environments, times):
    """Crank–Nicolson and explicit Euler with steps of 1e-3, `np.fft`, the advection as v·∇w."""
    k = 2 * np.pi * np.fft.fftfreq(32, 1 / 32)
    ky, kx = np.meshgrid(k, k, indexing="ij")
    squared = kx**2 + ky**2
    inverse = 1 / np.where(squared == 0, 1, squared)
    kept = (np.abs(kx) <= 2 * np.pi * 32 / 3) & (np.abs(ky) <= 2 * np.pi * 32 / 3)
    grid = np.arange(32) / 32
    real = lambda modes: np.fft.ifft2(modes).real

    def solve(state, p):
        angle = lambda a, b: 2 * np.pi * (a * grid[None, :] + b * grid[:, None])
        force = p["amplitude"] * (np.sin(angle(p["sin_x"], p["sin_y"])) + np.cos(angle(p["cos_x"], p["cos_y"])))
        force, w, states = np.fft.fft2(force), np.fft.fft2(state[..., 0]), [state[..., 0]]
        half = 0.5e-3 * p["viscosity"] * squared
        for span in np.diff(times):
            for _ in range(round(span / 1e-3)):
                stream = w * inverse
                vx, vy = real(1j * ky * stream), real(-1j * kx * stream)
                advection = kept * np.fft.fft2(vx * real(1j * kx * w) + vy * real(1j * ky * w))
                w = ((1 - half) * w + 1e-3 * (force - advection)) / (1 + half)
            states.append(real(w))
        return np.stack(states)[..., None]

    return np.stack([[solve(state, p) for state in initial] for p in environments])


CASES = {"gray-scott": (gray_scott_loop, 10, 8, 5e-2), "navier-stokes": (navier_stokes_loop, 3, 8, 1e-9)}


def measure(name):
    loop, points, trajectories, tolerance = CASES[name]
    # The spin-up of Navier–Stokes initial states is left out on both sides.
    system = get_system(name, "paper")
    start = simulate(dataclasses.replace(system, times=system.times[:2]), key=jr.key(0), trajectories=trajectories)
    initial = start.states[0, :, 0]
    pick = lambda key: jnp.asarray(initial)[jr.randint(key, (), 0, len(initial))]
    timed = dataclasses.replace(system, times=system.times[:points], draws=keys, initial_state=pick)
    environments = list(system.environments.values())
    ours, theirs, compile_seconds = [], [], 0.0
    for repeat in range(REPEATS + 1):
        begin = time.perf_counter()
        data = simulate(timed, key=jr.key(0), trajectories=trajectories)
        ours.append(time.perf_counter() - begin)
        if repeat == 0:
            compile_seconds = ours.pop()
            continue
        begin = time.perf_counter()
        expected = loop(data.states[0, :, 0], environments, timed.times)
        theirs.append(time.perf_counter() - begin)
    difference = np.abs(data.states - expected).max()
    assert difference < tolerance, f"{name}: the two sides differ by {difference:.1e}"
    leadax, reference = statistics.median(ours), statistics.median(theirs)
    return {
        "leadax_s": leadax,
        "loop_s": reference,
        "ratio": reference / leadax,
        "first_call_s": compile_seconds,
        "difference": float(difference),
        "trajectories": trajectories * len(environments),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    as_json = parser.parse_args().json
    results = {name: measure(name) for name in CASES}
    if as_json:
        print(json.dumps(results, indent=2))
        return
    print(f"{'system':15} {'leadax':>9} {'loop':>9} {'ratio':>7} {'first call':>11} {'difference':>11}")
    for name, r in results.items():
        print(
            f"{name:15} {r['leadax_s']:8.2f}s {r['loop_s']:8.2f}s {r['ratio']:6.1f}x {r['first_call_s']:10.2f}s "
            f"{r['difference']:11.1e}"
        )


if __name__ == "__main__":
    main()
