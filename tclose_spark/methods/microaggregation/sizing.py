"""The class size of Algorithm 3."""

from __future__ import annotations

import numpy as np

from tclose_spark.methods.blocks.figures import rows_lost
from tclose_spark.methods.even_blocks.layout import EvenBlocks
from tclose_spark.methods.even_blocks.merging import merge_until_all_hold
from tclose_spark.methods.even_blocks.plan import bucketed
from tclose_spark.methods.even_blocks.planning import ROWS_PER_BLOCK
from tclose_spark.methods.method import PlanningInput
from tclose_spark.methods.microaggregation.buckets import Sizing, microaggregate_buckets, paper_size

TRIED = 12  # class sizes between k and the proven one, evenly in ratio


def choose_class_size(given: PlanningInput, layout: EvenBlocks) -> int:
    """The class size by the settings.

    measured: the size from k to the proven one that loses least when a sample as large as a block is divided and
    classes that do not hold are merged. Most classes are far below their bound, so it is often half the proven
    size.
    """
    attribute, wanted = bucketed(given.attributes), given.settings.class_size or "measured"
    if wanted == "paper":
        return given.k if attribute.t is None else paper_size(given.attributes.rows, given.k, attribute.t)
    sizing = Sizing(attribute.distance)
    proven = sizing.smallest(layout.matrices(attribute), given.k, attribute.t)
    sizes = np.unique(np.geomspace(given.k, proven, TRIED).round().astype(np.int64)).tolist()
    if wanted == "proven" or len(sizes) == 1:
        return proven
    rows = given.sample.take(np.arange(min(len(given.sample), ROWS_PER_BLOCK)))
    block, _ = layout.dense.block(rows)
    losses = []
    for size in sizes:
        classes = microaggregate_buckets(block, attribute.column, sizing.rank, size)
        losses.append(rows_lost(block, merge_until_all_hold(block, classes)[0]))
        given.log(f"classes of {size} lose {losses[-1] / len(rows):.4f} on {len(rows):,} rows")
    return int(sizes[int(np.argmin(losses))])
