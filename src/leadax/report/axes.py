"""Numbers along logarithmic axes."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plain_numbers(axis: "Axes") -> None:
    """Labels such as 20 and 50 in place of powers of ten on a logarithmic y-axis, where there are few decades."""
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = axis.get_ylim()
    if not (high <= 1e3 * low and low > 1e-4 and high < 1e6):
        return
    # With ticks at 1, 2 and 5 alone, less than a decade would have too few.
    few, some, all_of_them = (1, 2, 5), (1, 2, 3, 5), tuple(range(1, 10))
    ticks = few if high > 20 * low else some if high > 5 * low else all_of_them
    axis.yaxis.set_major_locator(LogLocator(subs=ticks))
    axis.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    axis.yaxis.set_minor_formatter(NullFormatter())
