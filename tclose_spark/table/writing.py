"""How numbers and long lists are written: numbers in labels, leaves and reports, lists in
certificates.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np

LONGEST = 1000
DIGITS = 4
"""The digits after the point of a number for readers, unless it needs more."""


def write_number(value: int | float | Decimal) -> str:
    """A number as text: 39 for 39.0, 0.1 for 0.1; reading it back gives the same number.

    >>> [write_number(number) for number in (39.0, 0.1, -7, 1e300)]
    ['39', '0.1', '-7', '1e+300']
    """
    if not isinstance(value, float):
        return f"{value:f}" if isinstance(value, Decimal) else str(value)
    return (
        np.format_float_positional(value, trim="-")
        if 1e-5 <= abs(value) < 1e16 or value == 0
        else repr(value)
    )


def finite(figure: Any) -> Any:
    """A figure for JSON, which has no infinite number: None."""
    return None if figure in (math.inf, -math.inf) else figure


def digits_apart(value: float, other: float, least: int) -> int:
    """The digits after the point, at least `least`, at which two different numbers are different
    texts.

    >>> digits_apart(0.19999871, 0.2, least=4), digits_apart(0.2, 0.2, least=4)
    (6, 4)
    """
    digits = least
    while value != other and f"{value:.{digits}f}" == f"{other:.{digits}f}":
        digits += 1
    return digits


def number(value: float, beside: float | None = None) -> str:
    """A number with thousands separators, rounded to 4 digits; only 0 becomes "0".

    beside: a figure, such as a limit, that is shown too. If the number differs from it, the text
        has enough digits to differ as well.

    >>> number(0.19999871), number(0.19999871, beside=0.2), number(0.2, beside=0.19999871)
    ('0.2', '0.199999', '0.2')
    """
    if isinstance(value, int):
        return f"{value:,}"
    digits = DIGITS if beside is None else digits_apart(value, beside, DIGITS)
    if 0 < value < 0.5 * 10**-digits:
        return f"< {10**-digits:.{digits}f}"
    return f"{value:,.{digits}f}".rstrip("0").rstrip(".")


def listing(items: Sequence[Any], what: str = "values") -> dict[str, Any]:
    """`{size, values}` of at most LONGEST items, else `{size, sha256}`: of the list as JSON,
    without blanks, in UTF-8.

    >>> listing(["low", None])
    {'size': 2, 'values': ['low', None]}
    """
    plain = json.loads(json.dumps(items))
    if len(plain) <= LONGEST:
        return {"size": len(plain), what: plain}
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    return {"size": len(plain), "sha256": hashlib.sha256(text.encode()).hexdigest()}
