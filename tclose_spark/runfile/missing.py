"""Codes of a table for missing values, such as 99 or `Unknown`."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from tclose_spark.runfile.section import as_tuple
from tclose_spark.runfile.text import value_text


def _code(value: Any) -> str:
    if not isinstance(value, str | bool | int | float | Decimal | date) or value in ("", float("inf")):
        raise ValueError("expected a number, a text or a date")
    return value_text(value)


Code = Annotated[str, BeforeValidator(_code), WithJsonSchema({"type": ["number", "string", "boolean"]})]
MissingValues = Annotated[tuple[Code, ...], BeforeValidator(as_tuple)]
"""Values that are read as missing, as `table/columns/missing.py` finds them."""
