"""Every ground distance as a weighted sum of absolute differences over features of the values.

    EMD = (sum over features of w | C / s - X / n |) / z

with C a class's rows that have the feature, of s, and X the table's, of n. The features are of one
of two forms:

    cumulative    the values up to each place but the last: z = the length of all steps, w = that of
                  one (Li, Li and Venkatasubramanian 2007, 5.1: m - 1 and 1)
    nodes         the nodes of each height below the root, values included: a value that becomes
                  another travels up from its leaf and down again (5.2: z = 2 H, w = 1, half a step
                  at each node). Where any two values are at distance 1 the root is next, and H = 1.

A class has few of the features. Sums go over those only: for nodes |n C - s X| - s X is 0 where C
is, and between two values of a class its cumulative rows stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.table.arrays import ExactArray, IntArray, exact


@dataclass(frozen=True, kw_only=True)
class Features:
    """What a distance is a sum over.

    values: m, how many values the domain has.
    scale: z above, at least 1, and so large that no two values are farther apart than 1.
    cumulative: the form, see above.
    parents: of nodes, for each height the node above each node of the height below, up to the root;
        the children of a node are consecutive. () where the values are right below the root.
    weights: w of each feature, integers of at least 0, shape (features,), in the order of `counts`;
        None: all are 1.
    """

    values: int
    scale: int
    cumulative: bool = False
    parents: tuple[IntArray, ...] = ()
    weights: IntArray | None = None

    @property
    def even(self) -> bool:
        """Whether all weights are 1."""
        return self.weights is None

    @property
    def plain(self) -> bool:
        """Whether all weights are 1, and z is no more than the length of the longest way."""
        longest = self.values - 1 if self.cumulative else 2 * max(len(self.parents), 1)
        return self.even and self.scale == max(longest, 1)

    @cached_property
    def nodes(self) -> IntArray:
        """The node of each value at each height below the root, shape (heights, m); the values
        themselves where features are cumulative.

        >>> Features(values=3, scale=4, parents=(np.array([0, 0, 1]), np.array([0, 0]))).nodes.tolist()
        [[0, 1, 2], [0, 0, 1]]
        """
        nodes = [np.arange(self.values)]
        for parent in self.parents[:-1]:
            nodes.append(parent[nodes[-1]])
        return np.stack(nodes)

    @cached_property
    def level_weights(self) -> IntArray:
        """The weights by height and node (by place, the last one 0, where features are cumulative),
        shape (heights, m); 0 where there is no node.
        """
        weights = np.zeros(self.nodes.shape, dtype=np.int64)
        sizes = [self.values - 1] if self.cumulative else [int(node[-1]) + 1 for node in self.nodes]
        start = 0
        for level, size in enumerate(sizes):
            weights[level, :size] = (
                1 if self.weights is None else self.weights[start : start + size]
            )
            start += size
        return weights

    def counts(self, table: IntArray) -> IntArray:
        """Rows that have each feature, (groups, m) -> (groups, features); nodes from the values up.

        >>> Features(values=3, scale=2, cumulative=True).counts(np.array([[3, 1, 2]])).tolist()
        [[3, 4]]
        """
        if self.cumulative:
            return np.cumsum(table, axis=1)[:, :-1]
        levels = [table]
        for parent in self.parents[:-1]:
            starts = np.flatnonzero(np.diff(parent, prepend=-1))
            levels.append(np.add.reduceat(levels[-1], starts, axis=1))
        return np.concatenate(levels, axis=1)

    def weighted(self, differences: Any) -> Any:
        """An array of differences in features, times their weights, (..., features)."""
        return differences if self.weights is None else differences * self.weights

    def numerators(self, table: IntArray, classes: Histograms) -> ExactArray:
        """Exact sums of w |n C - s X|, that is EMD * z * n * s, of each class, shape (groups,).

        table: counts of the whole table by code, shape (m,); a class may hold values that it lacks.
            The work is proportional to the entries of the classes (times the heights, of nodes).
            Counts may be doubles; then sums are.

        >>> classes = Histograms.dense(np.array([[2, 0, 0], [0, 0, 2]]))
        >>> Features(values=3, scale=2).numerators(np.array([2, 1, 1]), classes).tolist()  # of 2 * 4 * 2
        [8, 12]
        """
        bound = 0
        if table.dtype == np.int64:  # a factor 4 covers sums of both signs
            bound = 4 * max(self.scale, self.values) * int(table.sum()) * int(classes.sizes.max())
        return (
            self._along(table, classes, bound)
            if self.cumulative
            else self._at_nodes(table, classes, bound)
        )

    def _along(self, table: IntArray, classes: Histograms, bound: int) -> ExactArray:
        """Of cumulative features. Between two values that a class has, its cumulative count C stays
        while the table's X_i grows, so the absolute differences of the stretch follow from prefix
        sums of w X, cut where s X_i passes n C.
        """
        n = table.sum().item()
        last = self.values - 1
        cumulative = np.cumsum(table)[:-1]
        moments = exact(cumulative, bound)
        if self.weights is not None:
            moments = moments * exact(self.weights, bound)
        prefix = exact(np.concatenate([[0], np.cumsum(moments)]), bound)

        # Stretches: one before the first entry of a class (C = 0) and one after each entry.
        entries = classes.entries_of
        first = classes.starts + np.arange(classes.groups)
        after = np.arange(len(classes.values)) + classes.owner + 1
        start = np.zeros(len(classes.values) + classes.groups, dtype=np.int64)
        start[after] = np.minimum(classes.values, last)
        end = np.append(start[1:], last)
        end[first[1:] - 1] = last
        reached = np.cumsum(classes.counts)
        reached -= np.repeat(reached[classes.starts] - classes.counts[classes.starts], entries)
        held = np.zeros(len(start), dtype=reached.dtype)
        held[after] = reached

        sizes = exact(np.repeat(classes.sizes, entries + 1), bound)
        mass = n * exact(held, bound)
        passed = mass / sizes if mass.dtype == np.float64 else (mass // sizes).astype(np.int64)
        cut = np.searchsorted(cumulative, passed, side="right")
        cut = np.clip(cut, start, end)
        low = self._lengths(start)
        middle = self._lengths(cut)
        high = self._lengths(end)
        below = mass * (middle - low) - sizes * (prefix[cut] - prefix[start])
        above = sizes * (prefix[end] - prefix[cut]) - mass * (high - middle)
        return np.add.reduceat(below + above, first)

    def _lengths(self, places: IntArray) -> IntArray:
        """How long the steps before each place are together."""
        return (
            places
            if self.weights is None
            else np.concatenate([[0], np.cumsum(self.weights)])[places]
        )

    def _at_nodes(self, table: IntArray, classes: Histograms, bound: int) -> ExactArray:
        """Of nodes: w (|n C - s X| - s X) of those that a class has, and w s X of all."""
        n = table.sum().item()
        sizes = exact(classes.sizes, bound)
        node = classes.values
        count = classes.counts
        first = classes.starts
        rows = table
        total: ExactArray = exact(np.zeros(classes.groups, dtype=table.dtype), bound)
        for height in range(max(len(self.parents), 1)):
            if height:
                above = self.parents[height - 1]
                node = above[node]
                rows = np.add.reduceat(rows, np.flatnonzero(np.diff(above, prepend=-1)))
                new = np.append(True, node[1:] != node[:-1])
                new[first] = True
                first = np.cumsum(new)[first] - 1
                new = np.flatnonzero(new)
                node = node[new]
                count = np.add.reduceat(count, new)
            expected = (
                np.repeat(sizes, np.diff(np.append(first, len(node)))) * exact(rows, bound)[node]
            )
            excess = np.abs(n * exact(count, bound) - expected) - expected
            if self.weights is None:
                total += np.add.reduceat(excess, first) + n * sizes
            else:
                weight = exact(self.level_weights[height, : len(rows)], bound)
                total += (
                    np.add.reduceat(weight[node] * excess, first)
                    + sum((weight * rows).tolist()) * sizes
                )
        return total
