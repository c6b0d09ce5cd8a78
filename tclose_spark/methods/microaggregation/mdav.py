"""Algorithms 1 and 2: MDAV, and MDAV whose classes are refined while they are formed.

MDAV (Domingo-Ferrer and Torra 2005; Weber, 2.3.3): the row that is farthest from the average of the
remaining rows forms a class with its k - 1 nearest rows. Then the row that is farthest from that
one does the same. This is repeated while 2 k rows remain; the last ones are a class.

Algorithm 2 (Soria-Comas et al. 2015; Weber, 2.3.3) refines each class. While the class does not
hold, the nearest row outside that was not tried yet replaces the member whose exchange brings the
class nearest to the table, if any does. Members that leave are free for later classes. Classes that
do not hold at the end are merged (see `methods.even_blocks`).

Only the cell (tuple of sensitive values) of a row decides whether it helps. So the nearest row of
each cell is tried, and no other until the class has changed: the paper's walk without its idle
steps. After MOST_TRIED cells in a row that do not help, or fewer if each trial takes long, a class
stays as it is. With hundreds of values, the walk is shorter than the paper's.

The rows without a class, and MDAV's seeds among them (Domingo-Ferrer and Torra 2005).

The distance of two rows is the mean width of the labels that would cover both. For a number it is
the difference, as a share of the range; with a hierarchy, the share of values below the lowest
common node; without one, 0 or 1. Rows are therefore near if publishing them together loses little.
The papers use normalised Euclidean distances of numbers only.

The average row has the mean of each number and the most frequent value of each category. Among
equal rows the first one counts, in the order of the block, which follows from content.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.kernels.structures import structure
from tclose_spark.kernels.widths import NUMBER, LabelWidths, width
from tclose_spark.methods.blocks.block import Block, Requirement
from tclose_spark.methods.blocks.holding import add_cell, closeness_ratio, holds, work_space
from tclose_spark.methods.dealing.nearest import keep_near
from tclose_spark.table.arrays import Codes, FloatArray, IntArray

# Cells in a row that do not help.
MOST_TRIED = 200
LEAST_TRIED = 8
MOST_WORK = 1_000_000  # values of classes that are read for these: cells times members times values
BEYOND = 1e300  # farther than any row


@structure
class Candidates(NamedTuple):
    """A class in refinement, and the rows that may enter it.

    cell: of each row, shape (n,).
    tried: the most cells in a row that do not help; 0 for no refinement.
    members: shape (k,).
    near: their distances when they were chosen, shape (k,).
    far: of each cell, the distance of its nearest untried row, BEYOND if there is none, shape
        (cells,).
    place: of that row in the pool, shape (cells,).
    counts, excess: the class's rows by value, and work space of `holds`.
    """

    cell: Codes
    tried: int
    members: IntArray
    near: FloatArray
    far: FloatArray
    place: IntArray
    counts: IntArray
    excess: IntArray


def microaggregate(block: Block, refined: bool = False) -> IntArray:
    """The class of each row of a block, from 0, shape (n,): of k rows each, the last one of up to 2
    k - 1. Classes need not hold. refined: Algorithm 2.
    """
    requirement = block.requirement
    k = requirement.k
    cells = len(requirement.codes)
    tried = (
        min(max(MOST_WORK // (k * int(requirement.domains.sum())), LEAST_TRIED), MOST_TRIED)
        if refined
        else 0
    )
    candidates = Candidates(
        cell=block.cell,
        tried=tried,
        members=np.zeros(k, dtype=np.int64),
        near=np.zeros(k),
        far=np.zeros(cells),
        place=np.zeros(cells, dtype=np.int64),
        counts=np.zeros(requirement.tables.shape, dtype=np.int64),
        excess=work_space(requirement),
    )
    pool = all_unassigned(block)
    _microaggregate(pool, block.quasi, block.widths, requirement, candidates)
    return pool.class_of


@kernel
def _microaggregate(
    pool: UnassignedRows,
    quasi: Codes,
    widths: LabelWidths,
    requirement: Requirement,
    candidates: Candidates,
) -> None:
    """Fills `class_of`."""
    k = requirement.k
    members = candidates.members
    left = len(pool.rows)
    number = 0
    opposite = False
    while left >= 2 * k:
        if not opposite:
            measure_from_average(pool, left, quasi, widths)
        measure_from(farthest(pool, left), pool, left, quasi, widths)
        held = 0
        for i in range(left):
            held = keep_near(pool.far[i], pool.rows[i], held, k, candidates.near, members)
        for i in range(k):
            pool.class_of[members[i]] = number
        if candidates.tried > 0:
            _refine(pool, left, number, requirement, candidates)
        left = remove_classed(pool, left, quasi)
        number = number + 1
        opposite = not opposite
    for i in range(left):
        pool.class_of[pool.rows[i]] = number


@kernel
def _refine(
    pool: UnassignedRows,
    left: int,
    number: int,
    requirement: Requirement,
    candidates: Candidates,
) -> None:
    """Exchanges members until the class holds or no trial helps; assigns their class."""
    cell = candidates.cell
    members = candidates.members
    counts = candidates.counts
    k = requirement.k
    counts[:] = 0
    for i in range(k):
        add_cell(counts, cell[members[i]], 1, requirement)
    ratio = closeness_ratio(counts, k, requirement, candidates.excess)
    tried_far = -1.0
    tried_place = -1
    while not holds(counts, k, requirement, candidates.excess):
        _find_nearest_of_each_cell(pool, left, tried_far, tried_place, candidates)
        incoming = -1
        leaving = -1
        for _ in range(candidates.tried):
            incoming = _nearest_cell(candidates)
            if incoming < 0:
                return
            leaving, ratio_then = _best_leaving(incoming, ratio, requirement, candidates)
            if leaving >= 0:
                ratio = ratio_then
                break
            candidates.far[incoming] = BEYOND
        if leaving < 0:
            return
        tried_far = candidates.far[incoming]
        tried_place = candidates.place[incoming]
        row = pool.rows[tried_place]
        gone = members[leaving]
        pool.class_of[gone] = -1
        pool.class_of[row] = number
        add_cell(counts, cell[gone], -1, requirement)
        add_cell(counts, cell[row], 1, requirement)
        members[leaving] = row


@kernel
def _find_nearest_of_each_cell(
    pool: UnassignedRows,
    left: int,
    tried_far: float,
    tried_place: int,
    candidates: Candidates,
) -> None:
    """Fills `far` and `place` with the rows without a class that come after the one tried last."""
    cell = candidates.cell
    candidates.far[:] = BEYOND
    for i in range(left):
        far = pool.far[i]
        row = pool.rows[i]
        if pool.class_of[row] >= 0 or far < tried_far or (far == tried_far and i <= tried_place):
            continue
        if far < candidates.far[cell[row]]:
            candidates.far[cell[row]] = far
            candidates.place[cell[row]] = i


@kernel
def _nearest_cell(candidates: Candidates) -> int:
    """The cell with the nearest row, the first in the pool of equally near ones; -1 if no row is
    left.
    """
    best = -1
    least = BEYOND
    for c in range(len(candidates.far)):
        far = candidates.far[c]
        if far < least:
            best = c
            least = far
        elif best >= 0 and far == least and candidates.place[c] < candidates.place[best]:
            best = c
    return best


@kernel
def _best_leaving(
    incoming: int,
    ratio: float,
    requirement: Requirement,
    candidates: Candidates,
) -> tuple[int, float]:
    """(the place of the member whose replacement by a row of this cell brings the class nearest to
    the table, -1 if none is below `ratio`; the closeness ratio then).
    """
    cell = candidates.cell
    members = candidates.members
    counts = candidates.counts
    best = -1
    add_cell(counts, incoming, 1, requirement)
    for i in range(len(members)):
        if cell[members[i]] == incoming:
            continue
        add_cell(counts, cell[members[i]], -1, requirement)
        then = closeness_ratio(counts, len(members), requirement, candidates.excess)
        add_cell(counts, cell[members[i]], 1, requirement)
        if then < ratio:
            best = i
            ratio = then
    add_cell(counts, incoming, -1, requirement)
    return best, ratio


@structure
class UnassignedRows(NamedTuple):
    """Rows without a class: the first `left` ones of `rows`, in order.

    rows: shape (n,).
    far: the distance of each of `rows` from the seed, in sums of widths, shape (n,).
    counts: the remaining rows with each code, shape (q, longest domain).
    reach: the width of the label from a seed's code to each code, shape (q, longest domain).
    class_of: the class of each row, or -1, shape (n,).
    """

    rows: IntArray
    far: FloatArray
    counts: IntArray
    reach: FloatArray
    class_of: IntArray


def all_unassigned(block: Block) -> UnassignedRows:
    """All rows of a block, without a class."""
    n, q = block.quasi.shape
    longest = block.widths.place.shape[1]
    counts = [np.bincount(column, minlength=longest) for column in block.quasi.T]
    return UnassignedRows(
        rows=np.arange(n, dtype=np.int64),
        far=np.zeros(n),
        counts=np.array(counts),
        reach=np.zeros((q, longest)),
        class_of=np.full(n, -1, dtype=np.int64),
    )


@kernel
def remove_classed(pool: UnassignedRows, left: int, quasi: Codes) -> int:
    """Removes rows that have a class by now; returns the number of remaining rows."""
    kept = 0
    for i in range(left):
        row = pool.rows[i]
        if pool.class_of[row] < 0:
            pool.rows[kept], pool.far[kept] = row, pool.far[i]
            kept += 1
        else:
            for j in range(quasi.shape[1]):
                pool.counts[j, quasi[row, j]] -= 1
    return kept


@kernel
def farthest(pool: UnassignedRows, left: int) -> int:
    """The first of the remaining rows that are farthest from the last seed (see `measure_from`)."""
    best = 0
    for i in range(1, left):
        if pool.far[i] > pool.far[best]:
            best = i
    return int(pool.rows[best])


@kernel
def measure_from(
    seed: int,
    pool: UnassignedRows,
    left: int,
    quasi: Codes,
    widths: LabelWidths,
) -> None:
    """Fills `far` for a row."""
    for j in range(quasi.shape[1]):
        code = quasi[seed, j]
        for other in range(widths.domains[j]):
            pool.reach[j, other] = width(j, min(code, other), max(code, other), widths)
    _add_up(pool, left, quasi)


@kernel
def measure_from_average(
    pool: UnassignedRows,
    left: int,
    quasi: Codes,
    widths: LabelWidths,
) -> None:
    """Fills `far` for the average of the remaining rows. A missing number is at distance 1."""
    for j in range(quasi.shape[1]):
        if widths.kinds[j] == NUMBER:
            _reach_mean(j, pool, widths)
        else:
            most = 0
            for code in range(widths.domains[j]):
                if pool.counts[j, code] > pool.counts[j, most]:
                    most = code
            for code in range(widths.domains[j]):
                pool.reach[j, code] = width(j, min(code, most), max(code, most), widths)
    _add_up(pool, left, quasi)


@kernel
def _reach_mean(j: int, pool: UnassignedRows, widths: LabelWidths) -> None:
    """Fills `reach` of a number for its mean."""
    first = 1 if widths.missing[j] else 0
    total = 0.0
    rows = 0
    for code in range(first, widths.domains[j]):
        total += pool.counts[j, code] * widths.place[j, code]
        rows += pool.counts[j, code]
    mean = total / max(rows, 1)
    pool.reach[j, 0] = 1.0
    for code in range(first, widths.domains[j]):
        pool.reach[j, code] = abs(widths.place[j, code] - mean)


@kernel
def _add_up(pool: UnassignedRows, left: int, quasi: Codes) -> None:
    """Fills `far` from `reach`."""
    for i in range(left):
        row = pool.rows[i]
        total = 0.0
        for j in range(quasi.shape[1]):
            total += pool.reach[j, quasi[row, j]]
        pool.far[i] = total
