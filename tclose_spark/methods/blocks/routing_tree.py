"""A tree of splits that leads any row to a leaf by its content alone, also rows that it was not
grown on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.kernels.mixing import GOLDEN, mixed
from tclose_spark.kernels.structures import structure
from tclose_spark.methods.method import Codes32, Floats, Integers, PlanModel
from tclose_spark.table.arrays import Codes, FloatArray, HashArray, IntArray
from tclose_spark.table.rows import Rows

LOWEST = np.iinfo(np.int64).min
HIGHEST = np.iinfo(np.int64).max


@structure
class Splits(NamedTuple):
    """A binary tree over dense codes. Node 0 is the root, and a node comes before its children.

    At a node, rows with a code in lo..hi may go left. Of a cell's rows that may, those below the
    cut do, and a share of those at the cut; without a cut, a share of all. The arrays by cell have
    one column if all cells are treated alike.
    """

    quasi: Codes  # the quasi-identifier of each node, shape (nodes,)
    lo: Codes  # shape (nodes,)
    hi: Codes  # shape (nodes,)
    cut: Codes  # a code, or -1 for no cut, shape (nodes, cells)
    share: FloatArray  # 1 where nothing is carved, shape (nodes, cells)
    left: Codes  # the next node, or -1 - leaf, shape (nodes,)
    right: Codes  # likewise
    leaves: int  # one without any nodes


@structure
class RowSplits(NamedTuple):
    """The same splits over the codes of rows, which then need not be made dense.

    Of a cell's rows that may go left, those below cut_lo do, and a share of those in
    cut_lo..cut_hi.
    """

    quasi: Codes
    lo: IntArray
    hi: IntArray
    cut_lo: IntArray  # shape (nodes, cells)
    cut_hi: IntArray  # shape (nodes, cells)
    share: FloatArray
    left: Codes
    right: Codes


def no_splits(most: int, cells: int) -> Splits:
    """Room for so many nodes, each of which leads every row with code 0 to the left."""
    quasi, lo, hi, left, right = np.zeros((5, most), dtype=np.int32)
    left[:] = right[:] = -1
    cut = np.full((most, cells), -1, dtype=np.int32)
    share = np.ones((most, cells))
    return Splits(quasi=quasi, lo=lo, hi=hi, cut=cut, share=share, left=left, right=right, leaves=1)


def first_splits(splits: Splits, nodes: int, leaves: int) -> Splits:
    """The tree of the first `nodes` nodes, without the room that is left."""
    return Splits._make([*(array[:nodes] for array in splits[:-1]), leaves])


class SplitsModel(PlanModel):
    """`Splits` in `plan.json`."""

    quasi: Codes32
    lo: Codes32
    hi: Codes32
    cut: Codes32
    share: Floats
    left: Codes32
    right: Codes32
    leaves: int


class RoutingTreeModel(PlanModel):
    """A `RoutingTree` in `plan.json`."""

    splits: SplitsModel
    codes: tuple[Integers, ...]


@dataclass(frozen=True)
class RoutingTree:
    """Splits that apply to any rows of a table.

    splits: over dense codes of the rows that they were grown on.
    codes: what the dense codes stand for, ascending, an array for each quasi-identifier.
    """

    splits: Splits
    codes: tuple[IntArray, ...]

    def leaf_of(self, rows: Rows) -> IntArray:
        """The leaf of each row, shape (n,). It depends only on the row's codes, cell and hash. A
        code that the splits do not know is treated as the next higher one.
        """
        leaf = np.zeros(len(rows), dtype=np.int64)
        if len(self.splits.quasi):
            _walk(self._row_splits, np.stack(rows.quasi), rows.cell, rows.hash, leaf)
        return leaf

    def __getstate__(self) -> dict[str, object]:
        """Travels to tasks without derived arrays."""
        return {"splits": self.splits, "codes": self.codes}

    @cached_property
    def _row_splits(self) -> RowSplits:
        quasi, low, high, cut, share, left, right, _ = self.splits
        lo = np.empty(len(quasi), np.int64)
        hi = np.empty(len(quasi), np.int64)
        cut_lo = np.empty(cut.shape, np.int64)
        cut_hi = np.empty(cut.shape, np.int64)
        # the lowest and highest code that is treated as each known one
        least = [np.append(LOWEST, known[:-1] + 1) for known in self.codes]
        most = [np.append(known[:-1], HIGHEST) for known in self.codes]
        for node, j in enumerate(quasi):
            lo[node], hi[node] = least[j][low[node]], most[j][high[node]]
            cut_lo[node] = np.where(cut[node] < 0, LOWEST, least[j][cut[node]])
            cut_hi[node] = np.where(cut[node] < 0, HIGHEST, most[j][cut[node]])
        return RowSplits(quasi, lo, hi, cut_lo, cut_hi, share, left, right)

    @cached_property
    def depth(self) -> int:
        """Splits above the deepest leaf."""
        deep = np.zeros(len(self.splits.quasi), dtype=np.int64)
        deepest = 0
        for node in range(len(deep)):  # children have higher numbers
            deepest = max(deepest, int(deep[node]) + 1)
            for child in (self.splits.left[node], self.splits.right[node]):
                if child >= 0:
                    deep[child] = deep[node] + 1
        return deepest

    @staticmethod
    def of_model(model: RoutingTreeModel) -> RoutingTree:
        """The tree of a model."""
        splits = model.splits
        nodes = len(splits.quasi)
        shape = nodes, splits.share.shape[1] if nodes else 1
        return RoutingTree(
            Splits(
                quasi=splits.quasi,
                lo=splits.lo.reshape(nodes),
                hi=splits.hi.reshape(nodes),
                cut=splits.cut.reshape(shape),
                share=splits.share.reshape(shape),
                left=splits.left.reshape(nodes),
                right=splits.right.reshape(nodes),
                leaves=splits.leaves,
            ),
            model.codes,
        )


@kernel
def chance(digest: Any, node: int) -> float:
    """A number in 0..1 from a row's hash and a node (splitmix64): as good as drawn anew at each
    node.
    """
    z = mixed(np.uint64(digest) + np.uint64(node + 1) * np.uint64(GOLDEN))
    return float(z >> np.uint64(11)) / 9007199254740992.0


@kernel
def _walk(
    splits: RowSplits,
    quasi: IntArray,
    cell: IntArray,
    digest: HashArray,
    leaf: IntArray,
) -> None:
    """Set the leaf of each row, from its codes, shape (q, n)."""
    last_cell = splits.share.shape[1] - 1
    for i in range(len(cell)):
        node = 0
        c = min(cell[i], last_cell)
        while node >= 0:
            code = quasi[splits.quasi[node], i]
            goes = splits.lo[node] <= code <= min(splits.hi[node], splits.cut_hi[node, c])
            if goes and code >= splits.cut_lo[node, c] and splits.share[node, c] < 1.0:
                goes = chance(digest[i], node) < splits.share[node, c]
            node = splits.left[node] if goes else splits.right[node]
        leaf[i] = -1 - node
