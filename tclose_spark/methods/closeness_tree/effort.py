"""How much work each effort does. It is counted in work, not in time, so that a run is
reproducible.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tclose_spark.methods.closeness_tree.carve.tree import TreeGrowth
from tclose_spark.methods.closeness_tree.exchange.rounds import FULL, THIN, Annealing
from tclose_spark.methods.closeness_tree.settings import ClosenessTree

RESERVES = (0.2, 0.4, 0.2, 0.2, 0.4, 0.4, 0.0, 0.1, 0.6)
PRICES = (8.0, 4.0, 2.0, 4.0, 8.0, 2.0, 8.0, 4.0, 2.0)
GROWTHS = tuple(
    TreeGrowth(reserve=reserve, price=price)
    for reserve, price in zip(RESERVES, PRICES, strict=True)
)
"""Settings for the growth of a tree, the most often best ones first. Chance in the first splits
decides which is best, so several are tried.
"""
PLANNED = 3  # how many of them are tried on the sample
SMALL_BLOCK = 40_000  # rows; in a block with half as many, twice as many trees reach the next heat
# The most rows of most blocks, of small and large tables.
ROWS_PER_BLOCK = 160_000
MOST_ROWS_PER_BLOCK = 1_280_000
# Rows. Where most blocks have at most ROWS_PER_BLOCK rows, hardly any has more than this.
MIDDLE_BLOCK = 2 * ROWS_PER_BLOCK
BLOCKS = 16  # about, as long as that keeps blocks between these sizes
# Rows of the sample: with fewer, the plan follows chance.
SAMPLED_PER_BLOCK = 25_000
MOST_SAMPLED = 2_000_000


@dataclass(frozen=True, kw_only=True)
class BlockEffort:
    """The work that is done for a block.

    trees: how many are grown; if one, then with the plan's growth.
    trial: sweeps of each tree before trees are compared.
    sweeps: of the exchange in each heat (see `exchange`).
    heats: (how many of the best trees take part, rounds of annealing) of each; the best of the last
        heat is kept.
    annealing: what rounds of annealing leave out.
    """

    trees: int
    trial: int = 4
    sweeps: int
    heats: tuple[tuple[int, int], ...]
    annealing: Annealing = FULL


@dataclass(frozen=True, kw_only=True)
class Effort:
    """What an `effort` of the run file means.

    small, middle, large: the work for a block of up to SMALL_BLOCK rows, for one of up to
        MIDDLE_BLOCK rows, and for one of more.
    sample_rows: of the sample on which the plan of a table is grown, unless it is very large.
    rows_per_task: about; a task has whole blocks, so 1 means a task for each block.
    """

    small: BlockEffort
    middle: BlockEffort
    large: BlockEffort
    sample_rows: int
    rows_per_task: int

    def in_block(self, rows: int) -> BlockEffort:
        """The work for a block of so many rows.

        >>> [EFFORTS["balanced"].in_block(rows).heats for rows in (40_000, 40_001)]
        [((1, 150),), ((1, 50),)]
        >>> [EFFORTS["balanced"].in_block(rows).heats for rows in (320_000, 320_001)]
        [((1, 50),), ((1, 40),)]
        """
        if rows <= SMALL_BLOCK:
            return self.small
        return self.middle if rows <= MIDDLE_BLOCK else self.large

    @staticmethod
    def uniform(block: BlockEffort, sample_rows: int, rows_per_task: int) -> Effort:
        """An effort with the same BlockEffort for blocks of all sizes."""
        return Effort(
            small=block,
            middle=block,
            large=block,
            sample_rows=sample_rows,
            rows_per_task=rows_per_task,
        )


FAST_BLOCK = BlockEffort(trees=1, sweeps=6, heats=((1, 0),))
THOROUGH_BLOCK = BlockEffort(trees=len(GROWTHS), sweeps=8, heats=((9, 15), (3, 150), (1, 4500)))
BALANCED_BLOCK = BlockEffort(trees=2, trial=0, sweeps=4, heats=((1, 50),), annealing=THIN)
EFFORTS = {
    "fast": Effort.uniform(FAST_BLOCK, sample_rows=400_000, rows_per_task=200_000),
    "balanced": Effort(
        small=BlockEffort(trees=3, sweeps=4, heats=((1, 150),)),
        middle=BALANCED_BLOCK,
        large=replace(BALANCED_BLOCK, heats=((1, 40),)),
        sample_rows=1_000_000,
        rows_per_task=80_000,
    ),
    "thorough": Effort.uniform(THOROUGH_BLOCK, sample_rows=1_000_000, rows_per_task=1),
}


def block_size(rows: int, most: int) -> int:
    """The most rows of most blocks. most: rows of a block that the kernels can count. A block that
    is merged from others has several times their rows.

    Few large blocks lose less: their regions are wide enough to mix all sensitive values.

    >>> [block_size(rows, most=10**9) for rows in (1_000_000, 8_000_000, 100_000_000)]
    [160000, 500000, 1280000]
    >>> block_size(100_000_000, most=4 * 10**6)
    500000
    """
    return max(ROWS_PER_BLOCK, min(rows // BLOCKS, MOST_ROWS_PER_BLOCK, most // 8))


def sample_size(effort: Effort, rows: int) -> int:
    """The rows of the sample of a table of so many rows.

    >>> [sample_size(EFFORTS["fast"], rows) for rows in (1_000_000, 8_000_000, 100_000_000, 10**9)]
    [400000, 400000, 1953125, 2000000]
    """
    return max(
        effort.sample_rows,
        min(SAMPLED_PER_BLOCK * rows // MOST_ROWS_PER_BLOCK, MOST_SAMPLED),
    )


def effort_of(settings: ClosenessTree) -> Effort:
    """The effort of a run file; a number means sweeps."""
    effort = settings.effort
    if isinstance(effort, str):
        return EFFORTS[effort]
    fast = EFFORTS["fast"]
    swept = replace(FAST_BLOCK, sweeps=effort)
    return Effort.uniform(
        swept,
        sample_rows=fast.sample_rows,
        rows_per_task=fast.rows_per_task,
    )
