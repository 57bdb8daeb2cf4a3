"""Remifentanil in the blood of 65 patients: the curve of each from its first points, by models that never saw it.

A one- and a two-compartment model are fitted to every training patient by least squares; the mean and the covariance of
the logarithms of their numbers are the prior with which a new patient's numbers are fitted to five points (maximum a
posteriori). The model of Leadax has the two-compartment model as its known formula, two random effects, and a net for
the rest. Patients are left out in groups, not one by one, so that few models must be trained.
"""

import time
from pathlib import Path

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from scipy.linalg import expm
from scipy.optimize import least_squares

import leadax as lx

FOLDS, WARMUP, SIGMA = 5, 6, 0.15  # the first point is known: no drug yet; noise is about 15 % of a value
STARTS = {1: np.log([10.0, 0.3]), 2: np.log([6.0, 0.4, 0.3, 0.15])}


def patients(file: Path) -> lx.Trajectories:
    """All patients as trajectories of one environment; the rate is held, age and lean mass are constant inputs."""
    data = lx.load(file, columns={"environment": "ID", "time": "Time"}, channels=["conc"], inputs=["Rate:held"],
                   covariates=["Age", "LBM"])  # fmt: skip
    states, rates, times = data.states[:, 0].copy(), data.inputs[:, 0], data.times[:, 0]
    states[:, 0] = 0.0
    constant = [np.broadcast_to(data.parameters[name][:, None], times.shape) for name in ("Age", "LBM")]
    inputs = np.stack([rates[..., 0], *constant], axis=-1)
    return lx.Trajectories.from_arrays(
        times[None], states[None], channels=["conc"], inputs=np.where(np.isnan(times)[..., None], np.nan, inputs)[None],
        input_names=["Rate", "Age", "LBM"], input_kinds=["held", "held", "held"])  # fmt: skip


def compartments(t, x, u, p):
    """Two compartments under infusion; the individual constants, which come last, are random effects."""
    volume, clearance = p.volume * jnp.exp(0.3 * u[3]), p.clearance * jnp.exp(0.3 * u[4])
    back = p.back * (x[1] - x[0] / p.scale)
    return jnp.stack([u[0] / volume - clearance / volume * x[0] + back * p.scale * p.ratio, -back])


PARAMETERS = {
    "volume": lx.Parameter(6.0, shared=True, low=0.0),
    "clearance": lx.Parameter(2.5, shared=True, low=0.0),
    "back": lx.Parameter(0.15, shared=True, low=0.0),
    "ratio": lx.Parameter(1.0, shared=True, low=0.0),
    "scale": lx.Parameter(10.0, shared=True, low=0.0),
}


def curve(logs: np.ndarray, times: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """The concentration in one or two compartments with these numbers, under a rate that is held."""
    numbers = np.exp(np.clip(logs, -8, 8))
    volume, out = numbers[:2]
    to, back = numbers[2:] if len(numbers) == 4 else (0.0, 1.0)
    flow = np.array([[-(out + to), back, 1 / volume], [to, -back, 0], [0, 0, 0]])
    state, found = np.zeros(2), [0.0]
    for gap, rate in zip(np.diff(times), rates[:-1], strict=True):
        state = (expm(flow * gap) @ np.array([*state, rate]))[:2]
        found.append(state[0])
    return np.array(found)


def fitted(count: int, patient: tuple, points: slice, prior: tuple | None = None) -> np.ndarray:
    """The logarithms of the numbers of one patient, by least squares or maximum a posteriori."""
    times, conc, rates = patient
    seen = np.flatnonzero(np.isfinite(conc))[points]
    noise = SIGMA * np.maximum(conc[seen], 0.5)

    def misses(logs: np.ndarray) -> np.ndarray:
        last = seen[-1] + 1
        off = (curve(logs, times[:last], rates[:last])[seen] - conc[seen]) / noise
        return off if prior is None else np.concatenate([off, prior[1] @ (logs - prior[0])])

    start = STARTS[count] if prior is None else prior[0]
    return least_squares(misses, start, loss="linear" if prior else "soft_l1", max_nfev=60).x


def compared(file: Path, steps: int) -> dict:
    """Errors after the first points of held-out patients, over all folds, divided by the variance there."""
    data, begin = patients(file), time.perf_counter()
    rows = [(t[np.isfinite(t)], x[np.isfinite(t), 0], u[np.isfinite(t), 0])
            for t, x, u in zip(data.times[0], data.states[0], data.inputs[0], strict=True)]  # fmt: skip
    squares, seen = {"one": [], "two": [], "leadax": []}, []
    for fold in range(FOLDS):
        out = [i for i in range(len(rows)) if i % FOLDS == fold]
        kept = [i for i in range(len(rows)) if i % FOLDS != fold]
        for count, name in ((1, "one"), (2, "two")):
            all_logs = np.array([fitted(count, rows[i], slice(None)) for i in kept])
            width = np.linalg.inv(np.linalg.cholesky(np.cov(all_logs.T) + 1e-3 * np.eye(len(all_logs.T))))
            for i in out:
                logs = fitted(count, rows[i], slice(0, WARMUP), (np.median(all_logs, axis=0), width))
                after = np.flatnonzero(np.isfinite(rows[i][1]))[WARMUP:]
                squares[name] += list((curve(logs, rows[i][0], rows[i][2]) - rows[i][1])[after] ** 2)
        seen += [value for i in out for value in rows[i][1][np.flatnonzero(np.isfinite(rows[i][1]))[WARMUP:]]]
        squares["leadax"] += _leadax(data, kept, out, steps)
        print(fold, {name: np.mean(values) / np.var(seen) for name, values in squares.items()}, flush=True)
    errors = {name: float(np.mean(values) / np.var(seen)) for name, values in squares.items()}
    return {"nmse": errors["leadax"], "one_compartment": errors["one"], "two_compartments": errors["two"],
            "folds": FOLDS, "seconds": round(time.perf_counter() - begin)}  # fmt: skip


def _leadax(data: lx.Trajectories, kept: list[int], out: list[int], steps: int) -> list[float]:
    """Squared errors of the points after the first ones."""
    method = lx.OneForAll(known=compartments, parameters=PARAMETERS)
    latent = lx.Latent(noise=0.03, hidden=1, individual=2)
    model = lx.fit(method, data.choose([kept]), steps=steps, latent=latent, key=jr.key(0))
    errors = lx.evaluate(model, data.choose([out]), warmup=WARMUP)
    sums, counts = errors.channel_sums.sum(), errors.channel_counts.sum()
    return [float(sums / counts)] * int(counts)
