"""`leadax demo`."""

import time
from pathlib import Path

from .checks import check_count, check_seed
from .comparison import Trial, compare_methods, table
from .console import message, result
from .options import Training
from .parts import Parts
from .reading import Reading
from .report import write_comparison
from .simulate import simulate

METHODS = ["one-for-all", "one-per-env", "leads"]


def demo(*, out: Path = Path("demo"), steps: int = 2_500, seed: int = 0) -> None:
    """See it work: simulate prey and predators in ten environments, learn them in three ways, compare.

    Args:
        out: The folder to write to. What an earlier demo finished there is used again.
        steps: Gradient steps of each method.
        seed: The same seed gives the same result on the same machine.
    """
    check_count("--steps", steps)
    check_seed(seed)
    begin = time.perf_counter()
    out.mkdir(parents=True, exist_ok=True)
    train, test, page = out / "train.nc", out / "test.nc", out / "report.html"
    simulate("lotka-volterra", train, split="train", seed=seed, overwrite=True)
    simulate("lotka-volterra", test, split="test", seed=seed, overwrite=True)
    training, testing = Reading().load(train), Reading().load(test)
    options = Training(steps=steps, seed=seed, preset="lotka-volterra")
    compared = compare_methods(METHODS, [Trial(out, Parts(training, None, testing))], options)
    title = "Lotka–Volterra in ten environments"
    write_comparison(compared.models, testing, title, page, compared.evaluations, compared.yardsticks)
    result({}, f"\n{table(compared.rows)}\n\npictures: {page}", as_json=False)
    message(f"\ntook {time.perf_counter() - begin:.0f} s. Next, with data of your own (see README.md):")
    message("  leadax report DATA.csv")
    message("  leadax train DATA.csv --out RUN")
    message("  leadax predict RUN DATA.csv --out FORECAST.csv")
