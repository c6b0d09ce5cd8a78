"""The loss of a quasi-identifier's labels, read from the labels as the certificate does, over the
input's values.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from tclose_spark.measures.loss.information_loss import LabelLoss, interval_ends
from tclose_spark.methods.attributes import ResolvedQuasi
from tclose_spark.table.arrays import FloatArray, IntArray
from tclose_spark.table.labels import MISSING


@dataclass(frozen=True)
class QuasiLosses:
    """quasi: the quasi-identifier. values: its codes in the table, ascending, shape (values,)."""

    quasi: ResolvedQuasi
    values: IntArray

    @cached_property
    def _loss(self) -> LabelLoss:
        domain, known = self.quasi.domain, self.values[self.values != MISSING]
        span = Fraction(0)
        if domain.kind != "category" and domain.known:
            span = (Fraction(str(domain.high)) - Fraction(str(domain.low))) / domain.scale
        elif domain.kind != "category" and len(known):
            (whole,) = self.quasi.labeller.label(known, np.array([0]))[1]
            low, high = interval_ends(str(whole))
            span = high - low
        return LabelLoss(
            numeric=domain.kind != "category",
            span=span,
            distinct=domain.present,
            hierarchy=self.quasi.hierarchy,
            sets=self.quasi.sets,
        )

    def of(
        self, members: IntArray, starts: IntArray, limited: bool = True
    ) -> tuple[FloatArray, IntArray]:
        """(the loss of the label of each group of values, the number of its label), shapes
        (groups,).

        members: places in `values`, ascending in a group, the groups one after another; starts:
            their first ones.
        limited: whether a label coarser than `coarsest` loses infinitely much.
        """
        index, texts = self.quasi.labeller.label(self.values[members], starts)
        coarsest = self.quasi.coarsest if limited else None
        losses = [
            np.inf
            if coarsest is not None and coarsest.broken_by(text)
            else float(self._loss.of(text))
            for text in texts
        ]
        # Several ranges of codes may have one label.
        number = {text: place for place, text in enumerate(texts)}
        return np.array(losses)[index], np.array([number[text] for text in texts])[index]
