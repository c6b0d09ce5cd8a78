"""How many rows an aggregate may mean: a class whose mean is far above all others holds one of the few rows that have
such a value, and where most values of a class are missing the aggregate is that of the few others.

A task adds the extreme aggregates that it publishes, and its k most extreme raw values, to an accumulator; the driver
counts. The values stay there.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tclose_spark.checks.labels.aggregates import AggregateCheck
from tclose_spark.stages.observers.minimality import run_starts
from tclose_spark.table.dictionaries import decoded
from tclose_spark.table.domains import Profile

ENDS = {1: "highest", -1: "lowest"}
"""What a sign makes the largest of: the low end is the high one of negated numbers."""
Ends = dict[tuple[int, int], tuple[Fraction | int, list[Any]]]
"""By (place of the quasi-identifier, sign) the most extreme published number, and the most extreme raw ones; with the
sign 0 the classes in which fewer than k rows have a value.
"""


class _Added(AccumulatorParam[Ends]):
    """Keeps the most extreme of what tasks sent."""

    def __init__(self, k: int) -> None:
        self._k = k

    def zero(self, value: Ends) -> Ends:
        return {}

    def addInPlace(self, value1: Ends, value2: Ends) -> Ends:  # noqa: N802 - Spark's name
        for end, (said, raw) in value2.items():
            before, most = value1.get(end, (said if end[1] else 0, []))
            value1[end] = max(before, said) if end[1] else before + said, heapq.nlargest(self._k, [*most, *raw])
        return value1


class ExtremeAggregates:
    """Counts in tasks, reads on the driver. Sessions without a context of their own (Spark Connect) do not count."""

    def __init__(self, spark: SparkSession, profile: Profile, checks: Mapping[str, AggregateCheck], k: int) -> None:
        """checks: of the quasi-identifiers that are published as aggregates."""
        self._k = k
        self._checks = {
            place: (domain.name, checks[domain.name])
            for place, domain in enumerate(profile.quasi)
            if domain.kind != "category" and domain.name in checks
        }
        self._sum: Accumulator[Ends] | None = None
        try:
            if self._checks:
                self._sum = spark.sparkContext.accumulator({}, _Added(k))
        except (PySparkException, AttributeError):
            pass

    def add(self, raw: Sequence[pa.Array], published: Sequence[pa.Array]) -> None:
        """In a task: takes in released rows. raw, published: a column a quasi-identifier."""
        if self._sum is None:
            return
        ends: Ends = {}
        starts = run_starts(published) if len(published[0]) else np.zeros(0, dtype=np.int64)
        for place, (_, check) in self._checks.items():
            known = np.asarray(decoded(raw[place]).is_valid()).astype(np.int64)
            present = np.add.reduceat(known, starts) if len(starts) else known
            ends[place, 0] = int(((present > 0) & (present < self._k)).sum()), []
            values = np.sort(decoded(raw[place]).drop_null().to_numpy(zero_copy_only=False))
            said = [check.number(text) for text in decoded(published[place]).unique().drop_null().to_pylist()]
            if said:
                ends[place, 1] = max(said), values[-self._k :].tolist()
                ends[place, -1] = -min(said), (-values[: self._k]).tolist()
        self._sum.add(ends)

    def figure(self) -> list[dict[str, Any]] | None:
        """On the driver, after the write: of each extreme aggregate that fewer than k rows reach, how many do; None if
        nothing could be counted.

        At least one of these rows is in the class: a mean, a median and a mode are no more extreme than the most
        extreme member.
        """
        if self._sum is None:
            return None if self._checks else []
        found = []
        for (place, sign), (said, raw) in sorted(self._sum.value.items(), key=lambda item: (item[0][0], -item[0][1])):
            if sign == 0:
                continue
            column, check = self._checks[place]
            rows = sum(check.number(value) >= said - check.slack for value in raw)
            if rows < self._k:
                kind = check.aggregate.kind
                found.append({"column": column, "aggregate": kind, "end": ENDS[sign], "rows": rows, "k": self._k})
        return found

    def few_values(self) -> list[dict[str, Any]]:
        """On the driver, after the write: of each column the classes in which few rows have a value: fewer than k."""
        counted = {} if self._sum is None else self._sum.value
        return [
            {"column": column, "aggregate": check.aggregate.kind, "classes": counted[place, 0][0], "k": self._k}
            for place, (column, check) in self._checks.items()
            if counted.get((place, 0), (0, []))[0]
        ]
