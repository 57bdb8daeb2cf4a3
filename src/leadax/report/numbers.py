"""Numbers as people read them: three digits, and powers of ten only where they are needed."""

import math

UNKNOWN = "–"
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# Outside of this range zeros are hard to count.
SMALLEST, LARGEST = 1e-3, 1e5


def readable(value: float) -> str:
    """Three significant digits.

    >>> readable(0.25), readable(12345.6), readable(2.1e-5), readable(-3e120), readable(0.0), readable(math.nan)
    ('0.250', '12,346', '2.10 × 10⁻⁵', '−3.00 × 10¹²⁰', '0', '–')
    """
    if not math.isfinite(value):
        return UNKNOWN if math.isnan(value) else "∞" if value > 0 else "−∞"
    sign, size = "−" if value < 0 else "", abs(value)
    if size == 0:
        return "0"
    if not SMALLEST <= size < LARGEST:
        digits, exponent = f"{size:.2e}".split("e")
        return f"{sign}{digits} × 10{str(int(exponent)).translate(SUPERSCRIPTS)}"
    return sign + (f"{size:#.3g}".rstrip(".") if size < 999.5 else f"{size:,.0f}")


def listed(names: list[str]) -> str:
    """Names as a list in a sentence.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)
