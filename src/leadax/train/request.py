"""What `fit` was asked for, checked and completed."""

import dataclasses
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
import optax

from .._types import PRNGKey
from ..arrays import fingerprint, key_numbers
from ..data import Trajectories
from ..data.derivatives import ESTIMATES
from ..data.holdouts import fewest_points, shortened
from ..data.latent import WARMUP, Latent
from ..data.layout import Layout
from ..defaults import LEARNING_RATE, Defaults, calls_for_hidden, chosen_for
from ..describe import describe
from ..errors import InputError
from ..evaluate.errors import check_warmup
from ..methods import Method, Sizes
from ..methods.settings import positive
from ..model import check_order
from ..records import Config
from .optimisers import Optimiser
from .recipe import Recipe, Start
from .sampling import ScheduledSampling

STEPS, FEW_STEPS = 12_000, 1_000  # by default
CALM = 0.1  # of the usual learning rate: nets that learn more slowly begin at nearly all that there is to learn
MOST_CHOSEN = 64  # data sets whose settings are remembered

_chosen: dict[tuple, Defaults] = {}


@dataclasses.dataclass(frozen=True)
class Request:
    """What `fit` was asked for, checked; without the method."""

    train: Trajectories
    key: PRNGKey
    steps: int | None
    seeds: int
    test: Trajectories | None
    validation: Trajectories | None
    optimiser: str | optax.GradientTransformation | None
    defaults: Defaults
    recipe: Recipe
    start: Start | None

    def __post_init__(self):
        if self.steps is not None:
            positive("steps", self.steps)
        positive("seeds", self.seeds)
        key_numbers(self.key)
        for name in ("test", "validation"):
            if (data := getattr(self, name)) is not None:
                check_held_out(self.train, data, name)
                if data.environments != self.train.environments:  # in another order
                    object.__setattr__(self, name, data.select(self.train.environments))
        for data in (self.test, self.validation):
            if data is not None and self.recipe.warmup is not None:
                check_warmup(self.recipe.warmup, data)
        if self.recipe.match in ESTIMATES and (self.layout.hidden or self.layout.individual):
            raise InputError("derivatives of what is hidden or individual cannot be matched: match `trajectories`")

    @property
    def layout(self) -> Layout:
        """What states and inputs are made of."""
        assert self.defaults.layout is not None, "`chosen_defaults` fills it in"
        return self.defaults.layout

    @property
    def number_of_steps(self) -> int:
        """Those asked for, or those chosen (`with_steps`)."""
        assert self.steps is not None, "`with_steps` fills it in"
        return int(self.steps)

    def with_steps(self, *, settled: bool) -> "Request":
        """With a number of gradient steps, if none was asked for.

        Few where nets begin at all that there is to learn; and where data are noisy, since more would learn the noise.

        - `settled`: whether nets begin at the laws of all environments.
        """
        if self.steps is not None:
            return self
        defaults = self.defaults
        rate = settled and defaults.settled_rate
        calm = rate and rate <= CALM * defaults.learning_rate
        few = calm or self.layout.noise is not None
        return dataclasses.replace(self, steps=defaults.steps or (FEW_STEPS if few else STEPS))

    @property
    def sampling(self) -> ScheduledSampling:
        """How often forecasts restart."""
        share = self.defaults.restart_share
        chosen = ScheduledSampling() if share is None else ScheduledSampling.until(share, self.number_of_steps)
        return self.recipe.sampling or chosen

    @property
    def weight_decay(self) -> float:
        """γ of the prior of weights."""
        given = self.recipe.weight_decay
        return self.defaults.weight_decay if given is None else given

    @property
    def warmup(self) -> int:
        """How many points of a held-out trajectory a forecast is told."""
        if self.recipe.warmup or not (self.layout.hidden or self.layout.individual):
            return self.recipe.warmup or 1
        left = [fewest_points(data) - 1 for data in (self.test, self.validation) if data is not None]
        return max(1, min(shortened(WARMUP, fewest_points(self.train)), *left, WARMUP))  # something is left to forecast

    @property
    def batch_size(self) -> int | None:
        """How many trajectories of each environment a step sees; None: all of them."""
        return self.recipe.batch_size or (self.defaults.batch_size if self.start is None else None)

    @property
    def sizes(self) -> Sizes:
        """What the parameters of a method depend on."""
        layout = self.layout
        return Sizes(layout.state_shape(self.train.state_shape), len(self.train.environments), layout.seen)

    def completed(self, method: Method) -> Method:
        """The method with what it leaves open chosen."""
        if not isinstance(method, Method):
            raise InputError(f"`method` must be a method, such as `Leads()`, got {method!r}")
        return self.defaults.complete(method, self.sizes)

    def own_optimiser(self) -> Optimiser:
        """How a gradient becomes a step."""
        rule, decay = self.optimiser or self.defaults.optimiser, self.recipe.decay
        if not isinstance(rule, str) and decay is not None:
            raise InputError("`decay` cannot be combined with an Optax optimiser: give that optimiser a schedule")
        return Optimiser(
            rule, decay or (self.defaults.decay if self._usual_optimiser else "cosine"), self.defaults.clip
        )

    @property
    def usual_rate(self) -> float:
        """The highest learning rate, where none is asked for."""
        return self.defaults.learning_rate if self._usual_optimiser else LEARNING_RATE

    @property
    def _usual_optimiser(self) -> bool:
        return self.optimiser is None or self.optimiser == self.defaults.optimiser

    def config(self, method: Method, rate: float) -> Config:
        """The record of it, with this method, complete, and this learning rate."""
        recipe, start, defaults = self.recipe, self.start, self.defaults
        own = self.own_optimiser()
        named = isinstance(own.rule, str)  # an Optax optimiser has a schedule and a clipping of its own
        return Config(
            method=describe(method),
            units=describe(defaults.units),
            steps=self.number_of_steps,
            learning_rate=rate,
            decay=own.decay if named else "none",
            optimiser=own.name,
            clip=defaults.clip if named else None,
            longest_step=defaults.longest_step,
            box=describe(defaults.box),
            sampling=describe(self.sampling),
            weight_decay=self.weight_decay,
            batch_size=self.batch_size,
            match=recipe.match,
            trainable=None if start is None else start.trainable,
            look_every=recipe.look_every,
            seeds=int(self.seeds),
            key=key_numbers(self.key),
            protocol=recipe.protocol,
            layout=describe(self.layout),
            warmup=self.warmup,
            dtype=str(jnp.dtype(recipe.dtype)),
            train=self.train.fingerprint,
            test=None if self.test is None else self.test.fingerprint,
            validation=None if self.validation is None else self.validation.fingerprint,
            start=None if start is None else fingerprint(start.levels),
        )


def chosen_defaults(
    train: Trajectories,
    defaults: Defaults | None,
    latent: Latent | None,
    covariates: Sequence[str],
    *,
    may_hide: bool = True,
) -> Defaults:
    """The settings given, or those chosen from the data, with the layout of the data.

    Choosing compares polynomials by cross-validation: a second fit to the same data takes what the first one chose.

    - `may_hide`: whether a hidden channel may be added that nobody asked for. A formula knows its own channels, and
      derivatives of hidden ones cannot be matched.
    """
    if not isinstance(train, Trajectories):
        raise InputError(f"`train` must be Trajectories, got {type(train).__name__}: use `leadax.load(FILE)`")
    check_learnable(train)
    if latent is not None and not isinstance(latent, Latent):
        raise InputError(f"`latent` must be a `Latent`, such as `Latent(hidden=1)`, got {latent!r}")
    if latent is None and not may_hide and (defaults is None or defaults.found_hidden):
        latent = Latent(hidden=0)
    found = False
    if latent is not None and latent.hidden is None:
        found = may_hide and defaults is None and not latent.individual and calls_for_hidden(train, latent)
        latent = dataclasses.replace(latent, hidden=int(found))
    key = (train.fingerprint, defaults, latent, tuple(covariates))
    choose = lambda: _chosen_now(train, defaults, latent, covariates, found)
    try:
        known = _chosen.get(key)
    except TypeError:  # settings of a user's own that have no hash
        return choose()
    if known is None:
        known = choose()
        while len(_chosen) >= MOST_CHOSEN:
            _chosen.pop(next(iter(_chosen)))
        _chosen[key] = known
    return known


def _chosen_now(
    train: Trajectories, defaults: Defaults | None, latent: Latent | None, covariates: Sequence[str], found: bool
) -> Defaults:
    """`found`: whether the data called for what is hidden in `latent`."""
    chosen = (defaults or chosen_for(train)).laid_out(train, latent, covariates)
    return dataclasses.replace(chosen, found_hidden=True) if found else chosen


def check_learnable(data: Trajectories) -> None:
    """An `InputError` unless every trajectory has two observed points to learn from, and every channel some value."""
    seen = data.observed.reshape(*data.times.shape, -1).any(axis=-1).sum(axis=-1)
    for e, i in np.argwhere((data.lengths > 0) & (seen < 2))[:1]:
        raise InputError(
            f"{data.place(e, i)} has {seen[e, i]} observed point: at least 2 are needed to learn from it, remove it"
        )
    channels = data.observed.reshape(-1, len(data.channels)).any(axis=0)
    for channel in np.asarray(data.channels)[~channels][:1]:
        raise InputError(f"channel `{channel}` has no observed value: leave it out with `--channels`")


def check_held_out(train: Trajectories, data: Trajectories, name: str) -> None:
    """An `InputError` unless test or validation data are of the kind trained on."""
    if not isinstance(data, Trajectories):
        raise InputError(f"`{name}` must be Trajectories, got {type(data).__name__}: use `leadax.load(FILE)`")
    if set(data.environments) != set(train.environments) or data.state_shape != train.state_shape:
        raise InputError(
            f"the {name} data must have the environments and the state shape of the training data, "
            f"{', '.join(train.environments)} and {train.state_shape}; "
            f"got {', '.join(data.environments)} and {data.state_shape}"
        )
    check_order(data.channels, train.channels)
    if (data.input_names, data.input_kinds) != (train.input_names, train.input_kinds):
        raise InputError(
            f"the {name} data must have the inputs of the training data, {', '.join(train.input_names) or 'none'}, "
            f"got {', '.join(data.input_names) or 'none'}"
        )
