"""Codes of a table for missing values, such as 99 or `Unknown`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from tclose_spark.runfile.section import as_tuple
from tclose_spark.runfile.text import value_text

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
