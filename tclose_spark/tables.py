"""Reading and writing tables, missing values, and fingerprints: what stages and checks all need."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.hierarchy import Hierarchy
from tclose_spark.spec import URI, Input, QuasiIdentifier, ReleaseSpec, SensitiveAttribute
from tclose_spark.storage import for_spark, open_folder

MALFORMED = "_tclose_malformed"
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
NOT_FOUND = ("PATH_NOT_FOUND", "TABLE_OR_VIEW_NOT_FOUND", "DELTA_TABLE_NOT_FOUND", "DELTA_MISSING_DELTA_TABLE", "DELTA_PATH_DOES_NOT_EXIST")


def quoted(name: str) -> Column:
    """The column of exactly this name, whatever characters it has."""
    return F.col("`" + name.replace("`", "``") + "`")


def read_table(spark: SparkSession, source: Input, version: int | None = None) -> DataFrame:
    """The raw table. A CSV file is read as text unless `inferSchema` is set, with its malformed rows marked in MALFORMED.

    version: of a Delta table, to read again what was read before.

    Raises:
        InputError: if it is missing or cannot be read as its format.
    """
    reader = spark.read.options(**source.options)
    try:
        if source.format == "csv":
            return _read_csv(spark, source)
        if version is not None:
            options = {key: value for key, value in source.options.items() if key != "timestampAsOf"}
            reader = spark.read.options(**{**options, "versionAsOf": str(version)})
        if source.format == "table":
            return reader.table(source.path)
        return reader.format(source.format).load(for_spark(source.path))
    except (PySparkException, Py4JJavaError) as error:
        condition = (error.getCondition() or "") if isinstance(error, PySparkException) else ""
        if condition.startswith(NOT_FOUND):
            raise InputError(f"input.path: {source.path} does not exist") from None
        raise InputError(f"input.path: {source.path} cannot be read as {source.format} ({condition or type(error).__name__})") from None


def _read_csv(spark: SparkSession, source: Input) -> DataFrame:
    options: dict[str, str] = {"escape": '"', **source.options}
    schema = spark.read.options(**options).csv(for_spark(source.path)).schema
    marked = T.StructType([*schema.fields, T.StructField(MALFORMED, T.StringType())])
    options |= {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": MALFORMED, "columnPruning": "false", "enforceSchema": "false"}
    table = spark.read.options(**options).schema(marked).csv(for_spark(source.path))
    return table.select(
        *[_empty_as_null(field).alias(field.name) for field in schema.fields], quoted(MALFORMED).isNotNull().alias(MALFORMED)
    )


def _empty_as_null(field: T.StructField) -> Column:
    column = quoted(field.name)
    return F.when(column != "", column) if isinstance(field.dataType, T.StringType) else column


def guess_format(path: str) -> str:
    """What a table is by its path: csv or parquet by its ending, delta by its log; else parquet where it exists, and else
    the name of a table in the catalog.
    """
    bare = path.rstrip("/").lower()
    for ending, kind in (
        (".csv", "csv"),
        (".csv.gz", "csv"),
        (".txt", "csv"),
        (".tsv", "csv"),
        (".parquet", "parquet"),
        (".delta", "delta"),
    ):
        if bare.endswith(ending):
            return kind
    if (Path(path) / "_delta_log").is_dir():
        return "delta"
    if Path(path).is_dir():
        return "csv" if any(Path(path).glob("*.csv")) else "parquet"
    return "delta" if "/" in path else "table"


def read_hierarchies(
    quasi: Mapping[str, QuasiIdentifier], sensitive: Mapping[str, SensitiveAttribute], spark: SparkSession, where: str = ""
) -> dict[str, Hierarchy]:
    """The hierarchies of the columns that have one, by column; `where` begins the keys that errors name.

    Raises:
        ConfigurationError: if one cannot be read or is not a tree.
    """
    found = {}
    for role, columns in (("quasi_identifiers", quasi), ("sensitive_attributes", sensitive)):
        for name, asked in columns.items():
            if asked.hierarchy is not None:
                key = f"{where}{role}.{name}.hierarchy"
                found[name] = Hierarchy.parse(_read_text(asked.hierarchy, key, spark), key)
    return found


def _read_text(path: str, key: str, spark: SparkSession) -> str:
    folder, _, name = path.rpartition("/")
    try:
        return open_folder(folder, spark).read(name) if URI.match(path) else Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, Py4JJavaError) as error:
        raise ConfigurationError(f"{key}: {path} cannot be read ({getattr(error, 'strerror', None) or 'missing, or not UTF-8'})") from None


def delta_version(spark: SparkSession, source: Input) -> int | None:
    """The version of a Delta input, else None."""
    if source.format not in ("delta", "table"):
        return None
    if "versionAsOf" in source.options:
        return int(source.options["versionAsOf"])
    table = source.path if source.format == "table" else f"delta.`{for_spark(source.path)}`"
    try:
        history = spark.sql(f"DESCRIBE HISTORY {table}")
        if "timestampAsOf" in source.options:
            history = history.where(F.col("timestamp") <= F.lit(source.options["timestampAsOf"]).cast("timestamp"))
        latest = history.agg(F.max("version")).head()
    except (PySparkException, Py4JJavaError):
        return None
    return int(latest[0]) if latest and latest[0] is not None else None


def check_columns(table: DataFrame, spec: ReleaseSpec) -> None:
    """Raises InputError unless the table has every column the spec names, and none that it does not name."""
    attributes, names = spec.attributes, [name for name in table.columns if name != MALFORMED]
    for role in ("direct_identifiers", "quasi_identifiers", "sensitive_attributes", "insensitive_attributes"):
        for column in getattr(attributes, role):
            if column not in names:
                raise InputError(f"attributes.{role}: column {column!r} is not in the input; it has {', '.join(names)}")
    listed = {*attributes.direct_identifiers, *attributes.published}
    others = [name for name in names if name not in listed]
    if others and not attributes.drop_others:
        raise InputError(
            f"column {others[0]!r} of the input is in no list of attributes"
            + (f" (nor are {len(others) - 1} more)" if len(others) > 1 else "")
            + "; give it a role, or set attributes.drop_others: true to leave such columns out"
        )
    lower = [name.lower() for name in names]
    for column in attributes.published:
        if lower.count(column.lower()) > 1:
            raise InputError(f"column {column!r}: the input has several columns of this name but for case; rename them")
        if set(column) & set(" ,;{}()\n\t="):
            raise InputError(f"column {column!r}: a Delta table cannot hold this name; rename it (no blanks or , ; {{ }} ( ) =)")
        kind = table.schema[column].dataType
        if isinstance(kind, UNSUPPORTED):
            raise InputError(
                f"column {column!r} is of type {kind.simpleString()}, which cannot be released; convert it to plain values, or drop it"
            )
    _check_made_names(spec)
    for column, quasi in attributes.quasi_identifiers.items():
        kind = table.schema[column].dataType
        if quasi.is_numeric and not isinstance(kind, (*INTEGRAL, *FRACTIONAL, T.StringType)):
            raise InputError(f"quasi-identifier {column!r} is of type {kind.simpleString()}; expected numbers, or type: categorical")
    for column in (*attributes.quasi_identifiers, *attributes.sensitive_attributes):
        kind = table.schema[column].dataType
        if isinstance(kind, T.BinaryType):
            raise InputError(f"column {column!r} is of type {kind.simpleString()}; expected single values")


def _check_made_names(spec: ReleaseSpec) -> None:
    """Raises InputError if a column has the name of one that is made: of a bound, or of a raw value in `linked`."""
    attributes, made = spec.attributes, set()
    for name, quasi in attributes.quasi_identifiers.items():
        made |= {f"{name}_min", f"{name}_max"} if quasi.numeric_output == "bounds" else set()
        made |= {f"{name}_raw"} if spec.output.keep_linked else set()
    for column in attributes.published:
        if column in made:
            raise InputError(f"column {column!r} has the name of a column that the release makes; rename it")


def integral_columns(table: DataFrame, columns: Sequence[str]) -> frozenset[str]:
    """Those of the columns that hold integers."""
    return frozenset(c for c in columns if isinstance(table.schema[c].dataType, INTEGRAL))


def plain(table: DataFrame, name: str) -> Column:
    """A column with one form for every value: NaN as NULL, -0.0 as 0.0; other values as they are."""
    column, kind = quoted(name), table.schema[name].dataType
    if isinstance(kind, T.FloatType | T.DoubleType):
        zero = F.lit(0.0).cast(kind)
        return F.when(F.isnan(column), F.lit(None)).when(column == zero, zero).otherwise(column)
    return column


def prepare(table: DataFrame, spec: ReleaseSpec) -> DataFrame:
    """The columns of `prepared`; direct identifiers end here."""
    return table.select(*prepared(table, spec))


def prepared(table: DataFrame, spec: ReleaseSpec) -> list[Column]:
    """The columns to publish with one form for every value.

    A numeric quasi-identifier is a bigint or a double (text that is no number becomes NULL), a categorical one a
    string; sensitive and insensitive columns keep their types. Missing values are NULL.
    """
    quasi, columns = spec.attributes.quasi_identifiers, []
    for name in spec.attributes.published:
        kind = table.schema[name].dataType
        column = plain(table, name) if name in spec.attributes.sensitive_attributes or name in quasi else quoted(name)
        if name in quasi and not quasi[name].is_numeric:
            column = column.cast("string")
        elif name in quasi:
            column = column.cast("bigint") if isinstance(kind, INTEGRAL) else column.try_cast("double")
        columns.append(column.alias(name))
    return columns


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


def content_hash(columns: Sequence[Column], salt: str) -> Column:
    """A 64-bit hash of a row's content. NULLs count by their place (xxhash64 alone skips them)."""
    nulls = [
        sum((F.when(c.isNull(), F.lit(1 << i)).otherwise(F.lit(0)) for i, c in enumerate(part)), F.lit(0).cast("bigint"))
        for part in (columns[i : i + 60] for i in range(0, len(columns), 60))
    ]
    return F.xxhash64(F.lit(salt), *nulls, *columns)


@dataclass(frozen=True)
class Multiset:
    """A fingerprint of the rows of a table as a multiset: their number, and the sum of their hashes modulo 2^64."""

    rows: int
    digest: int

    @staticmethod
    def columns(columns: Sequence[Column], prefix: str) -> list[Column]:
        """Aggregates that `of` reads back. The sum wraps around, whatever the order of the rows (see `session.SETTINGS`)."""
        return [F.count(F.lit(1)).alias(f"{prefix}_rows"), F.sum(content_hash(columns, "multiset")).alias(f"{prefix}_digest")]

    @staticmethod
    def of(figures: Mapping[str, Any] | Row, prefix: str) -> Multiset:
        """The fingerprint in a row (or an observation) that holds `columns`."""
        return Multiset(int(figures[f"{prefix}_rows"]), int(figures[f"{prefix}_digest"] or 0))

    def __str__(self) -> str:
        return f"{self.rows:x}-{self.digest % 2**64:016x}"


def read_delta(spark: SparkSession, path: str) -> DataFrame:
    """The Delta table at a path."""
    return spark.read.format("delta").load(for_spark(path))


def write_delta(table: DataFrame, path: str) -> None:
    """Writes a Delta table that carries its rows and nothing else: no statistics, no change feed, no column comments.

    Raises:
        ConfigurationError: if there is a table at the path already.
    """
    bare = table.select(*[quoted(name).alias(name, metadata={}) for name in table.columns])
    try:
        writer = bare.write.format("delta").mode("errorifexists")
        writer.option("delta.dataSkippingNumIndexedCols", "0").option("delta.enableChangeDataFeed", "false").save(for_spark(path))
    except PySparkException as error:
        if "EXISTS" in (error.getCondition() or ""):
            raise ConfigurationError(f"{path} holds a table already") from None
        raise
