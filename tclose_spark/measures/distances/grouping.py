"""A long domain in few groups, so that a class's distribution can be shown beside the table's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tclose_spark.measures.distances.bins import equal_mass
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

MOST_SHOWN = 30
OTHERS = "all others"


@dataclass(frozen=True)
class ValueGroup:
    """Some values of a domain.

    name: as a reader takes it.
    part, whole: records of the class and of the table.
    """

    name: str
    part: int
    whole: int


def group_values(
    values: Sequence[str | None],
    part: IntArray,
    whole: IntArray,
    cumulative: bool,
    hierarchy: Hierarchy | None = None,
    most: int = MOST_SHOWN,
) -> list[ValueGroup]:
    """At most `most` groups of the values, in the domain's order: the values themselves where they
    are few; of more, ranges of them where they have an order (cumulative), or the nodes of a level
    of their hierarchy; else those whose shares differ most, and all others.

    part, whole: records of the class and of the table with each value, shape (m,).
    hierarchy: of the values, its leaves in their order. The level is the lowest with at most `most`
        nodes; if only the root has so few, the nodes below it are grouped as values are.

    >>> group_values(["a", "b", "c"], np.array([2, 0, 0]), np.array([2, 2, 1]), cumulative=False, most=2)
    [ValueGroup(name='a', part=2, whole=2), ValueGroup(name='all others', part=0, whole=3)]
    """
    names = ["(missing)" if value is None else value for value in values]
    if len(names) <= most:
        return [
            ValueGroup(*each) for each in zip(names, part.tolist(), whole.tolist(), strict=True)
        ]
    if cumulative:
        return _ranges(names, part, whole, equal_mass(part + whole, most))
    if hierarchy is not None:
        names, node = nodes_of_level(hierarchy, most)
        part, whole = (np.bincount(node, weights=each).astype(np.int64) for each in (part, whole))
        if len(names) <= most:
            return [
                ValueGroup(*each) for each in zip(names, part.tolist(), whole.tolist(), strict=True)
            ]
    s = int(part.sum())
    n = int(whole.sum())
    differs = np.abs(part / s - whole / n)
    first = np.sort(np.argsort(-differs, kind="stable")[: most - 1])
    rest = np.ones(len(names), dtype=np.bool_)
    rest[first] = False
    groups = [ValueGroup(names[code], int(part[code]), int(whole[code])) for code in first.tolist()]
    return [*groups, ValueGroup(OTHERS, int(part[rest].sum()), int(whole[rest].sum()))]


def nodes_of_level(hierarchy: Hierarchy, most: int) -> tuple[list[str], IntArray]:
    """(the names of the nodes of a level, the node of each leaf): of the lowest level with at most
    so many nodes, or of the highest below the root.
    """
    last = hierarchy.height - 1
    level = next((i for i in range(last) if hierarchy.nodes[i][-1] < most), last)
    starts = np.flatnonzero(np.diff(hierarchy.nodes[level], prepend=-1))
    return [hierarchy.paths[start][level] for start in starts.tolist()], hierarchy.nodes[level]


def _ranges(
    names: Sequence[str], part: IntArray, whole: IntArray, group: IntArray
) -> list[ValueGroup]:
    """Groups of consecutive values. group: of each value."""
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    ends = [*(starts[1:] - 1).tolist(), len(names) - 1]
    sums = zip(
        np.add.reduceat(part, starts).tolist(), np.add.reduceat(whole, starts).tolist(), strict=True
    )
    return [
        ValueGroup(names[low] if low == high else f"{names[low]} to {names[high]}", *both)
        for low, high, both in zip(starts.tolist(), ends, sums, strict=True)
    ]
