"""Labels of classes: what a class publishes for a quasi-identifier. All generalization uses this
one pure module.

Values travel as int64 codes whose order is the order of the values. MISSING is below all others.
The codes of a numeric column are its numbers (`encode_numbers`). Those of a categorical column are
places in its domain: tree order with a hierarchy, otherwise sorted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose_spark.runfile.attributes import QuasiIdentifier
from tclose_spark.runfile.quantities import Calendar, write_moment
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.domains import QuasiDomain
from tclose_spark.table.hierarchies.hierarchy import ROOT, Hierarchy
from tclose_spark.table.writing import write_number

MISSING = np.int64(-(2**63))
LEAST = -(2**63)
MOST = 2**63 - 1
EXACT = Context(prec=60)  # digits of an end that is no integer

Labels = tuple[IntArray, list[str | None]]
"""(index, texts): the label of group g is texts[index[g]]; None is a missing value, published as
NULL.
"""


def encode_numbers(numbers: NDArray[np.float64]) -> IntArray:
    """Doubles as int64 codes in the same order. -0.0 becomes 0, and NaN becomes MISSING.

    >>> codes = encode_numbers(np.array([-1.5, -0.0, 0.1, np.nan]))
    >>> bool(codes[0] < codes[1] < codes[2]), int(codes[1]), bool(codes[3] == MISSING)
    (True, 0, True)
    """
    bits = (numbers + 0.0).view(np.int64)
    codes = np.where(bits >= 0, bits, -(bits & np.int64(2**63 - 1)))
    return np.where(np.isnan(numbers), MISSING, codes)


def number_codes(column: pa.Array) -> IntArray:
    """The codes of a column of integers or doubles, shape (n,)."""
    if pa.types.is_integer(column.type):
        return np.asarray(column.fill_null(int(MISSING)).to_numpy(), dtype=np.int64)
    return encode_numbers(np.asarray(column.fill_null(np.nan).to_numpy(), dtype=np.float64))


def decode_numbers(codes: IntArray) -> NDArray[np.float64]:
    """The doubles of `encode_numbers`. MISSING gives NaN.

    >>> decode_numbers(encode_numbers(np.array([-1.5, -0.0, 0.1, np.nan]))).tolist()
    [-1.5, 0.0, 0.1, nan]
    """
    bits = np.where(codes >= 0, codes, -codes | MISSING)
    numbers: NDArray[np.float64] = bits.view(np.float64).copy()
    numbers[codes == MISSING] = np.nan
    return numbers


def ranges(codes: IntArray, starts: IntArray) -> tuple[IntArray, IntArray]:
    """The smallest and largest code of each group of consecutive rows, shapes (groups,). starts:
    their first rows.

    >>> low, high = ranges(np.array([4, 2, 9, 9, 5]), np.array([0, 3]))
    >>> low.tolist(), high.tolist()
    ([2, 5], [9, 9])
    """
    return np.minimum.reduceat(codes, starts), np.maximum.reduceat(codes, starts)


def _per_pair(
    low: IntArray,
    high: IntArray,
    write: Callable[[IntArray, IntArray], list[str]],
) -> Labels:
    """Labels that depend on (low, high) only, written once per pair. Missing values are handled
    here.
    """
    pairs, index = np.unique(np.stack([low, high]), axis=1, return_inverse=True)
    low, high = pairs
    texts: list[str | None] = [None if hi == MISSING else ROOT for hi in high]
    whole = np.flatnonzero(low != MISSING)
    for place, text in zip(whole.tolist(), write(low[whole], high[whole]), strict=True):
        texts[place] = text
    return index.reshape(-1), texts


class RangeLabels(ABC):
    """Labels that depend on the lowest and highest code of a group."""

    @abstractmethod
    def cover(self, low: IntArray, high: IntArray) -> Labels:
        """Labels that cover these ranges of codes."""

    def label(self, codes: IntArray, starts: IntArray) -> Labels:
        """Labels of the groups of consecutive rows that begin at `starts`."""
        return self.cover(*ranges(codes, starts))


@dataclass(frozen=True)
class NumericLabels(RangeLabels):
    """The number itself if a class has only one, otherwise the closed interval `[lo, hi]` of its
    numbers.

    integral: codes are integers rather than encoded doubles.
    round_to: ends are rounded outward to multiples of this, in units of codes.
    calendar: codes are days of dates or microseconds of times, written as ISO.

    >>> codes, starts = np.array([31, 38, 40, 40]), np.array([0, 2])  # two classes of two rows
    >>> NumericLabels(integral=True).label(codes, starts)[1]
    ['[31, 38]', '40']
    >>> NumericLabels(integral=True, round_to=Fraction(5)).label(codes, starts)[1]
    ['[30, 40]', '40']
    """

    integral: bool
    round_to: Fraction | None = None
    calendar: Calendar | None = None

    @property
    def whole(self) -> bool:
        """Whether all ends are integers. Every integer is a multiple of 1/2."""
        return self.integral and (
            self.round_to is None or 1 in (self.round_to.numerator, self.round_to.denominator)
        )

    def ends(
        self,
        low: IntArray,
        high: IntArray,
    ) -> tuple[list[int | float | Decimal], list[int | float | Decimal]]:
        """The numbers at both ends of each interval, rounded outward. No code may be MISSING."""
        lows = low.tolist() if self.integral else decode_numbers(low).tolist()
        highs = high.tolist() if self.integral else decode_numbers(high).tolist()
        if self.round_to is None:
            return lows, highs
        step = self.round_to
        return (
            [self._plain(Fraction(str(x)) // step * step) for x in lows],
            [self._plain(-(-Fraction(str(x)) // step) * step) for x in highs],
        )

    def bounds(
        self,
        low: IntArray,
        high: IntArray,
    ) -> tuple[IntArray, IntArray] | tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The ends as 64-bit numbers, integers if `whole`, that still cover the codes. No code may
        be MISSING.
        """
        lows, highs = self.ends(low, high)
        if self.whole:
            return np.array([max(int(x), LEAST) for x in lows], np.int64), np.array(
                [min(int(x), MOST) for x in highs],
                np.int64,
            )
        doubles = np.array(lows, np.float64), np.array(highs, np.float64)
        if (
            self.integral
        ):  # beyond 2^53 the nearest double of an end may lie inside; Python compares exactly
            for i, (x, y) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
                if doubles[0][i].item() > x:
                    doubles[0][i] = np.nextafter(doubles[0][i], -np.inf)
                if doubles[1][i].item() < y:
                    doubles[1][i] = np.nextafter(doubles[1][i], np.inf)
        return doubles

    def write(self, end: int | float | Decimal) -> str:
        """An end as text."""
        return write_number(end) if self.calendar is None else write_moment(int(end), self.calendar)

    def _plain(self, number: Fraction) -> int | float | Decimal:
        """An end as an integer if the values are integers and it is one, otherwise as the nearest
        double. For integers beyond the precision of doubles, a decimal.
        """
        if self.integral and number.denominator == 1:
            return int(number)
        return (
            EXACT.divide(number.numerator, number.denominator)
            if self.integral and abs(number) >= 2**53
            else float(number)
        )

    def cover(self, low: IntArray, high: IntArray) -> Labels:
        """Labels that cover these ranges of codes."""

        def write(low: IntArray, high: IntArray) -> list[str]:
            return [
                self.write(x) if x == y else f"[{self.write(x)}, {self.write(y)}]"
                for x, y in zip(*self.ends(low, high), strict=True)
            ]

        return _per_pair(low, high, write)


@dataclass(frozen=True)
class HierarchyLabels(RangeLabels):
    """The value itself, or the label of the lowest common ancestor of a class's values.

    >>> cities = Hierarchy((("Pisa", "Italy", "*"), ("Siena", "Italy", "*"), ("Lyon", "France", "*")))
    >>> index, texts = HierarchyLabels(cities).label(np.array([0, 0, 0, 1, 0, 2]), np.array([0, 2, 4]))
    >>> [texts[i] for i in index]
    ['Pisa', 'Italy', '*']
    """

    hierarchy: Hierarchy

    def cover(self, low: IntArray, high: IntArray) -> Labels:
        """Labels that cover these ranges of codes."""

        def write(low: IntArray, high: IntArray) -> list[str]:
            height, leaf = self.hierarchy.common_ancestors(low, high)
            return [
                self.hierarchy.paths[i][h]
                for i, h in zip(leaf.tolist(), height.tolist(), strict=True)
            ]

        return _per_pair(low, high, write)


@dataclass(frozen=True)
class SuppressLabels(RangeLabels):
    """The value itself if a class has only one, otherwise `*`

    >>> index, texts = SuppressLabels(("f", "m")).label(np.array([0, 1, 1, 1]), np.array([0, 2]))
    >>> [texts[i] for i in index]
    ['*', 'm']
    """

    values: tuple[str, ...]

    def cover(self, low: IntArray, high: IntArray) -> Labels:
        """Labels that cover these ranges of codes."""

        def write(low: IntArray, high: IntArray) -> list[str]:
            return [
                self.values[x] if x == y else ROOT
                for x, y in zip(low.tolist(), high.tolist(), strict=True)
            ]

        return _per_pair(low, high, write)


@dataclass(frozen=True)
class SetLabels:
    """The value itself, the set `{a, b}` of a class's values in domain order, or `*` for the whole
    domain.

    whole: the number of values in the whole domain; by default, all of `values`.

    >>> index, texts = SetLabels(("Lyon", "Pisa", "Siena")).label(np.array([1, 0, 2, 2, 0, 1, 2]), np.array([0, 2, 4]))
    >>> [texts[i] for i in index]
    ['{Lyon, Pisa}', 'Siena', '*']
    """

    values: tuple[str, ...]
    whole: int | None = None

    def label(self, codes: IntArray, starts: IntArray) -> Labels:
        """Labels of the groups of consecutive rows that begin at `starts`."""
        owner = np.zeros(len(codes), dtype=np.int64)
        owner[starts[1:]] = 1
        pairs = np.unique(np.stack([np.cumsum(owner), codes]), axis=1)
        members = np.split(pairs[1], np.flatnonzero(np.diff(pairs[0])) + 1)
        texts: dict[str | None, int] = {}
        index = [texts.setdefault(self._write(group.tolist()), len(texts)) for group in members]
        return np.array(index, dtype=np.int64), list(texts)

    def cover(self, low: IntArray, high: IntArray) -> Labels:
        """Labels that cover these ranges of codes, as sets of all values in them."""

        def write(low: IntArray, high: IntArray) -> list[str]:
            return [
                str(self._write(range(x, y + 1)))
                for x, y in zip(low.tolist(), high.tolist(), strict=True)
            ]

        return _per_pair(low, high, write)

    def _write(self, group: Sequence[int]) -> str | None:
        if len(group) == 1:
            return None if group[0] == MISSING else self.values[group[0]]
        if group[0] == MISSING or len(group) == (
            len(self.values) if self.whole is None else self.whole
        ):
            return ROOT
        return "{" + ", ".join(quote_member(self.values[code]) for code in group) + "}"


def quote_member(value: str) -> str:
    """A member of a set label. It is in double quotes if it has a comma, brace or quote, or blanks
    at its ends.

    >>> quote_member("Pisa"), quote_member("Siena, old")
    ('Pisa', '"Siena, old"')
    """
    plain = value and value == value.strip() and not set(value) & set(',{}"\r\n')
    return value if plain else '"' + value.replace('"', '""') + '"'


Labeller = NumericLabels | HierarchyLabels | SuppressLabels | SetLabels


def make_labeller(
    domain: QuasiDomain,
    quasi: QuasiIdentifier,
    hierarchy: Hierarchy | None,
) -> Labeller:
    """The writer of a quasi-identifier's labels."""
    if domain.kind != "category":
        return NumericLabels(domain.kind == "integer", quasi.step, domain.calendar)
    if hierarchy is not None:
        return HierarchyLabels(hierarchy)
    return (
        SetLabels(domain.values) if quasi.generalization == "set" else SuppressLabels(domain.values)
    )


def range_shares(low: IntArray, high: IntArray, domain: QuasiDomain) -> NDArray[np.float64]:
    """The share of a numeric domain's range between codes low..high, 0 to 1, shape (n,). It is
    exact for ranges of any 64-bit integers.
    """
    if domain.kind == "integer":
        # Modulo 2^64, which no range passes.
        lengths = (high.view(np.uint64) - low.view(np.uint64)).astype(np.float64)
        return lengths / ((domain.high - domain.low) or 1)
    # Doubles so large that their difference overflows.
    unit = 1.0 if np.isfinite(domain.high - domain.low) else 0.25
    shares: NDArray[np.float64] = (decode_numbers(high) * unit - decode_numbers(low) * unit) / (
        (domain.high * unit - domain.low * unit) or 1.0
    )
    return shares


def range_losses(
    low: IntArray,
    high: IntArray,
    domain: QuasiDomain,
    sets: bool,
    hierarchy: Hierarchy | None,
) -> NDArray[np.float64]:
    """The information loss, 0 to 1, of publishing each range of codes low..high, shape (n,). For
    sets it is an upper bound.

    sets: whether labels of a category without a hierarchy are sets.
    """
    mixed = (low == MISSING) & (high != MISSING)
    same = low == high
    if domain.kind != "category":
        width = range_shares(np.where(mixed, high, low), high, domain)
    elif hierarchy is not None:
        height, leaf = hierarchy.common_ancestors(np.maximum(low, 0), np.maximum(high, 0))
        width = hierarchy.shares[height, leaf]
    else:
        width = (high - low + 1) / max(domain.present, 1) if sets else np.ones(len(low))
    losses: NDArray[np.float64] = np.where(same, 0.0, np.where(mixed, 1.0, width))
    return losses
