"""Which rows of a table make a block: those of one region."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tclose_spark.methods.blocks.layout import BlockLayout
from tclose_spark.methods.regions.block import RegionDense
from tclose_spark.methods.regions.tree import RegionTree


@dataclass(frozen=True, kw_only=True)
class RegionLayout(BlockLayout):
    """Blocks whose labels do not meet. merges: how many parts were not divided after all, by the whole table's counts.

    dense: makes a block of its rows.
    tree: leads a row to its region; each is a block.
    """

    dense: RegionDense
    tree: RegionTree  # type: ignore[assignment]  # it leads rows by their content, as the other one does

    @staticmethod
    def from_json(tree: Mapping[str, Any], dense: RegionDense) -> RegionLayout:  # type: ignore[override]
        """The layout that `to_json` wrote."""
        return RegionLayout(
            dense=dense,
            tree=RegionTree.from_json(tree),
            block_of=np.array(tree["block_of"], dtype=np.int64),
            block_rows=np.array(tree["block_rows"], dtype=np.int64),
            first_block=np.array(tree["first_block"], dtype=np.int64),
            merges=tree["merges"],
        )
