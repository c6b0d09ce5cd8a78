"""From rows in classes to published columns and their order. Arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose_spark.methods.attributes import ResolvedQuasi
from tclose_spark.runfile.aggregates import Aggregate
from tclose_spark.runfile.quantities import CODES_A_DAY, FIRST, LAST, Calendar
from tclose_spark.table.aggregates import AggregateLabels
from tclose_spark.table.arrays import FloatArray, HashArray, IntArray, in_order
from tclose_spark.table.dictionaries import coded, codes_of
from tclose_spark.table.domains import QuasiDomain
from tclose_spark.table.labels import MISSING, Labeller, NumericLabels, ranges
from tclose_spark.table.rows import Rows

MOMENTS: dict[Calendar, pa.DataType] = {"date": pa.date32(), "timestamp": pa.timestamp("us", "UTC")}


@dataclass(frozen=True)
class Generalizer:
    """Makes the published columns of quasi-identifiers: labels, bounds or aggregates."""

    names: tuple[str, ...]
    labellers: tuple[Labeller | AggregateLabels, ...]
    bounds: tuple[bool, ...]
    disjoint: bool = False

    @staticmethod
    def of(
        quasi: Sequence[ResolvedQuasi],
        aggregates: Mapping[str, Aggregate] | None = None,
        disjoint: bool = False,
    ) -> Generalizer:
        """The generalizer of these quasi-identifiers. aggregates: by column that is published as
        one. disjoint: whether regions must not overlap, so that a class without a known value has
        the region of drawn ones.
        """
        kinds = aggregates or {}
        labellers = (
            AggregateLabels(kinds[q.name], q.domain) if q.name in kinds else q.labeller
            for q in quasi
        )
        return Generalizer(
            tuple(q.name for q in quasi), tuple(labellers), tuple(q.bounds for q in quasi), disjoint
        )

    def schema(self) -> list[tuple[str, pa.DataType]]:
        """Names and types of the published columns."""
        fields: list[tuple[str, pa.DataType]] = []
        for name, labeller, bounds in zip(self.names, self.labellers, self.bounds, strict=True):
            if bounds and isinstance(labeller, NumericLabels):
                kind = bound_type(labeller)
                fields += [(f"{name}_min", kind), (f"{name}_max", kind)]
            else:
                fields.append((name, pa.string()))
        return fields

    def publish(
        self,
        rows: Rows,
        classes: IntArray,
        ties: Sequence[HashArray],
        regions: IntArray | None = None,
    ) -> tuple[IntArray, list[pa.Array]]:
        """(the order of the rows, their published columns in this order). classes: a number for
        each row.

        The labels of a class cover its values, or the ranges of codes in `regions` (see
        `ClassAssignment`). The order is by released columns only: labels, sensitive values, then
        `ties` (hashes of the insensitive columns). So it does not separate classes with equal
        labels, which are one class to a reader.
        """
        by_class = in_order(classes)
        starts = np.flatnonzero(np.diff(classes[by_class], prepend=-1))
        place = np.empty(len(classes), dtype=np.int64)
        place[by_class] = np.repeat(
            np.arange(len(starts)), np.diff(np.append(starts, len(classes)))
        )
        firsts = by_class[starts]
        if regions is not None and np.any(regions[0] > regions[1]):
            raise ValueError("a region ends before it begins")
        shown = rows.take(by_class).shown(starts, self.disjoint)
        columns = [
            self._columns(
                i, shown.quasi[i], starts, None if regions is None else regions[:, i, firsts]
            )
            for i in range(len(self.names))
        ]
        keys = [key for key, _ in columns]
        content = _dense_rank(keys)[place] * (int(rows.cell.max()) + 1) + rows.cell
        order = np.lexsort((*ties, content)) if ties else np.argsort(content)
        return order, [
            values.take(pa.array(place[order])) for _, values_of in columns for values in values_of
        ]

    def _columns(
        self, i: int, codes: IntArray, starts: IntArray, region: IntArray | None
    ) -> tuple[IntArray, list[pa.Array]]:
        """(sort key, published values) of one quasi-identifier, an entry a class."""
        labeller = self.labellers[i]
        if self.bounds[i] and isinstance(labeller, NumericLabels):
            low, high = ranges(codes, starts) if region is None else region
            if np.any((low == MISSING) & (high != MISSING)):
                raise ValueError(
                    "bounds cannot express a class that mixes missing values with numbers"
                )
            missing = high == MISSING
            numbers = labeller.bounds(np.where(missing, 0, low), np.where(missing, 0, high))
            return _dense_rank([~missing, *numbers]), [
                _bound(x, missing, labeller) for x in numbers
            ]
        if region is None or isinstance(labeller, AggregateLabels):
            index, texts = labeller.label(codes, starts)
        else:
            index, texts = labeller.cover(*region)
        distinct = sorted(set(texts), key=lambda text: (text is not None, text or ""))
        place = {text: i for i, text in enumerate(distinct)}
        codes = np.array([place[text] for text in texts])[index]
        return codes, [
            pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(distinct, pa.string()))
        ]


def bound_type(labeller: NumericLabels) -> pa.DataType:
    """The type of published bounds: dates, times (UTC), integers, or doubles."""
    if labeller.calendar is not None:
        return MOMENTS[labeller.calendar]
    return pa.int64() if labeller.whole else pa.float64()


def raw_type(domain: QuasiDomain) -> pa.DataType:
    """The type of raw values beside their labels."""
    if domain.calendar is not None:
        return MOMENTS[domain.calendar]
    return {"category": pa.string(), "integer": pa.int64(), "double": pa.float64()}[domain.kind]


def _bound(
    numbers: IntArray | FloatArray, missing: NDArray[np.bool_], labeller: NumericLabels
) -> pa.Array:
    if labeller.calendar is None:
        return pa.array(numbers, bound_type(labeller), mask=missing)
    a_day = CODES_A_DAY["timestamp"] // CODES_A_DAY[labeller.calendar]
    moments = np.clip(numbers, -(-FIRST // a_day), LAST // a_day)
    return as_moments(pa.array(moments, pa.int64(), mask=missing), labeller.calendar)


def as_moments(codes: pa.Array, calendar: Calendar) -> pa.Array:
    """Codes as dates or times."""
    return (codes.cast(pa.int32()) if calendar == "date" else codes).cast(MOMENTS[calendar])


def as_published(column: pa.Array, domain: QuasiDomain) -> pa.Array:
    """Prepared values as they are published: days and times are no codes."""
    return as_moments(column, domain.calendar) if domain.calendar else column


def run_starts(labels: Sequence[pa.Array]) -> IntArray:
    """The first row of each class in published rows: classes are runs of rows with equal labels."""
    new = np.zeros(len(labels[0]), dtype=bool)
    new[0] = True
    for column in labels:
        codes = codes_of(coded(column))
        new[1:] |= codes[1:] != codes[:-1]
    return np.flatnonzero(new)


def _dense_rank(keys: Sequence[IntArray]) -> IntArray:
    """Ranks 0, 1, ... of tuples of keys, equal for equal tuples, shape (n,)."""
    order = np.lexsort(tuple(reversed(keys)))
    new = np.zeros(len(order), dtype=bool)
    for key in keys:
        ordered = key[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.cumsum(new)
    return rank
