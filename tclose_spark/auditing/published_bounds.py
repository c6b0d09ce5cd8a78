"""Bounds: a number that a table publishes as two columns, `<name>_min` and `<name>_max` (`numeric_output: bounds`)."""

from __future__ import annotations

import math
from collections.abc import Collection

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tclose_spark.auditing.question import Question
from tclose_spark.io.tables.prepared import plain
from tclose_spark.runfile.attributes import QuasiIdentifier
from tclose_spark.table.hierarchies.hierarchy import ROOT

BOUNDS = QuasiIdentifier(type="numeric", numeric_output="bounds")


def with_bounds(table: DataFrame, question: Question) -> tuple[Question, list[str]]:
    """(the question with every two columns that are the bounds of a number as one quasi-identifier, a note for each).

    Two columns are bounds if the question names both or, in place of a column that the table lacks, the number, and
    every row has numbers in both, the first no larger (or NULL, or `*`). As two numbers each of one value they would
    lose no information.
    """
    pairs = [name for name in _candidates(question, table.columns) if not _broken(table, name)]
    quasi = dict(question.quasi_identifiers)
    for name in pairs:
        bounds = (f"{name}_min", f"{name}_max")
        place = next(column for column in quasi if column in (name, *bounds))
        quasi = {
            (name if key == place else key): (BOUNDS if key == place else q)
            for key, q in quasi.items()
            if key == place or key not in bounds
        }
    notes = [f"{name}: {name}_min and {name}_max are its bounds, and count as one quasi-identifier" for name in pairs]
    return question.model_copy(update={"quasi_identifiers": quasi}), notes


def _candidates(question: Question, columns: Collection[str]) -> list[str]:
    """The numbers that may be published as bounds, by the names of the columns."""
    plainly = [
        name
        for name, settings in question.quasi_identifiers.items()
        if not settings.hierarchy and settings.numeric_output != "bounds"
    ]
    numbers = dict.fromkeys(name if name not in columns else name.removesuffix("_min") for name in plainly)

    def may_be(name: str) -> bool:
        bounds, folded = {f"{name}_min", f"{name}_max"}, [column.lower() for column in columns]
        named = name in plainly or bounds <= set(plainly)
        alone = name.lower() not in folded and all(
            folded.count(bound.lower()) == 1 for bound in bounds
        )  # Spark knows no case
        return named and alone and bounds <= set(columns) and not bounds & set(question.sensitive_attributes)

    return [name for name in numbers if name and may_be(name)]


def _broken(table: DataFrame, name: str) -> bool:
    """Whether some row has no bounds in the two columns of this number."""
    texts = [plain(table, f"{name}_{end}").cast("string") for end in ("min", "max")]
    numbers = [F.trim(text).try_cast("double") for text in texts]
    no_number: list[Column] = [
        text.isNotNull() & (text != ROOT) & (number.isNull() | number.isin(math.inf, -math.inf))
        for text, number in zip(texts, numbers, strict=True)
    ]
    return not table.where(no_number[0] | no_number[1] | F.coalesce(numbers[0] > numbers[1], F.lit(False))).isEmpty()
