"""The figures of raw and released rows in the internal report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from tclose_spark.measures.disclosure.linkage import Linkage
from tclose_spark.measures.disclosure.rare_cells import RareCells, rare_cells
from tclose_spark.measures.disclosure.special_uniques import SpecialUniques, special_uniques
from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.table.rows import Rows
from tclose_spark.usefulness.cross_tables import CrossTable, Mean
from tclose_spark.usefulness.raw_groups import RawGroups

LARGEST_UNIQUE = 3  # quasi-identifiers that make a row unique
THRESHOLDS = (3, 3, 3)  # rows of a cell, by the number of its quasi-identifiers
MOST_CELLED = 1_000  # combinations whose cells are counted


@dataclass(frozen=True, kw_only=True)
class RawVersusReleased:
    """Figures of the internal report.

    rows, suppressed: numbers of sampled rows, of `whole` in the table.
    groups: None if they are too many to count.
    worth: the utility measures; those of a classifier only if one can be trained.
    uniques: special uniques among all sampled rows; None if a person may have several rows.
    cells: of combinations, among the same rows; None likewise.
    linkage: of the first sampled rows with the classes of all.
    target: the attribute to predict. why_no_classifier: empty if there is one.
    """

    rows: int
    suppressed: int
    whole: int
    groups: RawGroups | None
    means: Sequence[Mean] = ()
    tables: Sequence[CrossTable] = ()
    worth: dict[str, float] = field(default_factory=dict)
    target: str | None = None
    why_no_classifier: str = ""
    uniques: SpecialUniques | None = None
    cells: RareCells | None = None
    linkage: Linkage | None = None

    def to_json(self) -> dict[str, Any]:
        """As JSON. Of each sensitive attribute only the cross table with the strongest association
        is whole.
        """
        strongest = {
            a: max(of, key=lambda one: one.raw_v) for a, of in self._by_attribute().items()
        }
        return {
            **{
                name: getattr(self, name)
                for name in ("rows", "suppressed", "whole", "worth", "target")
            },
            "why_no_classifier": self.why_no_classifier,
            "groups": None if self.groups is None else asdict(self.groups),
            "uniques": None if self.uniques is None else asdict(self.uniques),
            "cells": None if self.cells is None else asdict(self.cells),
            "linkage": None if self.linkage is None else asdict(self.linkage),
            "means": [asdict(one) for one in self.means],
            "associations": [
                {
                    "quasi": one.quasi,
                    "sensitive": one.sensitive,
                    "raw": one.raw_v,
                    "released": one.released_v,
                    "moved": one.moved,
                }
                for one in self.tables
            ],
            "tables": [
                {**asdict(one), "raw": one.raw.tolist(), "released": one.released.tolist()}
                for one in strongest.values()
            ],
        }

    def _by_attribute(self) -> dict[str, list[CrossTable]]:
        found: dict[str, list[CrossTable]] = {}
        for one in self.tables:
            found.setdefault(one.sensitive, []).append(one)
        return found


def singled_out(
    rows: Rows, attributes: ResolvedAttributes
) -> tuple[SpecialUniques | None, RareCells | None]:
    """The special uniques and the cells of these rows."""
    columns = {
        q.name: codes for q, codes in zip(attributes.quasi_identifiers, rows.quasi, strict=True)
    }
    counts = np.ones(len(rows), dtype=np.int64)
    cells = rare_cells(columns, counts, THRESHOLDS[: len(columns)], most=MOST_CELLED)
    return special_uniques(columns, counts, LARGEST_UNIQUE), cells
