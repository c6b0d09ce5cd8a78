"""What every part of the run file is made of: frozen sections, and numbers exactly as they are written."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer

from tclose_spark.runfile.numbers import parse_number


def exact_number(value: Any) -> Fraction:
    """A number exactly as it is written: 0.1 is one tenth."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str | Fraction):
        raise ValueError("expected a number")
    try:
        return parse_number(str(value))
    except ValueError:
        raise ValueError("expected a number such as 0.2") from None


def as_tuple(value: Any) -> Any:
    """A list of the run file as a tuple."""
    return tuple(value) if isinstance(value, list) else value


Exact = Annotated[Fraction, BeforeValidator(exact_number), PlainSerializer(str)]
"""A rational number, exactly as the run file writes it."""


class Section(BaseModel):
    """A part of the run file: frozen, strictly typed, without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
