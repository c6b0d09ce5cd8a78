"""What it tells that disjoint regions were not cut further, counted while the release is written (see
`measures.refused_cuts`). Only there a class's raw quasi-identifiers and sensitive values are at hand together.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tclose_spark.measures.disclosure.refused_cuts import Disclosure, disclosed_by_refusal, rows_below_cuts
from tclose_spark.measures.distances.ground_distances import GroundDistance
from tclose_spark.methods.attributes import ResolvedAttributes, ResolvedQuasi
from tclose_spark.runfile.attributes import Diversity
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.labels import MISSING
from tclose_spark.table.rows import Rows

MOST_CLASSES = 200  # of a task, that are looked at
MOST_LINES = 16  # of a quasi-identifier in a class, that are looked at
CLASSES, LARGE, LOOKED_AT, TELL = "classes", "large_enough", "looked_at", "tell"
Found = dict[Any, Any]
"""Counts of classes by CLASSES, LARGE, LOOKED_AT and TELL; by (quasi-identifier, sensitive attribute, value) how many
classes tell it, and the most certain side: its rows, and how many of them have the value at least.
"""


class _Added(AccumulatorParam[Found]):
    """Adds up what tasks found."""

    def zero(self, value: Found) -> Found:
        return {}

    def addInPlace(self, value1: Found, value2: Found) -> Found:  # noqa: N802 - Spark's name
        for key, found in value2.items():
            if isinstance(key, str):
                value1[key] = value1.get(key, 0) + found
            else:
                classes, rows, at_least = value1.get(key, (0, 1, 0))
                more, *side = found
                value1[key] = (classes + more, *max((rows, at_least), tuple(side), key=_certainty))
        return value1


def _certainty(side: tuple[int, int]) -> tuple[Fraction, int]:
    """How sure a value is on a side (rows, at least so many with it)."""
    return Fraction(side[1], side[0]), side[0]


class RefusedCuts:
    """Counts in tasks, reads on the driver. Sessions without a context of their own (Spark Connect) do not count."""

    def __init__(self, spark: SparkSession, attributes: ResolvedAttributes, k: int, median_only: bool) -> None:
        """median_only: whether the method looks at one line of each quasi-identifier, at its median."""
        self._attributes, self._k, self._median_only = attributes, k, median_only
        self._sum: Accumulator[Found] | None
        try:
            self._sum = spark.sparkContext.accumulator({}, _Added())
        except (PySparkException, AttributeError):
            self._sum = None

    @staticmethod
    def of(spark: SparkSession, spec: ReleaseSpec, attributes: ResolvedAttributes) -> RefusedCuts | None:
        """The counter of a run; None where regions may overlap, or something else than k and t refuses cuts."""
        plain = spec.privacy.n is None and not any(a.l != Diversity() for a in attributes.sensitive)
        if not (plain and spec.method.promises_disjoint):
            return None
        return RefusedCuts(spark, attributes, spec.privacy.k, spec.method.cuts_at_medians)

    def add(self, rows: Rows, starts: IntArray) -> None:
        """In a task: looks at its classes, which begin at these places of the rows."""
        if self._sum is None:
            return
        ends = np.append(starts[1:], len(rows))
        large = np.flatnonzero(ends - starts >= 2 * self._k)
        found: Found = {CLASSES: len(starts), LARGE: len(large), LOOKED_AT: 0, TELL: 0}
        for place in large[:MOST_CLASSES].tolist():
            told = self._told(rows.take(np.arange(starts[place], ends[place])))
            if told is None:
                continue
            found[LOOKED_AT] += 1
            found[TELL] += bool(told)
            for key, one in told.items():
                classes, *side = found.get(key, (0, 1, 0))
                found[key] = (classes + 1, *max(tuple(side), (one.rows, one.at_least), key=_certainty))
        self._sum.add(found)

    def _told(self, rows: Rows) -> dict[tuple[int, int, int], Disclosure] | None:
        """What a class tells: by quasi-identifier, sensitive attribute and value the most certain side; None where it
        cannot be looked at.
        """
        sensitive = self._attributes.sensitive
        distances: list[tuple[GroundDistance, Fraction | None]] = [(a.distance, a.t) for a in sensitive]
        counts = [
            np.bincount(self._attributes.cells[rows.cell, a.column], minlength=len(a.domain.values)) for a in sensitive
        ]
        known: dict[tuple[int, int], Sequence[Disclosure] | None] = {}
        best: dict[tuple[int, int, int], Disclosure] = {}
        for q, quasi in enumerate(self._attributes.quasi_identifiers):
            for side in {min(side, len(rows) - side) for side in self._sides(quasi, rows.quasi[q])}:
                for a in range(len(sensitive)):
                    if (side, a) not in known:
                        known[side, a] = disclosed_by_refusal(counts, side, distances, a)
                    told = known[side, a]
                    if told is None:
                        return None
                    for one in told:
                        before = best.get((q, a, one.value), Disclosure(rows=1, value=one.value, at_least=0))
                        best[q, a, one.value] = max(before, one, key=lambda x: _certainty((x.rows, x.at_least)))
        return best

    def _sides(self, quasi: ResolvedQuasi, codes: IntArray) -> list[int]:
        """The rows below each line along which the method could have cut a class in two."""
        if quasi.domain.kind == "category":
            codes = _below(quasi.hierarchy, codes)
            if len(np.unique(codes)) != 2:  # a cut leaves all parts at once
                return []
        return rows_below_cuts(codes, self._k, MOST_LINES, self._median_only)

    def figure(self) -> dict[str, Any] | None:
        """On the driver, after the write: how many classes tell something, and what, with names and values, to be kept
        where the raw table is; None where nothing was counted.
        """
        if self._sum is None or not self._sum.value:
            return None
        found = self._sum.value
        quasi, sensitive = self._attributes.quasi_identifiers, self._attributes.sensitive
        lines = [
            {
                "quasi_identifier": quasi[q].name,
                "sensitive_attribute": sensitive[a].name,
                "sensitive_value": sensitive[a].domain.values[value],
                "classes": found[q, a, value][0],
                "rows": found[q, a, value][1],
                "at_least": found[q, a, value][2],
            }
            for q, a, value in sorted(key for key in found if isinstance(key, tuple))
        ]
        return {**{key: found[key] for key in (CLASSES, LARGE, LOOKED_AT, TELL)}, "values": lines}


def _below(hierarchy: Hierarchy | None, codes: IntArray) -> IntArray:
    """The child of a class's lowest common ancestor above each of its values; the values where there is no tree."""
    if hierarchy is None or (codes == MISSING).any():
        return codes
    height = next((h for h, node in enumerate(hierarchy.nodes) if node[codes.min()] == node[codes.max()]), 0)
    return hierarchy.nodes[max(height - 1, 0)][codes]
