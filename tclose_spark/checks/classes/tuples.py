"""The distance of the tuples of all sensitive attributes from the table's, reported beside the guarantees of each
attribute.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tclose_spark.checks.classes.class_table import EXACT, Classes, JudgedAttribute
from tclose_spark.checks.classes.partial_figures import DistanceCriterion
from tclose_spark.measures.distances.ground_distances import EqualDistance
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.domains import TupleCounts

MOST_KEYS = 1 << 62


@dataclass(frozen=True)
class TupleCloseness:
    """Equal distance over the tuples of all sensitive attributes (a `ClassMeasure`): `tuples_emd`, `tuples_numerator`.

    keys: the tuples of the whole table, ascending (see `tuple_keys`).
    counts: their rows.
    """

    domains: tuple[int, ...]
    keys: IntArray
    counts: IntArray

    @property
    def distance(self) -> EqualDistance:
        """Equal distance over the codes of the tuples."""
        return EqualDistance(self.counts)

    def criterion(self, names: Sequence[str]) -> DistanceCriterion:
        """The distance of the tuples of these attributes from the table's, in the worst class. t-closeness of each
        attribute alone promises less for several together.
        """
        return DistanceCriterion(
            measure="t-closeness of tuples",
            attribute=" and ".join(names),
            required=None,
            figure="tuples_emd",
            numerator="tuples_numerator",
            unit=2 * int(self.counts.sum()),
        )

    def fields(self) -> list[tuple[str, pa.DataType]]:
        """See ClassMeasure."""
        return [("tuples_emd", pa.float64()), ("tuples_numerator", EXACT)]

    def of(self, classes: Classes) -> list[pa.Array]:
        """See ClassMeasure."""
        code = np.searchsorted(self.keys, tuple_keys(classes.codes, self.domains))
        tuples = classes.tuples
        histograms = Histograms.tally(tuples.owner, code[tuples.values], tuples.counts, tuples.groups, len(self.keys))
        numerators = self.distance.numerators(histograms).astype(object)
        unit = classes.sizes.astype(object) * (2 * int(self.counts.sum()))
        return [pa.array((numerators / unit).astype(np.float64)), pa.array(numerators.tolist(), EXACT)]


def tuple_keys(codes: IntArray, domains: Sequence[int]) -> IntArray:
    """One number for each tuple of codes, shape (tuples,). The product of the domains must be below 2^62."""
    keys = np.zeros(len(codes), dtype=np.int64)
    for column, domain in zip(codes.T, domains, strict=True):
        keys = keys * domain + column
    return keys


def tuple_closeness(histogram: TupleCounts | None, attributes: Sequence[JudgedAttribute]) -> TupleCloseness | None:
    """Equal distance on the tuples of all sensitive attributes; None if their keys do not fit 62 bits."""
    domains = tuple(len(a.values) for a in attributes)
    if histogram is None or math.prod(domains) >= MOST_KEYS:
        return None
    places = [{value: code for code, value in enumerate(a.values)} for a in attributes]
    codes = np.array(
        [[place[value] for place, value in zip(places, key, strict=True)] for key in histogram], dtype=np.int64
    )
    keys = tuple_keys(codes, domains)
    order = np.argsort(keys)
    return TupleCloseness(domains, keys[order], np.array(list(histogram.values()), dtype=np.int64)[order])
