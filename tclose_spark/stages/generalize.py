"""From rows in classes to published columns and their order. Arrays in, arrays out.

A class publishes labels, or aggregates instead: the exact mean, median or mode of its values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose_spark.methods.attributes import ResolvedQuasi
from tclose_spark.runfile.quantities import CODES_A_DAY, FIRST, LAST, Calendar
from tclose_spark.runfile.release_form import Aggregate
from tclose_spark.table.arrays import FloatArray, HashArray, IntArray, in_order
from tclose_spark.table.dictionaries import coded, codes_of
from tclose_spark.table.domains import QuasiDomain
from tclose_spark.table.labels import (
    MISSING,
    Labeller,
    Labels,
    NumericLabels,
    decode_numbers,
    ranges,
)
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
            tuple(q.name for q in quasi),
            tuple(labellers),
            tuple(q.bounds for q in quasi),
            disjoint,
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
            np.arange(len(starts)),
            np.diff(np.append(starts, len(classes))),
        )
        firsts = by_class[starts]
        if regions is not None and np.any(regions[0] > regions[1]):
            raise ValueError("a region ends before it begins")
        shown = rows.take(by_class).shown(starts, self.disjoint)
        columns = [
            self._columns(
                i,
                shown.quasi[i],
                starts,
                None if regions is None else regions[:, i, firsts],
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
        self,
        i: int,
        codes: IntArray,
        starts: IntArray,
        region: IntArray | None,
    ) -> tuple[IntArray, list[pa.Array]]:
        """(sort key, published values) of one quasi-identifier, an entry a class."""
        labeller = self.labellers[i]
        if self.bounds[i] and isinstance(labeller, NumericLabels):
            low, high = ranges(codes, starts) if region is None else region
            if np.any((low == MISSING) & (high != MISSING)):
                raise ValueError(
                    "bounds cannot express a class that mixes missing values with numbers",
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
            pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(distinct, pa.string())),
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
    numbers: IntArray | FloatArray,
    missing: NDArray[np.bool_],
    labeller: NumericLabels,
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


@dataclass(frozen=True)
class AggregateLabels:
    """The aggregate of each class's values that are not missing. It depends on the values only, not
    on their order or tasks.

    >>> ages, codes = QuasiDomain(name="age", kind="integer", missing=0), np.array([31, 38, 40, 40, 40])
    >>> for kind in ("mean", "median", "mode"):  # a class of two, one of three
    ...     AggregateLabels(Aggregate(kind, 1), ages).label(codes, np.array([0, 2]))[1]
    ['34.5', '40']
    ['31', '40']
    ['31', '40']
    """

    aggregate: Aggregate
    domain: QuasiDomain

    def label(self, codes: IntArray, starts: IntArray) -> Labels:
        """The aggregates of the groups of consecutive rows that begin at `starts`."""
        owner = np.zeros(len(codes), dtype=np.int64)
        owner[starts[1:]] = 1
        owner = np.cumsum(owner)
        missing = codes == MISSING
        held = np.bincount(owner[~missing], minlength=len(starts))
        if self.aggregate.kind == "mean":
            texts = self._means(np.where(missing, 0, codes), starts, held, missing)
        else:
            chosen = _medians if self.aggregate.kind == "median" else _modes
            values, place = np.unique(chosen(codes[~missing], owner[~missing]), return_inverse=True)
            said = [self._write()(code) for code in values.tolist()]
            texts = [said[i] for i in place.reshape(-1).tolist()]
        of_class = iter(texts)
        known: dict[str | None, int] = {}
        index = [known.setdefault(next(of_class) if n else None, len(known)) for n in held.tolist()]
        return np.array(index, dtype=np.int64), list(known)

    def _means(
        self,
        codes: IntArray,
        starts: IntArray,
        held: IntArray,
        missing: NDArray[np.bool_],
    ) -> list[str]:
        """The means of the classes with a value."""
        numbers, scale = self._exact(codes, missing)
        sums = np.add.reduceat(numbers, starts)[held > 0].tolist()
        unit = 10 ** (self.aggregate.digits or 0)
        rounded = [
            (2 * total * unit + n * scale) // (2 * n * scale)
            for total, n in zip(sums, held[held > 0].tolist(), strict=True)
        ]
        if self.aggregate.digits is None:
            return list(map(self._write(), rounded))
        return [write_scaled(number, self.aggregate.digits) for number in rounded]

    def _exact(
        self,
        codes: IntArray,
        missing: NDArray[np.bool_],
    ) -> tuple[NDArray[np.object_], int]:
        """(numbers as integers of any size, the integer that stands for 1). A double is taken as
        its shortest decimal. A missing number is 0.
        """
        if self.domain.kind == "integer":
            return codes.astype(object), 1
        distinct, place = np.unique(codes, return_inverse=True)
        numbers = [Fraction(str(x)) for x in decode_numbers(distinct).tolist()]
        scale = lcm(*(x.denominator for x in numbers))
        whole = np.array([x.numerator * (scale // x.denominator) for x in numbers], dtype=object)
        return np.where(missing, 0, whole[place.reshape(-1)]), scale

    def _write(self) -> Callable[[int], str]:
        """The function from a code to its text."""
        if self.domain.kind == "category":
            return self.domain.values.__getitem__
        labels = NumericLabels(self.domain.kind == "integer", None, self.domain.calendar)
        return lambda code: labels.write(labels.ends(np.array([code]), np.array([code]))[0][0])


def _medians(codes: IntArray, owner: IntArray) -> IntArray:
    """The lower median of each group of codes."""
    codes = codes[np.lexsort((codes, owner))]
    _, starts, sizes = np.unique(owner, return_index=True, return_counts=True)
    medians: IntArray = codes[starts + (sizes - 1) // 2]
    return medians


def _modes(codes: IntArray, owner: IntArray) -> IntArray:
    """The most frequent code of each group; the smallest of equally frequent ones."""
    pairs, rows = np.unique(np.stack([owner, codes]), axis=1, return_counts=True)
    order = np.lexsort((pairs[1], -rows, pairs[0]))
    _, firsts = np.unique(pairs[0][order], return_index=True)
    modes: IntArray = pairs[1][order[firsts]]
    return modes


def write_scaled(number: int, digits: int) -> str:
    """A number given in units of its last digit, with this many decimals, without trailing zeros.

    >>> write_scaled(3450, 2), write_scaled(-5, 2), write_scaled(4000, 2)
    ('34.5', '-0.05', '40')
    """
    whole, part = divmod(abs(number), 10**digits)
    behind = f"{part:0{digits}}".rstrip("0") if part else ""
    return f"{'-' if number < 0 else ''}{whole}{'.' if behind else ''}{behind}"
