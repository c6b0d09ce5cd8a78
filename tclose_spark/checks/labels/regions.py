"""Whether the regions of the classes are disjoint, read from the published labels alone.

The region of a class is everything that its labels cover: a number, an interval with its ends, the leaves under a node,
the members of a set; NULL is the missing value; `*` is everything, the missing value included. Regions are disjoint if
any two classes have a quasi-identifier without a common value. The test is exact.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from tclose_spark.checks.classes.class_table import JudgedQuasi
from tclose_spark.measures.loss.information_loss import set_members
from tclose_spark.measures.supersets.boxes import Boxes, find_overlap
from tclose_spark.measures.supersets.label_axes import LabelAxis, distinct_labels
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.hierarchies.hierarchy import ROOT

MOST_COMPARED = 200_000  # classes of a method that does not promise disjoint regions


def are_disjoint(classes: DataFrame, quasi: Sequence[JudgedQuasi]) -> bool:
    """Whether no two classes of a class table (see `checks.classes`) have overlapping regions.

    The driver holds the labels as codes: 20 bytes for each quasi-identifier of a class, and a bit for each member of
    sets.
    """
    table = classes.select("quasi_identifiers.*").toArrow()
    columns = iter(table.columns)
    return labels_disjoint([[next(columns) for _ in q.columns] for q in quasi], quasi)


def labels_disjoint(columns: Sequence[Sequence[pa.ChunkedArray]], quasi: Sequence[JudgedQuasi]) -> bool:
    """Whether labels cover disjoint regions. columns: of each quasi-identifier one or two, a row a class."""
    axes = [LabelAxis.of(labels, q.loss) for q, labels in zip(quasi, columns, strict=True)]
    sets = {j: _member_bits(columns[j]) for j, q in enumerate(quasi) if q.loss.sets}
    return (
        find_overlap(Boxes(np.stack([axis.low for axis in axes]), np.stack([axis.high for axis in axes]), sets)) is None
    )


def _member_bits(columns: Sequence[pa.ChunkedArray]) -> IntArray:
    """The members of each class's set as bits, 63 in a word, shape (classes, words); the missing value is a member."""
    place, labels = distinct_labels(columns)
    members = [None if label[0] == ROOT else [None] if label[0] is None else set_members(label[0]) for label in labels]
    code_of = {value: i for i, value in enumerate(dict.fromkeys([None, *(v for m in members if m for v in m)]))}
    bits = np.zeros((len(labels), len(code_of) // 63 + 1), dtype=np.int64)
    for i, held in enumerate(members):
        for code in code_of.values() if held is None else [code_of[value] for value in held]:
            bits[i, code // 63] |= 1 << (code % 63)
    return bits[place]
