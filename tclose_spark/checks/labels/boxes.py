"""Published classes as boxes, and people as points: each label covers a range of codes of its
quasi-identifier.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.checks.classes.class_table import JudgedQuasi
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, combine, map_batches, select
from tclose_spark.errors import InputError
from tclose_spark.measures.loss.information_loss import set_members
from tclose_spark.runfile.hierarchies import HierarchyBuilder
from tclose_spark.runfile.quantities import CODES_A_DAY, parse_moment, parse_number, write_moment
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.hierarchies.building import labels_above
from tclose_spark.table.hierarchies.hierarchy import ROOT, Hierarchy
from tclose_spark.table.ranges import interval_or_none
from tclose_spark.table.writing import write_number

MOST_JOINED = 2_000_000  # distinct classes, all of which go to every task
# Codes of a missing value, and of one that only the label `*` covers.
ABSENT = -2
UNCOVERED = -1
LEADING_ZEROS = re.compile(r"\s*[+-]?0\d+(\.|\s*$)")
EVERYTHING = (-(1 << 40), 1 << 40)
Span = tuple[int, int]


@dataclass(frozen=True)
class Axis:
    """The codes of one quasi-identifier.

    ends: if it is numeric, the ascending ends of all intervals. Number ends[i] has code 2 i + 1,
        and a number between ends[i - 1] and ends[i] has code 2 i.
    places: the code of each value that is not a number, in tree order.
    spans: with a hierarchy, the first and last code of each node. The first is for values that are
        below it, and are no leaf.
    builder: of a built hierarchy, whose leaves are the values of one table only.
    everything: texts in place of `*`.
    bands: labels that only their column explains, as intervals.
    missing_any: whether a missing label covers every value. lacking: whether every label covers a
        missing value.
    """

    ends: tuple[Fraction, ...] | None = None
    places: Mapping[str, int] | None = None
    spans: Mapping[str, Span] | None = None
    builder: HierarchyBuilder | None = None
    everything: frozenset[str] = frozenset()
    bands: Mapping[str, str] = field(default_factory=dict)
    missing_any: bool = False
    lacking: bool = False

    @staticmethod
    def of(quasi: JudgedQuasi, labels: Iterable[str | None], hierarchy: Hierarchy | None) -> Axis:
        """The axis on which every label is a range of codes."""
        published = {label for label in labels if label not in (None, ROOT)}
        everything = frozenset(label for label in published if quasi.loss.covers_all(label))
        published -= everything
        if hierarchy is not None:
            spans: dict[str, Span] = {}
            for path in hierarchy.paths:
                for node in reversed(path):
                    spans.setdefault(node, (len(spans), 0))
                spans |= {node: (spans[node][0], len(spans) - 1) for node in path}
            return Axis(
                places={path[0]: spans[path[0]][0] for path in hierarchy.paths},
                spans=spans,
                builder=quasi.builder,
                everything=everything,
            )
        if quasi.loss.numeric:
            intervals = [
                one for label in published if (one := quasi.loss.interval(label)) is not None
            ]
            texts = sorted(label for label in published if quasi.loss.interval(label) is None)
            ends = tuple(
                sorted({end for interval in intervals for end in (interval.low, interval.high)}),
            )
            places = {text: ABSENT - 1 - i for i, text in enumerate(texts)}
            return Axis(ends=ends, places=places, everything=everything, bands=quasi.loss.bands)
        values = {
            value
            for label in published
            for value in (set_members(label) if quasi.loss.sets else [label])
        }
        return Axis(
            places={value: code for code, value in enumerate(sorted(values))},
            everything=everything,
        )

    def point(self, value: str | None) -> int:
        """The code of a raw value."""
        if value is None:
            return ABSENT
        if self.ends is None:
            places = self.places or {}
            return next(
                (places[form] for form in _forms(value) if form in places),
                self._below(value),
            )
        number = interval_or_none(value)
        if number is None or number.low < number.high:
            return (self.places or {}).get(value, UNCOVERED)
        return self._number(number.low)

    def _below(self, value: str) -> int:
        """The code of a value that is no leaf: that of the lowest label above it."""
        if self.builder is None or self.spans is None:
            return UNCOVERED
        above = (
            label
            for form in _forms(value)
            for label in labels_above(self.builder, form, self.spans)
        )
        return next((self.spans[label][0] for label in above if label in self.spans), UNCOVERED)

    def _number(self, number: Fraction) -> int:
        assert self.ends is not None
        place = bisect_left(self.ends, number)
        return 2 * place + (place < len(self.ends) and self.ends[place] == number)

    def ranges(self, label: str | None) -> list[Span]:
        """The ranges of codes that a label covers; several for a set, or if it covers a missing
        value, too.
        """
        if label == ROOT or label in self.everything or (label is None and self.missing_any):
            return [EVERYTHING]
        if label is None:
            return [(ABSENT, ABSENT)]
        return [*self._known(label), *([(ABSENT, ABSENT)] if self.lacking else [])]

    def _known(self, label: str) -> list[Span]:
        places = self.places or {}
        interval = interval_or_none(self.bands.get(label, label)) if self.ends is not None else None
        if interval is not None:
            return [
                (
                    self._number(interval.low) + interval.open_low,
                    self._number(interval.high) - interval.open_high,
                ),
            ]
        if self.spans is not None:
            return [self.spans[label]]
        if label in places:
            return [(places[label], places[label])]
        return [(places[value], places[value]) for value in dict.fromkeys(set_members(label))]


def require_covering(
    joined: Sequence[JudgedQuasi],
    labels: Sequence[Sequence[str | None]],
    hierarchies: Mapping[str, Hierarchy],
    what: str,
) -> None:
    """Raises InputError if a label does not show which values it covers. labels: by
    quasi-identifier.
    """
    for q, column in zip(joined, labels, strict=True):
        masks = {
            label
            for label in column
            if label and q.name not in hierarchies and q.loss.is_unclear(label)
        }
        if masks:
            raise InputError(
                f"{what}: {q.name}: {len(masks)} labels do not show which values they cover; give "
                "a hierarchy",
            )


def label_axes(
    joined: Sequence[JudgedQuasi],
    labels: Sequence[Sequence[str | None]],
    hierarchies: Mapping[str, Hierarchy],
    people: Table,
) -> list[Axis]:
    """The axes of these quasi-identifiers. people: whose values are `q0`.., see `known_people`."""
    lacking = _lacking(people, [f"q{i}" for i, q in enumerate(joined) if q.missing_any])
    return [
        replace(
            Axis.of(q, set(column), hierarchies.get(q.name)),
            missing_any=q.missing_any,
            lacking=f"q{i}" in lacking,
        )
        for i, (q, column) in enumerate(zip(joined, labels, strict=True))
    ]


def _lacking(people: Table, keys: Sequence[str]) -> set[str]:
    """Those of these columns that are missing in some row."""
    if not keys:
        return set()
    schema = pa.schema([("key", pa.string()), ("n", pa.int64())])

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            missing = [batch[key].null_count for key in keys]
            yield pa.RecordBatch.from_arrays(
                [pa.array(keys), pa.array(missing, pa.int64())],
                schema=schema,
            )

    counted = collect(
        combine(map_batches(select(people, keys), count, schema), ["key"], {"n": "sum"}),
    )
    return {
        key
        for key, n in zip(counted["key"].to_pylist(), counted["n"].to_pylist(), strict=True)
        if n
    }


def _forms(text: str) -> Iterator[str]:
    """The forms of a value: the text itself, then a number without trailing zeros, or a time in ISO
    form and its day. A number with leading zeros is a code, with no other form.

    >>> list(_forms("39.50")), list(_forms("2024-02-29 12:00:00")), list(_forms("01"))
    (['39.50', '39.5'], ['2024-02-29 12:00:00', '2024-02-29T12:00:00', '2024-02-29'], ['01'])
    """
    yield text
    if LEADING_ZEROS.match(text):
        return
    try:
        number = parse_number(text)
    except ValueError:
        try:
            days = parse_moment(text)
        except (ValueError, OverflowError):
            return
        yield write_moment(int(days * CODES_A_DAY["timestamp"]), "timestamp")
        yield write_moment(math.floor(days), "date")
        return
    yield str(number.numerator) if number.denominator == 1 else write_number(float(number))


def published_label(columns: Sequence[pa.Array]) -> pa.Array:
    """The labels in the published columns of a quasi-identifier: the one column, or intervals
    between two bounds.
    """
    if len(columns) == 1:
        return columns[0]
    low, high = columns
    interval = pc.if_else(
        pc.equal(low, high),
        low,
        pc.binary_join_element_wise("[", low, ", ", high, "]", ""),
    )
    are_numbers = pc.and_(pc.not_equal(low, ROOT), pc.not_equal(high, ROOT)).fill_null(False)
    missing = pc.and_(pc.is_null(low), pc.is_null(high))
    return pc.if_else(missing, None, pc.if_else(are_numbers, interval, ROOT))


def class_boxes(
    labels: Sequence[Sequence[str | None]],
    axes: Sequence[Axis],
    what: str = "--background",
) -> tuple[IntArray, IntArray, IntArray]:
    """(lowest codes, highest codes, class number) of boxes, shapes (boxes, quasi-identifiers), the
    same, and (boxes,).

    A class whose labels are sets has several boxes.

    Raises:
        InputError: if there are more than MOST_JOINED boxes.
    """
    ranges = [
        {label: axis.ranges(label) for label in set(column)}
        for axis, column in zip(axes, labels, strict=True)
    ]
    low = []
    high = []
    owner = []
    boxes = sum(
        math.prod(len(ranges_of[label]) for ranges_of, label in zip(ranges, row, strict=True))
        for row in zip(*labels, strict=True)
    )
    if boxes > MOST_JOINED:
        raise InputError(
            f"{what}: sets of values in the labels, or missing values that could be any, make "
            f"{boxes:,} combinations; join by fewer quasi-identifiers",
        )
    for number, row in enumerate(zip(*labels, strict=True)):
        for box in product(
            *[ranges_of[label] for ranges_of, label in zip(ranges, row, strict=True)],
        ):
            low.append([span[0] for span in box])
            high.append([span[1] for span in box])
            owner.append(number)
    return (
        np.array(low, dtype=np.int64),
        np.array(high, dtype=np.int64),
        np.array(owner, dtype=np.int64),
    )


def axis_codes(axis: Axis, column: pa.Array) -> IntArray:
    """The codes of a column of text, shape (n,)."""
    encoded = column.dictionary_encode(null_encoding="encode")
    codes = np.array(
        [axis.point(value) for value in encoded.dictionary.to_pylist()],
        dtype=np.int64,
    )
    result: IntArray = codes[encoded.indices.to_numpy()]
    return result
