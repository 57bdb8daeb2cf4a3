"""Options that several commands share, and what becomes of them."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import tyro

from ..errors import InputError, lookup
from .console import check_seed

if TYPE_CHECKING:
    from ..data import Trajectories
    from ..methods import Method
    from ..model import Model

DataFile: TypeAlias = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DATA", help="A data file.")]
RunPath: TypeAlias = Annotated[
    Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN", help="A run folder, or a model file (.safetensors).")
]


@dataclasses.dataclass(frozen=True)
class Training:
    """How to train."""

    steps: int = 12_000
    """Gradient steps."""
    seeds: int = 1
    """How many models to train at once, from different random weights."""
    seed: int = 0
    """The same seed gives the same model on the same machine."""
    net: Literal["mlp", "conv", "fno", "linear"] | None = None
    """The network of f and of every g_e; chosen from the data by default."""
    solver: str | None = None
    """How f + g_e is integrated: euler, heun, midpoint, ralston, bosh3, rk4, rk4-38, tsit5, dopri5 or dopri8."""
    substeps: int = 1
    """Solver steps per observed interval."""
    rank: int | None = None
    """Factors per linear map of ft-node and ft-rnn; as many as give them the parameters of leads by default."""
    penalty_weight: float | None = None
    """1/λ, the weight of the Ω of leads; chosen from the data by default."""
    lipschitz_weight: float | None = None
    """α, the weight of the Lipschitz part within Ω."""
    optimiser: Literal["adam", "muon"] = "adam"
    """Adam, or Muon for weights that are matrices and Adam for the rest."""
    learning_rate: float = 1e-3
    """The highest on the way: of the first step, but in one cycle."""
    decay: Literal["cosine", "constant", "one-cycle"] = "cosine"
    """What becomes of the learning rate: cosine to zero at the last step; constant as in the paper; one-cycle, up and
    down, for higher rates."""
    batch_size: int | None = None
    """Trajectories per environment and step; all by default, but for the paper's Navier-Stokes data."""
    match: Literal["trajectories", "finite-differences", "spline"] = "trajectories"
    """What is compared with the data: forecast trajectories, or derivatives estimated from the data."""
    protocol: Literal["paper", "clean"] | None = None
    """`paper`: Ω and errors as in the paper's experiments; `clean`: as they should be. By default that of the data."""
    on_divergence: Literal["stop", "retry"] = "stop"
    """What to do if the loss is not finite: stop, or go back to a checkpoint with half the learning rate."""
    look_every: int = 50
    """Steps between looks at the test set."""
    checkpoint_every: int = 1_000
    """Steps between checkpoints."""

    def arguments(self, method: str, data: "Trajectories") -> dict[str, Any]:
        """Arguments of `leadax.fit`, but for the data."""
        import jax.random as jr

        from ..experiments import settings_for
        from ..methods import METHODS
        from ..rollout import TABLEAUX

        check_seed(self.seed)
        build = lookup("method", method, METHODS)
        if self.solver is not None:
            lookup("solver", self.solver, TABLEAUX)
        if self.penalty_weight is not None and not self.penalty_weight > 0:
            raise InputError(
                f"`--penalty-weight` (1/λ) must be positive, got {self.penalty_weight:g}: "
                "for no penalty use `--method leads-no-min`"
            )
        for option in ("penalty_weight", "lipschitz_weight"):
            if getattr(self, option) is not None and not _weighs_omega(build()):
                raise InputError(f"`--{option.replace('_', '-')}` weighs the Ω of leads: it means nothing for {method}")
        if not build().has_field and (self.solver is not None or self.substeps != Training.substeps):
            raise InputError(f"`--solver` and `--substeps` mean nothing for {method}, which solves no equation")
        if self.rank is not None:
            if not _has_rank(build()):
                raise InputError(f"`--rank` is that of ft-node and ft-rnn: it means nothing for {method}")
            if self.rank < 1:
                raise InputError(f"`--rank` must be at least 1, got {self.rank}")
        protocol = self.protocol or data.attributes.get("protocol", "clean")
        settings = settings_for(data, self.net)
        chosen = {"solver": self.solver, "substeps": self.substeps, **self._penalty(settings, protocol)}
        if self.rank is not None:
            chosen["rank"] = self.rank
        if self.penalty_weight is not None:
            settings = dataclasses.replace(settings, penalty_weight=self.penalty_weight)
        same = (
            "steps",
            "seeds",
            "optimiser",
            "learning_rate",
            "decay",
            "batch_size",
            "match",
            "on_divergence",
            "look_every",
            "checkpoint_every",
        )
        return {
            "method": build(**chosen),
            "key": jr.key(self.seed),
            "protocol": protocol,
            "settings": settings,
            **{name: getattr(self, name) for name in same},
        }

    def for_method(self, method: str) -> "Training":
        """The same without the options that mean nothing for a method, where they were meant for others."""
        from ..methods import METHODS

        built = lookup("method", method, METHODS)()
        weights = {} if _weighs_omega(built) else {"penalty_weight": None, "lipschitz_weight": None}
        rank = {} if _has_rank(built) else {"rank": None}
        solver = {} if built.has_field else {"solver": None, "substeps": Training.substeps}
        return dataclasses.replace(self, **weights, **rank, **solver)

    def _penalty(self, settings: Any, protocol: str) -> dict[str, Any]:
        from ..penalty import Omega

        if self.lipschitz_weight is None:
            return {}
        penalty = settings.penalty(protocol)
        if not isinstance(penalty, Omega):
            raise InputError("`--lipschitz-weight` has no meaning for a linear net: its Ω is the Frobenius norm")
        return {"penalty": dataclasses.replace(penalty, alpha=self.lipschitz_weight)}


def _weighs_omega(method: "Method") -> bool:
    """Whether a weight of Ω can be chosen: leads-no-min has settled on none."""
    return method.has_omega and method.penalty_weight is None


def _has_rank(method: "Method") -> bool:
    return hasattr(method, "rank")


def open_model(path: Path) -> "Model":
    """The model of a finished run, or in a file."""
    if not path.exists():
        raise InputError(f"{path} does not exist: expected a run folder or a model file")
    file = path / "model.safetensors" if path.is_dir() else path
    if path.is_dir() and not file.exists():
        started = (path / "config.json").exists()
        raise InputError(
            f"{path} holds no finished run"
            + (": run the same `leadax train` again to finish it" if started else f" and no {file.name}")
        )
    from ..model import Model

    return Model.load(file)
