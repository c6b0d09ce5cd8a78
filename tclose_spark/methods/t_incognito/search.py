"""The search through the lattice of levels (LeFevre, DeWitt and Ramakrishnan 2005, with Li et al.
2007, section 4).

Subsets of quasi-identifiers are taken by size. A node of a subset is a candidate if what is left of
it without any one quasi-identifier may hold (subset property). Candidates are visited level by
level, by height; one that holds makes all coarser ones hold (generalization property).
`requirement` says to which requirements these properties apply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from tclose_spark.methods.t_incognito.frequency_sets import FrequencySet, Mask, Suppression
from tclose_spark.methods.t_incognito.levels import Levels
from tclose_spark.methods.t_incognito.losses import LatticeNode, Losses

MOST_HELD = 20_000_000  # entries of frequency sets that are held to roll up from
Nodes = Mask
"""Of each node of a lattice, by its levels, whether it is one of these."""

Visit = Callable[[LatticeNode, FrequencySet], bool]
"""Whether a candidate holds."""

Skip = Callable[[LatticeNode], bool]
"""Whether a candidate need not be visited."""


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
        self,
        groups: FrequencySet,
        finer: Sequence[tuple[int, int]],
        coarser: Sequence[tuple[int, int]],
    ) -> FrequencySet:
        """A frequency set at a node that is no finer. finer, coarser: (quasi-identifier, level)
        before and after.
        """
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
        self,
        candidates: Nodes,
        visit: Visit,
        generalizes: bool,
        skip: Skip = lambda _: False,
    ) -> tuple[Nodes, int]:
        """(the candidates that hold, the number visited).

        generalizes: whether every node coarser than a holding one holds, so it need not be visited.
        """
        holds = np.zeros_like(candidates)
        visited = 0
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
        """(the node of the lowest level of each quasi-identifier among candidates, its frequency
        set).
        """
        least = least_levels(candidates)
        finer = list(enumerate(self.base_node))
        return least, self.lattice.roll_up(
            self.base,
            finer,
            list(zip(self.subset, least, strict=True)),
        )

    def _groups(
        self,
        node: LatticeNode,
        below: dict[LatticeNode, FrequencySet],
        start: tuple[LatticeNode, FrequencySet],
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


def joined(
    holds: Mapping[tuple[int, ...], Nodes],
    subset: tuple[int, ...],
    shape: tuple[int, ...],
) -> Nodes:
    """The nodes of a subset whose parts, with one quasi-identifier less, may all hold (subset
    property).
    """
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


class NoNodeError(ValueError):
    """Not even the coarsest levels hold."""


@dataclass(frozen=True, kw_only=True)
class Solution:
    """A node that holds.

    node: a level for each quasi-identifier.
    loss: by the metric that chooses.
    groups: its frequency set.
    suppressed: which groups are left out, shape (groups,).
    """

    node: LatticeNode
    loss: float | int
    groups: FrequencySet
    suppressed: Mask


@dataclass(kw_only=True)
class LatticeSearch:
    """Searches for the node that loses least.

    suppression: the requirement, and the limit of suppression.
    losses: the metric.
    lattice: of all quasi-identifiers.
    log: receives a line per size of subsets.
    best: the solution with the least loss so far; of equal ones the lowest, then the first in the
        order of levels.
    holding: the solutions; without suppression, the minimal nodes.
    visited: the number of nodes whose frequency sets were computed.
    """

    suppression: Suppression
    losses: Losses
    lattice: Lattice
    log: Callable[[str], None] = lambda _: None
    best: Solution | None = None
    holding: list[tuple[LatticeNode, float | int]] = field(default_factory=list)
    visited: int = 0

    def run(self, base: FrequencySet, base_node: LatticeNode) -> Solution:
        """The solution that loses least. The coarsest node must hold.

        base: the frequency set of all quasi-identifiers at `base_node`; with a finer level nothing
            holds.
        """
        quasi = range(len(self.lattice.levels))
        everything = tuple(quasi)
        none_left_out = self.suppression.most == 0
        holds: dict[tuple[int, ...], Nodes] = {}
        for size in range(1, len(everything)):
            parts = {}
            for subset in combinations(quasi, size):
                candidates = joined(holds, subset, self.lattice.shape(subset))
                least = tuple(base_node[place] for place in subset)
                candidates &= no_finer(candidates.shape, least)
                walk = Walk(lattice=self.lattice, subset=subset, base=base, base_node=base_node)
                parts[subset], visited = walk.holding(
                    candidates,
                    lambda _, groups: self.suppression.may_hold(groups),
                    generalizes=True,
                )
                self.visited += visited
            if not all(nodes.any() for nodes in parts.values()):
                raise NoNodeError
            holds = parts
            base, base_node = self._raised(base, base_node, holds)
            self.log(
                f"nodes of {size} of {len(everything)} quasi-identifiers: {self.visited} visited "
                "so far",
            )
        candidates = joined(holds, everything, self.lattice.shape(everything))
        candidates &= no_finer(candidates.shape, base_node)
        walk = Walk(lattice=self.lattice, subset=everything, base=base, base_node=base_node)
        _, visited = walk.holding(
            candidates,
            self._look,
            generalizes=none_left_out,
            skip=self._loses_more,
        )
        self.visited += visited
        if self.best is None:
            raise NoNodeError
        return self.best

    def _raised(
        self,
        base: FrequencySet,
        base_node: LatticeNode,
        holds: dict[tuple[int, ...], Nodes],
    ) -> tuple[FrequencySet, LatticeNode]:
        """The base at the lowest levels that may still hold."""
        least = list(base_node)
        for subset, nodes in holds.items():
            for place, level in zip(subset, least_levels(nodes), strict=True):
                least[place] = max(least[place], level)
        node = tuple(least)
        if node == base_node:
            return base, base_node
        return self.lattice.roll_up(base, list(enumerate(base_node)), list(enumerate(node))), node

    def _loses_more(self, node: LatticeNode) -> bool:
        """Whether a node loses more than the best so far, whatever it suppresses."""
        return (
            bool(self.suppression.most)
            and self.best is not None
            and self.losses.least(node) > self.best.loss
        )

    def _look(self, node: LatticeNode, groups: FrequencySet) -> bool:
        """Whether a node of all quasi-identifiers holds; keeps the best."""
        left = self.suppression.suppressed(groups)
        if left is None:
            return False
        loss = self.losses.of(node, groups, left)
        self.holding.append((node, loss))
        if self.best is None or (loss, sum(node), node) < (
            self.best.loss,
            sum(self.best.node),
            self.best.node,
        ):
            self.best = Solution(node=node, loss=loss, groups=groups, suppressed=left)
        return True
