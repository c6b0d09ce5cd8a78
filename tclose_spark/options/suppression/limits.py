"""Classes whose labels are coarser than the run file allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tclose_spark.measures.loss.information_loss import Coarsest
from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.arrays import IntArray

NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class LabelLimits:
    """Limits on the coarseness of labels: classes with coarser ones are suppressed, as far as the
    run file allows.

    limits: of each quasi-identifier, the limit if there is one, and whether it is published as two
        bounds.
    most: rows of the whole table that may be suppressed for them.
    rows: of the whole table.
    """

    limits: tuple[tuple[Coarsest | None, bool], ...]
    most: int
    rows: int

    @staticmethod
    def of(spec: ReleaseSpec, attributes: ResolvedAttributes) -> LabelLimits:
        """The limits of a run. A method that suppresses rows itself uses up the allowance."""
        return LabelLimits(
            tuple((q.coarsest, q.bounds) for q in attributes.quasi_identifiers),
            0 if spec.method.suppresses else spec.privacy.most_suppressed(attributes.rows),
            attributes.rows,
        )

    def suppress(
        self,
        place: IntArray,
        labels: Sequence[pa.Array],
        of_task: int,
    ) -> tuple[IntArray, list[pa.Array], IntArray]:
        """(the places of the rows that stay and their labels, the places of suppressed rows) in a
        task of so many rows.

        A task suppresses at most its share of the allowance. If that does not suffice it suppresses
        none, and the release then fails its limits. Suppressed rows are whole classes, each with k
        rows and close, so all of them together are, too.
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
