"""What is said of some classes, so that it can be put together for all of them: counts, sums, and the worst of each
kind. A task says it of the classes that it reads.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.checks.classes.figure_histograms import BinCounts, FigureHistogram, add_bins, count_by_bin
from tclose_spark.measures.loss.coarseness import Coarsest
from tclose_spark.table.arrays import FloatArray, IntArray

BILLIONTHS = 10**9
"""Losses are added up as whole numbers of these: a sum of doubles depends on its order."""
EXTREMES = 10  # classes at either end of the sizes that are shown


class WorstClass(NamedTuple):
    """A class.

    rank: what it is looked at for; the smaller, the farther off.
    labels: of the published columns, in their order.
    emd: of each sensitive attribute, where that is to be shown.
    """

    rank: Any
    size: int
    labels: tuple[str | None, ...]
    emd: tuple[float, ...] = ()

    @property
    def place(self) -> tuple[Any, ...]:
        """By which the first of several is the one that is told, whatever their order."""
        return self.rank, self.size, tuple((label is not None, label or "") for label in self.labels)


class Loss(Protocol):
    """What a class loses of a quasi-identifier."""

    def of(self, classes: pa.RecordBatch) -> FloatArray:
        """0 to 1, shape (classes,)."""
        ...


@dataclass(frozen=True, kw_only=True)
class Watched:
    """A figure of every class of which the worst is told.

    figure: its column; the smallest is the worst.
    broken: the column and the bound that a class may not be below; None where nothing is required.
    reached: whether a class that is at the bound breaks it.
    """

    figure: str
    broken: tuple[str, int] | None = None
    reached: bool = False

    @property
    def columns(self) -> list[str]:
        """Those of the class table that it takes."""
        return [self.figure, *([self.broken[0]] if self.broken else [])]

    def breaks(self, classes: pa.RecordBatch) -> Any:
        """Whether each class breaks it, shape (classes,)."""
        if self.broken is None:
            return np.zeros(len(classes), dtype=np.bool_)
        column = classes[self.broken[0]]
        compare = pc.less_equal if self.reached else pc.less
        return compare(column, pa.scalar(self.broken[1], column.type)).to_numpy(zero_copy_only=False)

    def farthest(self, classes: pa.RecordBatch) -> tuple[Any, IntArray]:
        """(the rank of the worst classes, which they are)."""
        worst = pc.min(classes[self.figure])
        return worst.as_py(), _where(pc.equal(classes[self.figure], worst))


@dataclass(frozen=True, kw_only=True)
class WatchedDistance(Watched):
    """A distance, of which the largest is the worst.

    figure: a double, rounded correctly, so that the largest distance has the largest double.
    numerator: the column of what is exact: numerator / (unit * size) is the distance.
    """

    numerator: str
    unit: int

    @property
    def columns(self) -> list[str]:
        """See Watched."""
        return [*super().columns, self.numerator]

    def farthest(self, classes: pa.RecordBatch) -> tuple[Any, IntArray]:
        """See Watched."""
        rows = _where(pc.equal(classes[self.figure], pc.max(classes[self.figure])))
        numerators, sizes = (classes[name].take(pa.array(rows)).to_pylist() for name in (self.numerator, "size"))
        exact = {pair: Fraction(int(pair[0]), self.unit * pair[1]) for pair in set(zip(numerators, sizes, strict=True))}
        most = max(exact.values())
        same = [exact[pair] == most for pair in zip(numerators, sizes, strict=True)]
        return -most, rows[same]


@dataclass(frozen=True, kw_only=True)
class PartialFigures:
    """What is said of some classes.

    squares: the sum of their squared sizes.
    lost: what their rows lose, summed, in billionths; of each loss that is asked for.
    guessed: rows with the most frequent value of their class, of each sensitive attribute.
    homogeneous: (classes, their rows) with one value only, of each sensitive attribute.
    coarse: (classes, their rows) with a label that is too coarse, of each quasi-identifier that has a limit.
    broken: (classes, their rows) that break it, of each figure that is watched.
    worst: of each figure that is watched.
    largest, smallest: at most EXTREMES each, in this order.
    spreads: of each figure whose spread is asked for.
    """

    rows: int
    classes: int
    squares: int
    lost: tuple[int, ...]
    guessed: tuple[int, ...]
    homogeneous: tuple[tuple[int, int], ...]
    coarse: tuple[tuple[int, int], ...]
    broken: tuple[tuple[int, int], ...]
    worst: tuple[WorstClass, ...]
    largest: tuple[WorstClass, ...]
    smallest: tuple[WorstClass, ...]
    spreads: tuple[BinCounts, ...] = ()

    def __add__(self, other: PartialFigures) -> PartialFigures:
        """What is said of the classes of both."""
        return PartialFigures(
            rows=self.rows + other.rows,
            classes=self.classes + other.classes,
            squares=self.squares + other.squares,
            lost=tuple(map(sum, zip(self.lost, other.lost, strict=True))),
            guessed=tuple(map(sum, zip(self.guessed, other.guessed, strict=True))),
            homogeneous=_sums(self.homogeneous, other.homogeneous),
            coarse=_sums(self.coarse, other.coarse),
            broken=_sums(self.broken, other.broken),
            worst=tuple(min(pair, key=lambda seen: seen.place) for pair in zip(self.worst, other.worst, strict=True)),
            largest=_first([*self.largest, *other.largest]),
            smallest=_first([*self.smallest, *other.smallest]),
            spreads=add_bins(self.spreads, other.spreads),
        )


@dataclass(frozen=True, kw_only=True)
class Watch:
    """What is looked at.

    losses: of which the sums are wanted.
    limits: on the labels of quasi-identifiers, each with the published columns that it is about.
    distinct: the column of how many values a class has, of each sensitive attribute.
    emd: the column of its distance, of each.
    likeliest: the column of how many rows have its most frequent value, of each.
    figures: of which the worst class is wanted.
    spreads: of which it is wanted how they are spread; their columns are `spread`.
    """

    losses: Sequence[Loss]
    limits: Sequence[tuple[Coarsest, Sequence[str]]]
    distinct: Sequence[str]
    emd: Sequence[str]
    likeliest: Sequence[str]
    figures: Sequence[Watched]
    spreads: Sequence[FigureHistogram] = ()
    spread: Sequence[str] = ()

    @property
    def columns(self) -> list[str]:
        """Those of the class table that it takes."""
        watched = [*(column for figure in self.figures for column in figure.columns), *self.spread]
        return list(
            dict.fromkeys(["quasi_identifiers", "size", "losses", *self.distinct, *self.emd, *self.likeliest, *watched])
        )

    def part(self, classes: pa.RecordBatch) -> PartialFigures:
        """What is said of some rows of the class table."""
        sizes = classes["size"].to_numpy()
        labels = classes["quasi_identifiers"].flatten()
        single = [pc.equal(classes[name], 1).to_numpy(zero_copy_only=False) for name in self.distinct]
        worst = [
            (rank, _first_of(labels, rows[sizes[rows] == sizes[rows].min()])) for rank, rows in self._farthest(classes)
        ]
        distinct_sizes, of_size = np.unique(sizes, return_counts=True)
        return PartialFigures(
            rows=int(sizes.sum()),
            classes=len(sizes),
            squares=sum(int(size) ** 2 * int(n) for size, n in zip(distinct_sizes, of_size, strict=True)),
            lost=tuple(
                int(np.rint(loss.of(classes) * sizes * BILLIONTHS).astype(np.int64).sum()) for loss in self.losses
            ),
            guessed=tuple(int(classes[name].to_numpy().sum()) for name in self.likeliest),
            homogeneous=tuple(_count(one, sizes) for one in single),
            coarse=tuple(
                _count(limit.broken([classes["quasi_identifiers"].field(name) for name in columns]), sizes)
                for limit, columns in self.limits
            ),
            broken=tuple(_count(figure.breaks(classes), sizes) for figure in self.figures),
            worst=tuple(WorstClass(rank, int(sizes[row]), _labels(labels, row)) for rank, row in worst),
            largest=self._extreme(classes, labels, -sizes),
            smallest=self._extreme(classes, labels, sizes),
            spreads=tuple(count_by_bin(spread.bins(classes), sizes) for spread in self.spreads),
        )

    def _farthest(self, classes: pa.RecordBatch) -> list[tuple[Any, IntArray]]:
        return [figure.farthest(classes) for figure in self.figures]

    def _extreme(self, classes: pa.RecordBatch, labels: Sequence[pa.Array], rank: IntArray) -> tuple[WorstClass, ...]:
        """The classes of lowest rank, which follows from their sizes."""
        last = np.partition(rank, EXTREMES - 1)[EXTREMES - 1] if len(rank) > EXTREMES else rank.max()
        rows = np.flatnonzero(rank <= last)
        if len(rows) > EXTREMES:
            names = [f"l{i}" for i in range(len(labels))]
            table = pa.table([pa.array(rank), *labels], names=["rank", *names]).take(pa.array(rows))
            keys = [(name, "ascending") for name in table.column_names]
            rows = rows[pc.sort_indices(table, sort_keys=keys, null_placement="at_start").to_numpy()[:EXTREMES]]
        emd = [classes[name].take(pa.array(rows)).to_pylist() for name in self.emd]
        seen = [
            WorstClass(int(rank[row]), abs(int(rank[row])), _labels(labels, int(row)), tuple(of[i] for of in emd))
            for i, row in enumerate(rows)
        ]
        return _first(seen)


def _where(mask: pa.BooleanArray) -> IntArray:
    return np.flatnonzero(mask.to_numpy(zero_copy_only=False))


def _count(mask: Any, sizes: IntArray) -> tuple[int, int]:
    """(classes, their rows)"""
    return int(mask.sum()), int(sizes[mask].sum())


def _sums(one: Sequence[tuple[int, int]], other: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    return tuple((a[0] + b[0], a[1] + b[1]) for a, b in zip(one, other, strict=True))


def _first(seen: Sequence[WorstClass]) -> tuple[WorstClass, ...]:
    return tuple(heapq.nsmallest(EXTREMES, seen, key=lambda each: each.place))


def _first_of(labels: Sequence[pa.Array], rows: IntArray) -> int:
    """That of the rows whose labels come first, missing ones before all others."""
    for column in labels:
        if len(rows) == 1:
            break
        here = column.take(pa.array(rows))
        rows = rows[_where(pc.is_null(here))] if here.null_count else rows[_where(pc.equal(here, pc.min(here)))]
    return int(rows[0])


def _labels(labels: Sequence[pa.Array], row: int) -> tuple[str | None, ...]:
    return tuple(column[row].as_py() for column in labels)
