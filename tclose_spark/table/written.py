"""How numbers are written: the one form of each, in labels and in the leaves of hierarchies."""

from __future__ import annotations

from decimal import Decimal

import numpy as np


def write_number(value: int | float | Decimal) -> str:
    """A number as text: 39 for 39.0, 0.1 for 0.1; reading it back gives the same number.

    >>> [write_number(number) for number in (39.0, 0.1, -7, 1e300)]
    ['39', '0.1', '-7', '1e+300']
    """
    if not isinstance(value, float):
        return f"{value:f}" if isinstance(value, Decimal) else str(value)
    return np.format_float_positional(value, trim="-") if 1e-5 <= abs(value) < 1e16 or value == 0 else repr(value)
