"""Options that several commands share, and what becomes of them."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_args

import tyro

from .._atomic import check_regular
from ..errors import InputError
from .checks import check_count, check_positive, check_seed
from .console import Count, Number, message, optional
from .latent import parsed_hidden, parsed_noise
from .names import METHODS, NETS, PENALTIES, SOLVERS, Decay, Match, Optimiser, Preset, Protocol, check_name, listed
from .own import all_imported, find_net
from .parts import check_division
from .reading import Reading
from .settings import OBJECTS, Plan, pairs, with_lipschitz_weight

if TYPE_CHECKING:
    from ..data import Trajectories
    from ..data.latent import Latent
    from ..defaults import Defaults
    from ..model import Model

OWN = "or package.module:Name for one of your own"
DECAYS = (
    "How the learning rate changes: cosine, to zero at the last step; constant, as in the paper; one-cycle, up and "
    "down, for higher rates. By default cosine, and one-cycle for fields."
)

DataFile: TypeAlias = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DATA", help="A data file.")]
RunPath: TypeAlias = Annotated[
    Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN", help="A run folder, or a model file (.safetensors).")
]
RunFolderOption: TypeAlias = Annotated[
    Path, tyro.conf.arg(metavar="RUN", help="The folder of the run. An unfinished run there is resumed.")
]
Using: TypeAlias = tyro.conf.UseAppendAction[
    Annotated[
        tuple[str, ...],
        tyro.conf.arg(
            metavar="PACKAGE.MODULE:NAME[,…]",
            help="Methods, nets, penalties or functions of your own that the model is made of. They are imported; "
            "modules in the current folder are found too.",
        ),
    ]
]
MethodName: TypeAlias = Annotated[str, tyro.conf.arg(metavar="NAME", help=f"{', '.join(METHODS)}, {OWN}.")]
Set: TypeAlias = tyro.conf.UseAppendAction[
    Annotated[
        tuple[str, ...],
        tyro.conf.arg(
            metavar="NAME=VALUE[,…]",
            help="Any other setting of the method, such as inner_steps=5 of maml: the fields of its class.",
        ),
    ]
]


@dataclasses.dataclass(frozen=True)
class Training:
    """How to train."""

    steps: Count = None
    """Gradient steps; by default 12000, or 1000 for fields, and where data are noisy or a polynomial leaves little to
    learn."""
    seeds: int = 1
    """How many models to train at once, from different random weights."""
    seed: int = 0
    """The same seed gives the same model on the same machine."""
    preset: Annotated[
        Preset | None,
        optional("NAME", f"The paper's settings for one of its systems, {listed(get_args(Preset))}; by default, "
                         "settings are chosen from the data."),
    ] = None  # fmt: skip
    protocol: Protocol = "clean"
    """paper: errors, and the Ω of a preset, as in the paper's experiments; clean: as they should be."""
    net: Annotated[
        str | None,
        optional(
            "NAME",
            f"The network: {', '.join(NETS)}, {OWN}; by default mlp beside a polynomial, conv for fields.",
        ),
    ] = None
    solver: Annotated[
        str | None, optional("NAME", f"How the vector field is integrated: {listed(SOLVERS)}; by default rk4.")
    ] = None
    substeps: Count = None
    """The least number of solver steps per observed interval; 1 by default."""
    penalty: Annotated[
        str | None,
        optional("NAME", f"Ω: {', '.join(PENALTIES)}, {OWN}; by default omega, with norms that suit the data."),
    ] = None
    penalty_weight: Number = None
    """The weight of the method's penalty, 1/λ for leads; by default leads uses κ."""
    kappa: Number = None
    """κ: the weight of Ω relative to the error, κ · error/Ω, for leads; 0.1 by default."""
    lipschitz_weight: Number = None
    """α, the weight of the Lipschitz part within Ω; 0.001 by default."""
    weight_decay: Number = None
    """γ: how strongly weights are kept small, in units of the present error; 0.01 by default, 0 with a preset."""
    rank: Count = None
    """Factors per linear map of ft-node and ft-rnn; by default as many as give them the parameters of leads."""
    dimension: Count = None
    """Numbers in a context of coda; 2 by default."""
    noise: Annotated[
        str,
        tyro.conf.arg(
            metavar="auto|none|STD|P%",
            help="Noise in the data, as a part of each channel's spread: auto, estimated; none; or a number. As a part "
            "of each value: 15%. With noise, the start of each trajectory is inferred, not believed.",
        ),
    ] = "auto"
    hidden: Annotated[
        str,
        tyro.conf.arg(
            metavar="auto|N",
            help="Channels of the state that are never observed. Their starts are inferred. auto: one, if there is a "
            "single channel that rises and falls as no law of it could; otherwise none.",
        ),
    ] = "auto"
    hidden_from_zero: bool = False
    """Hidden channels start at 0 in every trajectory: a tissue before the first dose."""
    individual: int = 0
    """Constants that each trajectory has of its own, such as a rate of growth. They are inferred."""
    warmup: Count = None
    """The points of a held-out trajectory that a forecast is told; by default 1, or 5 where something is hidden or
    individual."""
    set: Set = ()
    optimiser: Annotated[Optimiser | None, optional("{adam,muon}")] = None
    """adam; or muon, for weights that are matrices, with Adam for the rest: by default for fields."""
    learning_rate: Number = None
    """The highest learning rate: that of the first step, except in one cycle; by default 1e-3, less where a polynomial
    explains nearly all of the data, 1e-2 for fields."""
    decay: Annotated[Decay | None, optional("{cosine,constant,one-cycle}", DECAYS)] = None
    batch_size: Count = None
    """Trajectories per environment and step; all by default, but 1 for fields, and 2 for the preset
    navier-stokes."""
    match: Match = "trajectories"
    """What is compared with the data: forecast trajectories, or derivatives estimated from the data."""
    on_divergence: Literal["stop", "retry"] = "retry"
    """What to do if training diverges: go back to the last good step with half the learning rate, or stop."""
    validate: Annotated[str, tyro.conf.arg(metavar="auto|none|FRACTION|FILE")] = "auto"
    """What the model that is kept must be best on, instead of keeping the last one: a file, or a fraction of the data
    (whole trajectories where every environment has two or more, else the ends of all); auto: a fifth, if there are
    enough data."""
    look_every: int = 50
    """Steps between looks at the test data."""
    checkpoint_every: int = 1_000
    """Steps between checkpoints."""

    def check(self) -> None:
        """Refuse what cannot be right, before anything slow is imported or loaded."""
        counts = ("steps", "seeds", "substeps", "rank", "dimension", "batch_size", "look_every", "checkpoint_every")
        for name in (*counts, "warmup"):
            check_count(option_of(name), getattr(self, name))
        check_count("--individual", self.individual, least=0)
        hidden = parsed_hidden(self.hidden)
        if self.hidden_from_zero and not hidden:
            raise InputError("`--hidden-from-zero` is about hidden channels: give their number with `--hidden`")
        parsed_noise(self.noise)
        check_seed(self.seed)
        check_division("--validate", self.validate)
        check_positive("--learning-rate", self.learning_rate)
        for kind, known in (("net", NETS), ("solver", SOLVERS), ("penalty", PENALTIES)):
            if getattr(self, kind) is not None:
                check_name(kind, getattr(self, kind), known)
        self.settings()

    def settings(self) -> dict[str, Any]:
        """The settings of a method that were given, as they were typed."""
        names = ("net", "solver", "substeps", "penalty", "penalty_weight", "kappa", "rank", "dimension")
        named = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        more = pairs(self.set)
        for name in more:
            if name in named:
                raise InputError(f"`{name}` is given twice: by `{option_of(name)}` and by `--set`")
        return named | more

    def latent(self) -> "Latent | None":
        """What is to be inferred of trajectories; None where a preset decides and nothing else is asked for."""
        from ..data.latent import Latent

        hidden = parsed_hidden(self.hidden)
        if self.preset is not None and self.noise == "auto" and not (hidden or self.individual):
            return None
        return Latent(parsed_noise(self.noise), hidden, self.individual, self.hidden_from_zero)

    def decided(self, data: "Trajectories", *, clock: bool) -> "Training":
        """The same with a number of hidden channels, which the data decide if nothing was said.

        - `clock`: whether the field sees the time.
        """
        if parsed_hidden(self.hidden) is not None:
            return self
        plain = self.preset is None and self.match == "trajectories" and not (self.individual or clock)
        from ..data.latent import Latent
        from ..defaults import calls_for_hidden
        from ..train.advice import FOUND_HIDDEN

        if not plain or not calls_for_hidden(data, Latent(parsed_noise(self.noise))):
            return dataclasses.replace(self, hidden="0")

        message(FOUND_HIDDEN)
        return dataclasses.replace(self, hidden="1")

    @property
    def told(self) -> int:
        """How many points of a trajectory whose end is held out a forecast is told."""
        from ..data.latent import WARMUP

        return self.warmup or (WARMUP if parsed_hidden(self.hidden) or self.individual else 1)

    def arguments(
        self,
        method: str,
        data: "Trajectories",
        covariates: Sequence[str] = (),
        clock: float | bool | None = None,
        *,
        skip: bool = False,
    ) -> dict[str, Any]:
        """The arguments of `leadax.fit`, without the data.

        - `covariates`: the parameters of environments that the field is to see; `clock`: how it is to see the time;
        - `skip`: leave out settings that the method does not have, instead of refusing them.
        """
        import jax.random as jr

        from ..train import Recipe

        defaults = self._defaults(data, clock)
        built = Plan.of(method).method(self.settings(), skip=skip)
        same = ("decay", "batch_size", "match", "protocol", "look_every", "checkpoint_every", "on_divergence")
        same += ("warmup", "weight_decay")
        return {
            "method": with_lipschitz_weight(built, method, self.lipschitz_weight, defaults, skip=skip),
            "key": jr.key(self.seed),
            "defaults": defaults,
            "latent": self.latent(),
            "covariates": covariates,
            "recipe": Recipe(**{name: getattr(self, name) for name in same}),
            **{name: getattr(self, name) for name in ("steps", "seeds", "learning_rate", "optimiser")},
        }

    def _defaults(self, data: "Trajectories", clock: float | bool | None) -> "Defaults":
        from ..data.clock import Clock
        from ..defaults import chosen_for, preset
        from ..nets import architecture

        net = find_net(self.net) if self.net else None
        if self.preset is None:
            hands = None if clock is None else Clock(None if clock is True else float(clock))
            return chosen_for(data, net, hands)
        if clock is not None:
            raise InputError(f"the preset `{self.preset}` has nets that do not see the time: leave one of them out")
        chosen = preset(self.preset, data, protocol=self.protocol)
        built = architecture(net)
        return chosen if built is None else dataclasses.replace(chosen, net=built)

    def using(self, *methods: str) -> list[str]:
        """What `--using` has to name for the models that are trained with these options."""
        given = self.settings()
        names = (*methods, *(given[kind] for kind in OBJECTS if kind in given))
        return [name for name in names if ":" in name]


def option_of(name: str) -> str:
    """The option of a setting: `--look-every` of `look_every`."""
    return "--" + name.replace("_", "-")


def open_model(path: Path, using: Sequence[str] = (), reading: Reading | None = None) -> "Model":
    """The model of a finished run, or in a file; `using`: what `--using` names; `reading`: what it must agree with."""
    if not path.exists():
        raise InputError(f"{path} does not exist: expected a run folder or a model file")
    file = path / "model.safetensors" if path.is_dir() else path
    if path.is_dir() and not file.exists():
        started = (path / "config.json").exists()
        raise InputError(
            f"{path} holds no finished run"
            + (": type the same `leadax train` again to finish it" if started else f" and no {file.name}")
        )
    check_regular(file)
    if file.is_dir():
        raise InputError(f"{file} is a folder, expected a model file")
    own = all_imported(using)
    from ..model import Model

    model = Model.load(file, using=own)
    if path.is_dir():
        from ..train.finish import check_belongs

        check_belongs(model, path)
    if reading is not None:
        reading.check_clock(model)
    return model
