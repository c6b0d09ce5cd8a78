"""Figures of some classes, as tasks compute them, which add up to the figures of all classes.

Histograms of figures have bins that are fixed in advance, so their size does not grow with the
number of classes.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.checks.classes.people import MOST_ROWS
from tclose_spark.measures.loss.information_loss import Coarsest, LabelLoss
from tclose_spark.requirements.criterion import Criterion, WorstClass, labels_at
from tclose_spark.requirements.figures import Bin, DistanceBin, PrecisionBin, ShareBin, SizeBin
from tclose_spark.requirements.judge import measure_column
from tclose_spark.table.arrays import FloatArray, IntArray
from tclose_spark.table.dictionaries import coded, codes_of
from tclose_spark.table.hierarchies.hierarchy import ROOT

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
                ["quasi_identifiers", "size", "losses", *of_attributes, *of_criteria, *of_people],
            ),
        )

    def partial(self, classes: pa.RecordBatch) -> PartialFigures:
        """The figures of some rows of the class table."""
        sizes = classes["size"].to_numpy()
        published = classes["quasi_identifiers"]
        labels = published.flatten()
        sums: Counter[tuple[Any, ...]] = Counter(
            {("squares",): sum(size * size for size in sizes.tolist())},
        )
        for i, loss in enumerate(self.losses):
            sums["lost", i] = int(
                np.rint(loss.of(classes) * sizes * BILLIONTHS).astype(np.int64).sum(),
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
        self,
        classes: pa.RecordBatch,
        labels: Sequence[pa.Array],
        rank: IntArray,
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


BinCounts = Mapping[Any, tuple[int, int]]
"""(classes, their rows) by bin; empty bins are left out."""

SIZES = tuple(sorted({*range(1, 65), *(round(2 ** (i / 8)) for i in range(48, 8 * 48))}))
"""The least size of each bin: one bin for each size up to 64, then eight to each doubling."""
SHARES = 20
"""Bins of a share, each open below; bin 0 is exactly 0."""
TO_T = 40
TO_ONE = 100
"""Bins of a distance up to t, or up to 1 if no t is required."""
FARTHEST = 4 * TO_T  # the last bin of a distance
WIDTHS = tuple(float(f"{digit}e{place}") for place in range(-6, 12) for digit in (1, 2, 5))
"""The largest interval width of each bin."""
NO_LABEL = -1
EXACT = 0
EVERYTHING = 10_000
"""Bins of precision: a missing value, a value, and `*`."""
NOTHING = "* (nothing)"
"""EVERYTHING in words."""


class FigureHistogram(Protocol):
    """A histogram of one figure over classes."""

    def bins(self, classes: pa.RecordBatch) -> IntArray:
        """The bin of each class, shape (classes,)."""
        ...

    def to_json(self, bins: BinCounts) -> Sequence[Bin]:
        """The bins as plain values, in order."""
        ...


@dataclass(frozen=True)
class SizeHistogram:
    """Class sizes, in bins of SIZES."""

    def bins(self, classes: pa.RecordBatch) -> IntArray:
        """See FigureHistogram."""
        bins: IntArray = (
            np.searchsorted(np.array(SIZES), classes["size"].to_numpy(), side="right") - 1
        )
        return bins

    def to_json(self, bins: BinCounts) -> list[SizeBin]:
        """Bins by least and largest size, without gaps."""
        ends = [*(least - 1 for least in SIZES[1:]), 2**63 - 1]
        filled = {i: bins.get(i, (0, 0)) for i in range(min(bins), max(bins) + 1)}
        return [
            {"from": SIZES[i], "to": ends[i], "classes": n, "rows": rows}
            for i, (n, rows) in filled.items()
        ]


@dataclass(frozen=True)
class ShareHistogram:
    """A column of the class table, from 0 to 1 if divided by the column `over`."""

    column: str
    over: str | None = None

    def bins(self, classes: pa.RecordBatch) -> IntArray:
        """See FigureHistogram."""
        share = classes[self.column].to_numpy() / (
            1.0 if self.over is None else classes[self.over].to_numpy()
        )
        bins: IntArray = np.clip(
            np.ceil(share * SHARES - 1e-9),
            np.where(share > 0, 1, 0),
            SHARES,
        ).astype(np.int64)
        return bins

    def to_json(self, bins: BinCounts) -> Sequence[ShareBin]:
        """Bins by their upper end."""
        return _as_shares(bins, 1 / SHARES)


@dataclass(frozen=True)
class DistanceHistogram:
    """The distance of each class, in bins up to t, or up to 1 if t is None or 0. Exactly t is not
    beyond t.
    """

    column: str
    t: Fraction | None

    @property
    def width(self) -> float:
        """The width of a bin."""
        return float(self.t) / TO_T if self.t else 1 / TO_ONE

    def bins(self, classes: pa.RecordBatch) -> IntArray:
        """See FigureHistogram."""
        distance = classes[self.column].to_numpy()
        bins: IntArray = np.minimum(np.ceil(distance / self.width - 1e-9), FARTHEST).astype(
            np.int64,
        )
        if not self.t:
            return bins
        within = distance <= float(self.t)
        return np.where(within, np.minimum(bins, TO_T), np.maximum(bins, TO_T + 1)).astype(np.int64)

    def to_json(self, bins: BinCounts) -> list[DistanceBin]:
        """Bins by their upper end. Bin FARTHEST has all larger distances, and its lower end."""
        shares = _as_shares(bins, self.width)
        if shares and shares[-1]["bin"] == FARTHEST and FARTHEST * self.width < 1:
            shares[-1] |= {"from": (FARTHEST - 1) * self.width, "to": 1.0}
        return shares


@dataclass(frozen=True)
class PrecisionHistogram:
    """How coarse the label of a quasi-identifier is.

    label: its published column, or the first of two. Numbers are binned by interval width, sets by
        size (both follow from the loss), nodes by height above the value.
    levels: the hierarchy's in words, the values first; may be empty.
    """

    name: str
    label: str
    loss: LabelLoss
    levels: Sequence[str] = ()
    heights: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        heights: dict[str, int] = {}
        for path in self.loss.hierarchy.paths if self.loss.hierarchy is not None else ():
            for height, node in enumerate(path):
                heights[node] = min(height, heights.get(node, height))
        object.__setattr__(self, "heights", {**heights, ROOT: EVERYTHING})

    def bins(self, classes: pa.RecordBatch) -> IntArray:
        """See FigureHistogram."""
        label = coded(classes["quasi_identifiers"].field(self.label))
        texts = label.dictionary.to_pylist()
        heights = np.array(
            [NO_LABEL if text is None else self.heights.get(text, EXACT) for text in texts],
        )
        height = heights[codes_of(label)].astype(np.int64)
        unit = (
            float(self.loss.span)
            if self.loss.numeric
            else float(self.loss.distinct)
            if self.loss.sets
            else 0.0
        )
        if not unit:
            return height
        width = classes["losses"].field(self.name).to_numpy() * unit
        wide = np.where(width > 0, 1 + np.searchsorted(WIDTHS, width * (1 - 1e-9)), EXACT)
        return np.where((height == NO_LABEL) | (height == EVERYTHING), height, wide)

    def to_json(self, bins: BinCounts) -> list[PrecisionBin]:
        """Finest first."""
        return [
            {"precision": self._named(i), "classes": classes, "rows": rows}
            for i, (classes, rows) in sorted(bins.items())
        ]

    def _named(self, i: int) -> str:
        fixed = {NO_LABEL: "missing (published as NULL)", EXACT: "the value", EVERYTHING: NOTHING}
        if i in fixed:
            return fixed[i]
        if self.loss.numeric or self.loss.sets:
            most = f"{WIDTHS[i - 1]:,.6f}".rstrip("0").rstrip(".") if i <= len(WIDTHS) else "more"
            return f"up to {most} wide" if self.loss.numeric else f"a set of up to {most}"
        return self.levels[i] if i < len(self.levels) else f"level {i} of its hierarchy"


def count_by_bin(bins: IntArray, sizes: IntArray) -> dict[int, tuple[int, int]]:
    """(classes, their rows) by bin."""
    which, place, classes = np.unique(bins, return_inverse=True, return_counts=True)
    rows = np.zeros(len(which), dtype=np.int64)
    np.add.at(rows, place, sizes)
    return dict(zip(which.tolist(), zip(classes.tolist(), rows.tolist(), strict=True), strict=True))


def add_bins(one: BinCounts, other: BinCounts) -> BinCounts:
    """The counts of both."""
    summed = {**other}
    for i, (classes, rows) in one.items():
        more_classes, more_rows = other.get(i, (0, 0))
        summed[i] = classes + more_classes, rows + more_rows
    return summed


def _as_shares(bins: BinCounts, width: float) -> list[DistanceBin]:
    return [
        {"bin": i, "to": round(i * width, 12), "classes": classes, "rows": rows}
        for i, (classes, rows) in sorted(bins.items())
    ]
