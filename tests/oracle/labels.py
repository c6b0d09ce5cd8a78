"""Published labels, read from their text alone: what they cover, and whether two of them meet."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from datetime import date, datetime
from fractions import Fraction
from typing import Any

INTERVAL = re.compile(r"([\[(\]])([^,]+), ([^,]+)([\])\[])")
End = tuple[Fraction, int]
"""A place, and 1 or -1 beside one that is open."""


def place(text: str) -> Fraction:
    """A number, or a day or time as one."""
    try:
        return Fraction(text)
    except ValueError:
        try:
            return Fraction(date.fromisoformat(text).toordinal())
        except ValueError:
            at = datetime.fromisoformat(text)
            whole = at.replace(tzinfo=None) - datetime.min
            return (
                Fraction(whole.days)
                + 1
                + (Fraction(whole.seconds) + Fraction(whole.microseconds, 10**6)) / 86400
            )


def ends(text: str) -> tuple[End, End]:
    """Both ends of a number or an interval."""
    match = INTERVAL.fullmatch(text)
    if match is None:
        return (place(text), 0), (place(text), 0)
    return (place(match[2]), int(match[1] != "[")), (place(match[3]), -int(match[4] != "]"))


def members(text: str) -> set[str]:
    """The members of a set, or the value itself."""
    return (
        set(next(csv.reader([text[1:-1]], skipinitialspace=True)))
        if text[:1] + text[-1:] == "{}"
        else {text}
    )


def covers(labels: Sequence[str | None], value: str | None, entry: dict[str, Any]) -> bool:
    """Whether a label, or the two bounds of a value, covers a raw value as text, by the
    certificate's entry.
    """
    label = labels[0]
    if label == "*":
        return True
    if label is None or value is None:
        return label is None and value is None
    if entry["type"] != "categorical" and "hierarchy" not in entry:
        return ends(label)[0] <= (place(value), 0) <= ends(labels[-1] or label)[1]
    if "hierarchy" in entry:
        return any(label in path for path in entry["hierarchy"]["paths"] if path[0] == value)
    return value in members(label)


def meet(one: Sequence[str | None], other: Sequence[str | None], entry: dict[str, Any]) -> bool:
    """Whether a value could be in both labels, by the certificate's entry."""
    a, b = one[0], other[0]
    if "*" in (a, b) or a is None or b is None:
        return "*" in (a, b) or a is b
    if entry["type"] != "categorical" and "hierarchy" not in entry:
        return max(ends(a)[0], ends(b)[0]) <= min(ends(one[-1] or a)[1], ends(other[-1] or b)[1])
    if "hierarchy" in entry:
        return any(a in path and b in path for path in entry["hierarchy"]["paths"])
    return bool(members(a) & members(b))
