"""What the bins of other tools say, as intervals: `50s`, `50-59`, `50..59`, `50 to 59`, `<20`, `>=65`, `80+`."""

from __future__ import annotations

import re

NUMBER = r"(-?[0-9]{1,15}(?:\.[0-9]{1,15})?)"
RANGE = re.compile(rf"^\s*{NUMBER}\s*(?:-|\u2013|\.\.|to)\s*{NUMBER}\s*$")
DECADE = re.compile(r"^\s*([0-9]{0,14}0)s\s*$")
BELOW = re.compile(rf"^\s*(<=|≤|<)\s*{NUMBER}\s*$")
ABOVE = re.compile(rf"^\s*(>=|≥|>)\s*{NUMBER}\s*$")
PLUS = re.compile(rf"^\s*{NUMBER}\s*\+\s*$")


def as_interval(label: str) -> str:
    """A bin as an interval, half-open as ARX writes it; any other label as it is. A decade has the ten numbers' width.

    >>> [as_interval(label) for label in ("50s", "50-59", "<20", "80+", "Rome")]
    ['[50, 60[', '[50, 59]', ']-inf, 20[', '[80, inf[', 'Rome']
    """
    if match := RANGE.match(label):
        return f"[{match[1]}, {match[2]}]"
    if match := DECADE.match(label):
        return f"[{match[1]}, {int(match[1]) + 10}["
    if match := BELOW.match(label):
        return f"]-inf, {match[2]}{'[' if match[1] == '<' else ']'}"
    if match := ABOVE.match(label):
        return f"{']' if match[1] == '>' else '['}{match[2]}, inf["
    if match := PLUS.match(label):
        return f"[{match[1]}, inf["
    return label
