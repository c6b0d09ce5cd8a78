"""Value generalization hierarchies: leaf-to-root paths, read from ARX-style CSV files, and lowest
common ancestors.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tclose_spark.errors import ConfigurationError
from tclose_spark.table.arrays import IntArray

ROOT = "*"
WHOLE = r"^([+-]?[0-9]+)\.0+$"
"""A whole number with a point, as a column of floats has it (RE2, Python)."""
MISSING_LEAF = "(missing)"
"""What a leaf of its own for missing values is called in a hierarchy (see
`Hierarchy.with_missing`).
"""


@dataclass(frozen=True)
class Hierarchy:
    """A tree over the values of one attribute, with all leaves at the same depth.

    paths: a tuple per leaf, from the leaf to `*`, in tree order. Leaves below a node are
        consecutive, so the lowest common ancestor of a set of leaves is that of its first and last
        leaf.
    """

    paths: tuple[tuple[str, ...], ...]

    @staticmethod
    def parse(text: str, key: str) -> Hierarchy:
        """The hierarchy in an ARX-style CSV: no header, a row per leaf, leaf first, `*` last,
        separated by `;` or `,`

        >>> cities = Hierarchy.parse(chr(10).join(["Pisa;Italy;*", "Lyon;France;*", "Siena;Italy;*"]), "cities")
        >>> cities.leaves, cities.height, cities.leaves_under["Italy"]
        (('Pisa', 'Siena', 'Lyon'), 2, 2)

        Raises:
            ConfigurationError: naming `key`, if it is empty, ragged, or not a tree.
        """
        lines = [line for line in text.lstrip("\ufeff").splitlines() if line.strip()]
        separator = ";" if lines and lines[0].count(";") >= lines[0].count(",") else ","
        try:
            rows = [
                tuple(cell.strip() for cell in row)
                for row in csv.reader(lines, delimiter=separator)
            ]
        except csv.Error as error:  # a label of more than 131,072 characters
            raise ConfigurationError(f"{key}: the hierarchy is no CSV: {error}") from None
        return Hierarchy.build(rows, key)

    @staticmethod
    def build(rows: Sequence[tuple[str, ...]], key: str) -> Hierarchy:
        """The hierarchy of leaf-to-root paths in any order. key: its name in errors (see
        `parse`).
        """
        if not rows:
            raise ConfigurationError(
                f"{key}: the hierarchy is empty; expected a row a value, leaf first, * last",
            )
        depth = len(rows[0])
        parent: dict[str, str] = {}
        path_of: dict[str, tuple[str, ...]] = {}
        for number, row in enumerate(rows, start=1):
            if len(row) != depth or depth < 2:
                raise ConfigurationError(
                    f"{key}: row {number} of the hierarchy has {len(row)} labels; expected "
                    f"{max(depth, 2)} as in the first row",
                )
            if row[-1] != ROOT:
                raise ConfigurationError(
                    f"{key}: row {number} of the hierarchy ends in {row[-1]!r}; expected '*'",
                )
            for label, above in pairwise(row):
                if label == ROOT != above:
                    raise ConfigurationError(
                        f"{key}: the hierarchy is not a tree: '*' is under {above!r} (row {number})",
                    )
                if label != above and parent.setdefault(label, above) != above:
                    raise ConfigurationError(
                        f"{key}: the hierarchy is not a tree: {label!r} is under {parent[label]!r} "
                        f"and under {above!r} (row {number})",
                    )
            if path_of.setdefault(row[0], row) != row:
                raise ConfigurationError(
                    f"{key}: the hierarchy is not a tree: {row[0]!r} has another path in row "
                    f"{number}",
                )
        leaves = {row[0] for row in rows}
        for row in rows:
            for label in row[1:]:
                if label in leaves and label != row[0]:
                    raise ConfigurationError(
                        f"{key}: the hierarchy is not a tree: {label!r} is both a leaf and an "
                        "inner node",
                    )
        if ROOT in leaves:
            raise ConfigurationError(
                f"{key}: '*' is a leaf of the hierarchy; it stands for the whole domain",
            )
        return Hierarchy(tuple(_in_tree_order(dict.fromkeys(rows))))

    def with_missing(self, key: str) -> Hierarchy:
        """The hierarchy with the leaf MISSING_LEAF directly under the root, at the largest distance
        from every value.

        Raises:
            ConfigurationError: naming `key`, if a label already has this name.
        """
        if any(MISSING_LEAF in path for path in self.paths):
            raise ConfigurationError(
                f"{key}: missing values become the leaf {MISSING_LEAF!r}, which the hierarchy has "
                "already; rename it",
            )
        return Hierarchy((*self.paths, (*[MISSING_LEAF] * self.height, ROOT)))

    def without_missing(self) -> Hierarchy:
        """The inverse of `with_missing`."""
        return Hierarchy(tuple(path for path in self.paths if path[0] != MISSING_LEAF))

    def of_numbers(self, key: str) -> Hierarchy:
        """The hierarchy with whole numbers as leaves: 25 for 25.0."""
        return Hierarchy.build(
            [(re.sub(WHOLE, r"\1", leaf), *above) for leaf, *above in self.paths],
            key,
        )

    @property
    def height(self) -> int:
        """The number of edges from a leaf to the root."""
        return len(self.paths[0]) - 1

    @property
    def leaves(self) -> tuple[str, ...]:
        """The values in tree order. A value's code is its place here."""
        return tuple(path[0] for path in self.paths)

    @cached_property
    def leaf_set(self) -> frozenset[str]:
        """The values as a set."""
        return frozenset(self.leaves)

    @cached_property
    def labels(self) -> frozenset[str]:
        """All labels: the values and what is above them."""
        return frozenset(label for path in self.paths for label in path)

    @cached_property
    def nodes(self) -> tuple[IntArray, ...]:
        """For each height 0..H, the node above every leaf, numbered 0, 1, ... in tree order: H + 1
        arrays of shape (leaves,).
        """
        result = [np.arange(len(self.paths))]
        for level in range(1, self.height + 1):
            above = [path[level:] for path in self.paths]
            new = [i == 0 or above[i] != above[i - 1] for i in range(len(above))]
            result.append(np.cumsum(new) - 1)
        return tuple(result)

    @cached_property
    def parents(self) -> tuple[IntArray, ...]:
        """For each height 1..H, the parent of each node of the height below (see
        HierarchicalDistance).
        """
        firsts = [np.flatnonzero(np.diff(node, prepend=-1)) for node in self.nodes]
        return tuple(above[first] for above, first in zip(self.nodes[1:], firsts, strict=False))

    @cached_property
    def leaves_under(self) -> dict[str, int]:
        """The number of leaves below each inner label."""
        under: dict[str, int] = {}
        for path in self.paths:
            for label in set(path[1:]):
                under[label] = under.get(label, 0) + 1
        return under

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """The share of leaves below the ancestor of each leaf at each height, shape (H + 1,
        leaves).
        """
        return np.stack([np.bincount(node)[node] / len(node) for node in self.nodes])

    def common_ancestors(self, first: IntArray, last: IntArray) -> tuple[IntArray, IntArray]:
        """(height, leaf) of the lowest common ancestor of the leaves first[i]..last[i]. Its label
        is paths[leaf][height]

        >>> cities = Hierarchy((("Pisa", "Italy", "*"), ("Siena", "Italy", "*"), ("Lyon", "France", "*")))
        >>> height, leaf = cities.common_ancestors(np.array([0, 0]), np.array([1, 2]))  # Pisa..Siena, Pisa..Lyon
        >>> [cities.paths[i][h] for h, i in zip(height, leaf)]
        ['Italy', '*']
        """
        height = np.zeros(len(first), dtype=np.int64)
        for node in self.nodes[:-1]:
            height += node[first] != node[last]
        return height, first


def _in_tree_order(rows: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The paths, sorted so that every subtree is consecutive. Siblings keep their order in the
    file.
    """
    seen: dict[tuple[str, ...], int] = {}
    for row in rows:
        for level in range(len(row)):
            seen.setdefault(row[level:], len(seen))
    return sorted(
        rows,
        key=lambda row: [seen[row[level:]] for level in range(len(row) - 1, -1, -1)],
    )
