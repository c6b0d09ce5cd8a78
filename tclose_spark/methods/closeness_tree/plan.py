"""The plan of the closeness tree: which rows make a block, by their content alone, and which task finishes it.

The same tree that makes classes is grown on a sample and stopped at the size of a block; a row finds its block by
walking it, and where a node takes only a share of the rows, the row's keyed hash decides. What a sample cannot promise
is made certain by counting: one scan counts every leaf's cells, and leaves that would not hold what is asked are merged
with their nearest relatives until every block does, exactly. The whole table holds it, or there is no plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from tclose_spark.errors import UnreachableError
from tclose_spark.methods.closeness_tree.classes import put_into_classes
from tclose_spark.methods.closeness_tree.dense import Dense
from tclose_spark.methods.closeness_tree.effort import GROWTHS, PLANNED, ROWS_PER_BLOCK, Effort, effort_of
from tclose_spark.methods.closeness_tree.figures import rows_lost
from tclose_spark.methods.closeness_tree.merge import merge
from tclose_spark.methods.closeness_tree.routing_tree import Splits, no_splits, route
from tclose_spark.methods.closeness_tree.tree import Growth, grow
from tclose_spark.methods.method import PlanningInput, PlanReport, Settled, require_rows
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.rows import Rows

MOST_COUNTS = (
    1 << 22
)  # leaves times cells, which the driver and every task hold: aimed at; small leaves make it a few times as many
CEILING = 0.9  # of the load on the sample, so that most leaves hold on full counts too


@dataclass(frozen=True)
class ClosenessTreePlan:
    """See the module. growth: of the plan's tree, and of the blocks' where the effort is one tree. codes: for each
    quasi-identifier the codes that the splits know, ascending. block_of: of each leaf. block_rows: of each block,
    counted. first_block: of each task.
    merges: of leaves that did not hold what is asked.
    """

    dense: Dense
    effort: Effort
    growth: Growth
    splits: Splits
    codes: tuple[IntArray, ...]
    block_of: IntArray
    block_rows: IntArray
    first_block: IntArray
    merges: int = 0

    figures: ClassVar[Mapping[str, Literal["sum", "max"]]] = {
        "rows": "sum",
        "lost_by_tree": "sum",
        "lost": "sum",
        "load": "sum",
        "largest_load": "max",
        "depth": "max",
    }

    @property
    def tasks(self) -> int:
        """See Plan."""
        return len(self.first_block)

    @property
    def blocks(self) -> int:
        """See Plan."""
        return len(self.block_rows)

    @cached_property
    def _task_of(self) -> IntArray:
        """The task of each block."""
        return np.searchsorted(self.first_block, np.arange(self.blocks), side="right") - 1

    def block(self, rows: Rows) -> IntArray:
        """The block of each row, shape (n,): a function of its content."""
        return self.block_of[leaf_of(rows, self.splits, self.codes)]

    def route(self, rows: Rows) -> tuple[IntArray, IntArray]:
        """See Plan."""
        return np.arange(len(rows)), self._task_of[self.block(rows)]

    def settle(self, rows: Rows, task: int) -> Settled:
        """See Plan. Each block of the task is put into classes by itself: tree, then exchange."""
        block = self.block(rows)
        mine = self._task_of == task
        if not np.array_equal(np.bincount(block, minlength=self.blocks)[mine], self.block_rows[mine]):
            raise ValueError(
                "a block has not the rows that the plan counted: the input changed since, or rows were lost"
            )
        order = np.lexsort((rows.sorted_by_hash().argsort(), block))
        classes = np.empty(len(rows), dtype=np.int64)
        ends = np.cumsum(self.block_rows[mine])
        figures: list[Mapping[str, float]] = []
        first_class = np.cumsum(self.block_rows) - self.block_rows  # a block has no more classes than rows
        for number, start, end in zip(np.flatnonzero(mine), ends - self.block_rows[mine], ends, strict=True):
            places = order[start:end]
            block_of_rows, _ = self.dense.block(rows.take(places))
            found, seen = put_into_classes(block_of_rows, self.growth, self.effort)
            classes[places] = first_class[number] + found
            figures.append(seen)
        return Settled(np.arange(len(rows)), classes, blocks=len(figures), figures=self._together(figures))

    def _together(self, figures: Sequence[Mapping[str, float]]) -> dict[str, float]:
        """The figures of several blocks as one."""
        return {
            name: sum(seen[name] for seen in figures) if how == "sum" else max(seen[name] for seen in figures)
            for name, how in self.figures.items()
        }

    def describe(self, figures: Mapping[str, float]) -> dict[str, Any]:
        """See Plan."""
        rows = figures["rows"]
        return {
            "blocks": self.blocks,
            "tasks": self.tasks,
            "ncp_before_exchange": round(figures["lost_by_tree"] / rows, 6),
            "ncp": round(figures["lost"] / rows, 6),
            "mean_load": round(figures["load"] / rows, 6),
            "largest_load": round(figures["largest_load"], 6),
            "depth": int(figures["depth"]),
            "depth_of_plan": self.depth,
        }

    @cached_property
    def depth(self) -> int:
        """Splits above the deepest leaf of the plan."""
        deep = np.zeros(len(self.splits.quasi) + 1, dtype=np.int64)
        for node in range(len(self.splits.quasi)):  # children have higher numbers
            for child in (self.splits.left[node], self.splits.right[node]):
                deep[child if child >= 0 else -1] = max(deep[node] + 1, deep[child] if child >= 0 else deep[-1])
        return int(deep[-1])

    def to_json(self) -> dict[str, Any]:
        """See Plan."""
        arrays = {name: value.tolist() for name, value in self.splits._asdict().items() if name != "leaves"}
        return {
            "merges": self.merges,
            "growth": {"beta": self.growth.beta, "price": self.growth.price},
            "splits": {**arrays, "leaves": self.splits.leaves},
            "codes": [known.tolist() for known in self.codes],
            "block_of": self.block_of.tolist(),
            "block_rows": self.block_rows.tolist(),
            "first_block": self.first_block.tolist(),
        }

    def report(self) -> PlanReport:
        """See Plan."""
        return PlanReport(
            figures={"blocks": self.blocks, "tasks": self.tasks, "merges": self.merges},
            note=(
                f"blocks: {self.blocks:,} of up to {int(self.block_rows.max()):,} rows, tasks: {self.tasks:,} (leaves "
                f"of the tree on the sample: {self.splits.leaves:,}; merged, since they did not hold on full counts: "
                f"{self.merges:,})"
            ),
        )

    @staticmethod
    def from_json(tree: Mapping[str, Any], dense: Dense, effort: Effort) -> ClosenessTreePlan:
        """The plan that `to_json` wrote."""
        cells = len(dense.attributes.cells)
        kinds = {name: value.dtype for name, value in no_splits(1, cells)._asdict().items() if name != "leaves"}
        nodes = len(tree["splits"]["quasi"])
        shapes = {name: (nodes, cells) if name in ("cut", "share") else (nodes,) for name in kinds}
        arrays = {
            name: np.array(tree["splits"][name], dtype=kind).reshape(shapes[name]) for name, kind in kinds.items()
        }
        return ClosenessTreePlan(
            dense,
            effort,
            Growth(**tree["growth"]),
            Splits(**arrays, leaves=tree["splits"]["leaves"]),
            tuple(np.array(known, dtype=np.int64) for known in tree["codes"]),
            block_of=np.array(tree["block_of"], dtype=np.int64),
            block_rows=np.array(tree["block_rows"], dtype=np.int64),
            first_block=np.array(tree["first_block"], dtype=np.int64),
            merges=tree["merges"],
        )


def leaf_of(rows: Rows, splits: Splits, codes: tuple[IntArray, ...]) -> IntArray:
    """The leaf of each row, shape (n,). A code that the sample lacks goes where the next one goes."""
    near = [
        np.minimum(np.searchsorted(known, column), len(known) - 1)
        for known, column in zip(codes, rows.quasi, strict=True)
    ]
    quasi = np.ascontiguousarray(np.stack(near, axis=1), dtype=np.int32)
    return route(splits, quasi, rows.cell.astype(np.int32), rows.hash)


def make_plan(
    given: PlanningInput, rows_per_block: int | None = None, rows_per_task: int | None = None
) -> ClosenessTreePlan:
    """Plans the closeness tree. rows_per_block: of most blocks, at most, by default ROWS_PER_BLOCK; rows_per_task:
    about, by default what the effort says.

    Raises:
        UnreachableError: if even the whole table does not hold what is asked.
    """
    dense = Dense(given.attributes, given.k)
    rows_per_block = rows_per_block or ROWS_PER_BLOCK
    require_reachable(dense)
    cells, rows = len(given.attributes.cells), given.attributes.rows
    sample, codes = dense.block(given.sample.take(np.arange(min(len(given.sample), max(dense.most_rows, 1)))))
    scale = rows / len(sample.cell)
    effort, growth, splits = effort_of(given.settings), GROWTHS[0], no_splits(0, cells)
    if rows > rows_per_block or effort.trees == 1:
        growth = min(GROWTHS[:PLANNED], key=lambda way: rows_lost(sample, grow(sample, replace(way, scale=scale)).leaf))
    found = given.attributes.cell_rows[None, :]
    if rows > rows_per_block:
        stop = max(int(rows_per_block / scale), len(sample.cell) * cells // MOST_COUNTS, 2 * given.k)
        way = replace(
            growth, scale=scale, stop=stop, most=2 * stop, least=max(stop // 8, 1), ceiling=CEILING, keep_splits=True
        )
        splits = grow(sample, way).splits
        found = given.counts(
            lambda part: leaf_of(part, splits, tuple(codes)) * cells + part.cell, splits.leaves * cells
        ).reshape(-1, cells)
    block_of, needed = merge(dense, splits, found, rows_per_block)
    block_rows = np.zeros(int(block_of.max()) + 1, dtype=np.int64)
    np.add.at(block_rows, block_of, found.sum(axis=1))
    dense.require_room(int(block_rows.max()))
    first_block = _first_blocks(block_rows, rows_per_task or effort.rows_per_task)
    return ClosenessTreePlan(dense, effort, growth, splits, tuple(codes), block_of, block_rows, first_block, needed)


def require_reachable(dense: Dense) -> None:
    """Raises what `make_plan` says."""
    require_rows(dense.k, dense.attributes.rows)
    for a in dense.attributes.sensitive:
        key = f"attributes.sensitive_attributes.{a.name}.l"
        present = sum(n > 0 for n in a.domain.counts)
        if (a.l.distinct or 1) > present:
            raise UnreachableError(f"{key}.distinct is {a.l.distinct}, but the whole table has {present} values")


def _first_blocks(block_rows: IntArray, rows_per_task: int) -> IntArray:
    """The first block of each task: whole blocks, in order, of about so many rows together."""
    task = (np.cumsum(block_rows) - block_rows) // rows_per_task
    return np.flatnonzero(np.diff(task, prepend=-1))
