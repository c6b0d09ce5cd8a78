"""Requirements on the class table as Great Expectations, for each row.

An empty table passes most expectations, and NULL passes bounds, so a suite also has a row count and
not-null.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Expectation:
    """One core expectation: its type in snake case, its arguments, and its meaning for readers."""

    type: str
    arguments: tuple[tuple[str, Any], ...]
    meaning: str

    @property
    def key(self) -> str:
        """Type and arguments as canonical text (a bound of 3 comes back as 3.0)."""
        plain = {
            name: value if isinstance(value, str | bool) else float(value)
            for name, value in self.arguments
        }
        return json.dumps([self.type, plain], sort_keys=True)


def expect_rows(classes: int) -> Expectation:
    """The table has exactly this many classes."""
    return Expectation(
        "expect_table_row_count_to_equal",
        (("value", classes),),
        f"{classes} classes were found in the release",
    )


def expect_some_rows() -> Expectation:
    """The table is not empty."""
    return Expectation(
        "expect_table_row_count_to_be_between",
        (("min_value", 1),),
        "there are classes",
    )


def expect_present(column: str) -> Expectation:
    """No class lacks the figure."""
    return Expectation(
        "expect_column_values_to_not_be_null",
        (("column", column),),
        f"every class has {column}",
    )


def expect_at_least(column: str, bound: float, meaning: str, strict: bool = False) -> Expectation:
    """The figure of each class is at least (or, strictly, above) a bound."""
    arguments: tuple[tuple[str, Any], ...] = (("column", column), ("min_value", bound))
    return Expectation(
        "expect_column_values_to_be_between",
        (*arguments, ("strict_min", True)) if strict else arguments,
        meaning,
    )


def expect_at_most(column: str, bound: float, meaning: str) -> Expectation:
    """The figure of each class is at most a bound."""
    return Expectation(
        "expect_column_values_to_be_between",
        (("column", column), ("max_value", bound)),
        meaning,
    )
