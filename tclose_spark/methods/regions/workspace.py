"""The inputs of the kernels that cut a block: the block with the rule for splits, and arrays to work in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose_spark.kernels.sorting import PresentCodes
from tclose_spark.kernels.structures import structure
from tclose_spark.kernels.widths import LabelWidths
from tclose_spark.methods.blocks.holding import work_space
from tclose_spark.methods.blocks.requirement import Requirement
from tclose_spark.methods.regions.axes import Axes
from tclose_spark.methods.regions.block import RegionBlock
from tclose_spark.table.arrays import Codes, FloatArray, IntArray

MEDIAN, BEST = 0, 1
"""Criteria for a split: at the median of the widest quasi-identifier that allows it, or with the best score of all."""


@structure
class SplitRule(NamedTuple):
    """How a part is split. BEST scores splits in one or several ways, which differ in price and slack."""

    criterion: int  # MEDIAN or BEST
    price: FloatArray  # bits that a unit of closeness ratio costs, shape (scorings,)
    slack: FloatArray  # the share of the ratio that is reserved for each halving still to come, shape (scorings,)
    ceiling: float  # the largest closeness ratio of a part
    scale: float  # rows of the table for each row of the block
    stop: int  # parts of at most so many rows are not split
    cuts: int  # BEST tries at most about so many cuts of a numeric quasi-identifier


@structure
class CutInputs(NamedTuple):
    """A block and how it is cut: the same for all its parts."""

    columns: Codes  # dense codes of each quasi-identifier, shape (q, n)
    cell: Codes  # each row's cell, shape (n,)
    widths: LabelWidths
    axes: Axes
    requirement: Requirement
    rule: SplitRule


@structure
class CutWorkspace(NamedTuple):
    """Arrays to work in, made once for a block."""

    present: PresentCodes  # codes of a part, of each quasi-identifier
    column: Codes  # a quasi-identifier of a part's rows, shape (n,)
    order: IntArray  # places of a part's rows in the order of each quasi-identifier, shape (q, n)
    keys: IntArray  # to sort by, shape (n,)
    moved: IntArray  # row numbers on their way, shape (n,)
    tally: IntArray  # zero between uses, shape (longest domain,)
    starts: IntArray  # where a split's children begin among its codes; last, how many codes, shape (most + 1,)
    ends: IntArray  # where a split's children begin among its rows; last, how many rows, shape (most + 1,)
    whole: IntArray  # a part's rows by sensitive value, shape (attributes, values)
    inside: IntArray  # those on the lower side of a cut
    outside: IntArray  # those of another child
    excess: IntArray  # for the exact test, shape (largest domain,)
    splits: IntArray  # the best splits of a part: quasi-identifier and place of the cut, shape (pilots, 2)
    scores: FloatArray  # their scores, descending, shape (pilots,)
    candidates: IntArray  # the best split after a trial, then those to be tried, shape (pilots + 1, 2)
    banned: NDArray[np.bool_]  # quasi-identifiers by which a part is not divided, shape (q,)


def make_inputs(block: RegionBlock, rule: SplitRule) -> CutInputs:
    """The block as the kernels take it."""
    columns = np.ascontiguousarray(block.quasi.T)
    return CutInputs(columns, block.cell, block.widths, block.axes, block.requirement, rule)


def make_workspace(block: RegionBlock, pilots: int) -> CutWorkspace:
    """Arrays to cut a block with, which keep the best `pilots` splits of a part."""
    n, q = block.quasi.shape
    longest = int(block.widths.domains.max())
    most = min(longest, n)
    whole, inside, outside = np.zeros((3, *block.requirement.tables.shape), np.int64)
    keys, moved = np.zeros((2, n), np.int64)
    starts, ends = np.zeros((2, most + 1), np.int64)
    return CutWorkspace(
        present=PresentCodes(
            codes=np.zeros((q, most), np.int64), below=np.zeros((q, most + 1), np.int64), length=np.zeros(q, np.int64)
        ),
        column=np.zeros(n, np.int32),
        order=np.zeros((q, n), np.int64),
        keys=keys,
        moved=moved,
        tally=np.zeros(longest, np.int64),
        starts=starts,
        ends=ends,
        whole=whole,
        inside=inside,
        outside=outside,
        excess=work_space(block.requirement),
        splits=np.zeros((pilots, 2), np.int64),
        scores=np.zeros(pilots),
        candidates=np.zeros((pilots + 1, 2), np.int64),
        banned=np.zeros(q, np.bool_),
    )


def best_rule(prices: Sequence[float], slacks: Sequence[float], cuts: int) -> SplitRule:
    """The split with the best score, in one or several scorings."""
    price, slack = np.array([prices, slacks], dtype=np.float64)
    return SplitRule(criterion=BEST, price=price, slack=slack, ceiling=1.0, scale=1.0, stop=0, cuts=cuts)


def median_rule() -> SplitRule:
    """The split of Mondrian."""
    return best_rule([0.0], [0.0], 1)._replace(criterion=MEDIAN)
