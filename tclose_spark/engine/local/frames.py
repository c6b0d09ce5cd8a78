"""Tables in memory, with the columns and types that Spark gives them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from tclose_spark.engine.local.needs_spark import NeedsSparkError as NeedsSparkError
from tclose_spark.engine.local.table import LocalTable
from tclose_spark.io.input.arrow_frames import as_arrow, is_spark, readable
from tclose_spark.io.local_session import LocalSession
from tclose_spark.table.columns.spark_types import (
    NAMES,
    UNREADABLE,
    is_unsupported,
    type_name,
    unsupported_field,
)

BATCH = 1 << 16  # rows


def frame_table(session: LocalSession, table: Any) -> LocalTable:
    """A table in memory with the columns and types that Spark gives it.

    Raises:
        InputError: naming a column that occurs twice, or whose values fit no column type.
        NeedsSparkError: if it is a DataFrame of Spark, or a column has a type that Spark may have.
    """
    if is_spark(table):
        raise NeedsSparkError("a table is a DataFrame of Spark")
    given = as_arrow(table)
    arrow, lost = readable(given)
    fields = []
    arrays = []
    for field, column in zip(arrow.schema, arrow.columns, strict=True):
        why = lost.get(field.name, "").encode() or (
            given.schema.field(field.name).metadata or {}
        ).get(UNREADABLE)
        made = _frame_field(field)
        if made.type != column.type:
            column = pa.nulls(len(column)) if is_unsupported(made.type) else column.cast(made.type)
        fields.append(made.with_metadata({UNREADABLE: why}) if why else made)
        arrays.append(column)
    return LocalTable.of(session, pa.table(arrays, pa.schema(fields)), BATCH)


def _frame_field(field: pa.Field) -> pa.Field:
    """A column with the type that Spark gives it."""
    kind = field.type
    if is_unsupported(kind):
        return unsupported_field(field.name, type_name(field))
    if pa.types.is_timestamp(kind):
        kind = pa.timestamp("us", "UTC" if kind.tz else None)
    if pa.types.is_fixed_size_binary(kind) and not pa.types.is_decimal(kind):
        kind = pa.binary()
    if pa.types.is_decimal(kind):
        kind = pa.decimal128(kind.precision, kind.scale)
    elif kind not in NAMES:
        raise NeedsSparkError(f"column {field.name!r} of the table is of type {kind}")
    return pa.field(field.name, kind)
