"""Blocks of similar rows that all have the whole table's distribution.

The table is dealt to as many classes as there are blocks, as Stack & Deal deals it (see
`methods.dealing`). Each of these is then divided into classes by itself. A block has its share of
the rows of every tuple of sensitive values, rounded down or up, so a property of the table nearly
holds for each block. A small table is one block.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from tclose_spark.errors import UnreachableError
from tclose_spark.measures.distances.multiplicity import MultiplicityMatrix, rank_tuples
from tclose_spark.methods.attributes import ResolvedAttributes, ResolvedSensitive, require_plain
from tclose_spark.methods.blocks.dense import Dense
from tclose_spark.methods.blocks.layout import ClassesOf, together
from tclose_spark.methods.class_requirement import CellGroups, ClassRequirement
from tclose_spark.methods.dealing.locality import (
    Locality,
    choose_locality,
    label_losses,
    make_digits,
)
from tclose_spark.methods.dealing.numbering import Numbering
from tclose_spark.methods.dealing.stacks import (
    Stack,
    composed_cells,
    compositions,
    stack_by_frequency,
)
from tclose_spark.methods.method import ClassAssignment, PlanningInput
from tclose_spark.table.arrays import IntArray
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
                part.values[start:end, None], part.counts[start:end], (len(distance.table),)
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
            here=here, classes=classes, blocks=len(measured), figures=together(measured, figures)
        )

    def to_json(self) -> dict[str, Any]:
        """The blocks as JSON for `from_json`."""
        return self.numbering.to_json()

    @staticmethod
    def from_json(tree: Mapping[str, Any], attributes: ResolvedAttributes, k: int) -> EvenBlocks:
        """The blocks that `to_json` wrote."""
        parts = np.arange(len(attributes.cells))
        return EvenBlocks(
            Dense(attributes, k), Numbering.from_json(tree, parts, attributes.cell_rows)
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
            "method: {name: closeness_tree}"
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
        parts, stack, blocks, locality, given.sample, given.counts, rows_per_task
    )
    return EvenBlocks(dense, numbering)


def _hold(requirement: ClassRequirement, stack: Stack, blocks: int) -> bool:
    """Whether each of this many blocks meets the requirement of a class, exactly."""
    parts = map(CellGroups.of, composed_cells(stack, blocks))
    return not any(requirement.broken(part).any() for part in parts)
