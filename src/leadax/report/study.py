"""Pictures of the paper's experiments, from the rows of a study."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from .style import COLOURS, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = {"shared-only": "f alone", "scratch": "from scratch", "specific": "f fixed, new g"}


def learning_curves(curves: Mapping[tuple[str, str, str], Mapping[int, list[float]]]) -> "Figure":
    """Fig. 5 of the paper: test error in novel environments over training steps, a panel per system and protocol.

    **Arguments**

    - `curves`: for each (system, protocol, scheme) the errors of all seeds at each step; lines are their medians, bands
      their range.
    """
    panels = list(dict.fromkeys(key[:2] for key in curves))
    with styled():
        figure = new_figure(3.6 * len(panels), 2.9)
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        for axis, panel in zip(axes, panels, strict=True):
            shown: list[float] = []
            for colour, (scheme, name) in zip(COLOURS, NAMES.items(), strict=False):
                curve = curves.get((*panel, scheme))
                if not curve:
                    continue
                if list(curve) == [0]:
                    shown.append(float(np.mean(curve[0])))
                    axis.axhline(float(np.mean(curve[0])), color=colour, ls=(0, (4, 2)), label=name)
                    continue
                steps, errors = np.array(sorted(curve)), np.array([curve[step] for step in sorted(curve)])
                axis.plot(steps, np.median(errors, axis=1), color=colour, label=name)
                shown += np.median(errors, axis=1).tolist()
                axis.fill_between(steps, errors.min(axis=1), errors.max(axis=1), color=colour, alpha=0.2, lw=0)
            axis.set(title=f"{panel[0]}, {panel[1]}", xlabel="training steps", yscale="log")
            # Forecasts of a half-trained model may blow up: a single look must not make the rest unreadable.
            axis.set_ylim(top=5 * float(np.quantile(shown, 0.99)))
        axes[0].set_ylabel("mean squared test error")
        axes[-1].legend()
    return figure
