"""From rows with a class to what is published, in the order in which it is published. Pure: arrays in, arrays out."""

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
from tclose_spark.table.domains import QuasiDomain
from tclose_spark.table.labels import MISSING, Labeller, NumericLabels, ranges
from tclose_spark.table.rows import Rows

MOMENTS: dict[Calendar, pa.DataType] = {"date": pa.date32(), "timestamp": pa.timestamp("us", "UTC")}


@dataclass(frozen=True)
class Generalizer:
    """Writes the published columns of the quasi-identifiers: a label each, or two bounds; or an aggregate."""

    names: tuple[str, ...]
    labellers: tuple[Labeller | AggregateLabels, ...]
    bounds: tuple[bool, ...]

    @staticmethod
    def of(quasi: Sequence[ResolvedQuasi], aggregates: Mapping[str, Aggregate] | None = None) -> Generalizer:
        """The generalizer of these quasi-identifiers. aggregates: of those that are published as such."""
        said = aggregates or {}
        labellers = (AggregateLabels(said[q.name], q.domain) if q.name in said else q.labeller for q in quasi)
        return Generalizer(tuple(q.name for q in quasi), tuple(labellers), tuple(q.bounds for q in quasi))

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
        self, rows: Rows, classes: IntArray, ties: Sequence[HashArray], regions: IntArray | None = None
    ) -> tuple[IntArray, list[pa.Array]]:
        """The published columns of rows with class numbers, labels dictionary-encoded, and the order of the rows that
        they are in.

        A class's labels cover its rows' values, or are their aggregates; with `regions` (see `methods.method.Settled`)
        they cover the ranges of codes that these say.
        The order is by released columns only: labels, sensitive values, then `ties` (hashes of the insensitive
        columns). Classes with equal labels are one class to a reader, and nothing in the order tells them apart.
        """
        by_class = in_order(classes)
        starts = np.flatnonzero(np.diff(classes[by_class], prepend=-1))
        place = np.empty(len(classes), dtype=np.int64)
        place[by_class] = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(classes))))
        firsts = by_class[starts]
        if regions is not None and np.any(regions[0] > regions[1]):
            raise ValueError("a region ends before it begins")
        columns = [
            self._columns(i, rows.quasi[i][by_class], starts, None if regions is None else regions[:, i, firsts])
            for i in range(len(self.names))
        ]
        keys = [key for key, _ in columns]
        content = _dense_rank(keys)[place] * (int(rows.cell.max()) + 1) + rows.cell
        order = np.lexsort((*ties, content)) if ties else np.argsort(content)
        return order, [values.take(pa.array(place[order])) for _, values_of in columns for values in values_of]

    def _columns(
        self, i: int, codes: IntArray, starts: IntArray, region: IntArray | None
    ) -> tuple[IntArray, list[pa.Array]]:
        """(sort key, published values) of one quasi-identifier, an entry a class."""
        labeller = self.labellers[i]
        if self.bounds[i] and isinstance(labeller, NumericLabels):
            low, high = ranges(codes, starts) if region is None else region
            if np.any((low == MISSING) & (high != MISSING)):
                raise ValueError("bounds cannot say that a class mixes missing values with numbers")
            missing = high == MISSING
            numbers = labeller.bounds(np.where(missing, 0, low), np.where(missing, 0, high))
            return _dense_rank([~missing, *numbers]), [_bound(x, missing, labeller) for x in numbers]
        if region is None or isinstance(labeller, AggregateLabels):
            index, texts = labeller.label(codes, starts)
        else:
            index, texts = labeller.cover(*region)
        distinct = sorted(set(texts), key=lambda text: (text is not None, text or ""))
        place = {text: i for i, text in enumerate(distinct)}
        codes = np.array([place[text] for text in texts])[index]
        return codes, [pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(distinct, pa.string()))]


def bound_type(labeller: NumericLabels) -> pa.DataType:
    """What bounds are published as: dates, times (UTC), integers, or doubles."""
    if labeller.calendar is not None:
        return MOMENTS[labeller.calendar]
    return pa.int64() if labeller.whole else pa.float64()


def raw_type(domain: QuasiDomain) -> pa.DataType:
    """What a raw value of a quasi-identifier is kept as, beside its label."""
    if domain.calendar is not None:
        return MOMENTS[domain.calendar]
    return {"category": pa.string(), "integer": pa.int64(), "double": pa.float64()}[domain.kind]


def _bound(numbers: IntArray | FloatArray, missing: NDArray[np.bool_], labeller: NumericLabels) -> pa.Array:
    if labeller.calendar is None:
        return pa.array(numbers, bound_type(labeller), mask=missing)
    a_day = CODES_A_DAY["timestamp"] // CODES_A_DAY[labeller.calendar]
    moments = np.clip(numbers, -(-FIRST // a_day), LAST // a_day)
    return as_moments(pa.array(moments, pa.int64(), mask=missing), labeller.calendar)


def as_moments(codes: pa.Array, calendar: Calendar) -> pa.Array:
    """Codes as the dates or times that they are."""
    return (codes.cast(pa.int32()) if calendar == "date" else codes).cast(MOMENTS[calendar])


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
