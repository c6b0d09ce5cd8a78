"""What a run file states of columns beside their roles: whose rows are whose, how many people a row
stands for, which direct identifiers are published as keyed pseudonyms, and codes for missing
values, such as 99 or `Unknown`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    WithJsonSchema,
    model_validator,
)

from tclose_spark.runfile.combinations import OF_WEIGHT
from tclose_spark.runfile.section import Exact, Section, above_zero, as_tuple, number_schema
from tclose_spark.runfile.text import value_text

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
            Exact,
            AfterValidator(above_zero),
            WithJsonSchema(number_schema(exclusiveMinimum=0)),
        ]
        | None
    ) = None
    """Published weights are rounded to the nearest multiple of this, and between two to the even
    one.
    """


def _named_column(value: Any) -> Any:
    """The name of a column as its settings."""
    return {"column": value} if isinstance(value, str) else value


PersonColumn = Annotated[
    Person,
    BeforeValidator(_named_column, json_schema_input_type=str | Person),
]
HouseholdColumn = Annotated[
    Household,
    BeforeValidator(_named_column, json_schema_input_type=str | Household),
]
WeightColumn = Annotated[
    Weight,
    BeforeValidator(_named_column, json_schema_input_type=str | Weight),
]


Keyed = Literal["own secret", "named secret"]
"""Which secret keys a pseudonym: the run's own, or one that several releases may share."""
OWN: Keyed = "own secret"
NAMED: Keyed = "named secret"
VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")


COLUMN = r"^[^ ,;{}()\n\t=]+$"
"""A name that Delta takes."""


def _column(name: str) -> str:
    if not re.fullmatch(COLUMN, name):
        raise ValueError("expected a column name without blanks, tabs, line ends and , ; { } ( ) =")
    return name


class Pseudonym(Section):
    """How the pseudonym of a direct identifier is keyed and named."""

    secret: str | None = None
    """The environment variable with the secret that keys the pseudonyms. Releases with the same
    secret give a value the same pseudonym. Without it, the run's own secret keys them.
    """
    as_: (
        Annotated[
            str,
            AfterValidator(_column),
            WithJsonSchema({"type": "string", "pattern": COLUMN}),
        ]
        | None
    ) = Field(default=None, alias="as")
    """The name of the published column; without it, that of the identifier."""

    @property
    def keyed(self) -> Keyed:
        """Which secret keys it: OWN or NAMED."""
        return OWN if self.secret is None else NAMED

    @model_validator(mode="after")
    def _a_variable(self) -> Self:
        if self.secret is not None and not VARIABLE.fullmatch(self.secret):
            raise ValueError(
                "secret is no name of an environment variable (capital letters, digits and _); it "
                "is not shown here, since it may be a secret",
            )
        return self


def _named_pseudonyms(value: Any) -> Any:
    """A list of columns, or columns without settings, with the default ones."""
    value = {} if value is None else value
    if isinstance(value, list | tuple) and all(isinstance(name, str) for name in value):
        value = dict.fromkeys(value)
    return (
        {name: {} if one is None else one for name, one in value.items()}
        if isinstance(value, dict)
        else value
    )


Pseudonyms = Annotated[
    dict[str, Pseudonym],
    BeforeValidator(
        _named_pseudonyms,
        json_schema_input_type=list[str] | dict[str, Pseudonym | None] | None,
    ),
]


NUMBER = re.compile(r"(-?)(0|[1-9][0-9]*)(?:\.([0-9]*))?")


def code_of(text: str) -> str | Decimal:
    """A code as a run file without quotes would have it: a number if it looks like one.

    >>> code_of("99"), code_of("099")
    (Decimal('99'), '099')
    """
    return Decimal(text) if NUMBER.fullmatch(text) else text


def _code(value: Any) -> str | Decimal:
    if not isinstance(value, str | bool | int | float | Decimal | date) or value in (
        "",
        float("inf"),
    ):
        raise ValueError("expected a number, a text or a date")
    if (
        isinstance(value, int | float | Decimal)
        and not isinstance(value, bool)
        and math.isfinite(value)
    ):
        return Decimal(str(value))
    return value_text(value)


def _written(code: str | Decimal) -> str:
    """A code in JSON. A text that looks like a number keeps its quotes."""
    return json.dumps(code) if isinstance(code, str) and NUMBER.fullmatch(code) else str(code)


Code = Annotated[
    str | Decimal,
    BeforeValidator(_code),
    PlainSerializer(_written, when_used="json"),
    WithJsonSchema({"type": ["number", "string", "boolean"]}),
]
"""A number, or a text: one in quotes is a text even if it looks like a number."""
MissingValues = Annotated[tuple[Code, ...], BeforeValidator(as_tuple)]
"""Values that are read as missing, as `table/columns/missing.py` finds them."""
ByColumn = Mapping[str, Sequence[str | Decimal]]
"""Codes by the names of their columns."""
