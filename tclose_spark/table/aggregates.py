"""Aggregates that a class publishes instead of labels: the exact mean, median or mode of its
values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from tclose_spark.runfile.aggregates import Aggregate
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.domains import QuasiDomain
from tclose_spark.table.labels import MISSING, Labels, NumericLabels, decode_numbers


@dataclass(frozen=True)
class AggregateLabels:
    """The aggregate of each class's values that are not missing. It depends on the values only, not
    on their order or tasks.

    >>> ages, codes = QuasiDomain(name="age", kind="integer", missing=0), np.array([31, 38, 40, 40, 40])
    >>> for kind in ("mean", "median", "mode"):  # a class of two, one of three
    ...     AggregateLabels(Aggregate(kind, 1), ages).label(codes, np.array([0, 2]))[1]
    ['34.5', '40']
    ['31', '40']
    ['31', '40']
    """

    aggregate: Aggregate
    domain: QuasiDomain

    def label(self, codes: IntArray, starts: IntArray) -> Labels:
        """The aggregates of the groups of consecutive rows that begin at `starts`."""
        owner = np.zeros(len(codes), dtype=np.int64)
        owner[starts[1:]] = 1
        owner = np.cumsum(owner)
        missing = codes == MISSING
        held = np.bincount(owner[~missing], minlength=len(starts))
        if self.aggregate.kind == "mean":
            texts = self._means(np.where(missing, 0, codes), starts, held, missing)
        else:
            chosen = _medians if self.aggregate.kind == "median" else _modes
            values, place = np.unique(chosen(codes[~missing], owner[~missing]), return_inverse=True)
            said = [self._write()(code) for code in values.tolist()]
            texts = [said[i] for i in place.reshape(-1).tolist()]
        of_class = iter(texts)
        known: dict[str | None, int] = {}
        index = [known.setdefault(next(of_class) if n else None, len(known)) for n in held.tolist()]
        return np.array(index, dtype=np.int64), list(known)

    def _means(
        self, codes: IntArray, starts: IntArray, held: IntArray, missing: NDArray[np.bool_]
    ) -> list[str]:
        """The means of the classes with a value."""
        numbers, scale = self._exact(codes, missing)
        sums = np.add.reduceat(numbers, starts)[held > 0].tolist()
        unit = 10 ** (self.aggregate.digits or 0)
        rounded = [
            (2 * total * unit + n * scale) // (2 * n * scale)
            for total, n in zip(sums, held[held > 0].tolist(), strict=True)
        ]
        if self.aggregate.digits is None:
            return list(map(self._write(), rounded))
        return [write_scaled(number, self.aggregate.digits) for number in rounded]

    def _exact(
        self, codes: IntArray, missing: NDArray[np.bool_]
    ) -> tuple[NDArray[np.object_], int]:
        """(numbers as integers of any size, the integer that stands for 1). A double is taken as
        its shortest decimal. A missing number is 0.
        """
        if self.domain.kind == "integer":
            return codes.astype(object), 1
        distinct, place = np.unique(codes, return_inverse=True)
        numbers = [Fraction(str(x)) for x in decode_numbers(distinct).tolist()]
        scale = lcm(*(x.denominator for x in numbers))
        whole = np.array([x.numerator * (scale // x.denominator) for x in numbers], dtype=object)
        return np.where(missing, 0, whole[place.reshape(-1)]), scale

    def _write(self) -> Callable[[int], str]:
        """The function from a code to its text."""
        if self.domain.kind == "category":
            return self.domain.values.__getitem__
        labels = NumericLabels(self.domain.kind == "integer", None, self.domain.calendar)
        return lambda code: labels.write(labels.ends(np.array([code]), np.array([code]))[0][0])


def _medians(codes: IntArray, owner: IntArray) -> IntArray:
    """The lower median of each group of codes."""
    codes = codes[np.lexsort((codes, owner))]
    _, starts, sizes = np.unique(owner, return_index=True, return_counts=True)
    medians: IntArray = codes[starts + (sizes - 1) // 2]
    return medians


def _modes(codes: IntArray, owner: IntArray) -> IntArray:
    """The most frequent code of each group; the smallest of equally frequent ones."""
    pairs, rows = np.unique(np.stack([owner, codes]), axis=1, return_counts=True)
    order = np.lexsort((pairs[1], -rows, pairs[0]))
    _, firsts = np.unique(pairs[0][order], return_index=True)
    modes: IntArray = pairs[1][order[firsts]]
    return modes


def write_scaled(number: int, digits: int) -> str:
    """A number given in units of its last digit, with this many decimals, without trailing zeros.

    >>> write_scaled(3450, 2), write_scaled(-5, 2), write_scaled(4000, 2)
    ('34.5', '-0.05', '40')
    """
    whole, part = divmod(abs(number), 10**digits)
    behind = f"{part:0{digits}}".rstrip("0") if part else ""
    return f"{'-' if number < 0 else ''}{whole}{'.' if behind else ''}{behind}"
