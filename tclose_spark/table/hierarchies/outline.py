"""A hierarchy beside the rows of a table, for previews and checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from tclose_spark.table.domains import Counts
from tclose_spark.table.hierarchies.hierarchy import Hierarchy


@dataclass(frozen=True)
class OutlineNode:
    """A node of a hierarchy: its label, the leaves and rows below it, and its children."""

    label: str
    leaves: int
    rows: int
    children: tuple[OutlineNode, ...]


@dataclass(frozen=True)
class Outline:
    """A hierarchy beside the values of a column and their rows."""

    hierarchy: Hierarchy
    counts: Counts

    @property
    def rows(self) -> int:
        """The number of rows with a value."""
        return sum(n for value, n in self.counts.items() if value is not None)

    @cached_property
    def lost(self) -> dict[str, int]:
        """Values without a leaf, with their rows, most rows first."""
        lost = {
            v: n
            for v, n in self.counts.items()
            if v is not None and v not in self.hierarchy.leaf_set
        }
        return dict(sorted(lost.items(), key=lambda item: (-item[1], item[0])))

    @property
    def unused(self) -> int:
        """Leaves without rows."""
        return sum(leaf not in self.counts for leaf in self.hierarchy.leaves)

    @property
    def labels(self) -> tuple[int, ...]:
        """The number of labels of each level, from the leaves to the root."""
        return tuple(int(node[-1]) + 1 for node in self.hierarchy.nodes)

    @property
    def root(self) -> OutlineNode:
        """The whole tree. A label that repeats directly above itself appears once.

        >>> cities = Hierarchy((("Bonn", "Bonn", "*"), ("Pisa", "Italy", "*"), ("Siena", "Italy", "*")))
        >>> root = Outline(cities, {"Pisa": 3, "Bonn": 1, None: 2}).root
        >>> [(node.label, node.leaves, node.rows, len(node.children)) for node in (root, *root.children)]
        [('*', 3, 4, 2), ('Bonn', 1, 1, 0), ('Italy', 2, 3, 2)]
        """
        return self._node(self.hierarchy.paths, self.hierarchy.height)

    def _node(self, paths: Sequence[tuple[str, ...]], height: int) -> OutlineNode:
        label = paths[0][height]
        while height > 0 and all(path[height - 1] == label for path in paths):
            height -= 1
        parts = groupby(paths, key=lambda path: path[height - 1]) if height else ()
        return OutlineNode(
            label=label,
            leaves=len(paths),
            rows=sum(self.counts.get(path[0], 0) for path in paths),
            children=tuple(self._node(list(part), height - 1) for _, part in parts),
        )
