"""The search through the lattice of levels (LeFevre, DeWitt and Ramakrishnan 2005, with Li et al. 2007, section 4).

Subsets of quasi-identifiers are taken by size. A node of a subset is a candidate if what is left of it without any one
quasi-identifier may hold (subset property). Candidates are visited level by level, by height; one that holds makes all
coarser ones hold (generalization property). What these properties are true of: `requirement`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations

from tclose_spark.methods.t_incognito.frequency_sets import FrequencySet
from tclose_spark.methods.t_incognito.lattice import Lattice, Nodes, Walk, joined, least_levels, no_finer
from tclose_spark.methods.t_incognito.losses import LatticeNode, Losses
from tclose_spark.methods.t_incognito.requirement import Mask, Suppression


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
    best: the solution with the least loss so far; of equal ones the lowest, then the first in the order of levels.
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

        base: the frequency set of all quasi-identifiers at `base_node`; with a finer level nothing holds.
        """
        quasi = range(len(self.lattice.levels))
        everything, none_left_out = tuple(quasi), self.suppression.most == 0
        holds: dict[tuple[int, ...], Nodes] = {}
        for size in range(1, len(everything)):
            parts = {}
            for subset in combinations(quasi, size):
                candidates = joined(holds, subset, self.lattice.shape(subset))
                least = tuple(base_node[place] for place in subset)
                candidates &= no_finer(candidates.shape, least)
                walk = Walk(lattice=self.lattice, subset=subset, base=base, base_node=base_node)
                parts[subset], visited = walk.holding(
                    candidates, lambda _, groups: self.suppression.may_hold(groups), generalizes=True
                )
                self.visited += visited
            if not all(nodes.any() for nodes in parts.values()):
                raise NoNodeError
            holds = parts
            base, base_node = self._raised(base, base_node, holds)
            self.log(f"nodes of {size} of {len(everything)} quasi-identifiers: {self.visited} looked at so far")
        candidates = joined(holds, everything, self.lattice.shape(everything))
        candidates &= no_finer(candidates.shape, base_node)
        walk = Walk(lattice=self.lattice, subset=everything, base=base, base_node=base_node)
        _, visited = walk.holding(candidates, self._look, generalizes=none_left_out, skip=self._loses_more)
        self.visited += visited
        if self.best is None:
            raise NoNodeError
        return self.best

    def _raised(
        self, base: FrequencySet, base_node: LatticeNode, holds: dict[tuple[int, ...], Nodes]
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
        return bool(self.suppression.most) and self.best is not None and self.losses.least(node) > self.best.loss

    def _look(self, node: LatticeNode, groups: FrequencySet) -> bool:
        """Whether a node of all quasi-identifiers holds; keeps the best."""
        left = self.suppression.suppressed(groups)
        if left is None:
            return False
        loss = self.losses.of(node, groups, left)
        self.holding.append((node, loss))
        if self.best is None or (loss, sum(node), node) < (self.best.loss, sum(self.best.node), self.best.node):
            self.best = Solution(node=node, loss=loss, groups=groups, suppressed=left)
        return True
