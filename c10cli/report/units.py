"""Numbers as text: three significant digits, with a unit that keeps them short."""

from __future__ import annotations

import math
from typing import Final

from c10cli.bench.stats import Difference

_NS_UNITS: Final = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
_RATE_UNITS: Final = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_UNKNOWN: Final = "?"


def render_number(value: float) -> str:
    """*value* with three significant digits and no exponent: ``0.0123``, ``1.23``, ``12.3``, ``1230``."""
    if not math.isfinite(value):
        return _UNKNOWN
    if value == 0:
        return "0"
    # Rounded first: 9.996 has one digit before the point, and 10.0 has two.
    rounded = float(f"{value:.2e}")
    decimals = 2 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:.{max(0, decimals)}f}"


def render_ns(time_ns: float) -> str:
    """A time as ``12.3 ns``, ``4.56 µs``, ``7.89 ms`` or ``1.20 s``."""
    return _with_unit(time_ns, _NS_UNITS)


def render_rate(amount_per_s: float, unit: str) -> str:
    """A rate as ``12.3 GB/s`` or ``980 MFLOP/s``; *unit* is ``B`` or ``FLOP``."""
    return f"{_with_unit(amount_per_s, _RATE_UNITS)}{unit}/s"


def _with_unit(value: float, units: tuple[tuple[float, str], ...]) -> str:
    if not math.isfinite(value):
        return _UNKNOWN
    rounded = float(f"{value:.2e}")
    size, name = next((unit for unit in units if abs(rounded) >= unit[0]), units[-1])
    return f"{render_number(value / size)} {name}"


def render_percent(percent: float) -> str:
    """A share as ``0.5 %``, ``12.3 %`` or ``123 %``; one decimal below 100."""
    if not math.isfinite(percent):
        return _UNKNOWN
    if 0 < percent < 0.05:
        return "<0.1 %"
    return f"{percent:.1f} %" if abs(percent) < 99.95 else f"{percent:.0f} %"


def render_difference(difference: Difference) -> str:
    """A difference of times; ``<`` and twice its standard error where it does not stand out of that."""
    if difference.resolved:
        return render_ns(difference.value)
    bound = render_ns(difference.bound)
    return bound if bound == _UNKNOWN else f"<{bound}"
