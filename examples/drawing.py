"""What the scripts of the gallery have in common: their options, and the look of their pictures."""

import argparse
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

BLUE, ORANGE, GREEN, RED, GREY = "#2166ac", "#d95f02", "#1b9e77", "#b2182b", "#9a9a9a"


def options(text: str, steps: int, **more: dict[str, Any]) -> argparse.Namespace:
    """`--steps` and `--out`, and more."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=steps, help=f"gradient steps, {steps} by default")
    parser.add_argument("--out", type=Path, default=Path(), help="the folder for the picture, by default this one")
    for name, settings in more.items():
        parser.add_argument(f"--{name}", **settings)
    return parser.parse_args()


def panels(rows: int, columns: int, *, height: float = 2.3, **shared: Any) -> tuple[Any, np.ndarray]:
    """A figure nine inches wide with a grid of axes."""
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 9})
    return plt.subplots(rows, columns, figsize=(9, height * rows), layout="constrained", squeeze=False, **shared)


def legend(figure: Any, axis: Any) -> None:
    """One legend for all panels, above them."""
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)


def save(figure: Any, folder: Path, name: str) -> None:
    """Write the picture, small enough for a page."""
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.png", dpi=110)
    with Image.open(folder / f"{name}.png") as picture:
        # Colours that are rare, such as those of the largest errors, must stay what they are.
        few = picture.convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE)
        few.save(folder / f"{name}.png", optimize=True)
    print(f"picture: {name}.png")
