"""What was asked of a study, and how much work it may be."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ..results.rows import Row


@dataclass(frozen=True)
class Options:
    """What was asked of a study; each target decides what that means for it.

    - `budget`: `smoke`, `hour` or `paper`; `seeds`, `steps`: of each run;
    - `protocol`: a name in `leadax.experiments.study.protocols.PROTOCOLS`;
    - `seed`: of data and weights; `first_seed`: the number of the first seed, if rows of lower ones are there already;
    - `system`, `methods`, `samples`, `sizes`: only these; None for all that the target has. Samples are points per
      environment, sizes the numbers of environments that are learnt together;
    - `exact`: whether every system gets `steps`, or the cheapest one does and the others get a share of them;
    - `model_steps`: the steps of the Table 1 models that a target starts from; by default as the budget says.
    """

    budget: str
    seeds: int
    steps: int
    protocol: str
    seed: int = 0
    first_seed: int = 0
    system: str | None = None
    methods: tuple[str, ...] | None = None
    exact: bool = False
    model_steps: int | None = None
    samples: tuple[int, ...] | None = None
    sizes: tuple[int, ...] | None = None

    def for_system(self, system: str, share_of_steps: Mapping[str, float]) -> "Options":
        """The options for one system, whose steps may be expensive. The budget `paper` has the same steps for all."""
        share = 1.0 if self.exact or self.budget == "paper" else share_of_steps.get(system, 1.0)
        return replace(self, system=system, steps=max(1, round(self.steps * share)), exact=True)

    @property
    def work(self) -> str:
        """Part of the name of a run's folder.

        >>> Options("hour", seeds=2, steps=600, protocol="fast").work
        'fast-2x600-0'
        """
        further = f"-from{self.first_seed}" if self.first_seed else ""
        return f"{self.protocol}-{self.seeds}x{self.steps}-{self.seed}{further}"

    def choose(self, names: Iterable[str]) -> list[str]:
        """Those of the methods that were asked for."""
        return [name for name in names if self.methods is None or name in self.methods]

    def include(self, row: Row) -> bool:
        """Whether a row is about the system, methods, samples and sizes that were asked for, in any protocol."""
        numbers = ((self.samples, row["n"]), (self.sizes, row["m"]))
        fits = all(wanted is None or number in wanted for wanted, number in numbers)
        return fits and self.system in (None, row["system"]) and bool(self.choose([row["method"]]))

    def effort(self, share_of_steps: Mapping[str, float], row: Row) -> dict[str, int] | None:
        """The work behind the results that would replace a row; None if nothing would replace it."""
        if row["protocol"] != self.protocol or not self.include(row):
            return None
        steps = self.for_system(row["system"], share_of_steps).steps
        return {"steps": steps, "seeds": self.first_seed + self.seeds, "--seed": self.seed, "first": self.first_seed}
