"""Columns, missing values, fingerprints and written tables: what stages and checks all need. Tables are read in
`reading`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.io.spark.capabilities import set_if_allowed, setting, settings_below
from tclose_spark.io.spark.workers import texts_of
from tclose_spark.io.storage.folders import for_spark, open_folder
from tclose_spark.runfile.attributes import ROLES, Attributes, QuasiIdentifier, SensitiveAttribute, Text
from tclose_spark.runfile.loading import URI
from tclose_spark.runfile.quantities import CODES_A_DAY, FIRST, LAST, Calendar, write_moment
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.column_names.names import MOST_NAMES, are_names, instead_of_each, shown
from tclose_spark.table.hierarchies.building import with_missing
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.writing import write_number

MALFORMED = "_tclose_malformed"
SUPPRESSED = "suppressed"
"""The column of `linked` that says which rows are not released."""
INTEGRAL = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
FRACTIONAL = (T.FloatType, T.DoubleType, T.DecimalType)
UNSUPPORTED = (
    T.ArrayType,
    T.StructType,
    T.MapType,
    T.VariantType,
    T.NullType,
    T.YearMonthIntervalType,
    T.DayTimeIntervalType,
)  # hashes of rows do not tell all their values apart, or text does not order them
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$"
TEMPORAL = {"date": (T.DateType,), "timestamp": (T.TimestampType, T.TimestampNTZType)}
MOMENTS = {
    "date": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
    "timestamp": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})?$",
}
NO_VALUE = {
    "numeric": "no finite number of at most 15 digits",
    "date": "no date (such as 2024-02-29) of the years 1 to 9999",
    "timestamp": "no time (such as 2024-02-29T12:00:00) of the years 1 to 9999",
}
"""What values are that are none of a quasi-identifier's type."""
SETTINGS = {"delta.dataSkippingNumIndexedCols": "0", "delta.enableChangeDataFeed": "false"}
"""Of every Delta table that is written."""
STATISTICS = "parquet.column.statistics.enabled"  # which the Parquet of Spark 4.0 does not know
DEFAULTS = "spark.databricks.delta.properties.defaults."
LARGE_VALUES = {
    "parquet.enable.dictionary": "false",
    "parquet.page.size.row.check.min": "1",  # Parquet would look at sizes after a hundred values only
    "parquet.block.size.row.check.min": "1",
}
"""Options of Parquet for columns whose values are files or batches of rows."""
UNREADABLE = "tclose_unreadable"  # in a column's metadata: why its values cannot be had, and the cure


def quoted(name: str) -> Column:
    """The column of exactly this name, whatever characters it has."""
    return F.col("`" + name.replace("`", "``") + "`")


def read_hierarchies(
    quasi: Mapping[str, QuasiIdentifier],
    sensitive: Mapping[str, SensitiveAttribute],
    spark: SparkSession,
    where: str = "",
) -> dict[str, Hierarchy]:
    """The hierarchies of the columns that have a file of one, by column; `where` begins the keys that errors name.

    That of a sensitive attribute with `missing: leaf` has the leaf.

    Raises:
        ConfigurationError: with every one that cannot be read or is not a tree.
    """
    hierarchies, problems = {}, []
    for role, columns in (("quasi_identifiers", quasi), ("sensitive_attributes", sensitive)):
        for name, settings in columns.items():
            if isinstance(settings.hierarchy, str):
                key = f"{where}{role}.{name}.hierarchy"
                try:
                    tree = Hierarchy.parse(_read_text(settings.hierarchy, key, spark), key)
                    hierarchies[name] = with_missing(tree, settings, key)
                except ConfigurationError as error:
                    problems.append(str(error))
    if problems:
        raise ConfigurationError("\n".join(problems))
    return hierarchies


def _read_text(path: str, key: str, spark: SparkSession) -> str:
    folder, _, name = path.rpartition("/")
    try:
        return open_folder(folder, spark).read(name) if URI.match(path) else Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, Py4JJavaError) as error:
        raise ConfigurationError(
            f"{key}: {path} cannot be read ({getattr(error, 'strerror', None) or 'missing, or not UTF-8'})"
        ) from None


def check_columns(table: DataFrame, spec: ReleaseSpec) -> None:
    """Raises InputError, with all that is wrong, unless the table has every column the spec names, of a type that can
    be released, and none that it does not name.
    """
    attributes, names = spec.attributes, [name for name in table.columns if name != MALFORMED]
    listed = [(f"attributes.{place}: ", column) for place, column in _listed_columns(attributes)]
    columns = [column for _, column in listed]
    absent = [(key, column) for key, column in listed if column not in names]
    told = instead_of_each([column for _, column in absent], names, columns)
    problems = [
        f"{key}column {column!r} is not in the input; {end}" for (key, column), end in zip(absent, told, strict=False)
    ]
    if not absent or are_names(names, columns):
        problems += _unlisted(names, set(columns), attributes.drop_others)
        for key, column in listed:
            if column in names and column in attributes.published:
                problems += [key + problem for problem in _column_problems(table, column, names, attributes)]
    problems += _made_names(spec)
    if problems:
        raise InputError("\n".join(problems))


def _listed_columns(attributes: Attributes) -> Iterator[tuple[str, str]]:
    """Where the run file lists each column, below `attributes`, and the column."""
    for role in ROLES:
        columns = getattr(attributes, role)
        for column in columns:
            yield f"{role}.{column}" if isinstance(columns, Mapping) else role, column


def _unlisted(columns: Sequence[str], listed: Collection[str], drop_others: bool) -> Iterator[str]:
    """What is wrong if columns are in no list."""
    others = [shown(place, name) for place, name in enumerate(columns) if name not in listed]
    if others and not drop_others:
        one = len(others) == 1
        names = others[0] if one else f"columns {', '.join(o.removeprefix('column ') for o in others[:MOST_NAMES])}"
        more = f" and {len(others) - MOST_NAMES} more" if len(others) > MOST_NAMES else ""
        yield (
            f"attributes: {names}{more} of the input {'is' if one else 'are'} in no list of "
            f"attributes; give {'it' if one else 'each'} a role, or set attributes.drop_others: true to leave such "
            "columns out"
        )


def _column_problems(table: DataFrame, column: str, names: Sequence[str], attributes: Attributes) -> Iterator[str]:
    """What is wrong with a column that is there."""
    quasi = attributes.quasi_identifiers.get(column)
    if [name.lower() for name in names].count(column.lower()) > 1:
        yield f"column {column!r}: the input has a duplicate, several columns of this name but for case; rename them"
        return
    why = table.schema[column].metadata.get(UNREADABLE)
    if why:
        yield f"column {column!r} is {why}"
        return
    if set(column) & set(" ,;{}()\n\t="):
        yield (
            f"column {column!r}: a Delta table cannot hold this name; rename it (no blanks or , ; {{ }} ( ) =): "
            f"input.columns: {{{column!r}: {plain_name(column)!r}}}"
        )
    kind = table.schema[column].dataType
    if isinstance(kind, UNSUPPORTED):
        yield (
            f"column {column!r} is of type {kind.simpleString()}, which cannot be released; convert it to plain "
            "values, or drop it"
        )
    elif quasi is not None and (wanted := _wanted(quasi)) is not None and not isinstance(kind, wanted[0]):
        yield f"quasi-identifier {column!r} is of type {kind.simpleString()}; expected {wanted[1]}"
    elif isinstance(kind, T.BinaryType) and column not in attributes.insensitive_attributes:
        yield f"column {column!r} is of type {kind.simpleString()}; expected single values"


def _wanted(quasi: QuasiIdentifier) -> tuple[tuple[type[T.DataType], ...], str] | None:
    """The types that a quasi-identifier's column may be of, text included, and what they are called; None of any."""
    if quasi.calendar is not None:
        called = "dates" if quasi.calendar == "date" else "timestamps"
        return (*TEMPORAL[quasi.calendar], T.StringType), f"{called}, or another type"
    if quasi.reads_numbers:
        return (*INTEGRAL, *FRACTIONAL, T.StringType), "numbers, or type: categorical"
    return None


def plain_name(name: str) -> str:
    """A name that Delta can hold, for one that it cannot."""
    return re.sub(r"[ ,;{}()\n\t=]+", "_", name).strip("_") or "column"


def check_readable(table: DataFrame, column: str) -> None:
    """Raises InputError if the column's values could not be had from the files: see `reading`."""
    why = table.schema[column].metadata.get(UNREADABLE)
    if why:
        raise InputError(f"column {column!r} is {why}")


def _made_names(spec: ReleaseSpec) -> Iterator[str]:
    """What is wrong if a column has the name of one that is made: of a bound, or in `linked`."""
    attributes, made = spec.attributes, []
    for name, quasi in attributes.quasi_identifiers.items():
        made += [f"{name}_min", f"{name}_max"] if quasi.numeric_output == "bounds" else []
        made += [f"{name}_raw"] if spec.output.keep_linked else []
    made += [SUPPRESSED] if spec.output.keep_linked and spec.privacy.suppression_limit else []
    published = {name.lower(): name for name in attributes.published}
    lower = [name.lower() for name in made]
    for column in (published.get(name, made[i]) for i, name in enumerate(lower)):
        if column.lower() in published or lower.count(column.lower()) > 1:
            yield f"column {column!r}: the release makes a column of this name (up to case) from another; rename it"


def plain(table: DataFrame, name: str) -> Column:
    """A column with one form for every value: NaN as NULL, -0.0 as 0.0; other values as they are."""
    column, kind = quoted(name), table.schema[name].dataType
    if isinstance(kind, T.FloatType | T.DoubleType):
        zero = F.lit(0.0).cast(kind)
        return F.when(F.isnan(column), F.lit(None)).when(column == zero, zero).otherwise(column)
    return column


def prepared_name(place: int) -> str:
    """What the column at this place of the published ones is called while the pipeline works: a number, since names of
    the user's may be like any that we make.
    """
    return f"c{place}"


def prepare(table: DataFrame, spec: ReleaseSpec) -> DataFrame:
    """The columns of `prepared`; direct identifiers end here."""
    return table.select(*prepared(table, spec))


def prepared(table: DataFrame, spec: ReleaseSpec) -> list[Column]:
    """The columns to publish, in their order and numbered (see `prepared_name`), with one form for every value.

    A numeric quasi-identifier is a bigint or a double (text that is no number becomes NULL; a float is the number that
    its shortest text says, so 0.3 stays 0.3), dates are days and times microseconds since 1970, a categorical one a
    string; sensitive and insensitive columns keep their types. What a hierarchy is of is a string, too, as labels write
    it. Missing values are NULL. Texts that a column's options make one value are one from here on.
    """
    columns, judged = list[Column](), dict[str, QuasiIdentifier | SensitiveAttribute]()
    judged |= {**spec.attributes.quasi_identifiers, **spec.attributes.sensitive_attributes}
    for place, name in enumerate(spec.attributes.published):
        column = judged_column(table, name, judged[name]) if name in judged else quoted(name)
        columns.append(column.alias(prepared_name(place)))
    return columns


def judged_column(table: DataFrame, name: str, settings: QuasiIdentifier | SensitiveAttribute) -> Column:
    """A quasi-identifier or a sensitive attribute with one form for every value: see `prepared`."""
    kind, column = table.schema[name].dataType, plain(table, name)
    if settings.text is not None and settings.text != Text():
        column = texts_of(column, settings.text.of)
    if isinstance(settings, SensitiveAttribute):
        return column
    if settings.calendar is not None:
        column = _moment_code(column, kind, settings.calendar)
        return column if settings.is_numeric else texts_of(column, partial(write_moment, calendar=settings.calendar))
    if not settings.reads_numbers:
        return column.cast("string")
    column = column.cast("string") if isinstance(kind, T.FloatType) else column
    column = column.cast("bigint") if isinstance(kind, INTEGRAL) else column.try_cast("double")
    return column if settings.is_numeric else texts_of(column, write_number)


def _moment_code(column: Column, kind: T.DataType, calendar: Calendar) -> Column:
    """Dates as days, times as microseconds since 1970; text that is none becomes NULL."""
    if calendar == "date":
        return F.unix_date(column.try_cast("date") if isinstance(kind, T.StringType) else column).cast("bigint")
    return F.unix_micros(column.try_cast("timestamp") if isinstance(kind, T.StringType) else column.cast("timestamp"))


def not_of_type(table: DataFrame, name: str, settings: QuasiIdentifier) -> Column:
    """Whether a value is none of the type that the run file says of a quasi-identifier (see NO_VALUE)."""
    if settings.calendar is None:
        return not_numbers(table, name)
    column, kind = quoted(name), table.schema[name].dataType
    code = _moment_code(column, kind, settings.calendar)
    a_day = CODES_A_DAY["timestamp"] // CODES_A_DAY[settings.calendar]
    wrong = column.isNotNull() & ~F.coalesce(code.between(-(-FIRST // a_day), LAST // a_day), F.lit(False))
    return wrong | ~column.rlike(MOMENTS[settings.calendar]) if isinstance(kind, T.StringType) else wrong


def normal_texts(table: DataFrame, columns: Mapping[str, QuasiIdentifier | SensitiveAttribute]) -> DataFrame:
    """A table with its columns of text that are among these after their options."""
    options = {name: settings.text for name, settings in columns.items() if settings.text not in (None, Text())}
    texts = {field.name for field in table.schema if isinstance(field.dataType, T.StringType)}
    asked = {name: text for name, text in options.items() if text is not None and name in texts}
    if not asked:
        return table
    return table.select(
        *[texts_of(quoted(c), asked[c].of).alias(c) if c in asked else quoted(c) for c in table.columns]
    )


def not_numbers(table: DataFrame, name: str) -> Column:
    """Whether a value of a numeric quasi-identifier is no finite number of at most 15 digits."""
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


def read_delta(spark: SparkSession, path: str) -> DataFrame:
    """The Delta table at a path."""
    return spark.read.format("delta").load(for_spark(path))


def bare(table: DataFrame) -> DataFrame:
    """A table without its columns' metadata, such as their comments.

    Of columns that Spark 4.0 is told to give no metadata it keeps what they have; an expression has none.
    """
    return table.select(*[F.coalesce(quoted(name)).alias(name, metadata={}) for name in table.columns])


def write_delta(table: DataFrame, path: str) -> None:
    """Writes a Delta table that carries its rows and nothing else: no statistics in its log, no change feed, no column
    comments.

    Raises:
        ConfigurationError: if there is a table at the path already.
    """
    try:
        with _no_defaults(table.sparkSession):
            bare(table).write.format("delta").mode("error").options(**SETTINGS).save(for_spark(path))
    except PySparkException as error:
        if "EXISTS" in (error.getCondition() or ""):
            raise ConfigurationError(f"{path} holds a table already") from None
        raise


@contextmanager
def _no_defaults(spark: SparkSession) -> Iterator[None]:
    """Without what a cluster gives every new table, such as names of its own for columns inside files, or numbers for
    rows: files of a release are read as they lie. Neither they nor their list have statistics.
    """
    held: dict[str, str | None] = {STATISTICS: setting(spark, STATISTICS), **settings_below(spark, DEFAULTS)}
    for key in held:
        set_if_allowed(spark, key, "false" if key == STATISTICS else None)
    try:
        yield
    finally:
        for key, value in held.items():
            set_if_allowed(spark, key, value)
