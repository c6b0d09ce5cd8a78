"""Columns of intervals, as pandas.cut makes them: read as texts such as `(20, 30]`."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.table.columns.preparing import as_text

NAME = b"ARROW:extension:name"
ABOUT = b"ARROW:extension:metadata"
BRACKETS = {"left": "[)", "right": "(]", "both": "[]", "neither": "()"}


def brackets_of(field: pa.Field) -> str | None:
    """The brackets of a column of intervals of numbers; None for other columns."""
    kind = field.type
    about = field.metadata or {}
    if isinstance(kind, pa.BaseExtensionType) and kind.extension_name == "pandas.interval":
        kind, closed = kind.storage_type, kind.closed
    elif about.get(NAME) == b"pandas.interval" and pa.types.is_struct(kind):
        closed = json.loads(about[ABOUT])["closed"]
    else:
        return None
    numbers = pa.types.is_integer(kind.field(0).type) or pa.types.is_floating(kind.field(0).type)
    return BRACKETS[closed] if numbers else None


def interval_texts(values: Any, brackets: str) -> Any:
    """Intervals, in an array or several, as texts. Numbers are written as by `as_text`."""
    if isinstance(values, pa.ChunkedArray):
        return pa.chunked_array(
            [interval_texts(chunk, brackets) for chunk in values.chunks], pa.string()
        )
    ends = values.storage if isinstance(values, pa.ExtensionArray) else values
    left, right = (as_text(pc.struct_field(ends, place)) for place in (0, 1))
    return pc.binary_join_element_wise(brackets[0], left, ", ", right, brackets[1], "")
