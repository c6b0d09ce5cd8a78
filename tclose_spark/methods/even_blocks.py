"""Even blocks: blocks of similar rows that all have the whole table's distribution, and merging of
their classes. Methods share it whose time grows with the square of the rows.

The table is dealt to as many classes as there are blocks, as Stack & Deal deals it (see
`methods.dealing`). Each of these is then divided into classes by itself. A block has its share of
the rows of every tuple of sensitive values, rounded down or up, so a property of the table nearly
holds for each block. A small table is one block.

Merging classes until every one holds (Soria-Comas et al. 2015, Algorithm 1; Weber, 2.3.3).

The class that is farthest from the table joins the class that is nearest to it in its
quasi-identifiers, until all hold. In the worst case all of a block is one class, which holds. The
paper takes the distance of the means, which it publishes. Here labels are published that cover a
class, and nearest is the class with which that costs least: by how much the information loss of the
other one and of the two together differ (the loss of the first is the same for all). On Adult (k =
5, occupation, t = 0.3) Algorithm 1 so loses .47, with the narrowest common label .59.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, Literal, NamedTuple, TypeVar

import numpy as np

from tclose_spark.errors import UnreachableError
from tclose_spark.kernels import kernel
from tclose_spark.kernels.structures import structure
from tclose_spark.kernels.widths import LabelWidths, width
from tclose_spark.measures.distances.histograms import MultiplicityMatrix, rank_tuples
from tclose_spark.methods.attributes import ResolvedAttributes, ResolvedSensitive, require_plain
from tclose_spark.methods.blocks.block import Block, Requirement
from tclose_spark.methods.blocks.dense import Dense
from tclose_spark.methods.blocks.figures import by_class, closeness_ratios, rows_lost
from tclose_spark.methods.blocks.holding import add_cell, closeness_ratio, holds, work_space
from tclose_spark.methods.blocks.layout import BlocksPlan, ClassesOf, together
from tclose_spark.methods.class_requirement import CellGroups, ClassRequirement
from tclose_spark.methods.dealing.locality import (
    Locality,
    choose_locality,
    label_losses,
    make_digits,
)
from tclose_spark.methods.dealing.numbering import Numbering, NumberingModel
from tclose_spark.methods.dealing.stacks import (
    Stack,
    composed_cells,
    compositions,
    stack_by_frequency,
)
from tclose_spark.methods.method import ClassAssignment, PlanningInput
from tclose_spark.table.arrays import Codes, FloatArray, IntArray
from tclose_spark.table.rows import Rows

ROWS_PER_BLOCK = 40_000  # at most, of most blocks
MOST_ROWS = 200_000  # of any block: time grows by their square
ROWS_PER_TASK = 80_000  # about
SIMULATED_SIZE = 20  # of the classes that orders of the rows are compared by: labels of whole blocks are all wide


@dataclass(frozen=True)
class EvenBlocks:
    """The blocks of a table. Each meets the requirement of a class, by exact counts.

    dense: makes a block of its rows.
    numbering: deals rows to blocks, which are its classes.
    """

    dense: Dense
    numbering: Numbering

    @property
    def tasks(self) -> int:
        return self.numbering.tasks

    @property
    def blocks(self) -> int:
        return self.numbering.classes

    @cached_property
    def block_rows(self) -> IntArray:
        """The rows of each block, shape (blocks,)."""
        rows = self.dense.attributes.rows
        blocks = self.blocks
        return (rows - np.arange(blocks) + blocks - 1) // blocks

    def matrices(self, attribute: ResolvedSensitive) -> list[MultiplicityMatrix]:
        """How many rows of each value of one attribute a block has, of one block of every
        composition that occurs.
        """
        codes = self.dense.attributes.cells[:, attribute.column]
        distance = attribute.distance
        return [
            MultiplicityMatrix(
                part.values[start:end, None],
                part.counts[start:end],
                (len(distance.table),),
            )
            for part in compositions(self.numbering.stack, codes, distance, self.blocks)
            for start, end in pairwise(part.offsets.tolist())
        ]

    def route(self, rows: Rows) -> tuple[IntArray, IntArray]:
        """See Plan. A row may be sent to two tasks, of which one keeps it."""
        return self.numbering.route(rows)

    def assign_classes(
        self,
        rows: Rows,
        task: int,
        classes_of: ClassesOf,
        figures: Mapping[str, Literal["sum", "max"]],
    ) -> ClassAssignment:
        """See Plan. Each block of the task is put into classes by itself, its rows in the order of
        their hashes.

        figures: how those of several blocks become one.
        """
        dealt = self.numbering.deal(rows, task)
        rank = rows.sorted_by_hash().argsort()[dealt.here]
        order = np.lexsort((rank, dealt.classes))
        here = dealt.here[order]
        block = dealt.classes[order]
        starts = np.flatnonzero(np.diff(block, prepend=-1))
        # A block has no more classes than rows.
        first_class = np.cumsum(self.block_rows) - self.block_rows
        classes = np.empty(len(here), dtype=np.int64)
        measured = []
        for start, end in zip(starts, np.append(starts[1:], len(here)), strict=True):
            dense_block, _ = self.dense.block(rows.take(here[start:end]))
            classes_here, figures_here = classes_of(dense_block)
            classes[start:end] = first_class[block[start]] + classes_here
            measured.append(figures_here)
        return ClassAssignment(
            here=here,
            classes=classes,
            blocks=len(measured),
            figures=together(measured, figures),
        )

    @staticmethod
    def of_model(model: NumberingModel, attributes: ResolvedAttributes, k: int) -> EvenBlocks:
        """The blocks that a numbering deals rows to."""
        parts = np.arange(len(attributes.cells))
        return EvenBlocks(
            Dense(attributes, k),
            Numbering.of_model(model, parts, attributes.cell_rows),
        )


def plan_even_blocks(given: PlanningInput, rows_per_block: int, rows_per_task: int) -> EvenBlocks:
    """The blocks of a table, of at most `rows_per_block` rows if such blocks hold.

    Raises:
        ConfigurationError: if a distance has unequal steps, or a block is too large for the
            integers of kernels.
        UnreachableError: if the whole table breaks k or distinct l, or if only blocks hold that are
            too large for a method whose time grows with their square.
    """
    attributes = given.attributes
    require_plain(attributes.sensitive, "a method that makes classes in blocks")
    dense = Dense(attributes, given.k)
    dense.require_reachable()
    stack = stack_by_frequency(attributes.cell_rows, rank_tuples(attributes.cells))
    blocks = -(-attributes.rows // rows_per_block)
    requirement = ClassRequirement(attributes, given.k)
    while blocks > 1 and not _hold(requirement, stack, blocks):
        blocks //= 2
    largest = -(-attributes.rows // blocks)
    if largest > max(MOST_ROWS, rows_per_block):
        raise UnreachableError(
            f"privacy.k = {given.k} and the required t hold in blocks of {largest:,} rows and more "
            f"only. Method {given.settings.name} has at most {MOST_ROWS:,}; raise the t, or use "
            "method: {name: closeness_tree}",
        )
    dense.require_room(largest)
    locality = Locality(make_digits(attributes.quasi_identifiers, given.sample))
    if blocks > 1:
        given.log(f"choosing an order of the rows for {blocks:,} blocks on the sample")
        loss_of = label_losses(attributes.quasi_identifiers)
        size = max(given.k, SIMULATED_SIZE)
        locality = choose_locality(locality, given.sample, given.sample.cell, stack, size, loss_of)
    parts = np.arange(len(attributes.cells))
    numbering = Numbering.of(
        parts,
        stack,
        blocks,
        locality,
        given.sample,
        given.counts,
        rows_per_task,
    )
    return EvenBlocks(dense, numbering)


def _hold(requirement: ClassRequirement, stack: Stack, blocks: int) -> bool:
    """Whether each of this many blocks meets the requirement of a class, exactly."""
    parts = map(CellGroups.of, composed_cells(stack, blocks))
    return not any(requirement.broken(part).any() for part in parts)


Option = TypeVar("Option")


@dataclass(frozen=True)
class EvenBlocksPlan(BlocksPlan):
    """Each block is divided into classes by itself, and classes that do not hold are merged.

    layout: the blocks of the table.
    """

    layout: EvenBlocks

    figures: ClassVar[Mapping[str, Literal["sum", "max"]]] = {
        "rows": "sum",
        "lost": "sum",
        "classes": "sum",
        "merged": "sum",
        "largest_closeness_ratio": "max",
    }

    @abstractmethod
    def formed(self, block: Block) -> IntArray:
        """The class of each row of a block, from 0, shape (n,), before merging. Classes need not
        hold.
        """

    def classes_of(self, block: Block) -> tuple[IntArray, Mapping[str, float]]:
        classes, merged = merge_until_all_hold(block, self.formed(block))
        return classes, {
            "rows": len(classes),
            "lost": rows_lost(block, classes),
            "classes": int(classes.max()) + 1,
            "merged": merged,
            "largest_closeness_ratio": float(closeness_ratios(block, classes).max()),
        }

    def describe(self, figures: Mapping[str, float]) -> dict[str, object]:
        return {
            "blocks": self.blocks,
            "tasks": self.tasks,
            "classes": int(figures["classes"]),
            "merged": int(figures["merged"]),
            "ncp": round(figures["lost"] / figures["rows"], 6),
            "largest_closeness_ratio": round(figures["largest_closeness_ratio"], 6),
        }

    @property
    def blocks_in_words(self) -> str:
        """The blocks, for the plan's note."""
        return (
            f"blocks: {self.blocks:,} of up to {int(self.layout.block_rows.max()):,} rows, tasks: "
            f"{self.tasks:,}"
        )


def bucketed(attributes: ResolvedAttributes) -> ResolvedSensitive:
    """The sensitive attribute whose values form buckets: the one with a t, otherwise the first."""
    return next((a for a in attributes.sensitive if a.t is not None), attributes.sensitive[0])


def choose_least_loss(
    given: PlanningInput,
    layout: EvenBlocks,
    options: Sequence[Option],
    divide: Callable[[Block, Option], IntArray],
    in_words: Callable[[Option], str],
) -> Option:
    """The option that loses least if a sample as large as a block is divided, and classes that do
    not hold are merged.

    divide: the class of each row of a block by an option, shape (n,).
    """
    rows = given.sample.take(np.arange(min(len(given.sample), ROWS_PER_BLOCK)))
    block = layout.dense.block(rows)[0]
    losses = []
    for option in options:
        losses.append(rows_lost(block, merge_until_all_hold(block, divide(block, option))[0]))
        given.log(f"{in_words(option)} lose {losses[-1] / len(rows):.4f} on {len(rows):,} rows")
    return options[int(np.argmin(losses))]


@structure
class Clusters(NamedTuple):
    """Classes being merged, e at first. The first of those merged stands for all of them.

    order, starts: the rows, class by class, and where the first classes begin, shapes (n,) and (e +
        1,).
    follows: the next class merged into the same one, or -1, shape (e,).
    last: the last one of those that this one stands for, shape (e,).
    sizes: rows, 0 of a class that was merged into another, shape (e,).
    ratios: the closeness ratio, 0 of a class that holds, shape (e,).
    held: 1 where a class holds what is required, shape (e,).
    low, high: the range of the codes, shape (e, quasi-identifiers).
    counts, excess: room for what `holds` takes.
    """

    order: IntArray
    starts: IntArray
    follows: IntArray
    last: IntArray
    sizes: IntArray
    ratios: FloatArray
    held: IntArray
    low: Codes
    high: Codes
    counts: IntArray
    excess: IntArray


def merge_until_all_hold(block: Block, classes: IntArray) -> tuple[IntArray, int]:
    """(the classes after merging, numbered from 0, how many were merged away). classes: from 0,
    shape (n,).

    Every class holds what is required if the block does.
    """
    order, starts = by_class(classes)
    e = len(starts) - 1
    ordered = block.quasi[order]
    clusters = Clusters(
        order=order,
        starts=starts,
        follows=np.full(e, -1, dtype=np.int64),
        last=np.arange(e, dtype=np.int64),
        sizes=np.diff(starts),
        ratios=np.zeros(e),
        held=np.zeros(e, dtype=np.int64),
        low=np.minimum.reduceat(ordered, starts[:-1]),
        high=np.maximum.reduceat(ordered, starts[:-1]),
        counts=np.zeros(block.requirement.tables.shape, dtype=np.int64),
        excess=work_space(block.requirement),
    )
    _merge(clusters, block.cell, block.widths, block.requirement)
    merged = np.empty(e, dtype=np.int64)
    for number, first in enumerate(np.flatnonzero(clusters.sizes > 0).tolist()):
        while first >= 0:
            merged[first] = number
            first = clusters.follows[first]
    result = np.empty_like(classes)
    result[order] = np.repeat(merged, np.diff(starts))
    return result, e - int(merged.max()) - 1


@kernel
def _merge(clusters: Clusters, cell: Codes, widths: LabelWidths, requirement: Requirement) -> None:
    """Merges until every class holds, or one is left."""
    e = len(clusters.sizes)
    for c in range(e):
        _judge(c, clusters, cell, requirement)
    while True:
        worst = -1
        most = -1.0
        for c in range(e):
            if clusters.sizes[c] > 0 and clusters.held[c] == 0 and clusters.ratios[c] > most:
                worst = c
                most = clusters.ratios[c]
        if worst < 0:
            return
        near = _nearest(worst, clusters, widths)
        if near < 0:
            return
        _join(min(worst, near), max(worst, near), clusters)
        _judge(min(worst, near), clusters, cell, requirement)


@kernel
def _judge(c: int, clusters: Clusters, cell: Codes, requirement: Requirement) -> None:
    """Fills `ratios` and `held` of a class from its rows."""
    clusters.counts[:] = 0
    part = c
    while part >= 0:
        for at in range(clusters.starts[part], clusters.starts[part + 1]):
            add_cell(clusters.counts, cell[clusters.order[at]], 1, requirement)
        part = clusters.follows[part]
    size = clusters.sizes[c]
    clusters.held[c] = 1 if holds(clusters.counts, size, requirement, clusters.excess) else 0
    clusters.ratios[c] = 0.0
    if clusters.held[c] == 0:
        clusters.ratios[c] = closeness_ratio(clusters.counts, size, requirement, clusters.excess)


@kernel
def _nearest(c: int, clusters: Clusters, widths: LabelWidths) -> int:
    """The class with which c loses least, or -1 if c is the only one."""
    near = -1
    least = np.inf
    for other in range(len(clusters.sizes)):
        if other == c or clusters.sizes[other] == 0:
            continue
        total = 0.0
        size = clusters.sizes[other]
        for j in range(clusters.low.shape[1]):
            low = clusters.low[other, j]
            high = clusters.high[other, j]
            total -= size * width(j, low, high, widths)
            low = min(clusters.low[c, j], low)
            high = max(clusters.high[c, j], high)
            # Together no less than alone.
            total += (clusters.sizes[c] + size) * width(j, low, high, widths)
            if total >= least:
                break
        if total < least:
            near = other
            least = total
    return near


@kernel
def _join(c: int, other: int, clusters: Clusters) -> None:
    """Merges the class `other` into c."""
    clusters.follows[clusters.last[c]] = other
    clusters.last[c] = clusters.last[other]
    clusters.sizes[c] += clusters.sizes[other]
    clusters.sizes[other] = 0
    for j in range(clusters.low.shape[1]):
        clusters.low[c, j] = min(clusters.low[c, j], clusters.low[other, j])
        clusters.high[c, j] = max(clusters.high[c, j], clusters.high[other, j])
