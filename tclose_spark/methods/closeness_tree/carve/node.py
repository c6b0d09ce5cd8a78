"""What the growing of a tree works on: a node, the rules for all nodes, the best split so far, and room to work in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose_spark.kernels.structures import structure
from tclose_spark.kernels.widths import LabelWidths
from tclose_spark.methods.blocks.requirement import Requirement
from tclose_spark.methods.closeness_tree.carve.goal import Goal, Scratch
from tclose_spark.methods.closeness_tree.carve.regions import Present, Regions
from tclose_spark.table.arrays import Codes, FloatArray, IntArray

NOTHING, REGION, HALVES = 0, 1, 2
"""Kinds of `Split`."""


@structure
class Schedule(NamedTuple):
    """How the closeness ratio is spent, and where growth ends: `Growth`, as numbers for kernels.

    slack: the part of the ratio that is kept back for each halving still to come.
    scale: rows of the table for each row of the block.
    stop: nodes of at most so many rows are not split.
    most: nodes of more rows are halved where nothing splits them; 0: never.
    ceiling: the largest ratio of a side.
    """

    slack: float
    scale: float
    stop: int
    most: int
    ceiling: float


@structure
class TreeRules(NamedTuple):
    """What holds for all nodes.

    widths: of labels.
    requirement: what both sides of a split must hold, exactly.
    goal: the same in floats, over cells that differ in their bins.
    merged: which of these each cell of the requirement is, shape (cells,).
    exact: the requirement's cell of each row, by its number, shape (rows,).
    schedule: how far growth goes.
    buckets: of every cell of the goal, for aligned halves, shape (levels, cells).
    least: rows of the smallest side worth trying.
    price: what a unit of closeness ratio costs, in bits.
    surely: the share of a limit at which integers hardly ever refuse what floats pass.
    """

    widths: LabelWidths
    requirement: Requirement
    goal: Goal
    merged: IntArray
    exact: Codes
    schedule: Schedule
    buckets: IntArray
    least: int
    price: float
    surely: float


@structure
class TreeWorkspace(NamedTuple):
    """Arrays to work in, made once for a block.

    present: codes of the node.
    regions: those proposed.
    scratch: of `Goal`.
    excess: of the exact test, shape (largest domain,).
    tally: zero between uses, shape (longest domain,).
    part: rows of the part that is tried, by the node's cells, shape (cells of the goal,).
    take: those of the best part so far, shape (cells of the goal,).
    whole: the node's rows by value, shape (attributes, values).
    inside: those of the part that is tried, shape (attributes, values).
    outside: those of the rest, shape (attributes, values).
    order: rows sorted by a quasi-identifier, shape (rows,).
    ordered: `Node.cell` in the order of each quasi-identifier, shape (q, rows).
    is_ordered: for which quasi-identifiers `ordered` is the node's, shape (q,).
    left: which rows go left, shape (rows,).
    other: rows that go right, on their way, shape (rows,).
    cell: `Node.cell`, shape (rows,).
    cells: `Node.cells`, shape (cells,).
    quota: rows of each cell, or bucket, that may still go left, shape (cells,).
    counted: rows of each cell of the requirement in the region, where a split is written down, shape (cells,).
    taken: those of them that go left, shape (cells,).
    sides: rows of both sides by value, for the exact test, shape (2, attributes, values).
    """

    present: Present
    regions: Regions
    scratch: Scratch
    excess: IntArray
    tally: IntArray
    part: FloatArray
    take: FloatArray
    whole: FloatArray
    inside: FloatArray
    outside: FloatArray
    order: IntArray
    ordered: Codes
    is_ordered: NDArray[np.bool_]
    left: NDArray[np.bool_]
    other: Codes
    cell: IntArray
    cells: IntArray
    quota: IntArray
    counted: FloatArray
    taken: FloatArray
    sides: IntArray


class TreeNode(NamedTuple):
    """Some rows of the block.

    rows: of the whole block: codes of each quasi-identifier, the goal's cell, the row's number; shape (q + 2, n).
    start: the node's are start..end-1.
    end: see start.
    cells: the cells that occur, ascending.
    cell: the place in them of each of its rows' cell, shape (end - start,).
    ratio: its closeness ratio.
    """

    rows: Codes
    start: int
    end: int
    cells: IntArray
    cell: IntArray
    ratio: float


class Split(NamedTuple):
    """A split of a node.

    score: what it is worth; see `search.rate`.
    kind: NOTHING, REGION or HALVES.
    j: the quasi-identifier.
    first: the lowest code of the region.
    last: the highest.
    level: the buckets of aligned halves, else -1.
    """

    score: float
    kind: int
    j: int
    first: int
    last: int
    level: int
