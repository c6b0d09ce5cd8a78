"""The inputs of the kernels that grow a tree: the block with the settings of growth, a node, and
arrays to work in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose_spark.kernels.sorting import PresentCodes
from tclose_spark.kernels.structures import structure
from tclose_spark.kernels.widths import LabelWidths
from tclose_spark.methods.blocks.block import Block, Requirement
from tclose_spark.methods.blocks.holding import work_space
from tclose_spark.methods.closeness_tree.carve.goal import Goal, Scratch, scratch_of
from tclose_spark.methods.closeness_tree.carve.regions import CUTS, Regions
from tclose_spark.table.arrays import Codes, FloatArray, HashArray, IntArray

NOTHING = 0
REGION = 1
HALVES = 2
"""Kinds of `Split`."""
MOST_SINGLES = 50  # regions with at least a fiftieth of the rows each


@structure
class Schedule(NamedTuple):
    """How the closeness ratio is spent and where growth ends: `TreeGrowth` for kernels."""

    slack: float  # the share of the ratio that is reserved for each halving still to come
    scale: float  # rows of the table for each row of the block
    stop: int  # nodes of at most so many rows are not split
    most: int  # larger nodes are halved cell by cell if nothing splits them; 0: never
    ceiling: float  # the largest ratio of a side


@structure
class TreeInputs(NamedTuple):
    """A block and how its tree is grown: the same for all nodes."""

    widths: LabelWidths
    requirement: Requirement  # both sides of a split meet it, exactly
    goal: Goal  # the same in floats, over cells that differ in their bins
    merged: IntArray  # the goal's cell for each cell of the requirement, shape (cells,)
    exact: Codes  # the requirement's cell of each row, by its number, shape (rows,)
    schedule: Schedule
    least: int  # rows of the smallest side worth trying
    smallest: int  # rows of the smallest leaf: at most `least`
    price: float  # bits that a unit of closeness ratio costs
    hashes: HashArray  # of each row, by its number; empty if the tree's splits are not kept
    safe_share: float  # of a limit in floats, within which integers hardly ever refuse a split


@structure
class RoutedSplit(NamedTuple):
    """How a split routes rows by their hashes (see `routing`), by the node's cells. Of a cell,
    the rows in the split's region or at the cell's cut may go left. Those below a cut do.
    """

    cut: IntArray  # the code of the cut, -1 without one, shape (cells,)
    rows: IntArray  # how many may go left, shape (cells,)
    wanted: IntArray  # how many of them should, shape (cells,)
    share: FloatArray  # those do whose chance is below it, shape (cells,)


@structure
class TreeWorkspace(NamedTuple):
    """Arrays to work in, made once for a block. Those marked "goal" are by cell of the goal."""

    present: PresentCodes  # of the node: each quasi-identifier and, last, the cell
    regions: Regions  # candidates of the node
    scratch: Scratch
    excess: IntArray  # for the exact test, shape (largest domain,)
    tally: IntArray  # zero between uses, shape (longest domain,)
    part: FloatArray  # goal: rows of the part that is tried, by the node's cells
    take: FloatArray  # goal: rows of the best part so far, by the node's cells
    whole: FloatArray  # the node's rows by value, shape (attributes, values)
    inside: FloatArray  # those of the part that is tried
    outside: FloatArray  # those of the rest
    order: IntArray  # rows sorted by a quasi-identifier, shape (rows,)
    ordered: (
        Codes  # the place of each row's cell, rows sorted by each quasi-identifier, shape (q, rows)
    )
    # The rows with each of the first 0, 1, ... present codes of a quasi-identifier, by cell, shape
    # (q, rows).
    tables: Codes
    # For which quasi-identifiers one of these two is the node's, shape (q,).
    is_counted: NDArray[np.bool_]
    left: NDArray[np.bool_]  # which rows go left, shape (rows,)
    other: Codes  # rows that go right, on their way, shape (rows,)
    cell: IntArray  # `TreeNode.cell`, shape (rows,)
    cells: IntArray  # goal: `TreeNode.cells`
    quota: IntArray  # goal: rows of each cell that may still go left
    routed: RoutedSplit
    sides: (
        IntArray  # rows of both sides by value, for the exact test, shape (2, attributes, values)
    )


def make_workspace(block: Block, goal: Goal) -> TreeWorkspace:
    """Arrays to grow the tree of a block in."""
    n, q = block.quasi.shape
    cells = len(goal.codes)
    values = goal.target.shape
    longest = max(int(block.widths.domains.max()), cells)
    most = q * (MOST_SINGLES * (block.widths.nodes.shape[1] + 1) + 2 * CUTS + 8)
    room = min(longest, n) + 1
    part, take = np.zeros((2, cells))
    whole, inside, outside = np.zeros((3, *values))
    return TreeWorkspace(
        present=PresentCodes(
            codes=np.zeros((q + 1, room), np.int64),
            below=np.zeros((q + 1, room + 1), np.int64),
            length=np.zeros(q + 1, np.int64),
        ),
        regions=Regions(
            where=np.zeros((most, 3), np.int64),
            inner=np.zeros(most),
            outer=np.zeros(most),
            bound=np.zeros(most),
        ),
        scratch=scratch_of(goal),
        excess=work_space(block.requirement),
        tally=np.zeros(longest, np.int64),
        part=part,
        take=take,
        whole=whole,
        inside=inside,
        outside=outside,
        order=np.zeros(n, np.int64),
        ordered=np.zeros((q, n), np.int32),
        tables=np.zeros((q, n), np.int32),
        is_counted=np.zeros(q, np.bool_),
        left=np.zeros(n, np.bool_),
        other=np.zeros(n, np.int32),
        cell=np.zeros(n, np.int64),
        cells=np.zeros(cells, np.int64),
        quota=np.zeros(cells, np.int64),
        routed=RoutedSplit(
            cut=np.zeros(cells, np.int64),
            rows=np.zeros(cells, np.int64),
            wanted=np.zeros(cells, np.int64),
            share=np.zeros(cells),
        ),
        sides=np.zeros((2, *block.requirement.tables.shape), np.int64),
    )


class TreeNode(NamedTuple):
    """Some rows of the block."""

    rows: Codes  # of the whole block: each quasi-identifier, the goal's cell, the row's number, shape (q + 2, n)
    start: int  # the node has the rows start..end-1
    end: int
    cells: IntArray  # the cells that occur, ascending
    cell: IntArray  # the place among them of each row's cell, shape (end - start,)
    ratio: float  # its closeness ratio


class Split(NamedTuple):
    """A split of a node."""

    score: float  # see `score.rate`
    kind: int  # NOTHING, REGION or HALVES
    j: int  # the quasi-identifier
    first: int  # the lowest code of the region
    last: int  # the highest code of it
