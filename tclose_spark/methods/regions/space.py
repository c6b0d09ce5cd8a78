"""What the cutting of a block works on: rules for all its parts, and room to work in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose_spark.kernels.structures import structure
from tclose_spark.kernels.widths import LabelWidths
from tclose_spark.methods.blocks.holding import work_space
from tclose_spark.methods.blocks.requirement import Requirement
from tclose_spark.methods.regions.axes import Axes
from tclose_spark.methods.regions.block import RegionBlock
from tclose_spark.table.arrays import Codes, FloatArray, IntArray

MEDIAN, BEST = 0, 1
"""Ways to choose a split: at the median of the widest quasi-identifier that allows it, or the best score of all."""


@structure
class Way(NamedTuple):
    """How a part is split; of BEST in one or several ways.

    choice: MEDIAN or BEST.
    price: bits that a unit of closeness ratio costs, shape (ways,).
    slack: the part of the ratio that is kept back for each halving still to come, shape (ways,).
    ceiling: the largest closeness ratio of a part.
    scale: rows of the table for each row of the block.
    stop: parts of at most so many rows are not split.
    cuts: of numbers, at most about so many are tried (BEST).
    """

    choice: int
    price: FloatArray
    slack: FloatArray
    ceiling: float
    scale: float
    stop: int
    cuts: int


@structure
class CutRules(NamedTuple):
    """What holds for all parts of a block.

    columns: dense codes of each quasi-identifier, shape (q, n).
    cell: each row's tuple of sensitive values, shape (n,).
    """

    columns: Codes
    cell: Codes
    widths: LabelWidths
    axes: Axes
    requirement: Requirement
    way: Way


@structure
class CutWorkspace(NamedTuple):
    """Arrays to work in, made once for a block.

    codes: the codes that occur in a part, ascending, of each quasi-identifier, shape (q, most).
    below: rows of the part with the codes before, shape (q, most + 1).
    length: how many codes occur, shape (q,).
    order: places of the part's rows in the order of each quasi-identifier's codes, shape (q, n).
    keys: to sort by, shape (n,).
    moved: row numbers on their way, shape (n,).
    tally: zero between uses, shape (longest domain,).
    starts: where the children of a split begin among its codes, and their number of codes last, shape (most + 1,).
    whole, inside, outside: rows by sensitive value, shape (attributes, values).
    excess: of the exact test, shape (largest domain,).
    splits: the best ones of a part, best first: quasi-identifier and place of the cut, shape (pilots, 2).
    scores: of them, shape (pilots,).
    tried: the best split that was tried to the end, then those that are to be, shape (pilots + 1, 2).
    ends: where the children of a split begin among its rows, shape (most + 1,).
    banned: quasi-identifiers that a part is not divided by, shape (q,).
    """

    codes: IntArray
    below: IntArray
    length: IntArray
    order: IntArray
    keys: IntArray
    moved: IntArray
    tally: IntArray
    starts: IntArray
    whole: IntArray
    inside: IntArray
    outside: IntArray
    excess: IntArray
    splits: IntArray
    scores: FloatArray
    tried: IntArray
    ends: IntArray
    banned: NDArray[np.bool_]


def rules_of(block: RegionBlock, way: Way) -> CutRules:
    """The rules of a block."""
    columns = np.ascontiguousarray(block.quasi.T)
    return CutRules(columns, block.cell, block.widths, block.axes, block.requirement, way)


def space_of(block: RegionBlock, pilots: int) -> CutWorkspace:
    """Room to work in with a block, of which the best `pilots` splits of a part are kept."""
    n, q = block.quasi.shape
    longest = int(block.widths.domains.max())
    most = min(longest, n)
    values = block.requirement.tables.shape
    return CutWorkspace(
        codes=np.zeros((q, most), np.int64),
        below=np.zeros((q, most + 1), np.int64),
        length=np.zeros(q, np.int64),
        order=np.zeros((q, n), np.int64),
        keys=np.zeros(n, np.int64),
        moved=np.zeros(n, np.int64),
        tally=np.zeros(longest + 1, np.int64),
        starts=np.zeros(most + 1, np.int64),
        whole=np.zeros(values, np.int64),
        inside=np.zeros(values, np.int64),
        outside=np.zeros(values, np.int64),
        excess=work_space(block.requirement),
        splits=np.zeros((pilots, 2), np.int64),
        scores=np.zeros(pilots),
        tried=np.zeros((pilots + 1, 2), np.int64),
        ends=np.zeros(most + 1, np.int64),
        banned=np.zeros(q, np.bool_),
    )


def best_way(prices: Sequence[float], slacks: Sequence[float], cuts: int) -> Way:
    """A way, or several, that takes the best score."""
    return Way(
        choice=BEST,
        price=np.array(prices, dtype=np.float64),
        slack=np.array(slacks, dtype=np.float64),
        ceiling=1.0,
        scale=1.0,
        stop=0,
        cuts=cuts,
    )


def median_way() -> Way:
    """The way of Mondrian."""
    return best_way([0.0], [0.0], 1)._replace(choice=MEDIAN)
