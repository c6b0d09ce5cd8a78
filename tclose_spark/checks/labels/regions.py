"""The regions of classes, read from the published labels alone: whether they are disjoint, and the
natural supersets that prove classes.

The region of a class is everything that its labels cover: a number, an interval with its ends, the
leaves under a node, the members of a set; NULL is the missing value; `*` is everything, the missing
value included. Regions are disjoint if any two classes have a quasi-identifier without a common
value. Both tests are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tclose_spark.checks.classes.class_table import JudgedQuasi
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, select
from tclose_spark.measures.distances.ground_distances import GroundDistance
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.measures.loss.information_loss import set_members
from tclose_spark.measures.supersets.box_search import MOST_BOXES, BoxSearch, ProofTarget, nearness
from tclose_spark.measures.supersets.boxes import Boxes, find_overlap
from tclose_spark.measures.supersets.label_axes import LabelAxis, distinct_labels
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.hierarchies.hierarchy import ROOT

MOST_COMPARED = 200_000  # classes of a method that does not promise disjoint regions
BEST = pa.struct([("proven", pa.bool_()), ("emd", pa.float64()), ("superset", pa.string())])
"""The box that proves a class, or else the nearest one, and the distance of the class from it."""


def are_disjoint(classes: Table, quasi: Sequence[JudgedQuasi]) -> bool:
    """Whether no two classes of a class table (see `checks.classes`) have overlapping regions.

    The driver holds the labels as codes: 20 bytes for each quasi-identifier of a class, and a bit
    for each member of sets.
    """
    columns = iter(collect(select(classes, ["quasi_identifiers"]))["quasi_identifiers"].flatten())
    return labels_disjoint([[next(columns) for _ in q.columns] for q in quasi], quasi)


def labels_disjoint(
    columns: Sequence[Sequence[pa.ChunkedArray]],
    quasi: Sequence[JudgedQuasi],
) -> bool:
    """Whether labels cover disjoint regions. columns: of each quasi-identifier one or two, a row a
    class.
    """
    axes = [LabelAxis.of(labels, q.loss) for q, labels in zip(quasi, columns, strict=True)]
    sets = {j: _member_bits(columns[j]) for j, q in enumerate(quasi) if q.loss.sets}
    return (
        find_overlap(
            Boxes(
                np.stack([axis.low for axis in axes]),
                np.stack([axis.high for axis in axes]),
                sets,
            ),
        )
        is None
    )


def _member_bits(columns: Sequence[pa.ChunkedArray]) -> IntArray:
    """The members of each class's set as bits, 63 in a word, shape (classes, words); the missing
    value is a member.
    """
    place, labels = distinct_labels(columns)
    members = [
        None if label[0] == ROOT else [None] if label[0] is None else set_members(label[0])
        for label in labels
    ]
    code_of = {
        value: i
        for i, value in enumerate(dict.fromkeys([None, *(v for m in members if m for v in m)]))
    }
    bits = np.zeros((len(labels), len(code_of) // 63 + 1), dtype=np.int64)
    for i, held in enumerate(members):
        for code in code_of.values() if held is None else [code_of[value] for value in held]:
            bits[i, code // 63] |= 1 << (code % 63)
    return bits[place]


@dataclass(frozen=True)
class BoxProofs:
    """The result of a search for boxes. complete: whether it tried all boxes that it knows of."""

    quasi: Sequence[JudgedQuasi]
    search: BoxSearch
    complete: bool

    @staticmethod
    def of(
        columns: Sequence[Sequence[pa.ChunkedArray]],
        sizes: IntArray,
        targets: Sequence[ProofTarget],
        quasi: Sequence[JudgedQuasi],
        n: int,
        most: int = MOST_BOXES,
    ) -> BoxProofs:
        """The proofs for the open classes of a table. columns: the published columns of each
        quasi-identifier, a row a class; targets: all classes, by sensitive attribute.
        """
        axes = [LabelAxis.of(labels, q.loss) for q, labels in zip(quasi, columns, strict=True)]
        search = BoxSearch(axes, sizes, targets, n)
        return BoxProofs(quasi, search, search.run(most))

    @property
    def proves(self) -> bool:
        """Whether every open class has a proof."""
        return not self.search.unproven.any()

    def best(self, attribute: int, classes: IntArray) -> pa.Array:
        """The best box of each of these classes for an attribute, as BEST; null if there is
        none.
        """
        found = self.search.found[attribute]
        arrays = [
            pa.array(found.proven[classes]),
            pa.array(found.emd[classes]),
            self._names(found.low[:, classes], found.high[:, classes]),
        ]
        return pa.StructArray.from_arrays(
            arrays,
            fields=list(BEST),
            mask=pa.array(found.records[classes] == 0),
        )

    def _names(self, low: IntArray, high: IntArray) -> pa.Array:
        """The names of boxes with these ends, shape (axes, boxes)."""
        parts = []
        for q, axis, *ends in zip(self.quasi, self.search.axes, low, high, strict=True):
            pairs, place = np.unique(np.stack(ends), axis=1, return_inverse=True)
            names = [f"{q.name}={axis.name(first, last)}" for first, last in pairs.T.tolist()]
            parts.append(pa.array(names, pa.string()).take(pa.array(place.reshape(-1))))
        return pc.binary_join_element_wise(*parts, ", ")


def open_classes(
    distance: GroundDistance,
    t: Fraction,
    classes: Histograms,
    n: int,
) -> NDArray[np.bool_]:
    """The classes with fewer than n records that are not near the whole table of at least n
    records, (classes,).
    """
    small: NDArray[np.bool_] = classes.sizes < n
    if int(distance.table.sum()) < n:
        return small
    return small & ~nearness(distance, t, distance.table, classes)[0]
