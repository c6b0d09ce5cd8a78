"""Natural supersets of classes, read from the published labels alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tclose_spark.checks.classes.class_table import JudgedQuasi
from tclose_spark.measures.distances.ground_distances import GroundDistance
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.measures.supersets.box_search import MOST_BOXES, BoxSearch, ProofTarget, nearness
from tclose_spark.measures.supersets.label_axes import LabelAxis
from tclose_spark.table.arrays import IntArray

BEST = pa.struct([("proven", pa.bool_()), ("emd", pa.float64()), ("superset", pa.string())])
"""The box that proves a class, or else the nearest one, and the distance of the class from it."""


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
        """The proofs for the open classes of a table. columns: the published columns of each quasi-identifier, a row a
        class; targets: all classes, by sensitive attribute.
        """
        axes = [LabelAxis.of(labels, q.loss) for q, labels in zip(quasi, columns, strict=True)]
        search = BoxSearch(axes, sizes, targets, n)
        return BoxProofs(quasi, search, search.run(most))

    @property
    def proves(self) -> bool:
        """Whether every open class has a proof."""
        return not self.search.unproven.any()

    def best(self, attribute: int, classes: IntArray) -> pa.Array:
        """The best box of each of these classes for an attribute, as BEST; null if there is none."""
        found = self.search.found[attribute]
        arrays = [
            pa.array(found.proven[classes]),
            pa.array(found.emd[classes]),
            self._names(found.low[:, classes], found.high[:, classes]),
        ]
        return pa.StructArray.from_arrays(arrays, fields=list(BEST), mask=pa.array(found.records[classes] == 0))

    def _names(self, low: IntArray, high: IntArray) -> pa.Array:
        """The names of boxes with these ends, shape (axes, boxes)."""
        parts = []
        for q, axis, *ends in zip(self.quasi, self.search.axes, low, high, strict=True):
            pairs, place = np.unique(np.stack(ends), axis=1, return_inverse=True)
            names = [f"{q.name}={axis.name(first, last)}" for first, last in pairs.T.tolist()]
            parts.append(pa.array(names, pa.string()).take(pa.array(place.reshape(-1))))
        return pc.binary_join_element_wise(*parts, ", ")


def open_classes(distance: GroundDistance, t: Fraction, classes: Histograms, n: int) -> NDArray[np.bool_]:
    """The classes with fewer than n records that are not near the whole table of at least n records, (classes,)."""
    small: NDArray[np.bool_] = classes.sizes < n
    if int(distance.table.sum()) < n:
        return small
    return small & ~nearness(distance, t, distance.table, classes)[0]
