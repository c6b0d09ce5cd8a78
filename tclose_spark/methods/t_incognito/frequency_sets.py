"""Frequency sets: the rows of each cell in every group of a node (LeFevre, DeWitt and Ramakrishnan
2005, with the sensitive values counted too). A coarser node's set follows from a finer one's, never
from rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tclose_spark.methods.class_requirement import CellGroups
from tclose_spark.table.arrays import WIDEST, Codes, IntArray


@dataclass(frozen=True, kw_only=True)
class FrequencySet(CellGroups):
    """The groups of rows with the same labels at a node, and each group's rows by cell.

    labels: of each group, shape (quasi-identifiers, groups).
    """

    labels: Codes

    def rolled_up(self, maps: Sequence[tuple[int, Codes]], cells: int) -> FrequencySet:
        """The frequency set of some of the quasi-identifiers, at labels no finer.

        maps: (its place here, the new label of each of its labels) of each that is kept.
        cells: how many the table has.

        >>> ages = FrequencySet(labels=np.array([[0, 1, 2]]), group=np.array([0, 1, 1, 2]),
        ...                     cell=np.array([0, 0, 1, 1]), rows=np.array([2, 1, 4, 8]))
        >>> made = ages.rolled_up([(0, np.array([0, 0, 1]))], cells=2)
        >>> made.labels.tolist(), made.group.tolist(), made.cell.tolist(), made.rows.tolist()
        ([[0, 1]], [0, 0, 1], [0, 1, 1], [3, 4, 8])
        """
        columns = [above[self.labels[place]] for place, above in maps]
        first, number = number_tuples(columns, [int(above.max()) + 1 for _, above in maps])
        key = number[self.group] * cells + self.cell
        largest = len(first) * cells
        if largest <= 4 * len(key):
            # Exact below 2^53.
            rows = np.bincount(key, weights=self.rows, minlength=largest).astype(np.int64)
            key = np.flatnonzero(rows)
            rows = rows[key]
        else:
            order = np.argsort(key)
            key = key[order]
            starts = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
            key = key[starts]
            rows = np.add.reduceat(self.rows[order], starts)
        labels = np.stack([column[first] for column in columns])
        return FrequencySet(labels=labels, group=key // cells, cell=key % cells, rows=rows)

    def only(self, groups: IntArray) -> FrequencySet:
        """The frequency set of the groups at these ascending places."""
        number = np.full(self.groups, -1, dtype=np.int64)
        number[groups] = np.arange(len(groups))
        here = np.flatnonzero(number[self.group] >= 0)
        return FrequencySet(
            labels=self.labels[:, groups],
            group=number[self.group[here]],
            cell=self.cell[here],
            rows=self.rows[here],
        )


def number_tuples(
    columns: Sequence[Codes | IntArray], sizes: Sequence[int]
) -> tuple[IntArray, IntArray]:
    """(where each different tuple stands first, in ascending order of the tuples; the number of
    each tuple, shape (n,)). sizes: the codes of a column are below its own.

    >>> first, number = number_tuples([np.array([1, 0, 1]), np.array([2, 0, 2])], [2, 3])
    >>> first.tolist(), number.tolist()
    ([1, 0], [1, 0, 1])
    """
    key = np.zeros(len(columns[0]), dtype=np.int64)
    bound = 1
    for column, size in zip(columns, sizes, strict=True):
        if bound * size >= WIDEST:
            known, key = np.unique(key, return_inverse=True)
            bound = len(known)
        key = key * size + column
        bound = bound * size
    if bound <= 4 * len(key):
        first = np.full(bound, -1, dtype=np.int64)
        first[key[::-1]] = np.arange(len(key) - 1, -1, -1)
        present = np.flatnonzero(first >= 0)
        rank = np.zeros(bound, dtype=np.int64)
        rank[present] = np.arange(len(present))
        return first[present], rank[key]
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    return first, number
