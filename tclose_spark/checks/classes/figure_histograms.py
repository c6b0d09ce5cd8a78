"""How figures of all classes are spread: counts of classes and of their rows, in bins that are fixed beforehand, so
that tasks can count, and what they say is bounded whatever the number of classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from tclose_spark.measures.loss.information_loss import LabelLoss
from tclose_spark.table.arrays import FloatArray, IntArray
from tclose_spark.table.dictionaries import coded, codes_of
from tclose_spark.table.hierarchies.hierarchy import ROOT

BinCounts = Mapping[int, tuple[int, int]]
"""(classes, their rows) by bin; bins without classes are left out."""

SIZES = tuple(sorted({*range(1, 65), *(round(2 ** (i / 8)) for i in range(48, 8 * 48))}))
"""The least size of each bin: every size up to 64 by itself, then eight bins to each doubling."""
SHARES = 20
"""Bins of a share of 1, each open below; what is exactly 0 is bin 0."""
TO_T, TO_ONE = 40, 100
FARTHEST = 4 * TO_T  # bins of a distance
"""Bins of a distance up to t, and up to 1 where no t is required."""
WIDTHS = tuple(float(f"{digit}e{place}") for place in range(-6, 12) for digit in (1, 2, 5))
"""The most that an interval of a bin is wide."""
MISSING, EXACT, EVERYTHING = -1, 0, 10_000
"""Bins of precision: a missing value, a value, and `*`."""


class FigureHistogram(Protocol):
    """A figure of every class, in bins."""

    def bins(self, classes: pa.RecordBatch) -> IntArray:
        """The bin of each class, shape (classes,)."""
        ...


@dataclass(frozen=True)
class SizeHistogram:
    """Class sizes, in bins of SIZES."""

    def bins(self, classes: pa.RecordBatch) -> IntArray:
        """See Spread."""
        bins: IntArray = np.searchsorted(np.array(SIZES), classes["size"].to_numpy(), side="right") - 1
        return bins

    def to_json(self, bins: BinCounts) -> list[dict[str, int]]:
        """Bins as least and most size, without gaps."""
        ends = [*(least - 1 for least in SIZES[1:]), 2**63 - 1]
        found = {i: bins.get(i, (0, 0)) for i in range(min(bins), max(bins) + 1)}
        return [{"from": SIZES[i], "to": ends[i], "classes": n, "rows": rows} for i, (n, rows) in found.items()]


@dataclass(frozen=True)
class ShareHistogram:
    """A share of 1 of each class, in a column of the class table: over another column, where that is given."""

    column: str
    over: str | None = None

    def bins(self, classes: pa.RecordBatch) -> IntArray:
        """See Spread."""
        share = classes[self.column].to_numpy() / (1.0 if self.over is None else classes[self.over].to_numpy())
        return _upper_bins(share, SHARES)

    def to_json(self, bins: BinCounts) -> list[dict[str, Any]]:
        """Bins by their upper end."""
        return _as_shares(bins, 1 / SHARES)


@dataclass(frozen=True)
class DistanceHistogram:
    """The distance of each class, in bins up to t, or up to 1 without t. A distance that is t is not beyond it."""

    column: str
    t: Fraction | None

    @property
    def width(self) -> float:
        """Of a bin."""
        return 1 / TO_ONE if self.t is None else float(self.t) / TO_T

    def bins(self, classes: pa.RecordBatch) -> IntArray:
        """See Spread."""
        distance = classes[self.column].to_numpy()
        bins: IntArray = np.minimum(np.ceil(distance / self.width - 1e-9), FARTHEST).astype(np.int64)
        if self.t is None:
            return bins
        within = distance <= float(self.t)
        return np.where(within, np.minimum(bins, TO_T), np.maximum(bins, TO_T + 1)).astype(np.int64)

    def to_json(self, bins: BinCounts) -> list[dict[str, Any]]:
        """Bins by their upper end. The last one that there may be holds all that is farther, and says from where on."""
        told = _as_shares(bins, self.width)
        if told and told[-1]["bin"] == FARTHEST and FARTHEST * self.width < 1:
            told[-1] |= {"from": (FARTHEST - 1) * self.width, "to": 1.0}
        return told


@dataclass(frozen=True)
class PrecisionHistogram:
    """How coarse the label of a quasi-identifier is.

    label: its published column, or the first of two. Numbers are told by the width of their interval, sets by their
    members (both from the loss), nodes by their height above the value.
    """

    name: str
    label: str
    loss: LabelLoss
    heights: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        heights: dict[str, int] = {}
        for path in self.loss.hierarchy.paths if self.loss.hierarchy is not None else ():
            for height, node in enumerate(path):
                heights[node] = min(height, heights.get(node, height))
        object.__setattr__(self, "heights", {**heights, ROOT: EVERYTHING})

    def bins(self, classes: pa.RecordBatch) -> IntArray:
        """See Spread."""
        label = coded(classes["quasi_identifiers"].field(self.label))
        texts = label.dictionary.to_pylist()
        heights = np.array([MISSING if text is None else self.heights.get(text, EXACT) for text in texts])
        height = heights[codes_of(label)].astype(np.int64)
        unit = float(self.loss.span) if self.loss.numeric else float(self.loss.distinct) if self.loss.sets else 0.0
        if not unit:
            return height
        width = classes["losses"].field(self.name).to_numpy() * unit
        wide = np.where(width > 0, 1 + np.searchsorted(WIDTHS, width * (1 - 1e-9)), EXACT)
        return np.where((height == MISSING) | (height == EVERYTHING), height, wide)

    def to_json(self, bins: BinCounts) -> list[dict[str, Any]]:
        """Finest first."""
        return [
            {"precision": self._named(i), "classes": classes, "rows": rows}
            for i, (classes, rows) in sorted(bins.items())
        ]

    def _named(self, i: int) -> str:
        fixed = {MISSING: "missing, and told so", EXACT: "the value", EVERYTHING: "* (nothing)"}
        if i in fixed:
            return fixed[i]
        if self.loss.numeric or self.loss.sets:
            most = f"{WIDTHS[i - 1]:,.6f}".rstrip("0").rstrip(".") if i <= len(WIDTHS) else "more"
            return f"up to {most} wide" if self.loss.numeric else f"a set of up to {most}"
        return f"level {i} of its hierarchy"


AnyHistogram = SizeHistogram | ShareHistogram | DistanceHistogram | PrecisionHistogram


def count_by_bin(bins: IntArray, sizes: IntArray) -> dict[int, tuple[int, int]]:
    """(classes, their rows) by bin."""
    which, place, classes = np.unique(bins, return_inverse=True, return_counts=True)
    rows = np.zeros(len(which), dtype=np.int64)
    np.add.at(rows, place, sizes)
    return dict(zip(which.tolist(), zip(classes.tolist(), rows.tolist(), strict=True), strict=True))


def add_bins(one: Sequence[BinCounts], other: Sequence[BinCounts]) -> tuple[BinCounts, ...]:
    """The bins of the classes of both."""
    return tuple(
        {i: _sum(a.get(i, (0, 0)), b.get(i, (0, 0))) for i in a.keys() | b.keys()}
        for a, b in zip(one, other, strict=True)
    )


def _sum(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return one[0] + other[0], one[1] + other[1]


def _upper_bins(share: FloatArray, bins: int) -> IntArray:
    """Bins (i - 1, i] / bins of shares, 0 for what is 0."""
    return np.clip(np.ceil(share * bins - 1e-9), np.where(share > 0, 1, 0), bins).astype(np.int64)


def _as_shares(bins: BinCounts, width: float) -> list[dict[str, Any]]:
    return [
        {"bin": i, "to": round(i * width, 12), "classes": classes, "rows": rows}
        for i, (classes, rows) in sorted(bins.items())
    ]
