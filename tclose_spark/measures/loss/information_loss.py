"""Information loss of published labels (NCP, the normalized certainty penalty), read from the
labels themselves.

NCP of a label: 0 for a value; for an interval its length over the range of all labels, at most 1;
for an inner node the share of the hierarchy's leaves below it; for a set its share of the values
that all labels name; 1 for `*`.

The coarsest label that a quasi-identifier may have is read from the labels, too.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose_spark.runfile.attributes import QuasiIdentifier
from tclose_spark.runfile.quantities import parse_quantity
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.dictionaries import group_equal
from tclose_spark.table.hierarchies.hierarchy import ROOT, Hierarchy
from tclose_spark.table.ranges import (
    INFINITY,
    Interval,
    interval_or_none,
    looks_generalized,
    shows_nothing,
)


class NoLabelError(ValueError):
    """A published text is not a label of its quasi-identifier."""


def loses_most(losses: Mapping[str, float | None]) -> str | None:
    """The quasi-identifier whose labels lose most, which is the first to leave out; None if no loss
    is known.

    losses: by quasi-identifier. Of equal ones it is the first.

    >>> loses_most({"age": 0.1, "city": 0.4, "sex": None})
    'city'
    """
    known = {name: loss for name, loss in losses.items() if loss is not None}
    return max(known, key=lambda name: known[name], default=None)


INTERVAL = re.compile(r"^\[(\S+), (\S+)\]$")


def interval_ends(label: str) -> tuple[Fraction, Fraction]:
    """The numbers between which a numeric label lies: `[lo, hi]`, or one number twice. Dates and
    times are days.

    >>> [str(end) for end in interval_ends("[20, 29.5]")], interval_ends("7")
    (['20', '59/2'], (Fraction(7, 1), Fraction(7, 1)))

    Raises:
        ValueError: if it is neither.
    """
    match = INTERVAL.match(label)
    texts = (match[1], match[2]) if match else (label, label)
    low, high = (parse_quantity(text) for text in texts)
    if low > high:
        raise ValueError("an interval without numbers")
    return low, high


def set_members(label: str) -> list[str]:
    """The members of a set label `{a, b}`; of any other label itself alone, and of one with a
    member of more than 131,072 characters, which `csv` does not read.

    >>> set_members('{Pisa, "Siena, old"}'), set_members("Lyon")
    (['Pisa', 'Siena, old'], ['Lyon'])
    """
    if not (len(label) > 2 and label.startswith("{") and label.endswith("}")):
        return [label]
    try:
        return next(csv.reader(io.StringIO(label[1:-1], newline=""), skipinitialspace=True))
    except csv.Error:
        return [label]


@dataclass(frozen=True, kw_only=True)
class LabelLoss:
    """The information loss of the labels of one quasi-identifier.

    span: the range of all labels, if numeric.
    low: the start of this range, where open ends of foreign labels end, and from which linkage
        counts.
    sets: whether labels may be sets, of the `distinct` values that all labels name.
    foreign: labels come from another tool (see `ranges`): a text among numbers is a value, and a
        text among values may be a mask or a range.
    alone: a foreign column has one text.
    understated: ends that labels leave open lie beyond the range.
    unknown: some labels look generalized, and do not show how far.
    bands: foreign labels that only their column explains, as intervals (see `bands`).
    unread: foreign labels that hold numbers which nothing explains.
    """

    numeric: bool
    span: Fraction = Fraction(0)
    low: Fraction = Fraction(0)
    distinct: int = 0
    hierarchy: Hierarchy | None = None
    sets: bool = False
    foreign: bool = False
    alone: bool = False
    understated: bool = False
    unknown: bool = False
    bands: Mapping[str, str] = field(default_factory=dict, hash=False)
    unread: frozenset[str] = frozenset()

    def in_full(self, label: str) -> str:
        """A foreign label as the interval that its column shows; any other label as it is."""
        return self.bands.get(label, label)

    def interval(self, label: str) -> Interval | None:
        """The interval of a numeric label; None if it is not one."""
        return interval_or_none(self.in_full(label))

    def is_unclear(self, label: str) -> bool:
        """Whether a foreign label does not show which values it covers."""
        if not self.foreign or self.covers_all(label) or (self.numeric and self.interval(label)):
            return False
        return label in self.unread or looks_generalized(label)

    def covers_all(self, label: str | None) -> bool:
        """Whether a label is `*`, or a text in its place, such as REDACTED."""
        if label is None or label == ROOT or not self.foreign:
            return label == ROOT
        is_own = self.hierarchy is not None and label in self.hierarchy.labels
        return not is_own and shows_nothing(label, self.alone)

    def of_interval(self, low: Fraction, high: Fraction) -> Fraction:
        """Loss of publishing the closed interval low..high."""
        return min(Fraction(1), (high - low) / self.span) if self.span else Fraction(0)

    def of_bounds(self, low: str | None, high: str | None) -> Fraction:
        """Loss of publishing a number as two bounds: 0 where both are missing, 1 where one is, or
        is `*`.

        Raises:
            NoLabelError: if one is no number.
        """
        if low is None or high is None or ROOT in (low, high):
            return Fraction(not (low is None and high is None))
        try:
            return max(Fraction(0), self.of_interval(parse_quantity(low), parse_quantity(high)))
        except ValueError:
            raise NoLabelError("no number") from None

    def of(self, label: str | None) -> Fraction:
        """Loss of publishing a label, 0 to 1; 0 for a missing value published as NULL.

        >>> ages = LabelLoss(numeric=True, span=Fraction(80))  # all labels together reach from 10 to 90
        >>> [str(ages.of(label)) for label in ("35", "[30, 40]", "*", None)]
        ['0', '1/8', '1', '0']
        >>> str(LabelLoss(numeric=False, distinct=4, sets=True).of("{Lyon, Pisa}"))
        '1/2'

        Raises:
            NoLabelError: if it is no label of this quasi-identifier.
        """
        if label is None or self.covers_all(label):
            return Fraction(label is not None)
        if self.numeric:
            if self.foreign:
                interval = self.interval(label)
                if interval is None:
                    return Fraction(0)
                if interval.high - interval.low == 2 * INFINITY:
                    return Fraction(1)
                return self.of_interval(
                    max(interval.low, self.low),
                    min(interval.high, self.low + self.span),
                )
            try:
                return self.of_interval(*interval_ends(label))
            except ValueError:
                raise NoLabelError("neither a number nor an interval") from None
        if self.hierarchy is not None:
            return self._of_node(label, self.hierarchy)
        members = set_members(label) if self.sets else [label]
        return Fraction(0) if len(members) == 1 else Fraction(len(members), self.distinct)

    @staticmethod
    def _of_node(label: str, hierarchy: Hierarchy) -> Fraction:
        if label in hierarchy.leaf_set:
            return Fraction(0)
        if label not in hierarchy.leaves_under:
            raise NoLabelError("no node of the hierarchy")
        return Fraction(hierarchy.leaves_under[label], len(hierarchy.paths))


@dataclass(frozen=True, kw_only=True)
class Coarsest:
    """A limit on the labels of a quasi-identifier.

    limit: for numbers the length of an interval, in their units (days for dates and times); for a
        hierarchy the level of a node, 0 for a value; for sets the number of members; otherwise 0:
        not `*`.
    numeric: whether labels are numbers and intervals, or two bounds.
    levels: for a hierarchy, the level of each label: the highest at which it covers several values,
        else the lowest.
    """

    limit: Fraction
    numeric: bool = False
    levels: Mapping[str, int] | None = None

    @staticmethod
    def of(settings: QuasiIdentifier, hierarchy: Hierarchy | None) -> Coarsest | None:
        """The limit in the run file, if there is one."""
        if settings.coarsest is None:
            return None
        levels: dict[str, int] | None = None
        if hierarchy is not None:
            levels = {}
            for level in range(hierarchy.height + 1):
                for label, leaves in Counter(path[level] for path in hierarchy.paths).items():
                    if leaves > 1 or label not in levels:
                        levels[label] = level
            levels[ROOT] = hierarchy.height
        return Coarsest(limit=settings.coarsest, numeric=settings.is_numeric, levels=levels)

    def of_label(self, *label: Any) -> Fraction | float:
        """How coarse a label, or two bounds, are, in the unit of the limit: infinitely for `*`
        without a hierarchy. A missing value that is published as one is 0.

        >>> Coarsest(limit=Fraction(2)).of_label("{Lyon, Pisa, Siena}")
        3
        """
        if all(part is None for part in label):
            return Fraction(0)
        if self.levels is not None:
            return Fraction(self.levels[str(label[0])])
        if None in label or ROOT in label:
            return math.inf
        if not self.numeric:
            return len(set_members(str(label[0]))) if self.limit else 0
        low, high = (
            map(parse_quantity, map(str, label))
            if len(label) == 2
            else interval_ends(str(label[0]))
        )
        return high - low

    def broken_by(self, *label: Any) -> bool:
        """Whether a label, or two bounds, are coarser than allowed. A missing value that is
        published as one is not; `*` is, unless the limit is the root's level.

        >>> ten = Coarsest(limit=Fraction(10), numeric=True)
        >>> [ten.broken_by(label) for label in ("35", "[30, 40]", "[30, 41]", "*", None)]
        [False, False, True, True, False]
        >>> ten.broken_by("30", "40"), ten.broken_by("30", "40.5")
        (False, True)
        """
        return self.of_label(*label) > self.limit

    def coarsest_within(self, path: Sequence[str]) -> str:
        """The last of a value's labels, from itself to the root, that is not too coarse."""
        return [label for label in path if not self.broken_by(label)][-1]

    def broken(self, labels: Sequence[pa.Array]) -> NDArray[np.bool_]:
        """Whether the label of each row is too coarse, shape (rows,). labels: its column, or its
        two bounds.
        """
        group, distinct = _distinct(labels)
        verdicts: NDArray[np.bool_] = np.array(
            [self.broken_by(*label) for label in distinct],
            dtype=np.bool_,
        )[group]
        return verdicts

    def reached(self, labels: Sequence[pa.Array]) -> Fraction | float:
        """The least limit that all labels are within; infinity if none is. labels: see `broken`."""
        return max((self.of_label(*label) for label in _distinct(labels)[1]), default=0)


def _distinct(labels: Sequence[pa.Array]) -> tuple[IntArray, list[tuple[Any, ...]]]:
    """(the number of each row's label, the labels)."""
    group, first = group_equal(labels)
    return group, list(
        zip(*(column.take(pa.array(first)).to_pylist() for column in labels), strict=True),
    )
