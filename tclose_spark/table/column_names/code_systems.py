"""Code systems that a column's name and values show, and the hierarchy of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import yaml

from tclose_spark.table.column_names.hints import words_of
from tclose_spark.table.columns.patterns import PLACEHOLDERS, count_matching

MOST_OTHERS = 0.05  # share of rows with another value, in a column of codes


@dataclass(frozen=True, kw_only=True)
class CodeSystem:
    """A system of codes. `code_systems.yaml` explains the fields."""

    name: str
    pattern: str
    hierarchy: Mapping[str, Any]
    words: frozenset[str] = frozenset()
    unnamed: bool = False

    @staticmethod
    def of(entry: Mapping[str, Any]) -> CodeSystem:
        """The system of an entry of the file."""
        words = frozenset(word.strip() for word in entry.get("words", "").split(","))
        return CodeSystem(**{**entry, "words": words})


SYSTEMS = tuple(
    map(
        CodeSystem.of,
        yaml.safe_load(
            files(__package__).joinpath("code_systems.yaml").read_text(encoding="utf-8")
        )["systems"],
    )
)


def code_system(name: str, values: pa.Array, counts: pa.Array) -> CodeSystem | None:
    """The system of nearly all values of a column; None if they have none. Words for missing values
    do not count.

    name: of the column. values: distinct texts, without missing ones; counts: the rows of each.

    >>> code_system("diag_1", pa.array(["V57", "250.83", "?"]), pa.array([5, 3, 9])).name
    'ICD-9'
    """
    known = pc.invert(
        pc.is_in(pc.utf8_lower(values), value_set=pa.array(PLACEHOLDERS, values.type))
    )
    values = values.filter(known)
    counts = counts.filter(known)
    words = set(words_of(name))
    rows = pc.sum(counts).as_py() or 0
    for system in SYSTEMS:
        named = system.unnamed or words & system.words
        if (
            rows
            and named
            and count_matching(values, counts, system.pattern) >= (1 - MOST_OTHERS) * rows
        ):
            return system
    return None
