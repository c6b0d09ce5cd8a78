"""Exact parsing of numbers."""

from __future__ import annotations

import re
from fractions import Fraction

HUGE_EXPONENT = re.compile(r"[eE][+-]?[0-9_]{4,}\s*$")


def parse_number(text: str) -> Fraction:
    """The exact number that a text denotes: 0.1 is one tenth

    >>> parse_number("0.1"), parse_number("1/3")
    (Fraction(1, 10), Fraction(1, 3))

    Raises:
        ValueError: if it says none, or one with an exponent of four digits or more, which would take ages to write out.
    """
    if HUGE_EXPONENT.search(text):
        raise ValueError("a number out of all range")
    if "_" in text:
        raise ValueError("no number")
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ValueError("no number") from None
