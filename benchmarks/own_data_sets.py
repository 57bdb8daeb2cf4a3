"""Data sets that no preset knows, for `benchmarks/own_data.py`: each gives training data and test data."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp

from leadax import Trajectories, load

Pair = tuple[Trajectories, Trajectories]
Field = Callable[..., Sequence[float]]


def simulated(
    field: Field,
    environments: Sequence[tuple[float, ...]],
    starts: Callable[[np.random.Generator], np.ndarray],
    times: np.ndarray,
    *,
    train: int,
    test: int = 8,
    noise: float = 0.0,
    seed: int = 0,
    channels: Sequence[str] | None = None,
) -> Pair:
    """Trajectories of `field(x, *parameters)`. Noise, as a part of each channel's spread, is in training data only."""
    rng = np.random.default_rng(seed)
    firsts = [starts(rng) for _ in range(train + test)]

    def solve(parameters: tuple[float, ...], first: np.ndarray) -> np.ndarray:
        span = (times[0], times[-1])
        return solve_ivp(lambda _, x: field(x, *parameters), span, first, t_eval=times, rtol=1e-8, atol=1e-9).y.T

    states = np.array([[solve(p, x) for x in firsts] for p in environments])
    names = [f"e{i}" for i in range(len(environments))]
    make = lambda part: Trajectories.from_arrays(times, part, environments=names, channels=channels)
    spread = states[:, :train].std(axis=(0, 1, 2))
    noisy = states[:, :train] + noise * spread * rng.normal(size=states[:, :train].shape)
    return make(noisy), make(states[:, train:])


def box(low: Sequence[float], high: Sequence[float]) -> Callable[[np.random.Generator], np.ndarray]:
    """Starts that are uniform in a box."""
    return lambda rng: rng.uniform(low, high)


def van_der_pol(noise: float = 0.0) -> Pair:
    """Five oscillators, three trajectories of each."""
    field = lambda x, mu: (x[1], mu * (1 - x[0] ** 2) * x[1] - x[0])
    environments = [(mu,) for mu in (0.2, 0.65, 1.1, 1.55, 2.0)]
    return simulated(field, environments, box([-2, -2], [2, 2]), np.linspace(0, 8, 33), train=3, noise=noise)


def fitzhugh_nagumo(noise: float = 0.0) -> Pair:
    """Six neurons under different currents."""
    field = lambda x, i: (x[0] - x[0] ** 3 / 3 - x[1] + i, 0.08 * (x[0] + 0.7 - 0.8 * x[1]))
    environments = [(i,) for i in np.linspace(0.2, 1.2, 6)]
    return simulated(field, environments, box([-2, -1], [2, 1.5]), np.linspace(0, 40, 41), train=4, noise=noise)


def epidemic(noise: float = 0.0) -> Pair:
    """Susceptible and infected people, in thousands, in eight regions."""
    field = lambda x, b, c: (-b * x[0] * x[1] / 100, b * x[0] * x[1] / 100 - c * x[1])
    environments = [(b, c) for b in (0.5, 0.8, 1.1, 1.4) for c in (0.2, 0.4)]
    return simulated(field, environments, box([60, 1], [99, 10]), np.linspace(0, 20, 21), train=2, noise=noise)


def brusselator(noise: float = 0.0) -> Pair:
    """A chemical oscillator at nine feeds."""
    field = lambda x, a, b: (a + x[0] ** 2 * x[1] - (b + 1) * x[0], b * x[0] - x[0] ** 2 * x[1])
    environments = [(a, b) for a in (0.8, 1.0, 1.2) for b in (1.6, 2.0, 2.4)]
    return simulated(field, environments, box([0.5, 1], [2, 3]), np.linspace(0, 12, 41), train=3, noise=noise)


def pendulum(noise: float = 0.0) -> Pair:
    """Four damped pendulums."""
    field = lambda x, length: (x[1], -np.sin(x[0]) * 9.81 / length - 0.2 * x[1])
    environments = [(length,) for length in (4.0, 6.0, 8.0, 10.0)]
    return simulated(field, environments, box([-2, -1], [2, 1]), np.linspace(0, 10, 26), train=3, noise=noise)


def lotka_volterra(noise: float = 0.0, environments: int = 10) -> Pair:
    """The paper's prey and predators, four trajectories of each environment, well resolved."""
    field = lambda x, a, g: (a * x[0] - 0.5 * x[0] * x[1], 0.5 * x[0] * x[1] - g * x[1])
    halves = [(0.5, 0.5), (0.25, 0.5), (0.75, 0.5), (1, 0.5), (0.5, 0.25), (0.5, 0.75), (0.5, 1)]
    all_ten = [*halves, (0.25, 0.25), (0.75, 0.75), (1, 1)]
    starts, times = box([1, 1], [2, 2]), np.arange(0, 10, 0.5)
    return simulated(field, all_ten[:environments], starts, times, train=4, noise=noise, channels=("prey", "predator"))


def coda_lotka_volterra() -> Pair:
    """CoDA's prey and predators: nine environments, four trajectories of each, 32 to test on."""
    field = lambda x, b, d: (0.5 * x[0] - b * x[0] * x[1], d * x[0] * x[1] - 0.5 * x[1])
    environments = [(b, d) for b in (0.5, 0.75, 1.0) for d in (0.5, 0.75, 1.0)]
    return simulated(field, environments, box([1, 1], [2, 2]), np.arange(0, 10, 0.5), train=4, test=32)


def many_short() -> Pair:
    """Two hundred logistic growths, one trajectory of six points of each."""
    rng = np.random.default_rng(5)
    field = lambda x, rate, capacity: (rate * x[0] * (1 - x[0] / capacity),)
    environments = list(zip(rng.uniform(0.4, 1.6, 200), rng.uniform(4, 12, 200), strict=True))
    return simulated(field, environments, box([0.2], [6]), np.linspace(0, 5, 6), train=1, test=1)


def fisher() -> Pair:
    """Waves of u_t = D u_xx + r u(1 − u) on a ring of 32 points, in four environments."""
    points = 32

    def field(u: np.ndarray, diffusion: float, rate: float) -> np.ndarray:
        laplacian = (np.roll(u, 1) + np.roll(u, -1) - 2 * u) * (points / 10) ** 2
        return diffusion * laplacian + rate * u * (1 - u)

    def start(rng: np.random.Generator) -> np.ndarray:
        place, width = rng.uniform(0, points), rng.uniform(2, 6)
        distance = np.abs((np.arange(points) - place + points / 2) % points - points / 2)
        return rng.uniform(0.2, 0.8) * np.exp(-((distance / width) ** 2))

    environments = [(d, r) for d in (0.1, 0.3) for r in (0.6, 1.2)]
    train, test = simulated(field, environments, start, np.linspace(0, 6, 13), train=4)
    on_grid = lambda data: Trajectories.from_arrays(data.times[0, 0], data.states[..., None])
    return on_grid(train), on_grid(test)


def measured(folder: Path) -> dict[str, Callable[[], Pair]]:
    """Real measurements, read from a folder (they come with R: Theoph, Indometh, Soybean)."""

    def ends(name: str, columns: dict[str, str]) -> Pair:
        """Learn from the first eight points of a subject, forecast the last three from its start."""
        data = load(folder / name, columns=columns, channels=["conc"])
        late = data.states.copy()
        late[:, :, 1:8] = np.nan
        return data.select().split_times((0.7, 0.3))[0], Trajectories.from_arrays(
            data.times, late, environments=data.environments, channels=data.channels
        )

    def soybean() -> Pair:
        """Six plots of each variety and year to learn from, two to test on."""
        columns = {"environment": "Variety+Year", "trajectory": "Plot", "time": "Time"}
        data = load(folder / "soybean.csv", columns=columns, channels=["weight"])
        return data.select(trajectories=slice(6)), data.select(trajectories=slice(6, None))

    return {
        "theophylline": lambda: ends("theophylline.csv", {"environment": "Subject", "time": "Time"}),
        "indomethacin": lambda: ends("indomethacin.csv", {"environment": "Subject", "time": "time"}),
        "soybean": soybean,
    }


SIMULATED: dict[str, Callable[[], Pair]] = {
    "van-der-pol": van_der_pol,
    "fitzhugh-nagumo": fitzhugh_nagumo,
    "epidemic": epidemic,
    "brusselator": brusselator,
    "pendulum": pendulum,
    "coda-lotka-volterra": coda_lotka_volterra,
    "many-short": many_short,
    "fisher": fisher,
    "van-der-pol-noisy": lambda: van_der_pol(0.1),
    "fitzhugh-nagumo-noisy": lambda: fitzhugh_nagumo(0.05),
    "epidemic-noisy": lambda: epidemic(0.05),
    "pendulum-noisy": lambda: pendulum(0.05),
}
