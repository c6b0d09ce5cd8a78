"""Few rows whose numbers are far from all others: they stretch the range of a column, and its loss
looks small.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

CODES = "if they are codes for missing values, name them in missing_values"
ENDS = 8  # numbers at each end of a column that are counted
MOST_ROWS = 0.1  # share of the rows with a number that are few
LEAST_ROWS = 100  # with a number, below which each row is a large part


@dataclass(frozen=True)
class FarNumbers:
    """rows: of a column, whose numbers are far from all others. times: how many times smaller its
    range is without them, rounded down to one digit, so that it shows no end of the range.
    """

    column: str
    rows: int
    times: int

    def briefly(self, of: int, k: int) -> str:
        """What is far from what, in words. of: all rows."""
        share = f"fewer than {k} rows" if self.rows < k else f"{self.rows / of:.1%} of rows"
        return f"{share} have numbers far from all others"

    def said(self, of: int, k: int) -> str:
        """The same, and how much smaller the range is without them."""
        return (
            f"{self.briefly(of, k)}, without which its range is at least {self.times} times smaller"
        )


def count_ends(rows: Mapping[float, int], numbers: pa.Array) -> dict[float, int]:
    """The rows of the lowest and highest numbers, with those of a batch."""
    values = numbers.drop_null().to_numpy()
    if len(rows) == 2 * ENDS:
        order = sorted(rows)
        values = values[(values <= order[ENDS - 1]) | (values >= order[ENDS])]
    found, n = np.unique(values, return_counts=True)
    return ends(Counter(rows) + Counter(dict(zip(found.tolist(), n.tolist(), strict=True))))


def ends(rows: Mapping[float, int]) -> dict[float, int]:
    """The rows of the ENDS lowest and ENDS highest numbers, ascending.

    >>> ends(dict.fromkeys(range(100), 1)).keys() == {*range(8), *range(92, 100)}
    True
    """
    order = sorted(rows)
    return {
        number: rows[number]
        for number in (order if len(order) <= 2 * ENDS else [*order[:ENDS], *order[-ENDS:]])
    }


def far_numbers(column: str, rows: Mapping[float, int], present: int) -> FarNumbers | None:
    """The rows at one end or both that more than double the range of a column; None if there are
    none, or not few.

    rows: of the `ends` of the column. present: rows with a number.

    >>> far_numbers("age", {0: 20, 50: 60, 99: 10, 998: 2, 999: 4}, 96 + 4)
    FarNumbers(column='age', rows=6, times=10)
    """
    order = sorted(rows)
    if present < LEAST_ROWS or len(order) < 3:
        return None
    most = math.floor(MOST_ROWS * present)
    whole = order[-1] - order[0]
    above = _apart(order, rows, most)
    below = _apart(
        [-number for number in reversed(order[: len(order) - above])],
        {-x: n for x, n in rows.items()},
        most,
    )
    rest = order[below : len(order) - above]
    few = sum(rows.values()) - sum(rows[number] for number in rest)
    if not above + below or few > most or len(rest) <= 1:
        return None
    ratio = whole / (rest[-1] - rest[0])
    digit = 10 ** math.floor(math.log10(ratio))
    return FarNumbers(column, few, math.floor(ratio / digit) * digit)


def _apart(order: list[float], rows: Mapping[float, int], most: int) -> int:
    """How many of the highest numbers are farther from the others than these reach, in at most so
    many rows.
    """
    few = 0
    found = 0
    for size in range(1, min(ENDS, len(order) - 1)):
        few += rows[order[-size]]
        if few > most:
            break
        if order[-size] - order[-size - 1] > order[-size - 1] - order[0] > 0:
            found = size
    return found
