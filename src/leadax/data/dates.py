"""Dates as times: days since 1970-01-01, in float64. Data whose times are dates have the attribute `time` = `UNIT`."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

import numpy as np

UNIT = "days since 1970-01-01"
ATTRIBUTE = "time"
_DAY = 86_400_000_000  # microseconds
# What stands for "no value" in tables.
MISSING = {"", "NA", "N/A", "NULL", "null", "NaN", "nan", "NaT"}
_NOT_A_TIME = np.iinfo(np.int64).min
_START = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _LAST = (np.datetime64(day, "us").astype(np.int64) for day in ("0001-01-01", "9999-12-31"))
_BEGINS_AS_A_DATE = re.compile(r"\s*\d{4}-\d")
_ISO = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?( ?(Z|[+-]\d\d(:?\d\d)?))?)?")


def are_dates(attributes: Mapping[str, str]) -> bool:
    """Whether the times of data with these attributes are dates."""
    return attributes.get(ATTRIBUTE) == UNIT


def looks_like_date(text: str) -> bool:
    """Whether a text is more like a date than like a number: it begins with a year and a month.

    >>> looks_like_date("2021-02-30"), looks_like_date("2021"), looks_like_date("1e-3")
    (True, False, False)
    """
    return bool(_BEGINS_AS_A_DATE.match(text))


def parse(text: str) -> timedelta | None:
    """The time since 1970-01-01 of an ISO date, in UTC unless it has another offset; `None` if it is no date.

    >>> parse("1970-01-02 12:30"), parse("1970-01-02T00:00+01:00"), parse("1970-02-30")
    (datetime.timedelta(days=1, seconds=45000), datetime.timedelta(seconds=82800), None)
    """
    text = text.strip()
    if not _ISO.fullmatch(text):
        return None
    try:
        found = datetime.fromisoformat(text.replace(" Z", "Z").replace(" +", "+").replace(" -", "-"))
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)) - _START


def days_of(text: str) -> float:
    """Days since 1970-01-01 of an ISO date, to the bit those that `to_days` gives; NaN if it is no date.

    >>> days_of("1970-01-02T12:00")
    1.5
    """
    found = from_texts([text])
    return float("nan") if isinstance(found, int) else float(to_days(found)[0])


def to_days(dates: np.ndarray) -> np.ndarray:
    """Days since 1970-01-01 from an array of `datetime64`; NaN for missing dates.

    >>> to_days(np.array(["1970-01-02T12", "NaT"], "M8[h]"))
    array([1.5, nan])
    """
    micros = dates.astype("M8[us]").astype(np.int64)
    # Whole days apart from the rest: microseconds since 1970 alone need more than the 53 bits of a float64 by 2255.
    return np.where(np.isnat(dates), np.nan, micros // _DAY + (micros % _DAY) / _DAY)


def from_days(days: np.ndarray) -> np.ndarray | None:
    """The dates, as coarse as they can be (`D`, `s` or `us`); `None` if these would not give back the very same days.

    >>> from_days(np.array([1.5])), from_days(np.array([1e-9 / 3]))
    (array(['1970-01-02T12:00:00'], dtype='datetime64[s]'), None)
    """
    whole = np.floor(days)
    if not (np.abs(whole) < 1e7).all():
        return None
    micros = whole.astype(np.int64) * _DAY + np.round((days - whole) * _DAY).astype(np.int64)
    dates = micros.astype("M8[us]")
    # Compared bit by bit: -0.0 is not 0.0.
    if not ((micros >= _FIRST) & (micros <= _LAST)).all() or to_days(dates).tobytes() != days.tobytes():
        return None
    unit = next(unit for unit, size in (("D", _DAY), ("s", 1_000_000), ("us", 1)) if (micros % size == 0).all())
    return dates.astype(f"M8[{unit}]")


def shown(time: float, *, as_date: bool) -> str:
    """A time for a message: a number, or the date that it stands for.

    >>> shown(0.5, as_date=False), shown(0.5, as_date=True)
    ('0.5', '1970-01-01T12:00:00')
    """
    dates = from_days(np.array([time])) if as_date else None
    return f"{time:.12g}" if dates is None else str(dates[0])


def from_texts(texts: Iterable[str]) -> np.ndarray | int:
    """An array of dates from ISO texts, or the index of the first text that is no date. Empty ones are missing."""
    found = []
    for row, text in enumerate(texts):
        since = parse(text)
        if since is None and text.strip() not in MISSING:
            return row
        found.append(
            _NOT_A_TIME if since is None else since.days * _DAY + since.seconds * 1_000_000 + since.microseconds
        )
    return np.array(found, np.int64).astype("M8[us]")
