"""Tables in memory (pandas, polars, pyarrow and others with Arrow export) as the Arrow table that
Spark would read from their Parquet file. Imports no Spark.

Columns of intervals, as pandas.cut makes them, are read as texts such as `(20, 30]`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.io.input.problems import not_of_spark, of_zone
from tclose_spark.table.columns.preparing import as_text

WIDER = {
    pa.null(): pa.int32(),
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
}
"""Types that Spark has not, and those of the same values that it reads them as from Parquet."""


def is_spark(table: Any) -> bool:
    """Whether a table is a DataFrame of Spark. It does not import PySpark."""
    module = sys.modules.get("pyspark.sql")
    return module is not None and isinstance(table, module.DataFrame)


def is_frame(table: Any) -> bool:
    """Whether a table is in memory and exports Arrow.

    >>> is_frame(pa.table({"age": [1]})), is_frame("people.csv")
    (True, False)
    """
    return hasattr(table, "__arrow_c_stream__") or _is_pandas(table) or _is_lazy(table)


def read_once(table: Any) -> Any:
    """A table in memory as Arrow, since a stream can be read once only; one of Spark as it is.

    Raises:
        InputError: see `as_arrow`.
    """
    return table if is_spark(table) else as_arrow(table)


def as_arrow(table: Any) -> pa.Table:
    """The columns of a table in memory. A pandas index is not a column. NaN and None of pandas are
    missing values.

    Raises:
        ConfigurationError: if there is no table.
        InputError: naming a column that occurs twice, or whose values fit no column type: mixed
            types, or integers beyond 64 bits.
    """
    if table is None:
        raise ConfigurationError("which table? Give a DataFrame or a path")
    if _is_pandas(table):
        columns = dict(_pandas_columns(table))
        return pa.table(columns) if columns else pa.table({})
    try:
        arrow = table.collect().to_arrow() if _is_lazy(table) else pa.table(table)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(
            f"a column of the table is of a type that Arrow does not have ({error}); convert it, "
            "or leave it out",
        ) from None
    for name in arrow.column_names:
        _check_once(name, arrow.column_names)
    return arrow


def readable(table: pa.Table) -> tuple[pa.Table, dict[str, str]]:
    """(the table with the types that Spark reads, why the values of a column could not be had):
    such a column is empty.

    Categories become their values, intervals texts, times in nanoseconds those in microseconds
    where nothing is lost.

    >>> made, lost = readable(pa.table({"sex": pa.array(["f", "m"]).dictionary_encode()}))
    >>> str(made.schema.field("sex").type), lost
    ('string', {})
    """
    columns: dict[str, pa.ChunkedArray] = {}
    lost: dict[str, str] = {}
    for field, name, column in zip(table.schema, table.column_names, table.columns, strict=True):
        try:
            brackets = brackets_of(field)
            columns[name] = interval_texts(column, brackets) if brackets else _readable(column)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
            columns[name] = pa.chunked_array([pa.nulls(len(column), pa.string())])
            lost[name] = _why(column.type)
    return pa.table(columns), lost


def _readable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column in a type that Spark reads. Raises pyarrow's errors if there is no such type."""
    if pa.types.is_dictionary(column.type):
        kind = column.type.value_type
        brackets = brackets_of(pa.field("", kind))
        values = [
            interval_texts(c.dictionary, brackets) if brackets else _plain(c.dictionary)
            for c in column.chunks
        ]
        chunks = [
            each.take(chunk.indices) for each, chunk in zip(values, column.chunks, strict=True)
        ]
        column = pa.chunked_array(chunks, pa.string() if brackets else WIDER.get(kind, kind))
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.cast(column.type.storage_type)
    kind = column.type
    if of_zone(kind):
        raise pa.ArrowTypeError("a release has no zone")
    if pa.types.is_timestamp(kind):
        return column.cast(pa.timestamp("us", kind.tz))  # safe: an error where it would lose digits
    if pa.types.is_decimal256(kind):
        return column.cast(pa.decimal128(min(kind.precision, 38), kind.scale))
    if pa.types.is_time(kind) or pa.types.is_duration(kind):
        raise pa.ArrowTypeError("no type of Spark's tables")
    return _plain(column)


def _plain(values: Any) -> Any:
    """An array, or several, in a type that Spark has."""
    return values.cast(WIDER[values.type]) if values.type in WIDER else values


def _why(kind: pa.DataType) -> str:
    """Why a column's values are unreadable, as the end of a message."""
    if of_zone(kind):
        return of_zone(kind)
    if pa.types.is_timestamp(kind):
        return (
            "a timestamp in nanoseconds, which Spark does not have; round it to microseconds "
            "(pandas: .dt.floor('us')), or leave the column out"
        )
    return not_of_spark(kind)


def _is_pandas(table: Any) -> bool:
    module = sys.modules.get("pandas")
    return module is not None and isinstance(table, module.DataFrame)


def _is_lazy(table: Any) -> bool:
    module = sys.modules.get("polars")
    return module is not None and isinstance(table, module.LazyFrame)


def _pandas_columns(table: Any) -> Iterator[tuple[str, pa.Array]]:
    """The columns by name, as `to_parquet` writes them."""
    names = [str(name) for name in table.columns]
    for place, name in enumerate(names):
        _check_once(name, names)
        try:
            yield name, pa.array(table.iloc[:, place], from_pandas=True)
        except (
            pa.ArrowInvalid,
            pa.ArrowTypeError,
            pa.ArrowNotImplementedError,
            OverflowError,
            UnicodeError,
        ) as error:
            raise InputError(
                f"column {name!r} of the table holds {_unheld(error)}, such as by "
                f"table[{name!r}].astype('string'), or leave the column out",
            ) from None


def _unheld(error: Exception) -> str:
    """Why no column type fits such values, and what helps, without the values that the error
    names.
    """
    if isinstance(error, OverflowError):
        return "integers beyond 64 bits; make them text"
    if isinstance(error, UnicodeError):
        return "text that is not Unicode (lone surrogates); correct it and make it text again"
    if isinstance(error, pa.ArrowNotImplementedError):
        return "values of a type that no table has; make them plain values"
    return "values of several types; make them one"


def _check_once(name: str, names: list[str]) -> None:
    """Raises InputError if several columns have this name in any case, which Spark does not
    distinguish.
    """
    times = [other.lower() for other in names].count(name.lower())
    if times > 1:
        raise InputError(
            f"column {name!r} of the table has a duplicate: {times} columns of this name but for "
            "case; rename them",
        )


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
            [interval_texts(chunk, brackets) for chunk in values.chunks],
            pa.string(),
        )
    ends = values.storage if isinstance(values, pa.ExtensionArray) else values
    left, right = (as_text(pc.struct_field(ends, place)) for place in (0, 1))
    return pc.binary_join_element_wise(brackets[0], left, ", ", right, brackets[1], "")
