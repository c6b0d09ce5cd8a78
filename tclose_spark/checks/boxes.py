"""The natural supersets of classes that cuts across the table leave, read from what is published: the labels alone.

They are what `measures.supersets` looks for. With labels that do not overlap, such as those of regions, all steps of
whoever cut the table are among them; with labels that do there are few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose_spark.checks.classes import JudgedQuasi
from tclose_spark.checks.regions import Label, distinct_labels, leaf_stretches
from tclose_spark.measures.distances import GroundDistance
from tclose_spark.measures.foreign_labels import as_interval
from tclose_spark.measures.histograms import Histograms
from tclose_spark.measures.information_loss import Interval, read_interval, set_members
from tclose_spark.measures.supersets import Axis, BoxSearch, Near, Proof, superset_distances
from tclose_spark.runfile.numbers import parse_number
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.domains import by_value
from tclose_spark.table.hierarchy import ROOT

End = tuple[Fraction, int]
"""A number, and 1 or -1 where an interval begins behind it or ends before it."""


@dataclass(frozen=True)
class LabelAxis:
    """The labels of a quasi-identifier along an axis.

    names: of each rank what a reader calls it. open: of each, whether an interval that ends there is without it.
    """

    quasi: JudgedQuasi
    axis: Axis
    names: Sequence[str]
    open: Sequence[bool] = ()

    @staticmethod
    def of(quasi: JudgedQuasi, columns: Sequence[pa.ChunkedArray]) -> LabelAxis:
        """The axis of labels in the published columns of a quasi-identifier, one or two, a value a class."""
        place, labels = distinct_labels(columns)
        nodes: tuple[IntArray, ...] = ()
        names: Sequence[str]
        beside: Sequence[bool] = ()
        if quasi.loss.sets:
            low, high, names = _of_sets(labels)
        elif quasi.loss.numeric:
            low, high, names, beside = _of_numbers(labels)
        else:
            tree = quasi.loss.hierarchy
            low, high = leaf_stretches(labels, tree)
            names = [str(label[0]) for label in labels] if tree is None else tree.leaves
            leaves = np.arange(len(names))
            nodes = (leaves, np.zeros_like(leaves)) if tree is None else tree.nodes
        return LabelAxis(quasi, Axis(low[place], high[place], nodes), names, beside)

    def told(self, members: IntArray) -> str:
        """The label of the box of these classes, in words."""
        low, high = self.axis.low[members], self.axis.high[members]
        if high.max() == -1:
            return "missing"
        known = low[low >= 0]
        if len(known) < len(low) or (self.axis.nodes and high.max() >= len(self.names)):
            return ROOT
        first, last = int(known.min()), int(high.max())
        tree = self.quasi.loss.hierarchy
        if tree is not None:
            height, leaf = tree.common_ancestors(np.array([first]), np.array([last]))
            return tree.paths[int(leaf[0])][int(height[0])]
        if first == last:
            return self.names[first]
        if self.axis.nodes:
            return ROOT
        opens, closes = (
            ("(" if self.open and self.open[first] else "["),
            (")" if self.open and self.open[last] else "]"),
        )
        return f"{opens}{self.names[first]}, {self.names[last]}{closes}"


@dataclass(frozen=True)
class BoxProofs:
    """What a search for boxes found of some classes. axes: of the quasi-identifiers, in the order of the search's."""

    axes: Sequence[LabelAxis]
    search: BoxSearch
    complete: bool

    @staticmethod
    def of(
        columns: Sequence[Sequence[pa.ChunkedArray]],
        sizes: IntArray,
        near: Sequence[Near],
        quasi: Sequence[JudgedQuasi],
        n: int,
    ) -> BoxProofs:
        """The proofs of the open classes of a table. columns: the published columns of each quasi-identifier, a value a
        class; near: all its classes, by sensitive attribute.
        """
        axes = [LabelAxis.of(q, labels) for q, labels in zip(quasi, columns, strict=True)]
        search = BoxSearch([axis.axis for axis in axes], sizes, near, n)
        return BoxProofs(axes, search, search.run())

    @property
    def proves(self) -> bool:
        """Whether every class that was open has a proof."""
        return all(
            one in found and found[one].proves
            for near, found in zip(self.search.near, self.search.found, strict=True)
            for one in np.flatnonzero(near.open).tolist()
        )

    def told(self, proof: Proof) -> str:
        """A superset in words."""
        return ", ".join(f"{axis.quasi.name}={axis.told(proof.members)}" for axis in self.axes)


def open_classes(distance: GroundDistance, t: Fraction, classes: Histograms, n: int) -> NDArray[np.bool_]:
    """The classes that neither have n records themselves nor are near to the whole table of n, shape (classes,)."""
    small: NDArray[np.bool_] = classes.sizes < n
    if int(distance.table.sum()) < n:
        return small
    far = np.array([emd > t for emd in superset_distances(distance, distance.table, classes)], dtype=np.bool_)
    return small & far


def _of_numbers(labels: Sequence[Label]) -> tuple[IntArray, IntArray, list[str], list[bool]]:
    """(ranks of the ends of each label, what the ends are called, and whether they are open). What is no number has no
    place beside others: it lies in one stretch with all.
    """
    ends = [_ends(label) for label in labels]
    called = dict(end for pair in ends if pair is not None for end in pair)
    numbers = sorted(called)
    rank = {end: place for place, end in enumerate(numbers)}
    low, high = np.full(len(labels), -1), np.full(len(labels), len(numbers))
    for i, (label, pair) in enumerate(zip(labels, ends, strict=True)):
        if pair is not None:
            low[i], high[i] = (rank[end] for end, _ in pair)
        elif all(part is None for part in label):
            high[i] = -1
    return low, high, [called[end] for end in numbers], [beside != 0 for _, beside in numbers]


def _ends(label: Label) -> tuple[tuple[End, str], tuple[End, str]] | None:
    """Both ends of a label, and how it writes them; None of what is no number."""
    if None in label or ROOT in label:
        return None
    try:
        first, last = (
            read_interval(part) if len(label) == 1 else _point(part) for part in (label[0], label[-1]) if part
        )
    except ValueError:
        return None
    lowest, highest = (_written(str(label[0])), _written(str(label[-1])))
    return ((first.low, int(first.open_low)), lowest[0]), ((last.high, -int(last.open_high)), highest[-1])


def _written(text: str) -> list[str]:
    """The ends of a label as it writes them: of an interval or a bin two, of a number itself.

    >>> _written("[2024-01-01, 2024-01-31]"), _written("7")
    (['2024-01-01', '2024-01-31'], ['7'])
    """
    return [end.strip() for end in as_interval(text).strip("[]() ").split(",")]


def _point(text: str) -> Interval:
    number = parse_number(text)
    return Interval(number, number)


def _of_sets(labels: Sequence[Label]) -> tuple[IntArray, IntArray, list[str]]:
    """(the first and the last member of each label in the order of values, the values)."""
    members = [None if label[0] is None or label[0] == ROOT else set_members(label[0]) for label in labels]
    values = by_value(list({value for held in members if held is not None for value in held}))
    rank = {value: place for place, value in enumerate(values)}
    low, high = np.full(len(labels), -1), np.full(len(labels), len(values))
    for i, (label, held) in enumerate(zip(labels, members, strict=True)):
        if held is not None:
            ranks = [rank[value] for value in held]
            low[i], high[i] = min(ranks), max(ranks)
        elif label[0] is None:
            high[i] = -1
    return low, high, list(values)
