"""The plan of the closeness tree: which rows make a block, by their content alone, and which task finishes it.

The same tree that makes classes is grown on a sample and stopped at the size of a block; a row finds its block by walking it,
and where a node takes only a share of the rows, the row's keyed hash decides. What a sample cannot promise is made certain
by counting: one scan counts every leaf's cells, and leaves that would not hold what is asked are merged with their nearest
relatives until every block does, exactly. The whole table holds it, or there is no plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tclose_spark.errors import ConfigurationError, UnreachableError
from tclose_spark.measures.histograms import Histograms, IntArray
from tclose_spark.methods.closeness_tree.dense import Dense
from tclose_spark.methods.closeness_tree.exchange import exchange
from tclose_spark.methods.closeness_tree.plan import Splits, no_splits, route
from tclose_spark.methods.closeness_tree.tree import grow, grow_plan
from tclose_spark.methods.method import GroupCounts, Problem
from tclose_spark.rows import Rows
from tclose_spark.spec import ClosenessTree

ROWS_PER_BLOCK = 25_000
ROWS_PER_TASK = 200_000
MOST_COUNTS = 1 << 22  # leaves times cells: what the driver and every task hold
CEILING = 0.9  # of the load on the sample, so that most leaves hold on full counts too
EFFORTS = {"fast": (8, 0), "balanced": (12, 40), "thorough": (12, 1500)}  # sweeps, and rounds of annealing
SEED = 2026


@dataclass(frozen=True)
class ClosenessTreePlan:
    """See the module. codes: for each quasi-identifier the codes that the splits know, ascending. block_of: of each leaf.
    block_rows: of each block, counted. first_block: of each task.
    """

    dense: Dense
    splits: Splits
    codes: tuple[IntArray, ...]
    block_of: IntArray
    block_rows: IntArray
    first_block: IntArray

    @property
    def tasks(self) -> int:
        """See Plan."""
        return len(self.first_block)

    @cached_property
    def _task_of(self) -> IntArray:
        """The task of each block."""
        return np.searchsorted(self.first_block, np.arange(len(self.block_rows)), side="right") - 1

    def block(self, rows: Rows) -> IntArray:
        """The block of each row, shape (n,): a function of its content."""
        return self.block_of[leaf_of(rows, self.splits, self.codes)]

    def route(self, rows: Rows) -> tuple[IntArray, IntArray]:
        """See Plan."""
        return np.arange(len(rows)), self._task_of[self.block(rows)]

    def settle(self, rows: Rows, task: int) -> tuple[IntArray, IntArray]:
        """See Plan. Each block of the task is put into classes by itself: tree, then exchange."""
        block = self.block(rows)
        if not np.array_equal(
            np.bincount(block, minlength=len(self.block_rows))[self._task_of == task], self.block_rows[self._task_of == task]
        ):
            raise ValueError("a block has not the rows that the plan counted: the input changed since, or rows were lost")
        order = np.lexsort((rows.sorted_by_hash().argsort(), block))
        classes = np.empty(len(rows), dtype=np.int64)
        ends = np.append(np.flatnonzero(np.diff(block[order])) + 1, len(rows))
        first_class = np.cumsum(self.block_rows) - self.block_rows  # a block has no more classes than rows
        for start, end in zip(np.append(0, ends[:-1]), ends, strict=True):
            places = order[start:end]
            classes[places] = first_class[block[places[0]]] + put_into_classes(self.dense, rows.take(places))
        return np.arange(len(rows)), classes

    def to_json(self) -> dict[str, Any]:
        """See Plan."""
        arrays = {name: value.tolist() for name, value in self.splits._asdict().items() if name != "leaves"}
        return {
            "tasks": self.tasks,
            "blocks": len(self.block_rows),
            "splits": {**arrays, "leaves": self.splits.leaves},
            "codes": [known.tolist() for known in self.codes],
            "block_of": self.block_of.tolist(),
            "block_rows": self.block_rows.tolist(),
            "first_block": self.first_block.tolist(),
        }

    @staticmethod
    def from_json(tree: Mapping[str, Any], dense: Dense) -> ClosenessTreePlan:
        """The plan that `to_json` wrote."""
        cells = len(dense.profile.cells)
        kinds = {name: value.dtype for name, value in no_splits(1, cells)._asdict().items() if name != "leaves"}
        nodes = len(tree["splits"]["quasi"])
        shapes = {name: (nodes, cells) if name in ("cut", "share") else (nodes,) for name in kinds}
        arrays = {name: np.array(tree["splits"][name], dtype=kind).reshape(shapes[name]) for name, kind in kinds.items()}
        return ClosenessTreePlan(
            dense,
            Splits(**arrays, leaves=tree["splits"]["leaves"]),
            tuple(np.array(known, dtype=np.int64) for known in tree["codes"]),
            *(np.array(tree[name], dtype=np.int64) for name in ("block_of", "block_rows", "first_block")),
        )


def leaf_of(rows: Rows, splits: Splits, codes: tuple[IntArray, ...]) -> IntArray:
    """The leaf of each row, shape (n,). A code that the sample lacks goes where the next one goes."""
    near = [np.minimum(np.searchsorted(known, column), len(known) - 1) for known, column in zip(codes, rows.quasi, strict=True)]
    quasi = np.ascontiguousarray(np.stack(near, axis=1), dtype=np.int32)
    return route(splits, quasi, rows.cell.astype(np.int32), rows.hash)


def put_into_classes(dense: Dense, rows: Rows) -> IntArray:
    """The class of each row of a block, shape (n,), from 0. The rows are in the order of their content."""
    method = dense.spec.method
    assert isinstance(method, ClosenessTree)
    block, _ = dense.block(rows)
    sweeps, anneal = EFFORTS.get(str(method.effort), (method.effort, 0))
    return exchange(block, grow(block), int(sweeps), int(anneal), SEED)


def make_plan(
    problem: Problem, counts: GroupCounts, rows_per_block: int = ROWS_PER_BLOCK, rows_per_task: int = ROWS_PER_TASK
) -> ClosenessTreePlan:
    """Plans the closeness tree.

    Raises:
        ConfigurationError: if an l is asked that it does not make.
        UnreachableError: if even the whole table does not hold what is asked.
    """
    dense = Dense(problem.spec, problem.profile, problem.hierarchies)
    _require_reachable(dense)
    cells, rows = len(problem.profile.cells), problem.profile.rows
    block, codes = dense.block(problem.sample)
    splits = no_splits(0, cells)
    scale = rows / len(problem.sample)
    if rows > rows_per_block:
        stop = max(int(rows_per_block / scale), rows * cells // MOST_COUNTS, 2 * problem.spec.privacy.k)
        splits, _ = grow_plan(block, stop=stop, scale=scale, least=max(stop // 8, 1), ceiling=CEILING)
    found = counts(lambda part: leaf_of(part, splits, tuple(codes)) * cells + part.cell, splits.leaves * cells).reshape(-1, cells)
    block_of = merge_until_they_hold(dense, splits, found)
    block_rows = np.zeros(int(block_of.max()) + 1, dtype=np.int64)
    np.add.at(block_rows, block_of, found.sum(axis=1))
    return ClosenessTreePlan(dense, splits, tuple(codes), block_of, block_rows, _first_blocks(block_rows, rows_per_task))


def _require_reachable(dense: Dense) -> None:
    k, rows = dense.spec.privacy.k, dense.profile.rows
    if rows < k:
        raise UnreachableError(f"privacy.k is {k}, but the table has {rows} rows; no class of {k} can be made")
    for domain in dense.profile.sensitive:
        asked = dense.spec.attributes.sensitive_attributes[domain.name].l
        key = f"attributes.sensitive_attributes.{domain.name}.l"
        if asked.entropy is not None or asked.recursive is not None:
            raise ConfigurationError(f"{key}: the closeness tree makes distinct l only; use method: {{name: stack_and_deal}}")
        present = sum(n > 0 for n in domain.counts)
        if (asked.distinct or 1) > present:
            raise UnreachableError(f"{key}.distinct is {asked.distinct}, but the whole table has {present} values")


def merge_until_they_hold(dense: Dense, splits: Splits, counts: IntArray) -> IntArray:
    """The block of each leaf, shape (leaves,): leaves, in the tree's order, merged with near ones until each block holds what is asked.

    counts: rows of each leaf by cell, shape (leaves, cells), of the whole table. Exact.
    """
    if not len(splits.quasi):
        return np.zeros(1, dtype=np.int64)
    groups = _merged(dense, splits, counts, 0)
    block_of = np.empty(splits.leaves, dtype=np.int64)
    for number, leaves in enumerate(groups):
        block_of[leaves] = number
    return block_of


def _merged(dense: Dense, splits: Splits, counts: IntArray, node: int) -> list[list[int]]:
    """The leaves under a node in groups that hold, or in one group."""
    groups = []
    for child in (int(splits.left[node]), int(splits.right[node])):
        groups += _merged(dense, splits, counts, child) if child >= 0 else [[-1 - child]]
    place = 0
    while place < len(groups) and len(groups) > 1:
        if holds(dense, counts[groups[place]].sum(axis=0)):
            place += 1
            continue
        other = place - 1 if place else 1
        first = min(place, other)
        groups[first : first + 2] = [groups[first] + groups[first + 1]]
        place = first
    return groups


def holds(dense: Dense, cells: IntArray) -> bool:
    """Whether rows with these counts of each cell, shape (cells,), hold all that is asked of a class. Exact."""
    size = int(cells.sum())
    if size < dense.spec.privacy.k:
        return False
    for i, (domain, distance) in enumerate(zip(dense.profile.sensitive, dense.distances, strict=True)):
        asked = dense.spec.attributes.sensitive_attributes[domain.name]
        values = np.zeros(len(domain.counts), dtype=np.int64)
        np.add.at(values, dense.profile.cell_codes[:, i], cells)
        if np.count_nonzero(values) < (asked.l.distinct or 1):
            return False
        if asked.t is not None:
            numerator = int(distance.numerators(Histograms.dense(values[None, :]))[0])
            if asked.t.denominator * numerator > asked.t.numerator * distance.scale * dense.profile.rows * size:
                return False
    return True


def _first_blocks(block_rows: IntArray, rows_per_task: int) -> IntArray:
    """The first block of each task: whole blocks, in order, of about so many rows together."""
    task = (np.cumsum(block_rows) - block_rows) // rows_per_task
    return np.flatnonzero(np.diff(task, prepend=-1))
