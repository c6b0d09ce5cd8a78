"""Histograms of class figures, over bins fixed in advance: tasks count them, and their size does
not grow with the number of classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from tclose_spark.measures.loss.information_loss import LabelLoss
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.dictionaries import coded, codes_of
from tclose_spark.table.hierarchies.hierarchy import ROOT

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

    def to_json(self, bins: BinCounts) -> list[dict[str, Any]]:
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

    def to_json(self, bins: BinCounts) -> list[dict[str, int]]:
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
            np.ceil(share * SHARES - 1e-9), np.where(share > 0, 1, 0), SHARES
        ).astype(np.int64)
        return bins

    def to_json(self, bins: BinCounts) -> list[dict[str, Any]]:
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
            np.int64
        )
        if not self.t:
            return bins
        within = distance <= float(self.t)
        return np.where(within, np.minimum(bins, TO_T), np.maximum(bins, TO_T + 1)).astype(np.int64)

    def to_json(self, bins: BinCounts) -> list[dict[str, Any]]:
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
            [NO_LABEL if text is None else self.heights.get(text, EXACT) for text in texts]
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

    def to_json(self, bins: BinCounts) -> list[dict[str, Any]]:
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


def _as_shares(bins: BinCounts, width: float) -> list[dict[str, Any]]:
    return [
        {"bin": i, "to": round(i * width, 12), "classes": classes, "rows": rows}
        for i, (classes, rows) in sorted(bins.items())
    ]
