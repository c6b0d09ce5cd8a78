"""The labels that a class can have: every combination of labels of the quasi-identifiers that
covers k rows.

The loss of a quasi-identifier's labels, read from the labels as the certificate does, over the
input's values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from tclose_spark.measures.loss.information_loss import LabelLoss, interval_ends
from tclose_spark.methods.attributes import ResolvedQuasi
from tclose_spark.table.arrays import BoolArray, FloatArray, IntArray, ranked
from tclose_spark.table.labels import MISSING


@dataclass(frozen=True)
class QuasiLosses:
    """quasi: the quasi-identifier. values: its codes in the table, ascending, shape (values,)."""

    quasi: ResolvedQuasi
    values: IntArray

    @cached_property
    def _loss(self) -> LabelLoss:
        domain = self.quasi.domain
        known = self.values[self.values != MISSING]
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


MOST_SETS = 10
"""Values of a quasi-identifier whose labels are sets: each set of them is a label."""
MOST_VALUES = 400
"""Values of any other quasi-identifier: each range of them may be a label."""
MOST_PAIRS = 1 << 26
"""Labels times different rows that are looked at together."""


class TooManyLabelsError(ValueError):
    """More labels than are looked at."""


@dataclass(frozen=True)
class Labels:
    """covers: which combination of codes each label covers, shape (labels, combinations). loss: the
    weighted mean over the quasi-identifiers, shape (labels,).

    Of labels that cover the same rows, only the one that loses least is there: a class with another
    one could have it.
    """

    covers: BoolArray
    loss: FloatArray


def all_labels(
    quasi: Sequence[ResolvedQuasi], codes: IntArray, rows: IntArray, k: int, bounding: bool = False
) -> Labels:
    """The labels that cover at least k rows.

    codes: the different combinations, shape (quasi, combinations).
    rows: of each, shape (combinations,).
    bounding: whether all labels are meant and losses are not weighted, as the certificate measures
        them; otherwise labels coarser than `coarsest` are left out.

    Raises:
        TooManyLabelsError: if there are too many.
    """
    made = Labels(np.ones((1, len(rows)), dtype=np.bool_), np.zeros(1))
    for q, of_one in zip(quasi, codes, strict=True):
        alone = _labels_of(q, of_one, limited=not bounding)
        if len(made.loss) * len(alone.loss) * len(rows) > MOST_PAIRS:
            raise TooManyLabelsError
        covers = (made.covers[:, None] & alone.covers[None]).reshape(-1, len(rows))
        loss = np.add.outer(made.loss, (1.0 if bounding else q.weight) * alone.loss).ravel()
        some = np.flatnonzero(covers @ rows >= k)
        cheapest = some[np.argsort(loss[some], kind="stable")]
        _, first = np.unique(np.packbits(covers[cheapest], axis=1), axis=0, return_index=True)
        kept = cheapest[np.sort(first)]
        made = Labels(covers[kept], loss[kept])
    return Labels(made.covers, made.loss / len(quasi))


def _labels_of(q: ResolvedQuasi, codes: IntArray, limited: bool) -> Labels:
    """The labels of one quasi-identifier. codes: of the combinations, shape (combinations,)."""
    values, place = ranked(codes)
    m = len(values)
    if m > (MOST_SETS if q.sets else MOST_VALUES):
        raise TooManyLabelsError
    if q.sets:
        held = (np.arange(1, 1 << m)[:, None] >> np.arange(m)) & 1 == 1
    else:  # a label follows from the lowest and the highest value, and covers all between them
        low, high = np.triu_indices(m)
        held = (np.arange(m) >= low[:, None]) & (np.arange(m) <= high[:, None])
    owner, members = np.nonzero(held)
    loss, label = QuasiLosses(q, values).of(
        members, np.searchsorted(owner, np.arange(len(held))), limited
    )
    _, first, label = np.unique(label, return_index=True, return_inverse=True)
    covers = np.zeros((len(first), m), dtype=np.bool_)
    of_label = loss[first]
    np.logical_or.at(covers, label, held)
    allowed = np.isfinite(of_label)
    return Labels(covers[allowed][:, place], of_label[allowed])
