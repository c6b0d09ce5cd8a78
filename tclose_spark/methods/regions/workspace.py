"""The inputs of the kernels that cut a block: the block with the rule for splits, and arrays to
work in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose_spark.kernels.sorting import PresentCodes
from tclose_spark.kernels.structures import structure
from tclose_spark.kernels.widths import LabelWidths
from tclose_spark.methods.blocks.block import Requirement
from tclose_spark.methods.blocks.holding import work_space
from tclose_spark.methods.regions.block import Axes, RegionBlock
from tclose_spark.table.arrays import Codes, FloatArray, IntArray


@structure
class SplitRule(NamedTuple):
    """How a part is split. The score of a split is the width that it gains for each bit."""

    ceiling: float  # the largest closeness ratio of a part
    stop: int  # parts of at most so many rows are not split
    cuts: int  # at most about so many cuts of a numeric quasi-identifier are considered; 0: the one nearest the median
    tries: int  # so many splits of a part are tried, at most
    each: int  # so many of one quasi-identifier


@structure
class CutInputs(NamedTuple):
    """A block and how it is cut: the same for all its parts."""

    columns: Codes  # dense codes of each quasi-identifier, shape (q, n)
    cell: Codes  # each row's cell, shape (n,)
    widths: LabelWidths
    axes: Axes
    requirement: Requirement
    rule: SplitRule
    keys: IntArray  # a random number for each row; the sum identifies a part, shape (n,)


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
    splits: IntArray  # the best splits of a part: quasi-identifier and place of the cut, shape (tries, 2)
    scores: FloatArray  # their scores, descending, shape (tries,)
    # Quasi-identifiers by which the whole block is not divided, shape (q,).
    banned: NDArray[np.bool_]


def make_inputs(block: RegionBlock, rule: SplitRule) -> CutInputs:
    """The block as the kernels take it."""
    columns = np.ascontiguousarray(block.quasi.T)
    keys = np.random.default_rng(0).integers(1 << 63, size=len(block.cell))
    return CutInputs(columns, block.cell, block.widths, block.axes, block.requirement, rule, keys)


def make_workspace(block: RegionBlock, rule: SplitRule) -> CutWorkspace:
    """Arrays to cut a block with."""
    n, q = block.quasi.shape
    longest = int(block.widths.domains.max())
    most = min(longest, n)
    whole, inside, outside = np.zeros((3, *block.requirement.tables.shape), np.int64)
    keys, moved = np.zeros((2, n), np.int64)
    starts, ends = np.zeros((2, most + 1), np.int64)
    return CutWorkspace(
        present=PresentCodes(
            codes=np.zeros((q, most), np.int64),
            below=np.zeros((q, most + 1), np.int64),
            length=np.zeros(q, np.int64),
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
        splits=np.zeros((rule.tries, 2), np.int64),
        scores=np.zeros(rule.tries),
        banned=np.zeros(q, np.bool_),
    )


def split_rule(cuts: int, tries: int, each: int) -> SplitRule:
    """The rule for a whole table. Arguments: see SplitRule."""
    return SplitRule(ceiling=1.0, stop=0, cuts=cuts, tries=tries, each=each)
