"""A criterion of classes, the class that comes closest to breaking it, and the guarantee that
reports it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.table.arrays import IntArray

OVER_PEOPLE = " over people"
"""How the names of measures end that count people."""
Labels = Mapping[str, Any]
"""A class, by the labels of its published columns."""


class WorstClass(NamedTuple):
    """A class with an extreme figure.

    rank: the figure; smaller is worse.
    labels: of the published columns, in their order.
    emd: by sensitive attribute, for the classes of extreme size only.
    """

    rank: Any
    size: int
    labels: tuple[str | None, ...]
    emd: tuple[float, ...] = ()

    @property
    def place(self) -> tuple[Any, ...]:
        """A sort key that does not depend on the order in which classes arrive."""
        return (
            self.rank,
            self.size,
            tuple((label is not None, label or "") for label in self.labels),
        )


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """A property that every class must have.

    measure: such as "k-anonymity", "t-closeness" or "distinct l-diversity" (see `Judge.measure`).
    attribute: the sensitive attribute; None for k.
    required: the bound; None if the measure is only reported.
    achieved: by the worst class (a Fraction for t; for recursive diversity whether it holds).
    classes, rows: how many classes break it, and their rows.
    worst: the labels of the worst class.
    size: its rows.
    """

    measure: str
    attribute: str | None
    required: Any
    achieved: Any
    classes: int
    rows: int
    worst: Labels
    size: int | None = None

    @property
    def holds(self) -> bool:
        """Whether no class breaks it."""
        return not self.classes


class Reached(TypedDict):
    """A guarantee as plain values, for the certificate.

    achieved: a fraction as text p/q, or a number, None if it is infinite.
    """

    achieved: Any
    holds: bool


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """A figure that every class has, its bound, and the guarantee that it is reported as.

    measure, attribute, required: see Guarantee.
    figure: its column of the class table.
    largest: whether the largest value is the worst, and not the smallest.
    broken: the column and the bound below which a class breaks the guarantee; None without a
        requirement.
    reached: whether a class at the bound breaks it, too.
    yes_or_no: whether the guarantee reports that all classes hold, and not the worst figure.
    """

    measure: str
    attribute: str | None
    required: Any
    figure: str
    broken: tuple[str, int] | None = None
    reached: bool = False
    largest: bool = False
    yes_or_no: bool = False

    @property
    def columns(self) -> list[str]:
        """The columns of the class table that it needs."""
        return [self.figure, *([self.broken[0]] if self.broken else [])]

    def breaks(self, classes: pa.RecordBatch) -> Any:
        """Whether each class breaks the guarantee, shape (classes,)."""
        if self.broken is None:
            return np.zeros(len(classes), dtype=np.bool_)
        column = classes[self.broken[0]]
        compare = pc.less_equal if self.reached else pc.less
        return compare(column, pa.scalar(self.broken[1], column.type)).to_numpy(
            zero_copy_only=False,
        )

    def worst(self, classes: pa.RecordBatch) -> tuple[Any, IntArray]:
        """(the rank of the worst classes, their rows)."""
        worst = (pc.max if self.largest else pc.min)(classes[self.figure])
        rank = -worst.as_py() if self.largest else worst.as_py()
        return rank, _where(pc.equal(classes[self.figure], worst))

    def worst_class(
        self,
        classes: pa.RecordBatch,
        sizes: IntArray,
        labels: Sequence[pa.Array],
    ) -> WorstClass:
        """The worst class; of several the smallest, then the first by its labels. sizes: shape
        (classes,).
        """
        rank, rows = self.worst(classes)
        row = first_of(labels, rows[sizes[rows] == sizes[rows].min()])
        return WorstClass(rank, int(sizes[row]), labels_at(labels, row))

    def guarantee(
        self,
        worst: WorstClass,
        broken: tuple[int, int],
        labels: Labels,
        of: str = "",
    ) -> Guarantee:
        """The guarantee. broken: (classes, their rows). labels: of the worst class. of: ends the
        measure's name.
        """
        figure = -worst.rank if self.largest else worst.rank
        achieved = not broken[0] if self.yes_or_no else figure
        return Guarantee(
            measure=self.measure + of,
            attribute=self.attribute,
            required=self.required,
            achieved=achieved,
            classes=broken[0],
            rows=broken[1],
            worst=labels,
            size=worst.size,
        )


@dataclass(frozen=True, kw_only=True)
class ExactCriterion(Criterion):
    """A figure that is a fraction, such as a distance, of which the largest is the worst.

    figure: a correctly rounded double, so the largest fraction has the largest double.
    numerator: the column of the exact figure: numerator / (unit * size) is the fraction. size: its
        column.
    """

    largest: bool = True
    numerator: str
    unit: int
    size: str = "size"

    @property
    def columns(self) -> list[str]:
        """See Criterion."""
        return [*super().columns, self.numerator, self.size]

    def worst(self, classes: pa.RecordBatch) -> tuple[Any, IntArray]:
        """See Criterion. Compares equal doubles as exact fractions."""
        rows = _where(pc.equal(classes[self.figure], pc.max(classes[self.figure])))
        numerators, sizes = (
            classes[name].take(pa.array(rows)).to_pylist() for name in (self.numerator, self.size)
        )
        exact = {pair: self._exact(*pair) for pair in set(zip(numerators, sizes, strict=True))}
        most = max(exact.values())
        same = [exact[pair] == most for pair in zip(numerators, sizes, strict=True)]
        return -most, rows[same]

    def _exact(self, numerator: Any, size: Any) -> Fraction | float:
        """The fraction; infinite over 0."""
        return Fraction(int(numerator), self.unit * int(size)) if size else math.inf


def _where(mask: pa.BooleanArray) -> IntArray:
    return np.flatnonzero(mask.to_numpy(zero_copy_only=False))


def first_of(labels: Sequence[pa.Array], rows: IntArray) -> int:
    """The row whose labels sort first, missing ones before all others."""
    for column in labels:
        if len(rows) == 1:
            break
        here = column.take(pa.array(rows))
        rows = (
            rows[_where(pc.is_null(here))]
            if here.null_count
            else rows[_where(pc.equal(here, pc.min(here)))]
        )
    return int(rows[0])


def labels_at(labels: Sequence[pa.Array], row: int) -> tuple[str | None, ...]:
    """The labels of a class. labels: of all classes, by published column."""
    return tuple(column[row].as_py() for column in labels)
