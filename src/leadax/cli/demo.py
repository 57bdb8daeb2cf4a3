"""`leadax demo`."""

from pathlib import Path

from .console import message, result
from .report import write_data_report
from .simulate import simulate


def demo(*, out: Path = Path("demo"), seed: int = 0) -> None:
    """Simulate prey and predators in ten environments and draw them.

    Args:
        out: The folder to write to; what is in it from an earlier demo is replaced.
        seed: The same seed gives the same data.
    """
    out.mkdir(parents=True, exist_ok=True)
    data, page = out / "lotka-volterra.nc", out / "lotka-volterra.html"
    simulate("lotka-volterra", data, trajectories=4, seed=seed, overwrite=True)
    write_data_report(data, page)
    result({}, f"{page}: open it in a browser", as_json=False)
    message("next: leadax simulate gray-scott spots.nc && leadax report spots.nc")
