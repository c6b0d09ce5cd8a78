"""Requires of each published value that it is the aggregate of its class, and counts extreme ones.

Extreme aggregates reveal values of few rows. A mean far above all others shows that its class holds
one of the few rows with such a value. If most values of a class are missing, the aggregate is that
of the few others. Tasks send the extreme aggregates that they publish and their k most extreme raw
values. The driver keeps counts only.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from tclose_spark.engine.protocol import Session
from tclose_spark.engine.tables import task_sum
from tclose_spark.options.aggregates.check import AggregateCheck, rows_without_aggregate
from tclose_spark.stages.generalize import run_starts
from tclose_spark.stages.release_maker import Making, ReleaseMaker, TaskPart
from tclose_spark.table.dictionaries import decoded
from tclose_spark.table.domains import Profile

ENDS = {1: "highest", -1: "lowest"}
"""The end of the numbers by their sign: the lowest number is the highest negated one."""
Ends = dict[tuple[int, int], tuple[Fraction | int, list[Any]]]
"""By (place of the quasi-identifier, sign) the most extreme published number and the most extreme
raw ones; by sign 0 the number of classes in which fewer than k rows have a value.
"""
WHY = "the release publishes aggregates, which do not show what a class covers"


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


class AggregatesMaker(ReleaseMaker):
    """checks: by column."""

    wrong = "published value that is not the aggregate of their class's values"
    extremes: ExtremeAggregates

    def __init__(self, making: Making) -> None:
        super().__init__(making)
        kinds = making.spec.aggregates
        self.checks = {
            domain.name: AggregateCheck(
                kinds[domain.name],
                domain.scale,
                {value: i for i, value in enumerate(domain.values)}
                if domain.kind == "category"
                else None,
            )
            for domain in making.profile.quasi
            if domain.name in kinds
        }

    def begin(self, session: Session) -> None:
        self.extremes = ExtremeAggregates(
            session,
            self.making.profile,
            self.checks,
            self.spec.privacy.k,
        )

    def unlike(self, part: TaskPart) -> int:
        assert part.labels is not None
        wrong = rows_without_aggregate([*self.checks.values()], part.raw, part.labels)
        if not wrong:
            self.extremes.add(part.raw, part.labels)
        return wrong

    def mechanism(self) -> Mapping[str, object]:
        found = {
            "extreme_aggregates": self.extremes.figure(),
            "few_values": self.extremes.few_values(),
        }
        return {"measured": False, "why": WHY, **found}
