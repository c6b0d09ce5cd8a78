"""Classes whose labels are coarser than they may be are left out of the release, as far as rows may be suppressed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tclose_spark.measures.loss.coarseness import Coarsest
from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.arrays import IntArray

NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class LabelLimits:
    """The limits on the labels of a release.

    limits: of each quasi-identifier, if there is one, and whether it is published as two bounds.
    most: rows of the whole table that may be left out for them.
    rows: of the whole table.
    """

    limits: tuple[tuple[Coarsest | None, bool], ...]
    most: int
    rows: int

    @staticmethod
    def of(spec: ReleaseSpec, attributes: ResolvedAttributes) -> LabelLimits:
        """The limits of a run. A method that suppresses rows itself uses up what may be suppressed."""
        return LabelLimits(
            tuple((q.coarsest, q.bounds) for q in attributes.quasi_identifiers),
            0 if spec.method.suppresses else spec.privacy.most_suppressed(attributes.rows),
            attributes.rows,
        )

    def left_out(
        self, place: IntArray, labels: Sequence[pa.Array], of_task: int
    ) -> tuple[IntArray, list[pa.Array], IntArray]:
        """(the places of the rows that stay and their labels, the places of those that are left out).

        A task of so many rows leaves out its share of the most that may be, rounded down, or none: then the release is
        found not to keep its limits. What is left out are whole classes, each of which has k rows and is close: so all
        of them together have, and are.
        """
        room = self.most * of_task // self.rows
        if not room or not len(place):
            return place, list(labels), NONE
        coarse = np.zeros(len(place), dtype=np.bool_)
        columns = iter(labels)
        for limit, two in self.limits:
            parts = [next(columns) for _ in range(1 + two)]
            if limit is not None:
                coarse |= limit.broken(parts)
        if not 0 < coarse.sum() <= room:
            return place, list(labels), NONE
        stay = pa.array(~coarse)
        return place[~coarse], [column.filter(stay) for column in labels], place[coarse]
