"""How well a release answers counts: the relative error of queries over quasi-identifiers and
sensitive values.

The raw answer is the number of rows in ranges of some quasi-identifiers and of a sensitive
attribute. The estimate from the release assumes that the rows of a class are uniform within their
labels (LeFevre, DeWitt and Ramakrishnan 2006, section 5; Zhang, Koudas, Srivastava and Yu 2007;
Xiao and Tao 2006, section 6):

    estimate = sum over classes c of  n_c(V) * product over the ranges R of  |R and label| / |label|

with n_c(V) the class's rows of the sensitive values V, which are published unchanged. |.| counts
integers, leaves or members; for real numbers it is a length.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tclose_spark.table.arrays import IntArray
from tclose_spark.table.labels import MISSING

FloatArray = NDArray[np.float64]


class CoveredValues(Protocol):
    """The labels of a quasi-identifier, each with the values that it covers."""

    def shares(self, low: float, high: float) -> FloatArray:
        """The share of each label's values in low..high, 0 to 1, shape (labels,)."""
        ...


@dataclass(frozen=True, kw_only=True)
class CoveredRanges:
    """Labels that cover all values from `low` to `high`, shapes (labels,); NaN if a label covers
    none.

    whole: whether values are integers, such as codes of leaves.

    >>> ages = CoveredRanges(low=np.array([20.0, 30.0]), high=np.array([29.0, 30.0]), whole=True)
    >>> ages.shares(25, 30).tolist()  # 25..29 of 20..29; all of 30
    [0.5, 1.0]
    """

    low: FloatArray
    high: FloatArray
    whole: bool

    def shares(self, low: float, high: float) -> FloatArray:
        """See CoveredValues."""
        more = 1.0 if self.whole else 0.0
        both = np.minimum(self.high, high) - np.maximum(self.low, low) + more
        all_of_it = self.high - self.low + more
        point = all_of_it == 0
        share = np.where(point, both >= 0, np.maximum(both, 0.0) / np.where(point, 1.0, all_of_it))
        return np.where(np.isnan(self.low), 0.0, share)


@dataclass(frozen=True, kw_only=True)
class CoveredSets:
    """Labels that cover sets of codes.

    members: the codes of each label, ascending, one label after another; offsets: shape (labels +
        1,).

    >>> two = CoveredSets(members=np.array([0, 2, 1]), offsets=np.array([0, 2, 3]))  # {0, 2} and {1}
    >>> two.shares(1, 2).tolist()
    [0.5, 1.0]
    """

    members: IntArray
    offsets: IntArray

    def shares(self, low: float, high: float) -> FloatArray:
        """See CoveredValues."""
        before = np.append(0, np.cumsum((self.members >= low) & (self.members <= high)))
        sizes = np.diff(self.offsets)
        shares: FloatArray = np.diff(before[self.offsets]) / np.maximum(sizes, 1)
        return shares


Range = tuple[int, int]
"""The lowest and the highest code."""


@dataclass(frozen=True, kw_only=True)
class CountQuery:
    """How many rows are in these ranges?

    ranges: by number of the quasi-identifier.
    attribute, values: the number of the sensitive attribute, and the range of its codes.
    """

    ranges: Mapping[int, Range]
    attribute: int
    values: Range


Widen = Callable[[int, int, np.random.Generator], Range]
"""`widen(attribute, code, draw)`: a range of codes with this one in it."""


def draw_queries(
    quasi: Sequence[IntArray],
    sensitive: Sequence[IntArray],
    widen: Widen,
    widen_sensitive: Widen,
    queries: int,
    seed: int,
) -> list[CountQuery]:
    """Queries over 1 to 3 quasi-identifiers, about equally many of each, and a sensitive attribute.
    Each is drawn around a row, so its answer is at least 1; a missing quasi-identifier of that row
    is left out. The same rows in the same order give the same queries.

    quasi, sensitive: codes by attribute, shapes (rows,).
    """
    draw = np.random.default_rng(seed)
    made = []
    for row in draw.integers(len(sensitive[0]), size=queries).tolist():
        over = draw.choice(len(quasi), size=draw.integers(1, min(3, len(quasi)) + 1), replace=False)
        attribute = int(draw.integers(len(sensitive)))
        ranges = {
            i: widen(i, int(quasi[i][row]), draw)
            for i in sorted(over.tolist())
            if quasi[i][row] != MISSING
        }
        values = widen_sensitive(attribute, int(sensitive[attribute][row]), draw)
        made.append(CountQuery(ranges=ranges, attribute=attribute, values=values))
    return made


def count(query: CountQuery, quasi: Sequence[IntArray], sensitive: Sequence[IntArray]) -> int:
    """The raw answer."""
    return int(
        np.count_nonzero(
            _in_ranges(query, quasi) & within(sensitive[query.attribute], query.values),
        ),
    )


def within(codes: IntArray, between: Range) -> NDArray[np.bool_]:
    """Whether each code is in a range, shape (codes,)."""
    low, high = between
    return (codes >= low) & (codes <= high)


def _in_ranges(query: CountQuery, quasi: Sequence[IntArray]) -> NDArray[np.bool_]:
    """Whether each row is in all ranges, shape (rows,)."""
    found = np.ones(len(quasi[0]), dtype=np.bool_)
    for i, between in query.ranges.items():
        found &= within(quasi[i], between)
    return found


@dataclass(frozen=True, kw_only=True)
class HeldValues:
    """The rows of each class with each value of a sensitive attribute.

    value, holder, rows: of each pair of a value and a class that has it, the pairs by ascending
        value.

    >>> held = HeldValues.of(np.array([0, 0, 1]), np.array([5, 5, 2]))
    >>> [part.tolist() for part in (held.value, held.holder, held.rows)]
    [[2, 5], [1, 0], [1, 2]]
    """

    value: IntArray
    holder: IntArray
    rows: IntArray

    @staticmethod
    def of(of_row: IntArray, codes: IntArray) -> HeldValues:
        """Of rows with these classes and codes, shapes (rows,)."""
        classes = int(of_row.max()) + 1
        pair, rows = np.unique(codes * classes + of_row, return_counts=True)
        return HeldValues(value=pair // classes, holder=pair % classes, rows=rows)

    def between(self, values: Range) -> slice:
        """The pairs with values in a range."""
        low, high = values
        first = int(np.searchsorted(self.value, low))
        return slice(first, int(np.searchsorted(self.value, high, side="right")))


@dataclass(frozen=True, kw_only=True)
class UniformRelease:
    """A release whose rows are uniform within their labels.

    covered: by quasi-identifier, the values that its labels cover; label: by quasi-identifier, the
        label of each class.
    held: by sensitive attribute.
    """

    covered: Sequence[CoveredValues]
    label: Sequence[IntArray]
    held: Sequence[HeldValues]

    def estimate(self, query: CountQuery, numbers: Callable[[int, int], float]) -> float:
        """The answer estimated from the release.

        numbers: `numbers(quasi-identifier, code)`: a code in the units of its labels.
        """
        held = self.held[query.attribute]
        asked = held.between(query.values)
        holder = held.holder[asked]
        share = held.rows[asked].astype(np.float64)
        for i, (low, high) in query.ranges.items():
            share = (
                share
                * self.covered[i].shares(numbers(i, low), numbers(i, high))[self.label[i][holder]]
            )
        return float(share.sum())


@dataclass(frozen=True, kw_only=True)
class GroupedRelease:
    """A release of exact quasi-identifiers whose sensitive values are known by class only (Xiao and
    Tao 2006):

        estimate = sum over classes c of  |rows of c in the ranges| * n_c(V) / |c|

    quasi, sensitive: codes by attribute, shapes (rows,). group: of each row, 0, 1, ...

    >>> ages, diseases, two = np.array([20, 30, 40, 50]), np.array([0, 1, 1, 1]), np.array([0, 0, 1, 1])
    >>> release = GroupedRelease(quasi=[ages], sensitive=[diseases], group=two)
    >>> release.estimate(CountQuery(ranges={0: (30, 40)}, attribute=0, values=(1, 1)))  # half of one, and one
    1.5
    """

    quasi: Sequence[IntArray]
    sensitive: Sequence[IntArray]
    group: IntArray

    def estimate(self, query: CountQuery) -> float:
        """The answer estimated from the release."""
        sizes = np.bincount(self.group)
        inside = np.bincount(self.group[_in_ranges(query, self.quasi)], minlength=len(sizes))
        having = within(self.sensitive[query.attribute], query.values)
        holders = np.bincount(self.group[having], minlength=len(sizes))
        return float((inside * holders / sizes).sum())


def relative_errors(estimates: Sequence[float], answers: Sequence[int]) -> FloatArray:
    """|estimate - answer| / answer of each query, shape (queries,). No answer may be 0.

    >>> relative_errors([3.0, 5.0], [4, 5]).tolist()
    [0.25, 0.0]
    """
    raw = np.array(answers, dtype=np.float64)
    errors: FloatArray = np.abs(np.array(estimates) - raw) / raw
    return errors
