"""The earth mover's distance of two distributions, in fractions (Li, Li and Venkatasubramanian
2007, section 5).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any

Shares = Mapping[Any, Fraction]
Kind = str | Sequence[Any] | Mapping[Any, Sequence[Any]]
"""A ground distance: `equal`, the values in their order, or by leaf its path of a hierarchy, leaf
first.
"""


def shares(counts: Mapping[Any, int | Fraction]) -> dict[Any, Fraction]:
    """The distribution of some counts."""
    whole = sum(counts.values())
    return {value: Fraction(n) / whole for value, n in counts.items()}


def distance(one: Shares, other: Shares, kind: Kind) -> Fraction:
    """How far a distribution is from another, 0 to 1."""
    excess = {v: one.get(v, Fraction(0)) - other.get(v, Fraction(0)) for v in {*one, *other}}
    if isinstance(kind, str):
        return sum(map(abs, excess.values()), Fraction(0)) / 2
    assert {v for v, extra in excess.items() if extra} <= set(kind)
    if not isinstance(kind, Mapping):
        moved = accumulate(excess.get(value, Fraction(0)) for value in kind)
        return sum(map(abs, moved), Fraction(0)) / max(1, len(kind) - 1)
    height = len(next(iter(kind.values()))) - 1
    below: dict[tuple[Any, ...], Fraction] = defaultdict(
        Fraction,
    )  # the root excluded; each edge is 1 / (2 height)
    for value, path in kind.items():
        for level in range(height):
            below[tuple(path[level:])] += excess.get(value, Fraction(0))
    return sum(map(abs, below.values()), Fraction(0)) / (2 * height)
