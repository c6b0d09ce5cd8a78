"""Whose rows are whose, and how many people a row stands for: the columns of the run file that give
it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from tclose_spark.runfile.combinations import OF_WEIGHT
from tclose_spark.runfile.missing import MissingValues
from tclose_spark.runfile.section import Exact, Section, above_zero, number_schema

Unknown = Literal["drop", "alone"]


class Person(Section):
    """The column that identifies the person of each row."""

    column: Annotated[str, Field(min_length=1)]
    """The name of the column. It is never published."""
    rows: Literal["together", "apart"] = "together"
    """together: all rows of a person are in one class. apart: they may be in several classes, and
    the person counts in each of them.
    """
    placeholders: MissingValues | None = None
    """Values that stand for no person, such as `["-", 0]`. An empty list states that each value is
    a person, however many rows it has.
    """
    unknown: Unknown | None = None
    """Rows without a person: no value, or a placeholder. drop: they are left out, and the table is
    the rows that stay.
    alone: each is a person of its own. Without it, such a row is an error.
    """


class Household(Section):
    """The column that identifies the household of each row, or another group of people."""

    column: Annotated[str, Field(min_length=1)]
    """The name of the column. It is never published."""
    k: Annotated[int, Field(ge=1)] = 1
    """Every class has members of at least this many households. With 1, households are only
    measured.
    """


class Weight(Section):
    """The column with the number of people whom each row stands for."""

    keys_together = OF_WEIGHT
    column: Annotated[str, Field(min_length=1)]
    """The name of the column. Its values are numbers from 0 to 1,000,000,000."""
    publish: bool = False
    """Publish the column, and check it like an insensitive attribute. If false, no public file has
    it.
    """
    round_to: (
        Annotated[
            Exact, AfterValidator(above_zero), WithJsonSchema(number_schema(exclusiveMinimum=0))
        ]
        | None
    ) = None
    """Published weights are rounded to the nearest multiple of this, and between two to the even
    one.
    """


def _settings(value: Any) -> Any:
    """The name of a column as its settings."""
    return {"column": value} if isinstance(value, str) else value


PersonColumn = Annotated[Person, BeforeValidator(_settings, json_schema_input_type=str | Person)]
HouseholdColumn = Annotated[
    Household, BeforeValidator(_settings, json_schema_input_type=str | Household)
]
WeightColumn = Annotated[Weight, BeforeValidator(_settings, json_schema_input_type=str | Weight)]
