"""What a method leaves open: chosen from the data, or the paper's settings for its own systems, if asked for."""

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from .data import Trajectories
from .data.clock import Clock
from .data.latent import Latent, layout_for, units_for
from .data.layout import Layout
from .data.units import Box, Units
from .errors import InputError, expect, lookup
from .methods import Method, Sizes, with_formula
from .nets import FNO, MLP, NETS, ConvNet, Linear, Timed
from .nets.architecture import Architecture, architecture
from .penalties import EmpiricalNorm, Frobenius, Omega, Penalty, SpectralNorm
from .trend import best_polynomial, needs_hidden

FILLED_IN = ("net", "solver", "penalty", "penalty_weight", "kappa")
KAPPA = 0.1
CLIP = 1.0
RESTART_SHARE = 0.3
WEIGHT_DECAY = 0.01
LEARNING_RATE = 1e-3
# Steps on fields are slow, and Muon makes the most of each.
IN_FIELDS = {"optimiser": "muon", "decay": "one-cycle", "learning_rate": 1e-2, "steps": 1_000, "batch_size": 1}
# Where nets begin at a polynomial that leaves little to learn, they should not learn in large steps. The learning rate
# is this times what is left, as a part of the rates of the data; at least the other, at most 1, of the usual one.
HASTE, SLOWEST = 9.0, 0.001
VECTOR_NET = partial(MLP, degree=1)
POLYNOMIAL = ("degree", "region", "zero")


@dataclasses.dataclass(frozen=True)
class Defaults:
    """The settings of a method that leaves them open, and the units that it computes in.

    - `net`, `solver`, `penalty`, `penalty_weight` or `kappa`: as in `Leads`;
    - `units`: those of the data by `Units.measured`, or `Units.ones`;
    - `batch_size`: trajectories per environment and step; None for all;
    - `longest_step`: the longest step of the solver, in units of time of the data; None for one per observed interval;
    - `clip`: the largest length of a gradient; None for any;
    - `box`: the region, in standard units, that forecasts are kept in; None for everywhere;
    - `restart_share`: of the steps, after which forecasts hardly restart from the data any more; None for the paper's
      schedule, whatever the number of steps;
    - `weight_decay`: γ, how strongly weights are kept small;
    - `optimiser`, `decay`, `learning_rate`, `steps`: how to learn, where nothing else is asked for (`leadax.fit`);
      `steps` is None for as many as what there is to learn calls for; `settled_rate`: the learning rate of nets that
      begin at the laws of all environments and have only the rest to learn, None for no difference;
    - `layout`: what is hidden, what acts from outside, what belongs to one trajectory; None for nothing of the kind;
    - `clock`: options of a net that sees the time (`leadax.nets.Timed`); None for one that does not;
    - `found_hidden`: whether the layout has a hidden channel because the data call for one.
    """

    net: Architecture
    solver: str
    penalty: Penalty
    units: Units
    penalty_weight: float | None = None
    kappa: float | None = None
    batch_size: int | None = None
    longest_step: float | None = None
    clip: float | None = None
    box: Box | None = None
    restart_share: float | None = None
    weight_decay: float = 0.0
    optimiser: str = "adam"
    decay: str = "cosine"
    steps: int | None = None
    learning_rate: float = LEARNING_RATE
    settled_rate: float | None = None
    layout: Layout | None = None
    clock: tuple[tuple[str, float], ...] | None = None
    found_hidden: bool = False

    def complete(self, method: Method, sizes: Sizes) -> Method:
        """The method with everything filled in that it leaves open."""
        # Asked of the settings that a method has: one without a penalty has no field of that name.
        names = {field.name for field in dataclasses.fields(method)}
        weights = {"penalty_weight", "kappa"} & names
        if any(getattr(method, name) is not None for name in weights):
            names -= weights
        if any(isinstance(weight := getattr(method, name), float) and weight == 0 for name in weights):
            names -= {"penalty"}  # what has no weight is not recorded as if it had
        net = self._net_beside(method)
        method = method.sized(sizes, net)
        open_ = [name for name in names & set(FILLED_IN) if getattr(method, name) is None]
        chosen = {name: getattr(self, name) for name in open_} | ({"net": net} if "net" in open_ else {})
        method = dataclasses.replace(method, **chosen)
        return with_formula(method if self.clock is None else self._timed(method), self.units)

    def _net_beside(self, method: Method) -> Architecture:
        """The net; beside a known formula without a curved polynomial, which could take the formula's part."""
        if getattr(method, "known", None) is None or self.net.build is not MLP:
            return self.net
        plain = {name: value for name, value in self.net.options if name not in POLYNOMIAL}
        return Architecture(MLP, tuple(sorted({**plain, "degree": 1}.items())))

    def _timed(self, method: Method) -> Method:
        """The method with nets that see the time."""
        net = getattr(method, "net", None)
        if net is None:
            raise InputError(f"{type(method).__name__} has no net that could see the time: leave out `--inputs time`")
        options = tuple(sorted({"of": net, **dict(self.clock or ())}.items()))
        return dataclasses.replace(method, net=Architecture(Timed, options))  # pyright: ignore[reportCallIssue]

    def laid_out(self, data: Trajectories, latent: Latent | None, covariates: Sequence[str] = ()) -> "Defaults":
        """With the layout of the data, and the units of what acts on them.

        - `latent`: what is to be inferred; None for what these settings say, by default nothing.
        """
        units, layout, found = self.units, self.layout, self.found_hidden
        if latent is not None or layout is None:
            layout, found = layout_for(data, units, latent or Latent(noise="none"), covariates), False
        elif covariates:
            layout = dataclasses.replace(layout, covariates=tuple(covariates))
        units = units_for(data, units, layout)
        net, rate, longest = self.net, self.settled_rate, self.longest_step
        if net == architecture(VECTOR_NET) and self.clock is None:
            law = best_polynomial(data, units, layout)
            if law.degree == 0:
                net = Architecture(MLP)
            elif law.degree > 1:
                net = Architecture(MLP, tuple(law.options.items()))
            rate = self.settled_with(law.rest).settled_rate
            if law.left is not None and layout.noise is not None and (latent is None or latent.noise == "auto"):
                layout = dataclasses.replace(layout, noise=tuple(min(noise, law.left) for noise in layout.noise))
            longest = None if longest is None else longest / law.finer
        changed = {"net": net, "layout": layout, "units": units, "settled_rate": rate, "longest_step": longest}
        return dataclasses.replace(self, **changed, found_hidden=found)

    def settled_with(self, rest: float) -> "Defaults":
        """With the learning rate of nets that begin at polynomials which leave so much, as a part of the rates."""
        rate = min(1.0, max(SLOWEST, HASTE * rest)) * self.learning_rate
        return dataclasses.replace(self, settled_rate=rate)


def chosen_for(data: Trajectories, net: Any = None, clock: Clock | None = None) -> Defaults:
    """Settings for data of unknown scale: everything in units of the data's own spread.

    **Arguments**

    - `net`: a name in `leadax.nets.NETS`, an import path `package.module:Name`, or an architecture; by default an MLP
      for vectors and a ConvNet for fields;
    - `clock`: lets the learnt field see the time, `Clock(period=365.25)`; None for a field that does not.

    >>> import numpy as np
    >>> chosen_for(Trajectories.from_arrays(range(5), np.zeros((1, 1, 5, 2)))).net.build.__name__
    'MLP'
    """
    expect("data", data, Trajectories, "leadax.load(FILE)")
    net = net or (ConvNet if data.space else VECTOR_NET)
    built = architecture(NETS.find(net) if isinstance(net, str) else net)
    assert built is not None
    units = Units.measured(data)
    layout = layout_for(data, units, Latent())
    hidden = clock is None and needs_hidden(data, units, layout)
    return Defaults(
        net=built,
        solver="rk4",
        penalty=absolute_omega(1e-3),
        units=units,
        kappa=KAPPA,
        longest_step=median_gap(data),
        clip=CLIP,
        box=Box.around(data, units),
        restart_share=RESTART_SHARE,
        weight_decay=WEIGHT_DECAY,
        layout=dataclasses.replace(layout, hidden=int(hidden)),
        clock=None if clock is None else tuple(clock.options(data, units).items()),
        found_hidden=hidden,
        **(IN_FIELDS if data.space else {}),
    )


def calls_for_hidden(data: Trajectories, latent: Latent) -> bool:
    """Whether the data need a hidden channel, with that much noise."""
    units = Units.measured(data)
    return needs_hidden(data, units, layout_for(data, units, latent))


def median_gap(data: Trajectories) -> float:
    """The median time between neighbouring points: a solver's step should not be much longer."""
    gaps = np.diff(data.times, axis=2)
    return float(np.median(gaps[np.isfinite(gaps)])) if np.isfinite(gaps).any() else 1.0


def omega(alpha: float, protocol: str) -> Penalty:
    """The paper's Ω; in the protocol `paper` with the quirks of its experiments."""
    if protocol == "paper":
        return Omega(EmpiricalNorm(per_pixel=True), SpectralNorm(5, "matrix", include_factor=False), alpha)
    return Omega(EmpiricalNorm(), SpectralNorm(), alpha)


def absolute_omega(alpha: float) -> Penalty:
    """Ω where states are around zero: not divided by their size.

    Per pixel, so that a finer grid does not make Ω larger: the error is a mean over pixels and does not grow either.
    """
    return Omega(EmpiricalNorm(relative=False, per_pixel=True), SpectralNorm(), alpha)


@dataclasses.dataclass(frozen=True)
class Preset:
    """The paper's settings for one of its systems; `alpha` is None for the linear case, whose Ω is the Frobenius norm.

    Everything is in the units of the data.
    """

    net: Any
    solver: str
    alpha: float | None
    penalty_weight: float
    batch_size: int | None = None
    on_grid: bool = False

    def defaults(self, data: Trajectories, protocol: str = "clean") -> Defaults:
        """These settings for a data set of the system."""
        net = architecture(self.net)
        assert net is not None
        penalty = Frobenius() if self.alpha is None else omega(self.alpha, protocol)
        units = Units.ones(len(data.channels))
        return Defaults(net, self.solver, penalty, units, self.penalty_weight, batch_size=self.batch_size)


# λ and α are those of the code that made the published numbers; the paper's text has other ones. "rk4-38" is what that
# code calls RK4. That code has no linear system: its 1/λ was chosen on validation data (docs/theory.md).
PRESETS: Mapping[str, Preset] = {
    "linear": Preset(Linear, "rk4-38", None, 1e-4),
    "lotka-volterra": Preset(partial(MLP, init_std=0.05), "rk4-38", 1e-2, 1 / 5e3),
    "gray-scott": Preset(partial(ConvNet, init_std=0.1, factor=1e-3), "rk4-38", 1e-2, 1 / 1e3, on_grid=True),
    "navier-stokes": Preset(partial(FNO, init_std=0.1), "euler", 1e-4, 1 / 1e5, batch_size=2, on_grid=True),
}


def preset(name: str, data: Trajectories, *, protocol: str = "clean") -> Defaults:
    """The paper's settings for one of its systems, by name: `fit(..., defaults=preset("lotka-volterra", train))`.

    **Arguments**

    - `protocol`: `paper`, with Ω as the paper's experiments computed it, or `clean`, as it should be.

    >>> import numpy as np
    >>> preset("lotka-volterra", Trajectories.from_arrays(range(5), np.zeros((1, 1, 5, 2)))).solver
    'rk4-38'
    """
    found = lookup("preset", name, PRESETS)
    if bool(data.space) != found.on_grid:
        raise InputError(f"the preset `{name}` does not fit states of shape {data.state_shape}: leave it out")
    return found.defaults(data, protocol)
