"""Opens an undescribed table, and gathers facts by Spark: counts of the whole table, and a sample of its rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import chain, count

import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tclose_spark.errors import InputError
from tclose_spark.io.input.damaged_text import SourceTable, checked, translate_read_errors
from tclose_spark.io.input.reading import read_table
from tclose_spark.io.input.table_argument import unread
from tclose_spark.io.tables.check_columns import plain_name
from tclose_spark.io.tables.columns import FRACTIONAL, INTEGRAL, MALFORMED, UNSUPPORTED, quoted
from tclose_spark.io.tables.prepared import not_numbers, plain
from tclose_spark.runfile.spec import Input
from tclose_spark.suggesting.facts import ColumnFacts, Kind, TableFacts, WholeCounts, facts_of
from tclose_spark.suggesting.patterns import ISO_DATE, MARKED
from tclose_spark.suggesting.unique_share import codes_of
from tclose_spark.table.column_names.names import SEPARATORS, is_name

PRECISION = 0.02  # of the number of distinct values
SEED = 2026
DELTA_FORBIDS = frozenset(" ,;{}()\n\t=")
KINDS: dict[Kind, tuple[type[T.DataType], ...]] = {
    "integer": INTEGRAL,
    "decimal": FRACTIONAL,
    "text": (T.StringType,),
    "date": (T.DateType,),
    "timestamp": (T.TimestampType, T.TimestampNTZType),
    "boolean": (T.BooleanType,),
}


def gather_facts(
    table: DataFrame, most: int | None, look: Callable[[ColumnFacts], None] = lambda _: None
) -> TableFacts:
    """The facts of every column, from one pass over the whole table and one over a sample.

    most: the approximate number of sampled rows; None for all. look: is called with the facts of each column.

    Raises:
        InputError: if the table has no rows.
    """
    whole = _whole(table)
    rows = next(iter(whole.values())).rows if whole else 0
    if not rows:
        raise InputError("input.path: the table has no rows")
    share = 1.0 if most is None else min(1.0, most / rows)
    drawn = table if share >= 1 else table.sample(withReplacement=False, fraction=share, seed=SEED)
    sample = drawn.select(*[_value(table, name).alias(f"c{i}") for i, name in enumerate(table.columns)]).toArrow()
    if not sample.num_rows:
        raise InputError("--sample: no row was drawn; give a larger number")
    facts, codes = [], {}
    for i, name in enumerate(table.columns):
        column, counts = sample.column(i), whole[name]
        if sample.num_rows == rows:
            counts = replace(counts, distinct=pc.count_distinct(column, mode="only_valid").as_py())
        kind = kind_of(table.schema[name].dataType)
        found = facts_of(name, kind, column, counts, _unusable(table, name, counts))
        look(found)
        facts.append(found)
        codes[name] = codes_of(column)
    return TableFacts(rows, tuple(facts), codes)


def kind_of(type_: T.DataType) -> Kind:
    """What a column of this type holds."""
    return next((kind for kind, types in KINDS.items() if isinstance(type_, types)), "other")


def _whole(table: DataFrame) -> dict[str, WholeCounts]:
    """The counts of each column, in one pass."""
    counts = [F.count(F.lit(1)).alias("rows")]
    for i, name in enumerate(table.columns):
        value, kind = _value(table, name), kind_of(table.schema[name].dataType)
        is_text = kind == "text"
        tests = {
            "not_numbers": not_numbers(table, name) if kind in ("text", "integer", "decimal") else value.isNotNull(),
            "marked": value.rlike(f"^({MARKED})$") if is_text else F.lit(False),
            "iso_dates": value.rlike(f"^({ISO_DATE})$") if is_text else F.lit(False),
        }
        counts += [
            F.count_if(value.isNull()).alias(f"missing{i}"),
            F.approx_count_distinct(value, PRECISION).alias(f"distinct{i}"),
            *[F.count_if(test).alias(f"{count}{i}") for count, test in tests.items()],
        ]
    (found,) = table.agg(*counts).collect()
    parts = ("missing", "distinct", "not_numbers", "marked", "iso_dates")
    return {
        name: WholeCounts(rows=found["rows"], **{part: found[f"{part}{i}"] for part in parts})
        for i, name in enumerate(table.columns)
    }


def _value(table: DataFrame, name: str) -> Column:
    """A column as facts are computed from it: numbers as such, all others as text, missing values and types without a
    text as NULL.
    """
    type_ = table.schema[name].dataType
    if isinstance(type_, INTEGRAL):
        return quoted(name).cast("bigint")
    if isinstance(type_, FRACTIONAL):
        value = plain(table, name).cast("double")
        return F.when(~value.isin(math.inf, -math.inf), value) if not isinstance(type_, T.DecimalType) else value
    if isinstance(type_, (*UNSUPPORTED, T.BinaryType)):
        return F.hex(F.xxhash64(quoted(name))) if isinstance(type_, T.BinaryType) else F.lit(None).cast("string")
    return quoted(name).cast("string")


def _unusable(table: DataFrame, name: str, whole: WholeCounts) -> str:
    """Why a column cannot be released as it is; "" if it can."""
    type_ = table.schema[name].dataType
    if isinstance(type_, (*UNSUPPORTED, T.BinaryType)):
        return f"its type, {type_.typeName()}, cannot be released"
    if set(name) & DELTA_FORBIDS:
        return "a Delta table cannot hold its name; rename it (no blanks or , ; { } ( ) =)"
    if [other.lower() for other in table.columns].count(name.lower()) > 1:
        return "another column has its name but for case; rename one"
    if whole.marked:
        return f"{whole.marked:,} values are * or begin and end with braces, which a release gives a meaning"
    return ""


def open_unknown_table(spark: SparkSession, source: Input) -> SourceTable:
    """The table; a CSV file without a given separator is read with that of its header.

    Raises:
        InputError: if it cannot be read, or its header may be a record.
    """
    try:
        table = read_table(spark, source)
        names = [name for name in table.columns if name != MALFORMED]
        separator = _separator(names[0]) if len(names) == 1 else None
        if source.format == "csv" and separator and not {"sep", "delimiter"} & {key.lower() for key in source.options}:
            return open_unknown_table(
                spark, source.model_copy(update={"options": {**source.options, "sep": separator}})
            )
    except InputError as error:
        raise unread(error, source) from None
    header = source.format == "csv" and source.options.get("header", "").lower() == "true"
    if header and 2 * sum(not is_name(name) for name in names) > len(names):
        raise InputError(
            f"input.path: the first line of {source.path} looks like a record, not like column names; if it is one, "
            "give --option header=false"
        )
    opened = SourceTable(table, source, names)
    with translate_read_errors(opened):
        return with_plain_names(SourceTable(checked(opened), source, names))


def with_plain_names(opened: SourceTable) -> SourceTable:
    """The table with names that Delta can hold; the source's `columns` has the renamed ones."""
    columns, taken = {}, {name.lower() for name in opened.table.columns}
    for name in opened.table.columns:
        new_name = plain_name(name)
        if new_name != name and [other.lower() for other in opened.table.columns].count(name.lower()) == 1:
            new = next(
                made for made in chain([new_name], (f"{new_name}_{i}" for i in count(2))) if made.lower() not in taken
            )
            columns[name] = new
            taken.add(new.lower())
    if not columns:
        return opened
    table = opened.table.select(*[quoted(name).alias(columns.get(name, name)) for name in opened.table.columns])
    return SourceTable(table, opened.source.model_copy(update={"columns": columns}), table.columns)


def _separator(header: str) -> str | None:
    """The separator in a header that was read as one name."""
    most = max(SEPARATORS, key=header.count)
    return most if header.count(most) else None
