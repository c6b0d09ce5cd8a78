"""What Spark is asked of a table that nobody has described: counts of the whole, and a sample of its rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tclose_spark.errors import InputError
from tclose_spark.io.tables.columns import FRACTIONAL, INTEGRAL, UNSUPPORTED, not_numbers, plain, quoted
from tclose_spark.suggesting.facts import ColumnFacts, Kind, TableFacts, WholeCounts, facts_of
from tclose_spark.suggesting.patterns import ISO_DATE, MARKED
from tclose_spark.suggesting.unique_share import codes_of

PRECISION = 0.02  # of how many values are different
SEED = 2026
DELTA_FORBIDS = frozenset(" ,;{}()\n\t=")


def gather_facts(
    table: DataFrame, most: int | None, look: Callable[[ColumnFacts], None] = lambda _: None
) -> TableFacts:
    """The facts of every column: two passes, one over the whole table and one for about `most` rows of it.

    most: None for all rows. look: is shown each column's facts as they are found.

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
        raise InputError("--sample: no row was drawn; ask for more")
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
    if isinstance(type_, INTEGRAL):
        return "integer"
    if isinstance(type_, FRACTIONAL):
        return "decimal"
    kinds: list[tuple[type[T.DataType] | tuple[type[T.DataType], ...], Kind]] = [
        (T.StringType, "text"),
        (T.DateType, "date"),
        ((T.TimestampType, T.TimestampNTZType), "timestamp"),
        (T.BooleanType, "boolean"),
    ]
    return next((kind for types, kind in kinds if isinstance(type_, types)), "other")


def _whole(table: DataFrame) -> dict[str, WholeCounts]:
    """The counts of each column, in one pass."""
    counts = [F.count(F.lit(1)).alias("rows")]
    for i, name in enumerate(table.columns):
        value = _value(table, name)
        is_text = isinstance(table.schema[name].dataType, T.StringType)
        is_number = isinstance(table.schema[name].dataType, (*INTEGRAL, *FRACTIONAL))
        marked = value.rlike(f"^({MARKED})$") if is_text else F.lit(False)
        dated = value.rlike(f"^({ISO_DATE})$") if is_text else F.lit(False)
        wrong = not_numbers(table, name) if is_text or is_number else value.isNotNull()
        counts += [
            F.count(value).alias(f"present{i}"),
            F.approx_count_distinct(value, PRECISION).alias(f"distinct{i}"),
            F.sum(wrong.cast("bigint")).alias(f"wrong{i}"),
            F.sum(marked.cast("bigint")).alias(f"marked{i}"),
            F.sum(dated.cast("bigint")).alias(f"dates{i}"),
        ]
    found = table.agg(*counts).head()
    assert found is not None
    return {
        name: WholeCounts(
            rows=found["rows"],
            missing=found["rows"] - found[f"present{i}"],
            distinct=found[f"distinct{i}"],
            not_numbers=found[f"wrong{i}"] or 0,
            marked=found[f"marked{i}"] or 0,
            iso_dates=found[f"dates{i}"] or 0,
        )
        for i, name in enumerate(table.columns)
    }


def _value(table: DataFrame, name: str) -> Column:
    """A column as facts are found of it: missing as NULL, numbers as such, all others as text, of none that cannot be
    text.
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
