"""Whether the regions of the classes lie apart, read from what is published: the labels alone.

The region of a class is all that its labels cover: a number, or an interval with its ends; a value, the leaves under a
node, the members of a set; NULL is the missing value; `*` is everything, the missing value too. Regions lie apart if
each two classes have a quasi-identifier of which no value is covered by both labels. Exact: numbers are compared as
fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from tclose_spark.checks.classes.class_table import JudgedQuasi
from tclose_spark.measures.loss.information_loss import interval_ends, set_members
from tclose_spark.measures.supersets.boxes import Boxes, find_overlap
from tclose_spark.measures.supersets.label_axes import Label, distinct_labels, leaf_stretches
from tclose_spark.runfile.quantities import parse_quantity
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.hierarchies.hierarchy import ROOT

MOST_COMPARED = 200_000  # classes of a method that does not promise regions that lie apart
Ends = tuple[Fraction, Fraction]


def are_disjoint(classes: DataFrame, quasi: Sequence[JudgedQuasi]) -> bool:
    """Whether no two classes of a class table (see `checks.classes`) have regions that overlap.

    The driver holds the classes' labels as codes, 20 bytes for each quasi-identifier of a class, and a bit for each
    member of sets.
    """
    table = classes.select("quasi_identifiers.*").toArrow()
    columns = iter(table.columns)
    return labels_disjoint([[next(columns) for _ in q.columns] for q in quasi], quasi)


def labels_disjoint(columns: Sequence[Sequence[pa.ChunkedArray]], quasi: Sequence[JudgedQuasi]) -> bool:
    """Whether regions do not overlap whose labels stand in these columns, of each quasi-identifier one, or two."""
    lows, highs, sets = [], [], {}
    for j, (q, parts) in enumerate(zip(quasi, columns, strict=True)):
        place, labels = distinct_labels(parts)
        if q.loss.sets:
            low, high, members = _set_stretches(labels)
            sets[j] = members[place]
        elif q.loss.numeric:
            low, high = _number_stretches(labels)
        else:
            low, high = leaf_stretches(labels, q.loss.hierarchy)
        lows.append(low[place])
        highs.append(high[place])
    return find_overlap(Boxes(np.stack(lows), np.stack(highs), sets)) is None


def _number_stretches(labels: Sequence[Label]) -> tuple[IntArray, IntArray]:
    """The ranks of the ends of each label among those of all; a missing value is -1, below them."""
    ends = [_ends(label) for label in labels]
    numbers = sorted({end for pair in ends if pair is not None for end in pair})
    rank = {number: place for place, number in enumerate(numbers)}
    low, high = np.full(len(labels), -1), np.full(len(labels), len(numbers))
    for i, (label, pair) in enumerate(zip(labels, ends, strict=True)):
        if pair is not None:
            low[i], high[i] = rank[pair[0]], rank[pair[1]]
        elif ROOT not in label:
            high[i] = -1
    return low, high


def _ends(label: Label) -> Ends | None:
    """The numbers between which a label, or two bounds, lie; None of `*` and of a missing value."""
    if None in label or ROOT in label:
        return None
    first, last = str(label[0]), str(label[-1])
    return interval_ends(first) if len(label) == 1 else (parse_quantity(first), parse_quantity(last))


def _set_stretches(labels: Sequence[Label]) -> tuple[IntArray, IntArray, IntArray]:
    """(the first member, the last one, all members of each label as bits, 63 in a word); the missing value is one."""
    members = [None if label[0] == ROOT else [None] if label[0] is None else set_members(label[0]) for label in labels]
    known = {value: i for i, value in enumerate(dict.fromkeys([None, *(v for m in members if m for v in m)]))}
    low, high = np.zeros(len(labels), dtype=np.int64), np.zeros(len(labels), dtype=np.int64)
    bits = np.zeros((len(labels), len(known) // 63 + 1), dtype=np.int64)
    for i, held in enumerate(members):
        codes = sorted(range(len(known)) if held is None else {known[value] for value in held})
        low[i], high[i] = codes[0], codes[-1]
        for code in codes:
            bits[i, code // 63] |= 1 << (code % 63)
    return low, high, bits
