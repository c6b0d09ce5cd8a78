"""Whose rows are whose: the column of the run file that identifies a person."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from tclose_spark.runfile.section import Section


class Person(Section):
    """The column that identifies the person of each row."""

    column: Annotated[str, Field(min_length=1)]
    """The name of the column. It is never published."""
    rows: Literal["together", "apart"] = "together"
    """together: all rows of a person are in one class. apart: they may be in several classes, and the person counts in
    each of them.
    """


def _settings(value: Any) -> Any:
    """The name of a column as its settings."""
    return {"column": value} if isinstance(value, str) else value


PersonColumn = Annotated[Person, BeforeValidator(_settings, json_schema_input_type=str | Person)]
