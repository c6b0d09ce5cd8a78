"""A tree of splits that applies to other rows, by their content alone."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.kernels.mixing import GOLDEN, mixed
from tclose_spark.table.arrays import Codes, HashArray, IntArray


class Splits(NamedTuple):
    """A binary tree; node 0 is the root. Each array has an entry a node.

    quasi: the quasi-identifier asked about; a row may go left if its code is in lo..hi.
    cut, share (nodes, cells): of the rows of a cell that may go left, those with a code below the cut do, and this
    share of those with the code of the cut; cut = -1: this share of them all (a region: 1 where nothing is carved).
    left, right: the node that follows, or -1 - leaf. leaves: how many; with no nodes there is one.
    """

    quasi: Any
    lo: Any
    hi: Any
    cut: Any
    share: Any
    left: Any
    right: Any
    leaves: int


def no_splits(most: int, cells: int) -> Splits:
    """Room for so many nodes."""
    return Splits(
        np.zeros(most, dtype=np.int32),
        np.zeros(most, dtype=np.int32),
        np.zeros(most, dtype=np.int32),
        np.full((most, cells), -1, dtype=np.int32),
        np.ones((most, cells), dtype=np.float64),
        np.full(most, -1, dtype=np.int32),
        np.full(most, -1, dtype=np.int32),
        1,
    )


@kernel
def chance(digest: Any, node: int) -> float:
    """A number in 0..1 that follows from a row's hash and a node (splitmix64): as good as drawn anew at each node."""
    z = mixed(np.uint64(digest) + np.uint64(node + 1) * np.uint64(GOLDEN))
    return float(z >> np.uint64(11)) / 9007199254740992.0


def route(splits: Splits, quasi: Codes, cell: Codes, digest: HashArray) -> IntArray:
    """The leaf of each row, shape (n,): from its codes (n, q), its cell and its 64-bit hash only, whatever rows are
    beside it.
    """
    leaf = np.zeros(len(cell), dtype=np.int64)
    _walk(splits, quasi, cell, digest, leaf)
    return leaf


@kernel
def _walk(splits: Splits, quasi: Any, cell: Any, digest: Any, leaf: Any) -> None:
    for i in range(len(cell)):
        node = 0 if len(splits.quasi) > 0 else -1
        while node >= 0:
            code, c = quasi[i, splits.quasi[node]], cell[i]
            goes = splits.lo[node] <= code <= splits.hi[node]
            if goes and splits.cut[node, c] >= 0 and code != splits.cut[node, c]:
                goes = code < splits.cut[node, c]
            elif goes and splits.share[node, c] < 1.0:
                goes = chance(digest[i], node) < splits.share[node, c]
            node = splits.left[node] if goes else splits.right[node]
        leaf[i] = -1 - node
