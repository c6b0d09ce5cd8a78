"""Requirements on the class table as Great Expectations: k, t, l and beta of each row.

An empty table passes most expectations, and NULL passes bounds, so a suite also has a row count and not-null.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tclose_spark.checks.classes.class_table import JudgedAttribute
from tclose_spark.measures.diversity import readable_entropy


@dataclass(frozen=True)
class Expectation:
    """One core expectation: its type in snake case, its arguments, and its meaning for readers."""

    type: str
    arguments: tuple[tuple[str, Any], ...]
    meaning: str

    @property
    def key(self) -> str:
        """Type and arguments as canonical text (a bound of 3 comes back as 3.0)."""
        plain = {name: value if isinstance(value, str | bool) else float(value) for name, value in self.arguments}
        return json.dumps([self.type, plain], sort_keys=True)


def expect_rows(classes: int) -> Expectation:
    """The table has exactly this many classes."""
    return Expectation(
        "expect_table_row_count_to_equal", (("value", classes),), f"{classes} classes were found in the release"
    )


def expect_some_rows() -> Expectation:
    """The table is not empty."""
    return Expectation("expect_table_row_count_to_be_between", (("min_value", 1),), "there are classes")


def expect_present(column: str) -> Expectation:
    """No class lacks the figure."""
    return Expectation("expect_column_values_to_not_be_null", (("column", column),), f"every class has {column}")


def expect_at_least(column: str, bound: float, meaning: str, strict: bool = False) -> Expectation:
    """The figure of each class is at least (or, strictly, above) a bound."""
    arguments: tuple[tuple[str, Any], ...] = (("column", column), ("min_value", bound))
    return Expectation(
        "expect_column_values_to_be_between", (*arguments, ("strict_min", True)) if strict else arguments, meaning
    )


def expect_at_most(column: str, bound: float, meaning: str) -> Expectation:
    """The figure of each class is at most a bound."""
    return Expectation("expect_column_values_to_be_between", (("column", column), ("max_value", bound)), meaning)


def expectations_of(k: int | None, attributes: Sequence[JudgedAttribute]) -> list[Expectation]:
    """The suite over the class table: every requirement, class by class. A missing figure fails.

    Bounds on doubles are loose enough that no class fails one that it holds exactly. The sign of the margin beside each
    is exact and decides ties.
    """
    expectations = [
        expect_present("size"),
        expect_at_least("size", k or 1, f"k-anonymity: every class has at least {k or 1} records"),
    ]
    for a in attributes:
        expectations += [expect_present(a.column("emd")), *_of_closeness(a)]
        if a.tuples is None:
            expectations += [expect_present(a.column("distinct")), *_of_diversity(a), *_of_likeness(a)]
    return expectations


def _of_closeness(a: JudgedAttribute) -> list[Expectation]:
    """EMD <= t, in doubles and exactly. Both sides are correctly rounded, so EMD <= t stays true of the doubles."""
    if a.settings.t is None:
        return []
    emd, margin = a.column("emd"), a.column("margin")
    meaning = f"t-closeness of {a.name}: EMD <= {a.settings.t}"
    return [
        expect_at_most(emd, float(a.settings.t), f"{meaning} in every class"),
        expect_present(margin),
        expect_at_least(margin, 0, f"{meaning} in every class, in exact integers"),
    ]


def _of_diversity(a: JudgedAttribute) -> list[Expectation]:
    """The required kinds of l-diversity; without any, that a class has values."""
    required = a.settings.l
    expectations = [
        expect_at_least(
            a.column("distinct"),
            required.distinct or 1,
            f"distinct l-diversity of {a.name}: at least {required.distinct or 1} values",
        )
    ]
    if required.entropy is not None:
        entropy, margin = a.column("entropy"), a.column("exact_entropy")
        meaning = f"entropy l-diversity of {a.name}: at least {required.entropy}"
        expectations += [
            expect_present(entropy),
            expect_at_least(entropy, readable_entropy(float(required.entropy)), meaning),
            expect_present(margin),
            expect_at_least(margin, 0, f"{meaning}, exactly"),
        ]
    if required.recursive is not None:
        margin = a.column("recursive_margin")
        meaning = f"recursive ({required.recursive.c}, {required.recursive.l})-diversity of {a.name}"
        expectations += [expect_present(margin), expect_at_least(margin, 0, meaning, strict=True)]
    if required.frequency is not None:
        frequency, margin = a.column("frequency"), a.column("exact_frequency")
        meaning = f"frequency l-diversity of {a.name}: no value has more than 1 / {required.frequency} of a class"
        expectations += [
            expect_present(frequency),
            expect_at_least(frequency, float(required.frequency), meaning),
            expect_present(margin),
            expect_at_least(margin, 0, f"{meaning}, in exact integers"),
        ]
    return expectations


def _of_likeness(a: JudgedAttribute) -> list[Expectation]:
    """The required beta, in doubles and exactly, as for t."""
    if a.settings.beta is None:
        return []
    beta, margin = a.column("beta"), a.column("exact_beta")
    meaning = (
        f"beta-likeness of {a.name}: no value is more than 1 + {a.settings.beta} times as frequent as in the table"
    )
    return [
        expect_present(beta),
        expect_at_most(beta, float(a.settings.beta), meaning),
        expect_present(margin),
        expect_at_least(margin, 0, f"{meaning}, in exact integers"),
    ]
