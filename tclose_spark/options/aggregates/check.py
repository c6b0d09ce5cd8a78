"""Whether a published value is the aggregate of its class, decided from texts and raw values, with
no code of what wrote them.

A class is all rows with the same published values. If several of the method's classes publish the
same values, it is their union. An aggregate that holds in each holds in the union, so rows in other
tasks do not matter.

Aggregates that reveal values of few rows. A mean far above all others shows that its class holds
one of the few rows with such a value. If most values of a class are missing, the aggregate is that
of the few others.

Tasks send the extreme aggregates that they publish and their k most extreme raw values. The driver
keeps counts only.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from tclose_spark.engine.protocol import Session
from tclose_spark.engine.tables import task_sum
from tclose_spark.runfile.quantities import parse_quantity
from tclose_spark.runfile.release_form import Aggregate
from tclose_spark.stages.generalize import run_starts
from tclose_spark.table.dictionaries import decoded, group_equal
from tclose_spark.table.domains import Profile


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


ENDS = {1: "highest", -1: "lowest"}
"""The end of the numbers by their sign: the lowest number is the highest negated one."""
Ends = dict[tuple[int, int], tuple[Fraction | int, list[Any]]]
"""By (place of the quasi-identifier, sign) the most extreme published number and the most extreme
raw ones; by sign 0 the number of classes in which fewer than k rows have a value.
"""


def _merge(k: int, ends: Ends, part: Ends) -> Ends:
    for end, (published, raw) in part.items():
        before, most = ends.get(end, (published if end[1] else 0, []))
        ends[end] = (
            max(before, published) if end[1] else before + published,
            heapq.nlargest(k, [*most, *raw]),
        )
    return ends


class ExtremeAggregates:
    """Counts in tasks; the driver reads `figure` and `few_values` after the write."""

    def __init__(
        self,
        session: Session,
        profile: Profile,
        checks: Mapping[str, AggregateCheck],
        k: int,
    ) -> None:
        """checks: of the quasi-identifiers that are published as aggregates."""
        self._k = k
        self._checks = {
            place: (domain.name, checks[domain.name])
            for place, domain in enumerate(profile.quasi)
            if domain.kind != "category" and domain.name in checks
        }
        self._ends = task_sum(session, dict, partial(_merge, k))

    def add(self, raw: Sequence[pa.Array], published: Sequence[pa.Array]) -> None:
        """In a task: takes in released rows. raw, published: a column for each quasi-identifier."""
        if not self._checks or not self._ends.counts:
            return
        ends: Ends = {}
        starts = run_starts(published) if len(published[0]) else np.zeros(0, dtype=np.int64)
        for place, (_, check) in self._checks.items():
            known = np.asarray(decoded(raw[place]).is_valid()).astype(np.int64)
            present = np.add.reduceat(known, starts) if len(starts) else known
            ends[place, 0] = int(((present > 0) & (present < self._k)).sum()), []
            values = np.sort(decoded(raw[place]).drop_null().to_numpy(zero_copy_only=False))
            numbers = [
                check.number(text)
                for text in decoded(published[place]).unique().drop_null().to_pylist()
            ]
            if numbers:
                ends[place, 1] = max(numbers), values[-self._k :].tolist()
                ends[place, -1] = -min(numbers), (-values[: self._k]).tolist()
        self._ends.add(ends)

    def figure(self) -> list[dict[str, Any]] | None:
        """The extreme aggregates that fewer than k rows reach, with the number of these rows; None
        if this session does not count.

        At least one of these rows is in the class: a mean, median or mode is no more extreme than
        the most extreme member.
        """
        ends = self._ends.value
        if not self._checks or ends is None:
            return None if self._checks else []
        found = []
        for place, sign in sorted(
            (end for end in ends if end[1]),
            key=lambda end: (end[0], -end[1]),
        ):
            (column, check) = self._checks[place]
            (published, raw) = ends[place, sign]
            rows = sum(check.number(value) >= published - check.slack for value in raw)
            if rows < self._k:
                kind = check.aggregate.kind
                found.append(
                    {
                        "column": column,
                        "aggregate": kind,
                        "end": ENDS[sign],
                        "rows": rows,
                        "k": self._k,
                    },
                )
        return found

    def few_values(self) -> list[dict[str, Any]]:
        """By column the number of classes in which fewer than k rows have a value, if there are
        any.
        """
        ends = self._ends.value or {}
        return [
            {
                "column": column,
                "aggregate": check.aggregate.kind,
                "classes": ends[place, 0][0],
                "k": self._k,
            }
            for place, (column, check) in self._checks.items()
            if ends.get((place, 0), (0, []))[0]
        ]
