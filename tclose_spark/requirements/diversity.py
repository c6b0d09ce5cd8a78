"""l-diversity, of four kinds: distinct, entropy, recursive and frequency. See
`measures.diversity`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any

import pyarrow as pa

from tclose_spark.measures import diversity, likeness
from tclose_spark.requirements.criterion import Criterion
from tclose_spark.requirements.expectation import expect_at_least, expect_present
from tclose_spark.requirements.judge import EXACT, Bound, Judge, JudgedAttribute, bounded, clipped
from tclose_spark.requirements.words import Entry, GuaranteeRow, Words


def judge_distinct(a: JudgedAttribute) -> Judge:
    """`distinct_`: the different values of each class. Every class has one, unless missing ones
    count for none.
    """
    least = a.settings.l.distinct
    column = a.column("distinct")
    measure = "distinct l-diversity"
    fewest = 1 if a.uninformative is None else 0
    meaning = f"{measure} of {a.name}: at least {least or fewest} values"
    broken = None if least is None else (column, least)
    return Judge(
        a=a,
        key="distinct",
        measure=measure,
        columns={"distinct": pa.int64()},
        measured=lambda classes: [a.of_known(diversity.distinct, 0)(classes)],
        criterion=Criterion(
            measure=measure,
            attribute=a.name,
            required=least,
            figure=column,
            broken=broken,
        ),
        expectations=[expect_present(column), expect_at_least(column, least or fewest, meaning)],
        people="rows",
    )


def judge_entropy(a: JudgedAttribute) -> Judge:
    """`entropy_`: exp of the entropy of each class, as a double."""
    level = a.settings.l.entropy
    bound = None
    if level is not None:
        bound = Bound(
            required=level,
            margins=a.of_known(partial(diversity.entropy_margins, level=level), -1),
            kind=pa.float64(),
            meaning=f"entropy l-diversity of {a.name}: at least {level}",
            exactly=", exactly",
            readable=diversity.readable_entropy(float(level or 1)),
        )
    figures = a.of_known(diversity.entropy_l, 0)
    return replace(bounded(a, "entropy", "entropy l-diversity", figures, bound), people="rows")


def judge_recursive(a: JudgedAttribute) -> Judge | None:
    """`recursive_margin_`: holds if it is > 0. Measured only if it is required."""
    required = a.settings.l.recursive
    column = a.column("recursive_margin")
    measure = "recursive (c, l)-diversity"
    if required is None:
        return None
    c = required.c
    level = required.l
    margins = a.of_known(partial(diversity.recursive_margins, c=c, level=level), 0)
    meaning = f"recursive ({c}, {level})-diversity of {a.name}"
    return Judge(
        a=a,
        key="recursive",
        measure=measure,
        columns={"recursive_margin": EXACT},
        measured=lambda classes: [clipped(margins(classes))],
        criterion=Criterion(
            measure=measure,
            attribute=a.name,
            required=required,
            figure=column,
            broken=(column, 0),
            reached=True,
            yes_or_no=True,
        ),
        expectations=[expect_present(column), expect_at_least(column, 0, meaning, strict=True)],
        people="rows",
    )


def judge_frequency(a: JudgedAttribute) -> Judge:
    """`frequency_`: one over the largest share that a value has of each class."""
    l = a.settings.l  # noqa: E741 - the field's name for it
    level = l.frequency
    figures = a.of_known(lambda classes: classes.sizes / classes.largest, 0)
    judge = partial(bounded, a, "frequency", "frequency l-diversity", figures)
    if level is None:
        return replace(judge(), people="weights")
    bound = Bound(
        required=level,
        margins=a.of_known(partial(likeness.frequency_margins, level=level), -1),
        meaning=f"frequency l-diversity of {a.name}: no value has more than 1 / {level} of a class",
    )
    return replace(
        judge(bound),
        people="weights",
        rounded=lambda rounding: {
            "l": l.model_copy(update={"frequency": level / (1 - 2 * rounding)}),
        },
    )


class RecursiveWords(Words):
    """It holds or does not."""

    def bound(self, required: Any) -> Entry:
        """See Words."""
        return {"required": {"c": str(required.c), "l": required.l}}

    def row(self, attribute: str, entry: Entry, whole: str) -> GuaranteeRow:
        """See Words."""
        c = entry["required"]["c"]
        level = entry["required"]["l"]
        return GuaranteeRow(
            name=self.name,
            attribute=attribute,
            meaning=f"the most frequent value of a class has fewer than {c} times the rows of all "
            f"values of rank {level} and below",
            required=f"c = {c}, l = {level}",
            achieved="in every class" if entry["holds"] else "not in every class",
            met=entry["holds"],
        )


DIVERSITY = (
    Words(
        key="distinct",
        measure="distinct l-diversity",
        required=attrgetter("l.distinct"),
        name="Distinct l-diversity",
        meaning="fewest different values in a class",
        shown=("achieved",),
        recorded="required",
        section="l",
        by_kind=True,
    ),
    Words(
        key="entropy",
        measure="entropy l-diversity",
        required=attrgetter("l.entropy"),
        name="Entropy l-diversity",
        meaning="lowest effective number of values in a class (exp of the entropy)",
        least=diversity.readable_entropy,
        section="l",
        by_kind=True,
    ),
    RecursiveWords(
        key="recursive",
        measure="recursive (c, l)-diversity",
        required=attrgetter("l.recursive"),
        name="Recursive l-diversity",
        shown=("holds",),
        violated=lambda g, over: (
            f"are not recursive ({g.required.c}, {g.required.l})-diverse{over}"
        ),
        section="l",
        by_kind=True,
    ),
    Words(
        key="frequency",
        measure="frequency l-diversity",
        required=attrgetter("l.frequency"),
        name="Frequency l-diversity",
        meaning="one over the largest share that a value has of a class",
        recorded="required",
        section="l",
        by_kind=True,
    ),
)
