"""The lattice of levels, and a walk through the nodes of some quasi-identifiers, level by level.

A node's frequency set is rolled up from the smallest available one of the height below, otherwise from that of the
finest candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tclose_spark.methods.t_incognito.frequency_sets import FrequencySet
from tclose_spark.methods.t_incognito.levels import Levels
from tclose_spark.methods.t_incognito.losses import LatticeNode
from tclose_spark.methods.t_incognito.requirement import Mask

MOST_HELD = 20_000_000  # entries of frequency sets that are held to roll up from
Nodes = Mask
"""Of each node of a lattice, by its levels, whether it is one of these."""

Visit = Callable[[LatticeNode, FrequencySet], bool]
"""Looks at a candidate and says whether it holds."""

Skip = Callable[[LatticeNode], bool]
"""Whether a candidate need not be looked at."""


@dataclass(frozen=True)
class Lattice:
    """The nodes over some quasi-identifiers.

    levels: of each of all quasi-identifiers.
    cells: of the table.
    """

    levels: Sequence[Levels]
    cells: int

    def shape(self, subset: Sequence[int]) -> tuple[int, ...]:
        """The number of levels of each quasi-identifier of a subset."""
        return tuple(len(self.levels[place]) for place in subset)

    def roll_up(
        self, groups: FrequencySet, finer: Sequence[tuple[int, int]], coarser: Sequence[tuple[int, int]]
    ) -> FrequencySet:
        """The maps from the labels of a frequency set to those of a node that is no finer."""
        places = {quasi: (place, level) for place, (quasi, level) in enumerate(finer)}
        maps = []
        for quasi, to in coarser:
            place, level = places[quasi]
            maps.append((place, self.levels[quasi].up(level, to)))
        return groups.rolled_up(maps, self.cells)


@dataclass(frozen=True, kw_only=True)
class Walk:
    """Visits candidates of one subset of quasi-identifiers, level by level.

    lattice: of all.
    subset: places of its quasi-identifiers.
    base: a frequency set of all quasi-identifiers, at levels no coarser than any candidate's.
    base_node: its levels.
    """

    lattice: Lattice
    subset: tuple[int, ...]
    base: FrequencySet
    base_node: LatticeNode

    def holding(
        self, candidates: Nodes, visit: Visit, generalizes: bool, skip: Skip = lambda _: False
    ) -> tuple[Nodes, int]:
        """(the candidates that hold, the number visited).

        generalizes: whether every node coarser than a holding one holds, so it need not be visited.
        """
        holds, visited = np.zeros_like(candidates), 0
        start = self._start(candidates)
        below: dict[LatticeNode, FrequencySet] = {}
        for nodes in by_height(candidates):
            here: dict[LatticeNode, FrequencySet] = {}
            held = sum(len(groups.group) for groups in below.values())
            for node in nodes:
                if (generalizes and holds[node]) or skip(node):
                    continue
                groups = self._groups(node, below, start)
                visited += 1
                found = visit(node, groups)
                if found and generalizes:
                    holds[tuple(slice(level, None) for level in node)] = True
                    continue
                holds[node] = found
                held += len(groups.group)
                if held <= MOST_HELD:
                    here[node] = groups
            below = here
        return holds & candidates, visited

    def _start(self, candidates: Nodes) -> tuple[LatticeNode, FrequencySet]:
        """(the node of the lowest level of each quasi-identifier among candidates, its frequency set)."""
        least = least_levels(candidates)
        finer = list(enumerate(self.base_node))
        return least, self.lattice.roll_up(self.base, finer, list(zip(self.subset, least, strict=True)))

    def _groups(
        self, node: LatticeNode, below: dict[LatticeNode, FrequencySet], start: tuple[LatticeNode, FrequencySet]
    ) -> FrequencySet:
        finer = [(*node[:i], level - 1, *node[i + 1 :]) for i, level in enumerate(node) if level]
        at_hand = [(near, below[near]) for near in finer if near in below] or [start]
        near, groups = min(at_hand, key=lambda pair: len(pair[1].group))
        if near == node:
            return groups
        at, to = (list(zip(self.subset, levels, strict=True)) for levels in (near, node))
        return self.lattice.roll_up(groups, at, to)


def least_levels(candidates: Nodes) -> LatticeNode:
    """The lowest level of each quasi-identifier among candidates."""
    return tuple(int(levels.min()) for levels in np.nonzero(candidates))


def by_height(candidates: Nodes) -> Iterator[list[LatticeNode]]:
    """Candidates of equal height, the lowest first; among them in the order of their levels."""
    nodes = np.argwhere(candidates)
    heights = nodes.sum(axis=1)
    for height in np.unique(heights):
        yield [tuple(node) for node in nodes[heights == height].tolist()]


def joined(holds: Mapping[tuple[int, ...], Nodes], subset: tuple[int, ...], shape: tuple[int, ...]) -> Nodes:
    """The nodes of a subset whose parts, with one quasi-identifier less, may all hold (subset property)."""
    candidates = np.ones(shape, dtype=bool)
    for i in range(len(subset)):
        part = (*subset[:i], *subset[i + 1 :])
        if part in holds:
            candidates &= np.expand_dims(holds[part], i)
    return candidates


def no_finer(shape: tuple[int, ...], least: LatticeNode) -> Nodes:
    """The nodes at or above these levels."""
    nodes = np.zeros(shape, dtype=bool)
    nodes[tuple(slice(level, None) for level in least)] = True
    return nodes
