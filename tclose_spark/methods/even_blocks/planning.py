"""The number of blocks: as their size requires, and fewer if one of them would not meet the requirement."""

from __future__ import annotations

import numpy as np

from tclose_spark.errors import UnreachableError
from tclose_spark.methods.attributes import ResolvedAttributes, is_diverse, reaches, require_plain
from tclose_spark.methods.blocks.dense import Dense
from tclose_spark.methods.dealing.locality import Locality, choose_locality, label_losses, make_digits
from tclose_spark.methods.dealing.maximum_emd import maximum_emd
from tclose_spark.methods.dealing.numbering import Numbering
from tclose_spark.methods.dealing.stacks import Stack, compositions, stack_by_frequency
from tclose_spark.methods.even_blocks.layout import EvenBlocks
from tclose_spark.methods.method import PlanningInput

ROWS_PER_BLOCK = 40_000  # at most, of most blocks
MOST_ROWS = 200_000  # of any block: time grows by their square
ROWS_PER_TASK = 80_000  # about
SIMULATED_SIZE = 20  # of the classes that orders of the rows are compared by: labels of whole blocks are all wide


def plan_even_blocks(given: PlanningInput, rows_per_block: int, rows_per_task: int) -> EvenBlocks:
    """The blocks of a table, of at most `rows_per_block` rows if such blocks hold.

    Raises: ConfigurationError: if a distance has unequal steps, or a block is too large for the integers of
    kernels. UnreachableError: if the whole table breaks k or distinct l, or if only blocks hold that are too large
    for a method whose time grows with their square.
    """
    attributes = given.attributes
    require_plain(attributes.sensitive, "a method that makes classes in blocks")
    dense = Dense(attributes, given.k)
    dense.require_reachable()
    stack = stack_by_frequency(attributes.cell_rows)
    blocks = -(-attributes.rows // rows_per_block)
    while blocks > 1 and not _hold(attributes, given.k, stack, blocks):
        blocks //= 2
    largest = -(-attributes.rows // blocks)
    if largest > max(MOST_ROWS, rows_per_block):
        raise UnreachableError(
            f"privacy.k = {given.k} and the required t hold in blocks of {largest:,} rows and more only, but the time "
            f"of method {given.settings.name} grows by the square of a block, which has at most {MOST_ROWS:,} rows; a "
            "larger t, coarser sensitive values or method: {name: closeness_tree} are possible"
        )
    dense.require_room(largest)
    locality = Locality(make_digits(attributes.quasi_identifiers, given.sample))
    if blocks > 1:
        given.log(f"choosing an order of the rows for {blocks:,} blocks on the sample")
        loss_of = label_losses(attributes.quasi_identifiers)
        size = max(given.k, SIMULATED_SIZE)
        locality = choose_locality(locality, given.sample, given.sample.cell, stack, size, loss_of)
    parts = np.arange(len(attributes.cells))
    numbering = Numbering.of(parts, stack, blocks, locality, given.sample, given.counts, rows_per_task)
    return EvenBlocks(dense, numbering)


def _hold(attributes: ResolvedAttributes, k: int, stack: Stack, blocks: int) -> bool:
    """Whether each of this many blocks meets the requirement of a class, exactly."""
    sensitive = attributes.sensitive
    if attributes.rows // blocks < k:
        return False
    reached = [maximum_emd(stack, attributes.cells[:, a.column], a.distance, blocks) for a in sensitive]
    return reaches(sensitive, reached) and all(
        is_diverse(compositions(stack, attributes.cells[:, a.column], a.distance, blocks), a) for a in sensitive
    )
