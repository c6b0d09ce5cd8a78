"""A tree of splits that applies to other rows than it was grown on, by their content alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.kernels.mixing import GOLDEN, mixed
from tclose_spark.kernels.structures import structure
from tclose_spark.table.arrays import Codes, FloatArray, HashArray, IntArray
from tclose_spark.table.ranks import ranks_among
from tclose_spark.table.rows import Rows


@structure
class Splits(NamedTuple):
    """A binary tree over dense codes; node 0 is the root, and a node comes before those that follow from it.

    quasi: the quasi-identifier asked about, shape (nodes,).
    lo: a row may go left if its code is in lo..hi, shape (nodes,).
    hi: see lo.
    cut: of the rows of a cell that may go left, those with a code below the cut do; -1: no cut; shape (nodes, cells).
    share: of the rows with the code of the cut, so many go left, or of all that may where there is no cut (a region: 1
        where nothing is carved); shape (nodes, cells).
    left: the node that follows, or -1 - leaf, shape (nodes,).
    right: see left.
    leaves: how many; with no nodes there is one.
    """

    quasi: Codes
    lo: Codes
    hi: Codes
    cut: Codes
    share: FloatArray
    left: Codes
    right: Codes
    leaves: int


def no_splits(most: int, cells: int) -> Splits:
    """Room for so many nodes, which take every row with code 0 to the left."""
    return Splits(
        quasi=np.zeros(most, dtype=np.int32),
        lo=np.zeros(most, dtype=np.int32),
        hi=np.zeros(most, dtype=np.int32),
        cut=np.full((most, cells), -1, dtype=np.int32),
        share=np.ones((most, cells), dtype=np.float64),
        left=np.full(most, -1, dtype=np.int32),
        right=np.full(most, -1, dtype=np.int32),
        leaves=1,
    )


def first_splits(splits: Splits, nodes: int, leaves: int) -> Splits:
    """The tree of the first so many nodes, of which the others were room."""
    return Splits._make([*(array[:nodes] for array in splits[:-1]), leaves])


@dataclass(frozen=True)
class RoutingTree:
    """Splits that apply to any rows of a table.

    splits: over dense codes of the rows they were grown on.
    codes: what these stand for: of each quasi-identifier the codes that the splits know, ascending.
    """

    splits: Splits
    codes: tuple[IntArray, ...]

    def leaf_of(self, rows: Rows) -> IntArray:
        """The leaf of each row, shape (n,). A code that the splits do not know goes where the next one goes."""
        dense = [ranks_among(known, column) for known, column in zip(self.codes, rows.quasi, strict=True)]
        quasi = np.ascontiguousarray(np.stack(dense, axis=1), dtype=np.int32)
        return route(self.splits, quasi, rows.cell.astype(np.int32), rows.hash)

    @cached_property
    def depth(self) -> int:
        """Splits above the deepest leaf."""
        deep = np.zeros(len(self.splits.quasi) + 1, dtype=np.int64)
        for node in range(len(self.splits.quasi)):  # children have higher numbers
            for child in (self.splits.left[node], self.splits.right[node]):
                deep[child if child >= 0 else -1] = max(deep[node] + 1, deep[child] if child >= 0 else deep[-1])
        return int(deep[-1])

    def to_json(self) -> dict[str, Any]:
        """What `from_json` reads."""
        arrays = {name: value.tolist() for name, value in self.splits._asdict().items() if name != "leaves"}
        return {
            "splits": {**arrays, "leaves": self.splits.leaves},
            "codes": [known.tolist() for known in self.codes],
        }

    @staticmethod
    def from_json(tree: Mapping[str, Any], cells: int) -> RoutingTree:
        """The tree that `to_json` wrote, over so many cells."""
        kinds = {name: value.dtype for name, value in no_splits(1, cells)._asdict().items() if name != "leaves"}
        nodes = len(tree["splits"]["quasi"])
        shapes = {name: (nodes, cells) if name in ("cut", "share") else (nodes,) for name in kinds}
        arrays = {
            name: np.array(tree["splits"][name], dtype=kind).reshape(shapes[name]) for name, kind in kinds.items()
        }
        return RoutingTree(
            Splits(**arrays, leaves=tree["splits"]["leaves"]),
            tuple(np.array(known, dtype=np.int64) for known in tree["codes"]),
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
def _walk(splits: Splits, quasi: Codes, cell: Codes, digest: HashArray, leaf: IntArray) -> None:
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
