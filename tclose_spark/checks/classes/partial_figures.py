"""Figures of some classes, as tasks compute them, which add up to the figures of all classes."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.checks.classes.figure_histograms import (
    BinCounts,
    FigureHistogram,
    add_bins,
    count_by_bin,
)
from tclose_spark.checks.classes.people import MOST_ROWS
from tclose_spark.measures.loss.information_loss import Coarsest
from tclose_spark.requirements.criterion import Criterion, WorstClass, labels_at
from tclose_spark.requirements.judge import measure_column
from tclose_spark.table.arrays import FloatArray, IntArray

BILLIONTHS = 10**9
"""The unit in which losses are summed, as integers: a sum of doubles depends on its order."""
EXTREMES = 10  # of the largest and of the smallest classes, shown in the report
Key = tuple[str, ...]


class Loss(Protocol):
    """The information loss of a class in one quasi-identifier."""

    def of(self, classes: pa.RecordBatch) -> FloatArray:
        """The loss, 0 to 1, shape (classes,)."""
        ...


@dataclass(frozen=True, kw_only=True)
class PartialFigures:
    """Figures of some classes.

    sums: ("squares",) of the class sizes; ("lost", i), the i-th loss in billionths over rows;
        ("guessed", attribute), rows with the most frequent value of their class; ("people",),
        people of all classes.
    counts: (classes, their rows): ("all",); by attribute, ("homogeneous",) with one value only,
        ("similar",) with similar values only, and ("unlike",) with an infinite delta; ("coarse",)
        by quasi-identifier with labels coarser than its limit; ("broken",) by criterion; and each
        histogram by bin.
    reached: by quasi-identifier with a limit, the coarsest label (see `Coarsest.reached`).
    worst: of each criterion.
    largest, smallest: at most EXTREMES each, in this order.
    share: if people are counted, the largest share that one of them has of the rows of a class.
    """

    sums: Counter[tuple[Any, ...]]
    counts: Mapping[Key, BinCounts]
    reached: Mapping[str, Fraction | float]
    worst: tuple[WorstClass, ...]
    largest: tuple[WorstClass, ...]
    smallest: tuple[WorstClass, ...]
    share: Fraction = Fraction(0)

    def __add__(self, other: PartialFigures) -> PartialFigures:
        """The figures of the classes of both."""
        return PartialFigures(
            sums=self.sums + other.sums,
            counts={key: add_bins(bins, other.counts[key]) for key, bins in self.counts.items()},
            reached={name: max(one, other.reached[name]) for name, one in self.reached.items()},
            worst=tuple(
                min(pair, key=lambda each: each.place)
                for pair in zip(self.worst, other.worst, strict=True)
            ),
            largest=_first([*self.largest, *other.largest]),
            smallest=_first([*self.smallest, *other.smallest]),
            share=max(self.share, other.share),
        )


@dataclass(frozen=True, kw_only=True)
class FigureRequest:
    """What to compute of a class table.

    labels: the published columns.
    losses: to sum.
    limits: on the labels of quasi-identifiers, by name, with the published columns that each
        applies to.
    attributes: the names of the sensitive attributes.
    criteria: whose worst class is wanted.
    people: whether people are counted.
    histograms: by measure, and by the attribute or quasi-identifier if it has one.
    """

    labels: tuple[str, ...]
    losses: Sequence[Loss]
    limits: Mapping[str, tuple[Coarsest, Sequence[str]]]
    attributes: tuple[str, ...]
    criteria: Sequence[Criterion]
    histograms: Mapping[Key, FigureHistogram]
    people: bool = False

    @property
    def columns(self) -> list[str]:
        """The columns of the class table that it needs."""
        of_attributes = [
            measure_column(m, name)
            for m in ("distinct", "emd", "mode", "gain", "similar", "delta")
            for name in self.attributes
        ]
        of_criteria = [column for criterion in self.criteria for column in criterion.columns]
        of_people = ["people", MOST_ROWS] if self.people else []
        return list(
            dict.fromkeys(
                ["quasi_identifiers", "size", "losses", *of_attributes, *of_criteria, *of_people]
            )
        )

    def partial(self, classes: pa.RecordBatch) -> PartialFigures:
        """The figures of some rows of the class table."""
        sizes = classes["size"].to_numpy()
        published = classes["quasi_identifiers"]
        labels = published.flatten()
        sums: Counter[tuple[Any, ...]] = Counter(
            {("squares",): sum(size * size for size in sizes.tolist())}
        )
        for i, loss in enumerate(self.losses):
            sums["lost", i] = int(
                np.rint(loss.of(classes) * sizes * BILLIONTHS).astype(np.int64).sum()
            )
        for name in self.attributes:
            sums["guessed", name] = int(classes[measure_column("mode", name)].to_numpy().sum())
        share = Fraction(0)
        if self.people:
            sums["people",] = int(classes["people"].to_numpy().sum())
            most = classes[MOST_ROWS].to_numpy()
            place = int(np.argmax(most / sizes))
            share = Fraction(int(most[place]), int(sizes[place]))
        counted: dict[Key, dict[Any, tuple[int, int]]] = {
            ("homogeneous",): {},
            ("similar",): {},
            ("unlike",): {},
        }
        for name in self.attributes:
            distinct, similar, delta = (
                classes[measure_column(m, name)].to_numpy(zero_copy_only=False)
                for m in ("distinct", "similar", "delta")
            )
            counted["homogeneous",][name] = _count(distinct == 1, sizes)
            counted["similar",][name] = _count(similar, sizes)
            counted["unlike",][name] = _count(np.isinf(delta), sizes)
        limited = {
            name: (limit, [published.field(column) for column in columns])
            for name, (limit, columns) in self.limits.items()
        }
        return PartialFigures(
            sums=sums,
            counts={
                ("all",): {0: (len(sizes), int(sizes.sum()))},
                **counted,
                ("coarse",): {
                    name: _count(limit.broken(own), sizes) for name, (limit, own) in limited.items()
                },
                ("broken",): {
                    i: _count(each.breaks(classes), sizes) for i, each in enumerate(self.criteria)
                },
                **{
                    key: count_by_bin(each.bins(classes), sizes)
                    for key, each in self.histograms.items()
                },
            },
            reached={name: limit.reached(own) for name, (limit, own) in limited.items()},
            worst=tuple(
                criterion.worst_class(classes, sizes, labels) for criterion in self.criteria
            ),
            largest=self._extreme(classes, labels, -sizes),
            smallest=self._extreme(classes, labels, sizes),
            share=share,
        )

    def _extreme(
        self, classes: pa.RecordBatch, labels: Sequence[pa.Array], rank: IntArray
    ) -> tuple[WorstClass, ...]:
        """The EXTREMES classes of lowest rank; the rank is the size or its negative."""
        last = (
            np.partition(rank, EXTREMES - 1)[EXTREMES - 1] if len(rank) > EXTREMES else rank.max()
        )
        rows = np.flatnonzero(rank <= last)
        # Missing labels come first.
        columns = [column for label in labels for column in (pc.is_valid(label), label)]
        names = ["rank", *(f"l{i}" for i in range(len(columns)))]
        table = pa.table([pa.array(rank), *columns], names=names).take(pa.array(rows))
        rows = rows[
            pc.sort_indices(table, sort_keys=[(name, "ascending") for name in names]).to_numpy()[
                :EXTREMES
            ]
        ]
        emd = [
            classes[measure_column("emd", name)].take(pa.array(rows)).to_pylist()
            for name in self.attributes
        ]
        return tuple(
            WorstClass(
                int(rank[row]),
                abs(int(rank[row])),
                labels_at(labels, int(row)),
                tuple(each[i] for each in emd),
            )
            for i, row in enumerate(rows)
        )


def _count(mask: Any, sizes: IntArray) -> tuple[int, int]:
    """(classes, their rows)"""
    return int(mask.sum()), int(sizes[mask].sum())


def _first(classes: Sequence[WorstClass]) -> tuple[WorstClass, ...]:
    return tuple(heapq.nsmallest(EXTREMES, classes, key=lambda each: each.place))
