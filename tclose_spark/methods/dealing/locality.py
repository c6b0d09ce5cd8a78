"""Locality: an order of rows in which neighbours have similar quasi-identifiers, chosen on a
sample.

Each quasi-identifier is a digit: the code of a category, or the bin of a number. An order of the
digits gives a serpentine key. It is lexicographic, but every digit runs up and down in turn, so
consecutive stretches agree in the following digits. On Adult (7 quasi-identifiers, k = 20), local
dealing loses .66 with the best serpentine order, .69 with the best lexicographic order, and .89
without any.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tclose_spark.methods.attributes import ResolvedQuasi
from tclose_spark.methods.dealing.stacks import Shares, Stack
from tclose_spark.table.arrays import FloatArray, HashArray, IntArray, in_order
from tclose_spark.table.labels import MISSING, range_losses, ranges
from tclose_spark.table.rows import Rows

KEY_BITS = 40  # of an order key; the 16 bits below are the top of the row's hash
MOST_DIGITS = 1 << 12  # of a category; larger domains share digits
BINS = 256  # of a number
SEARCH_ROWS = 10_000  # of the sample, for the search: more rows gave no better orders on Adult
SEARCH_ROUNDS = 6

RangeLoss = Callable[[IntArray, IntArray], NDArray[np.float64]]
"""Information loss, 0 to 1, of publishing each range of codes (low, high)."""


@dataclass(frozen=True)
class Digit:
    """One quasi-identifier as a digit. bins: the codes at which a new bin begins; None for
    categories.
    """

    categories: int
    bins: tuple[int, ...] | None = None

    @property
    def size(self) -> int:
        """The number of digits. 0 is for missing values."""
        return 1 + (min(self.categories, MOST_DIGITS) if self.bins is None else len(self.bins) + 1)

    def of(self, codes: IntArray) -> IntArray:
        """The digits of codes, shape (n,)."""
        missing = codes == MISSING
        if self.bins is None:
            digit = (
                np.where(missing, 0, codes)
                * min(self.categories, MOST_DIGITS)
                // max(self.categories, 1)
            )
        else:
            digit = np.searchsorted(np.array(self.bins, dtype=np.int64), codes, side="right")
        return np.where(missing, 0, digit + 1).astype(np.int64)


@dataclass(frozen=True)
class Locality:
    """An order of rows: the digits of all quasi-identifiers, and the numbers of those that lead
    (`order`).

    With an empty order, the hashes alone decide.
    """

    digits: tuple[Digit, ...]
    order: tuple[int, ...] = ()

    def key(self, rows: Rows) -> HashArray:
        """An order key for each row, shape (n,): the serpentine key, with 16 bits of its hash
        below.

        Digits that do not fit into the key are left out; the hashes decide then.
        """
        key = np.zeros(len(rows), dtype=np.int64)
        room = 1 << KEY_BITS
        for attribute in self.order:
            size = self.digits[attribute].size
            room //= size
            if room == 0:
                break
            digit = self.digits[attribute].of(rows.quasi[attribute])
            key = key * size + np.where(key % 2 == 1, size - 1 - digit, digit)
        return (key.astype(np.uint64) << np.uint64(16)) | (rows.hash >> np.uint64(48))


def make_digits(quasi_identifiers: Sequence[ResolvedQuasi], sample: Rows) -> tuple[Digit, ...]:
    """The digit of each quasi-identifier. Bins of a number hold equal shares of the sample."""
    digits = []
    for quasi, codes in zip(quasi_identifiers, sample.quasi, strict=True):
        if quasi.domain.kind == "category":
            digits.append(Digit(len(quasi.domain.values)))
            continue
        known = np.sort(codes[codes != MISSING])
        cuts = np.unique(known[np.arange(BINS) * len(known) // BINS]) if len(known) else known
        digits.append(Digit(0, tuple(cuts[1:].tolist())))
    return tuple(digits)


def sort_by_content(rows: Rows, part: IntArray, key: HashArray) -> IntArray:
    """The order of rows by part, order key, hash, cell and all codes, shape (n,): a total order of
    content.

    Sorting part and key as one number is several times faster than sorting all keys. The few rows
    that agree in both are ordered afterwards.
    """
    bits = int(part.max(initial=0)).bit_length()
    if int(key.max(initial=0)) >> (64 - bits) if bits else 0:
        return np.lexsort((*rows.quasi, rows.cell, rows.hash, key, part))
    both = key | (part.astype(np.uint64) << np.uint64(64 - bits)) if bits else key
    order = np.argsort(both)
    both = both[order]
    alike = both[1:] == both[:-1]
    ties = np.flatnonzero(np.append(alike, False) | np.append(False, alike))
    tied = order[ties]
    order[ties] = tied[
        np.lexsort(
            (*[codes[tied] for codes in rows.quasi], rows.cell[tied], rows.hash[tied], both[ties]),
        )
    ]
    return order


def deal_sample(
    locality: Locality,
    sample: Rows,
    part: IntArray,
    stack: Stack,
    class_size: int,
) -> IntArray:
    """The classes of the sample, dealt by itself in this order to classes of this size, shape (n,).
    part: of rows.
    """
    counts = np.bincount(part, minlength=len(stack.counts))
    e = max(len(sample) // class_size, 1)
    order = np.lexsort((sample.hash, locality.key(sample), part))
    rank = np.arange(len(part)) - (np.cumsum(counts) - counts)[part[order]]
    classes = np.empty(len(part), dtype=np.int64)
    classes[order] = Shares.of(Stack(stack.order, counts), e).class_of(part[order], rank)
    return classes


def information_loss(rows: Rows, classes: IntArray, loss_of: Sequence[RangeLoss]) -> float:
    """The mean weighted information loss of rows published by class. loss_of: the loss of each
    quasi-identifier.
    """
    order = in_order(classes)
    starts = np.flatnonzero(np.diff(classes[order], prepend=-1))
    sizes = np.diff(np.append(starts, len(rows)))
    losses = [
        float(loss(*ranges(codes[order], starts)) @ sizes)
        for codes, loss in zip(rows.quasi, loss_of, strict=True)
    ]
    return sum(losses) / (len(losses) * len(rows))


def label_losses(quasi_identifiers: Sequence[ResolvedQuasi]) -> list[RangeLoss]:
    """The weighted loss of each quasi-identifier's labels."""
    return [partial(_weighted_losses, quasi=q) for q in quasi_identifiers]


def _weighted_losses(low: IntArray, high: IntArray, quasi: ResolvedQuasi) -> FloatArray:
    losses = range_losses(
        low,
        high,
        domain=quasi.domain,
        sets=quasi.sets,
        hierarchy=quasi.hierarchy,
    )
    return quasi.weight * losses


def choose_locality(
    start: Locality,
    sample: Rows,
    part: IntArray,
    stack: Stack,
    class_size: int,
    loss_of: Sequence[RangeLoss],
) -> Locality:
    """The order of digits with the least simulated loss. The search moves one digit at a time and
    starts with the digits of few values.
    """
    sample = sample.take(np.arange(min(len(sample), SEARCH_ROWS)))
    part = part[:SEARCH_ROWS]

    def simulate(locality: Locality) -> float:
        return information_loss(
            sample,
            deal_sample(locality, sample, part, stack, class_size),
            loss_of,
        )

    first = sorted(range(len(start.digits)), key=lambda a: (start.digits[a].size, a))
    best = replace(start, order=tuple(first))
    loss = simulate(best)
    for _ in range(SEARCH_ROUNDS):
        trials = [replace(best, order=order) for order in _moves(best.order)]
        losses = [simulate(trial) for trial in trials]
        if not losses or min(losses) >= loss:
            break
        loss = min(losses)
        best = trials[int(np.argmin(losses))]
    return best


def _moves(order: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Every order that results from moving one digit."""
    moved: dict[tuple[int, ...], None] = {}
    for i, attribute in enumerate(order):
        rest = order[:i] + order[i + 1 :]
        for j in range(len(order)):
            moved[(*rest[:j], attribute, *rest[j:])] = None
    moved.pop(order, None)
    return list(moved)
