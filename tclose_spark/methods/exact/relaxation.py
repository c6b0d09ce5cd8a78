"""A proven lower bound on the loss of every release of a table: the relaxation of the program over
labels, by its dual.

Let m(v, s) be a price of a row with the quasi-identifiers v and the sensitive value s. If no class
loses less than the prices of its rows, no release loses less than the prices of all rows. A class
with label L whose values are within t of the table's Q is priced, in the mean, at most

    P(L)  =  min over a >= 0 of
             a t + sum over i of Q_i max over values j of (max over v in L of m(v, j) - a d_ij)

because the work of its transport from Q is at most t. For any prices, with e(v) the largest P(L) -
loss of a label L that covers v, or 0, the prices less e are such prices, so

    mean of m(v, s) - e(v) over the rows  <=  mean loss of any release.

This needs no trust in a solver. A solver finds the prices: those of the program without integers
over some labels, to which each turn adds those that are priced above their loss.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tclose_spark.methods.attributes import ResolvedAttributes, ResolvedSensitive
from tclose_spark.methods.exact.program import (
    Labels,
    ProgramBuilder,
    TooManyLabelsError,
    all_labels,
)
from tclose_spark.table.arrays import BoolArray, FloatArray, IntArray
from tclose_spark.table.rows import Rows

CLOSE = 1e-5
"""A bound this close to what better prices could reach is final."""
MOST_ADDED = 100
"""Labels that a turn adds."""
STEPS = 40
"""Of the search for a."""
MOST_ENTRIES = 1 << 24
MOST_TOGETHER = 30_000
"""Labels times combinations of codes, of one quasi-identifier and of several together."""
MOST_VALUES = 200
"""Values of a sensitive attribute whose t is looked at."""
ROUNDING = 1e-9
"""What is taken off a bound: more than doubles lose."""


def lower_bound(attributes: ResolvedAttributes, k: int, rows: Rows, seconds: float) -> float:
    """A bound on the NCP of every release of these rows whose labels cover no more than the input's
    range or values, in about this time. A suppressed row loses 1.

    Classes with equal labels in some quasi-identifiers are together a class, so bounds over parts
    of the quasi-identifiers add up. Parts are as large as the labels allow. Each row has a label
    that covers k rows, and all classes are within one t. The bound ignores l, `coarsest`, people,
    and what several t require together.
    """
    quasi = attributes.quasi_identifiers
    if k > len(rows):  # there is no release
        return 0.0
    left = [i for i, q in enumerate(quasi) if not q.missing_any]
    left.sort(key=lambda i: len(np.unique(rows.quasi[i])))
    end = time.monotonic() + seconds
    total = 0.0
    while left:
        part = [left.pop(0)]
        found = None
        with suppress(TooManyLabelsError):
            found = _Part.of(attributes, k, rows, part, MOST_ENTRIES)
            for other in [*left]:
                with suppress(TooManyLabelsError):
                    found = _Part.of(attributes, k, rows, [*part, other], MOST_TOGETHER)
                    part.append(other)
                    left.remove(other)
        if found is not None:
            time_left = max(0.0, end - time.monotonic())
            total += len(part) * found.bound(
                attributes,
                time_left * len(part) / (len(part) + len(left)),
            )
    return total / len(quasi)


@dataclass(frozen=True)
class _Part:
    """Some quasi-identifiers of a table.

    labels: that classes can have. combination: of each row, shape (rows,). cell: of each row.
    """

    labels: Labels
    combination: IntArray
    cell: IntArray

    @staticmethod
    def of(
        attributes: ResolvedAttributes,
        k: int,
        rows: Rows,
        part: Sequence[int],
        most: int,
    ) -> _Part:
        """The part of these quasi-identifiers.

        Raises:
            TooManyLabelsError: if labels times the combinations of codes are more than `most`, or
                labels too many.
        """
        codes, combination, n = np.unique(
            np.stack([rows.quasi[i] for i in part]),
            axis=1,
            return_inverse=True,
            return_counts=True,
        )
        quasi = [attributes.quasi_identifiers[i] for i in part]
        if len(n) > most:
            raise TooManyLabelsError
        labels = all_labels(quasi, codes, n, k, bounding=True)
        if labels.covers.size > most:
            raise TooManyLabelsError
        return _Part(labels, combination.reshape(-1), rows.cell)

    def bound(self, attributes: ResolvedAttributes, seconds: float) -> float:
        """The bound on the NCP over these quasi-identifiers."""
        cheapest = np.where(self.labels.covers, self.labels.loss[:, None], np.inf).min(axis=0)
        limited = [
            a for a in attributes.sensitive if a.t is not None and a.t < 1 and attributes.nt is None
        ]
        limited = [a for a in limited if len(a.domain.values) <= MOST_VALUES]
        best = float(cheapest[self.combination].mean())
        for a in limited:
            table = np.zeros((len(cheapest), len(a.domain.values)), dtype=np.int64)
            np.add.at(table, (self.combination, attributes.cells[self.cell, a.column]), 1)
            best = max(
                best,
                Relaxation(self.labels, table, a).bound(cheapest, seconds / len(limited)),
            )
        return max(0.0, best - ROUNDING)


@dataclass(frozen=True)
class Relaxation:
    """labels: that classes can have. rows: of each combination of quasi-identifiers by value of the
    sensitive attribute a, shape (combinations, m).
    """

    labels: Labels
    rows: IntArray
    a: ResolvedSensitive

    @cached_property
    def _shares(self) -> FloatArray:
        """The table's distribution, shape (m,)."""
        return self.a.distance.table / float(self.a.distance.table.sum())

    @cached_property
    def _apart(self) -> FloatArray:
        """The distance of any two values, shape (m, m)."""
        features = self.a.distance.features
        of_value = features.counts(np.eye(self.rows.shape[1], dtype=np.int64))
        apart = [features.weighted(np.abs(of_value - one)).sum(axis=1) for one in of_value]
        return np.array(apart, dtype=np.float64) / features.scale

    def bound(self, cheapest: FloatArray, seconds: float) -> float:
        """The best bound on the mean loss that is found in this time. cheapest: the least loss of a
        label of each combination, which are prices to begin with.
        """
        n = float(self.rows.sum())
        covers = self.labels.covers
        end = time.monotonic() + seconds
        best = float(self.rows.sum(axis=1) @ cheapest) / n
        active = np.unique(np.where(covers, self.labels.loss[:, None], np.inf).argmin(axis=0))
        active = np.union1d(active, np.argmax(covers.sum(axis=1)))
        while (left := end - time.monotonic()) > 0:
            prices = self._prices(active, left)
            if prices is None:
                break
            above = self._price(prices, end) - self.labels.loss
            too_dear = np.where(covers, np.maximum(above, 0.0)[:, None], 0.0).max(axis=0)
            held = self.rows > 0
            best = max(
                best,
                float((self.rows * np.where(held, prices - too_dear[:, None], 0.0)).sum()) / n,
            )
            worst = np.setdiff1d(np.argsort(-above)[:MOST_ADDED], active)
            worst = worst[above[worst] > CLOSE]
            if not len(worst):
                break
            active = np.union1d(active, worst)
        return best

    def _prices(self, active: IntArray, seconds: float) -> FloatArray | None:
        """The prices of rows if only these labels are, shape (combinations, m), -infinity where
        there are no rows; None if they are not found in this time.
        """
        combination, value = np.nonzero(self.rows)
        labels = Labels(self.labels.covers[active], self.labels.loss[active])
        label, kind = np.nonzero(labels.covers[:, combination])
        builder = ProgramBuilder(labels, label, kind, self.rows[combination, value])
        builder.require_t(self.a, value)
        found = builder.program.prices(len(value), seconds)
        if found is None:
            return None
        prices = np.full(self.rows.shape, -np.inf)
        prices[combination, value] = found
        return prices

    def _price(self, prices: FloatArray, end: float) -> FloatArray:
        """P of each label, -infinity if none of its mixtures is within t, shape (labels,); more
        than P if this moment is reached before.
        """
        assert self.a.t is not None
        # The dearest row of each value with each label.
        paid = np.stack(
            [np.where(self.labels.covers, of_value, -np.inf).max(axis=1) for of_value in prices.T],
            axis=1,
        )
        t = float(self.a.t)
        apart = self._apart
        known = np.isfinite(paid)
        spread = np.where(known, paid, -np.inf).max(axis=1) - np.where(known, paid, np.inf).min(
            axis=1,
        )
        low = np.zeros(len(paid))
        high = (spread + 1) / (apart[apart > 0].min() if (apart > 0).any() else 1.0)
        least = np.minimum(self._moved(paid, low)[0], self._moved(paid, high)[0])
        least[self._least_work(known) > t + ROUNDING] = -np.inf
        for _ in range(STEPS):
            if time.monotonic() > end:
                break
            middle = (low + high) / 2
            price, work = self._moved(paid, middle)
            least = np.minimum(least, price)
            low = np.where(work <= t, low, middle)
            high = np.where(work <= t, middle, high)
        return least

    def _least_work(self, known: BoolArray) -> FloatArray:
        """The work if each value's share moves to the nearest value that rows of a label have,
        shape (labels,). known: whether they have it, shape (labels, m).
        """
        work = np.zeros(len(known))
        for share, apart in zip(self._shares.tolist(), self._apart, strict=True):
            work += share * np.where(known, apart, np.inf).min(axis=1)
        return work

    def _moved(self, paid: FloatArray, a: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(what this a proves of P; the work if each value's share moves where it is priced best,
        less a times the distance; shapes (labels,)). paid: of the dearest row, by value, shape
        (labels, m). a: shape (labels,).
        """
        price = a * float(self.a.t or 0)
        work = np.zeros(len(paid))
        for value, share in enumerate(self._shares.tolist()):
            worth = paid - a[:, None] * self._apart[value]
            to = worth.argmax(axis=1)
            price = price + share * worth[np.arange(len(paid)), to]
            work += share * self._apart[value, to]
        return price, work
