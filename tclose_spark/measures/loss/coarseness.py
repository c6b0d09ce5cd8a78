"""The coarsest label that a quasi-identifier may have, read from the labels themselves."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose_spark.measures.loss.information_loss import interval_ends, set_members
from tclose_spark.runfile.attributes import QuasiIdentifier
from tclose_spark.runfile.quantities import parse_quantity
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.dictionaries import group_equal
from tclose_spark.table.hierarchies.hierarchy import ROOT, Hierarchy


@dataclass(frozen=True, kw_only=True)
class Coarsest:
    """A limit on the labels of a quasi-identifier.

    limit: for numbers the length of an interval, in their units (days for dates and times); for a
        hierarchy the level of a node, 0 for a value; for sets the number of members; otherwise 0:
        not `*`.
    numeric: whether labels are numbers and intervals, or two bounds.
    levels: for a hierarchy, the level of each label: the highest at which it covers several values,
        else the lowest.
    """

    limit: Fraction
    numeric: bool = False
    levels: Mapping[str, int] | None = None

    @staticmethod
    def of(settings: QuasiIdentifier, hierarchy: Hierarchy | None) -> Coarsest | None:
        """The limit in the run file, if there is one."""
        if settings.coarsest is None:
            return None
        levels: dict[str, int] | None = None
        if hierarchy is not None:
            levels = {}
            for level in range(hierarchy.height + 1):
                for label, leaves in Counter(path[level] for path in hierarchy.paths).items():
                    if leaves > 1 or label not in levels:
                        levels[label] = level
            levels[ROOT] = hierarchy.height
        return Coarsest(limit=settings.coarsest, numeric=settings.is_numeric, levels=levels)

    def of_label(self, *label: Any) -> Fraction | float:
        """How coarse a label, or two bounds, are, in the unit of the limit: infinitely for `*`
        without a hierarchy. A missing value that is published as one is 0.

        >>> Coarsest(limit=Fraction(2)).of_label("{Lyon, Pisa, Siena}")
        3
        """
        if all(part is None for part in label):
            return Fraction(0)
        if self.levels is not None:
            return Fraction(self.levels[str(label[0])])
        if None in label or ROOT in label:
            return math.inf
        if not self.numeric:
            return len(set_members(str(label[0]))) if self.limit else 0
        low, high = (
            map(parse_quantity, map(str, label))
            if len(label) == 2
            else interval_ends(str(label[0]))
        )
        return high - low

    def broken_by(self, *label: Any) -> bool:
        """Whether a label, or two bounds, are coarser than allowed. A missing value that is
        published as one is not; `*` is, unless the limit is the root's level.

        >>> ten = Coarsest(limit=Fraction(10), numeric=True)
        >>> [ten.broken_by(label) for label in ("35", "[30, 40]", "[30, 41]", "*", None)]
        [False, False, True, True, False]
        >>> ten.broken_by("30", "40"), ten.broken_by("30", "40.5")
        (False, True)
        """
        return self.of_label(*label) > self.limit

    def coarsest_within(self, path: Sequence[str]) -> str:
        """The last of a value's labels, from itself to the root, that is not too coarse."""
        return [label for label in path if not self.broken_by(label)][-1]

    def broken(self, labels: Sequence[pa.Array]) -> NDArray[np.bool_]:
        """Whether the label of each row is too coarse, shape (rows,). labels: its column, or its
        two bounds.
        """
        group, distinct = _distinct(labels)
        verdicts: NDArray[np.bool_] = np.array(
            [self.broken_by(*label) for label in distinct], dtype=np.bool_
        )[group]
        return verdicts

    def reached(self, labels: Sequence[pa.Array]) -> Fraction | float:
        """The least limit that all labels are within; infinity if none is. labels: see `broken`."""
        return max((self.of_label(*label) for label in _distinct(labels)[1]), default=0)


def _distinct(labels: Sequence[pa.Array]) -> tuple[IntArray, list[tuple[Any, ...]]]:
    """(the number of each row's label, the labels)."""
    group, first = group_equal(labels)
    return group, list(
        zip(*(column.take(pa.array(first)).to_pylist() for column in labels), strict=True)
    )
