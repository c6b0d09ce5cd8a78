"""Trials of fragmentations on the sample: the loss of their classes, and the sizes at which none
breaks a t.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tclose_spark.methods.dealing.locality import (
    Locality,
    choose_locality,
    deal_sample,
    information_loss,
    label_losses,
    make_digits,
)
from tclose_spark.methods.dealing.nearest import deal_sample_nearest
from tclose_spark.methods.fragmentation.joining import breaking
from tclose_spark.methods.fragmentation.sizing import SizedFragmentation
from tclose_spark.methods.method import PlanningInput
from tclose_spark.methods.widths import QuasiWidths
from tclose_spark.table.arrays import IntArray

HOPELESS = 0.02  # of the classes may break a t before near rows are gathered; with more of them it is not tried


class Trials:
    """The sample, dealt from fragmentations to measure losses and distances."""

    def __init__(self, given: PlanningInput) -> None:
        attributes = given.attributes
        self._rows, self._k = given.sample, given.k
        self._loss_of = label_losses(attributes.quasi_identifiers)
        self._widths = QuasiWidths(attributes.quasi_identifiers)
        self._codes = attributes.cells[given.sample.cell]
        counts = [
            np.bincount(self._codes[:, a.column], minlength=len(a.distance.table))
            for a in attributes.sensitive
        ]
        self._attributes = [
            replace(a, distance=replace(a.distance, table=table))
            for a, table in zip(attributes.sensitive, counts, strict=True)
        ]
        self.locality = Locality(make_digits(attributes.quasi_identifiers, given.sample))

    def lose(self, c: SizedFragmentation) -> SizedFragmentation:
        """A candidate with the loss of its classes."""
        if not self.locality.order:
            part = c.fragment_of[self._rows.cell]
            self.locality = choose_locality(
                self.locality, self._rows, part, c.stack, c.size, self._loss_of
            )
        return replace(c, loss=information_loss(self._rows, self._deal(c, c.size), self._loss_of))

    def measure(self, c: SizedFragmentation, best: float = 1.0) -> list[SizedFragmentation]:
        """A candidate with the least tried class size at which no class of the sample breaks a t.

        None if that loses more than `best`: with more rows in a class than fragments, larger
        classes lose more. Distances are from the sample's own distribution.
        """
        part = c.fragment_of[self._rows.cell]
        for size in _sizes(self._k, len(self._rows)):
            dealt = deal_sample(self.locality, self._rows, part, c.stack, size)
            if breaking(self._attributes, self._codes, dealt).mean() > HOPELESS:
                continue
            classes = self._deal(c, size)
            loss = information_loss(self._rows, classes, self._loss_of)
            if loss > best and size > 2 * c.fragments:
                return []
            if not breaking(self._attributes, self._codes, classes).any():
                return [c.resized(max(size, self._k), loss)]
        return []

    def _deal(self, c: SizedFragmentation, size: int) -> IntArray:
        return deal_sample_nearest(
            self.locality, self._rows, c.fragment_of[self._rows.cell], c.stack, size, self._widths
        )


def _sizes(smallest: int, rows: int) -> Iterator[int]:
    """Class sizes to try, about a sixteenth apart, and at last one class of all rows."""
    size = smallest
    while size < rows:
        yield size
        size += max(size // 16, 1)
    yield rows
