"""Thresholds and identification levels of rare cells, as a question has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from tclose_spark.runfile.quantities import LARGEST_COUNT


def parse_thresholds(value: Any) -> tuple[Any, ...]:
    """A threshold, or one for each size.

    >>> parse_thresholds("3,2"), parse_thresholds(3)
    ((3, 2), (3,))
    """
    if isinstance(value, str):
        return tuple(_whole(part, "whole numbers such as 3,2,1") for part in value.split(","))
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def parse_levels(value: Any) -> Any:
    """Levels by column.

    >>> parse_levels("zip=1,age=2")
    {'zip': 1, 'age': 2}
    """
    if not isinstance(value, str):
        return dict(value) if isinstance(value, Mapping) else value
    pairs = [part.rpartition("=") for part in value.split(",")]
    levels = {name: _whole(level, "levels such as zip=1,age=2") for name, _, level in pairs}
    if len(levels) < len(pairs):
        raise ValueError("expected each column once")
    return levels


def _whole(text: str, expected: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 18):
        raise ValueError(f"expected {expected}")
    return int(text)


Thresholds = Annotated[
    tuple[Annotated[int, Field(ge=1, le=LARGEST_COUNT)], ...],
    Field(min_length=1),
    BeforeValidator(parse_thresholds),
]
Levels = Annotated[
    dict[str, Annotated[int, Field(ge=0, le=LARGEST_COUNT)]], BeforeValidator(parse_levels)
]
