"""The preparation of `table.columns.preparing` as expressions of Spark: the twin that tests compare
with.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tclose_spark.io.tables.columns import quoted
from tclose_spark.runfile.attributes import QuasiIdentifier, SensitiveAttribute, Text
from tclose_spark.runfile.quantities import CODES_A_DAY, FIRST, LAST, Calendar, write_moment
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.columns.preparing import MOMENTS, NUMBER
from tclose_spark.table.writing import write_number

INTEGRAL = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)


def texts_of(column: Column, text_of: Callable[[Any], str]) -> Column:
    return F.udf(
        lambda value: None if value is None else text_of(value),
        T.StringType(),
        useArrow=False,
    )(column)


def plain(table: DataFrame, name: str) -> Column:
    """A column with one form for every value: NaN as NULL, and -0.0 as 0.0."""
    column, kind = quoted(name), table.schema[name].dataType
    if isinstance(kind, T.FloatType | T.DoubleType):
        zero = F.lit(0.0).cast(kind)
        return F.when(F.isnan(column), F.lit(None)).when(column == zero, zero).otherwise(column)
    return column


def prepared_name(place: int) -> str:
    """The internal name of the published column at this place: a number, because a user's name may
    equal any internal name.
    """
    return f"c{place}"


def prepare(table: DataFrame, spec: ReleaseSpec) -> DataFrame:
    """The columns of `prepared`. Direct identifiers are dropped here."""
    return table.select(*prepared(table, spec))


def prepared(table: DataFrame, spec: ReleaseSpec) -> list[Column]:
    """The columns to publish, in order and numbered (see `prepared_name`), with one form for every
    value.

    A numeric quasi-identifier is a bigint or a double. Text that is not a number becomes NULL, and
    a float is the number of its shortest text, so 0.3 stays 0.3. Dates are days and times
    microseconds since 1970. A categorical one, or one with a hierarchy, is a string. Sensitive and
    insensitive columns keep their types. Missing values are NULL. Texts that a column's options
    merge are equal from here on.
    """
    columns, judged = list[Column](), dict[str, QuasiIdentifier | SensitiveAttribute]()
    judged |= {**spec.attributes.quasi_identifiers, **spec.attributes.sensitive_attributes}
    for place, name in enumerate(spec.attributes.published):
        column = judged_column(table, name, judged[name]) if name in judged else quoted(name)
        columns.append(column.alias(prepared_name(place)))
    return columns


def judged_column(
    table: DataFrame,
    name: str,
    settings: QuasiIdentifier | SensitiveAttribute,
) -> Column:
    """A quasi-identifier or sensitive attribute with one form for every value: see `prepared`."""
    kind, column = table.schema[name].dataType, plain(table, name)
    if settings.text is not None and settings.text != Text():
        column = texts_of(column, settings.text.of)
    if isinstance(settings, SensitiveAttribute):
        return column
    if settings.calendar is not None:
        column = _moment_code(column, kind, settings.calendar)
        return (
            column
            if settings.is_numeric
            else texts_of(column, partial(write_moment, calendar=settings.calendar))
        )
    if not settings.reads_numbers:
        text = column.cast("string")
        return (
            F.regexp_replace(text, r"^([+-]?[0-9]+)\.0+\z", "$1")
            if settings.type == "numeric"
            else text
        )
    column = column.cast("string") if isinstance(kind, T.FloatType) else column
    column = column.cast("bigint") if isinstance(kind, INTEGRAL) else column.try_cast("double")
    return column if settings.is_numeric else texts_of(column, write_number)


def _moment_code(column: Column, kind: T.DataType, calendar: Calendar) -> Column:
    """Dates as days, times as microseconds since 1970. Other text becomes NULL."""
    if calendar == "date":
        return F.unix_date(
            column.try_cast("date") if isinstance(kind, T.StringType) else column,
        ).cast("bigint")
    return F.unix_micros(
        column.try_cast("timestamp")
        if isinstance(kind, T.StringType)
        else column.cast("timestamp"),
    )


def not_of_type(table: DataFrame, name: str, settings: QuasiIdentifier) -> Column:
    """Whether a value does not have the type that the run file declares for a quasi-identifier (see
    NO_VALUE).
    """
    if settings.calendar is None:
        return not_numbers(table, name)
    column, kind = quoted(name), table.schema[name].dataType
    code = _moment_code(column, kind, settings.calendar)
    a_day = CODES_A_DAY["timestamp"] // CODES_A_DAY[settings.calendar]
    wrong = column.isNotNull() & ~F.coalesce(
        code.between(-(-FIRST // a_day), LAST // a_day),
        F.lit(False),
    )
    return (
        wrong | ~column.rlike(MOMENTS[settings.calendar])
        if isinstance(kind, T.StringType)
        else wrong
    )


def not_numbers(table: DataFrame, name: str) -> Column:
    """Whether a value of a numeric quasi-identifier is not a finite number of at most 15 digits."""
    kind, column = table.schema[name].dataType, quoted(name)
    if isinstance(kind, T.StringType):
        digits = F.regexp_replace(F.regexp_replace(column, "[eE].*$", ""), "[^0-9]|^[+-]?0+", "")
        infinite = column.try_cast("double").isin(math.inf, -math.inf)
        return column.isNotNull() & ~(column.rlike(NUMBER) & (F.length(digits) <= 15) & ~infinite)
    if isinstance(kind, T.DecimalType):
        return column.isNotNull() & ~column.eqNullSafe(column.cast("double").cast(kind))
    if isinstance(kind, T.FloatType | T.DoubleType):
        return column.isin(math.inf, -math.inf)
    return column.cast("bigint") == F.lit(-(2**63))  # stands for a missing value in codes
