"""Whether a published value is the aggregate of its class, decided from texts and raw values, with
no code of what wrote them.

A class is all rows with the same published values. If several of the method's classes publish the
same values, it is their union. An aggregate that holds in each holds in the union, so rows in other
tasks do not matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from tclose_spark.runfile.quantities import parse_quantity
from tclose_spark.runfile.release_form import Aggregate
from tclose_spark.table.dictionaries import decoded, group_equal


@dataclass(frozen=True)
class AggregateCheck:
    """The aggregate that a published value of one quasi-identifier must be.

    scale: how many units of the integer raw values are one unit of the texts; a day for dates and
        times.
    order: of the values of a category; None for numbers.
    """

    aggregate: Aggregate
    scale: int = 1
    order: Mapping[str, int] | None = None

    def holds(self, published: str | None, rows_of: Mapping[Any, int]) -> bool:
        """Whether the published value of a class is the aggregate of its raw values, given how many
        rows have each. A mean must be within half a unit of its last digit, and have no more
        digits.

        >>> AggregateCheck(Aggregate("mean", 1)).holds("34.7", {31: 1, 38: 1, 35: 1, None: 2})
        True
        """
        number = self.number
        try:
            counts: dict[Any, int] = {
                number(value): n for value, n in rows_of.items() if value is not None
            }
            if published is None or not counts:
                return published is None and not counts
            figure = number(published)
        except (ValueError, KeyError):
            return False
        rows = sum(counts.values())
        if self.aggregate.kind == "mean":
            off = abs(figure * rows - sum(value * n for value, n in counts.items()))
            return off <= self.slack * rows and Fraction(figure / (2 * self.slack)).denominator == 1
        if self.aggregate.kind == "median":
            below = sum(n for value, n in counts.items() if value < figure)
            return below < -(-rows // 2) <= below + counts.get(figure, 0)
        most = counts.get(figure, 0)
        return all(n < most or (n == most and value >= figure) for value, n in counts.items())

    @property
    def slack(self) -> Fraction:
        """How far a published value may be from its class's aggregate: half a unit of a mean's last
        digit.
        """
        is_mean = self.aggregate.kind == "mean"
        return Fraction(is_mean, 2 * self.scale * 10 ** (self.aggregate.digits or 0))

    def number(self, value: Any) -> int | Fraction:
        """A value as its rank or its exact number. A double is the decimal as which it is
        written.
        """
        if self.order is not None:
            return self.order[value]
        if isinstance(value, str):
            return parse_quantity(value)
        if isinstance(value, float):
            return Fraction(str(value))
        return int(value) if self.scale == 1 else Fraction(value, self.scale)


def rows_without_aggregate(
    checks: Sequence[AggregateCheck],
    raw: Sequence[pa.Array],
    published: Sequence[pa.Array],
) -> int:
    """The number of rows in classes with a published value that is not the aggregate.

    raw, published: a column for each check. `published` has all rows of its classes in this task.
    """
    of_row, first = group_equal(published)
    groups = of_row.tolist()
    sizes = np.bincount(of_row)
    wrong = np.zeros(len(first), dtype=np.bool_)
    for check, values, column in zip(checks, raw, published, strict=True):
        counts: list[Counter[Any]] = [Counter() for _ in first]
        for group, value in zip(groups, decoded(values).to_pylist(), strict=True):
            counts[group][value] += 1
        values_of = decoded(column.take(pa.array(first))).to_pylist()
        wrong |= ~np.array(
            [check.holds(*each) for each in zip(values_of, counts, strict=True)],
            dtype=np.bool_,
        )
    return int(sizes[wrong].sum())
