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
from tclose_spark.table.rows import Rows

LOWEST, HIGHEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


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


@structure
class Questions(NamedTuple):
    """Splits as they are asked of a row's own codes.

    quasi: the quasi-identifier asked about, shape (nodes,).
    lo: a row may go left if its code is in lo..hi, shape (nodes,).
    hi: see lo.
    cut_lo: of the rows of a cell that may go left, those with a code below cut_lo do, those above cut_hi do not, and of
        the others the share; shape (nodes, cells).
    cut_hi: see cut_lo.
    share: see Splits; also left and right.
    """

    quasi: Codes
    lo: IntArray
    hi: IntArray
    cut_lo: IntArray
    cut_hi: IntArray
    share: FloatArray
    left: Codes
    right: Codes


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
        """The leaf of each row, shape (n,): from its codes, its cell and its hash only, whatever rows are beside it. A
        code that the splits do not know goes where the next one goes.
        """
        leaf = np.zeros(len(rows), dtype=np.int64)
        if len(self.splits.quasi):
            _walk(self._questions, np.stack(rows.quasi), rows.cell, rows.hash, leaf)
        return leaf

    def __getstate__(self) -> dict[str, Any]:
        """Travels to tasks without what follows from it."""
        return {"splits": self.splits, "codes": self.codes}

    @cached_property
    def _questions(self) -> Questions:
        """The splits as ranges of codes as rows have them, so that no row's codes have to be made dense."""
        nodes, cells = self.splits.cut.shape
        lo, hi = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
        cut_lo, cut_hi = np.empty((nodes, cells), np.int64), np.empty((nodes, cells), np.int64)
        least = [
            np.append(LOWEST, known[:-1] + 1) for known in self.codes
        ]  # of the codes that go where a known one goes
        most = [np.append(known[:-1], HIGHEST) for known in self.codes]
        for node, (j, low, high) in enumerate(zip(self.splits.quasi, self.splits.lo, self.splits.hi, strict=True)):
            lo[node], hi[node] = least[j][low], most[j][high]
            cut = self.splits.cut[node]
            cut_lo[node] = np.where(cut < 0, LOWEST, least[j][cut])
            cut_hi[node] = np.where(cut < 0, HIGHEST, most[j][cut])
        return Questions(
            quasi=self.splits.quasi,
            lo=lo,
            hi=hi,
            cut_lo=cut_lo,
            cut_hi=cut_hi,
            share=self.splits.share,
            left=self.splits.left,
            right=self.splits.right,
        )

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


@kernel
def _walk(questions: Questions, quasi: IntArray, cell: IntArray, digest: HashArray, leaf: IntArray) -> None:
    """Set the leaf of each row, from its codes (q, n)."""
    for i in range(len(cell)):
        node, c = 0, cell[i]
        while node >= 0:
            code = quasi[questions.quasi[node], i]
            goes = questions.lo[node] <= code <= min(questions.hi[node], questions.cut_hi[node, c])
            if goes and code >= questions.cut_lo[node, c] and questions.share[node, c] < 1.0:
                goes = chance(digest[i], node) < questions.share[node, c]
            node = questions.left[node] if goes else questions.right[node]
        leaf[i] = -1 - node
