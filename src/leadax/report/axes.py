"""Numbers along logarithmic axes, and dates along time axes."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Days of the years 2 and 9998: Matplotlib rounds to whole years, and cannot go beyond 1 and 9999.
CALENDAR = (-718_797, 2_932_166)


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


def dates_along(axis: "Axes") -> None:
    """Dates in place of days since 1970-01-01, which is what both our data and Matplotlib count.

    Days that the calendar does not reach stay numbers.
    """
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    if not CALENDAR[0] <= axis.get_xlim()[0] <= axis.get_xlim()[1] <= CALENDAR[1]:
        return
    locator = AutoDateLocator(minticks=2, maxticks=5)
    axis.xaxis.set_major_locator(locator)
    axis.xaxis.set_major_formatter(ConciseDateFormatter(locator))
