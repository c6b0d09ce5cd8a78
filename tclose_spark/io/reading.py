"""Reading tables: in which encoding, with which columns, and what it means when a file cannot be read.

Text is read as the file holds it or not at all: bytes that Spark cannot decode would silently become one character, and
different values one value. Messages name files, columns and counts, never what a file holds.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.io.capabilities import java_of, set_if_allowed, setting
from tclose_spark.io.signatures import SAMPLE, byte_order_mark, recognise
from tclose_spark.io.storage import for_spark, local_path, open_folder
from tclose_spark.io.tables import MALFORMED, UNREADABLE, quoted
from tclose_spark.runfile.spec import Input
from tclose_spark.table.names import instead_of

NOT_FOUND = (
    "PATH_NOT_FOUND",
    "TABLE_OR_VIEW_NOT_FOUND",
    "DELTA_TABLE_NOT_FOUND",
    "DELTA_MISSING_DELTA_TABLE",
    "DELTA_PATH_DOES_NOT_EXIST",
)
REPLACEMENT, NUL = "\ufffd", "\0"  # what bytes that cannot be decoded become; what no text holds
NANOS_AS_LONG = "spark.sql.legacy.parquet.nanosAsLong"
READ_ERRORS = (PySparkException, Py4JJavaError)
FAILED_FILE = re.compile(r"Encountered error while reading file (.+?)\.(?=\s|$)")
SHOWN = 5  # columns that a message lists


@dataclass(frozen=True)
class Opened:
    """A table that was read.

    source: where from.
    columns: those that are used.
    """

    table: DataFrame
    source: Input
    columns: Sequence[str]

    @property
    def texts(self) -> list[str]:
        """The columns of text that are used."""
        kinds = {field.name: field.dataType for field in self.table.schema.fields}
        return [name for name in self.columns if isinstance(kinds.get(name), T.StringType)]


def read_table(spark: SparkSession, source: Input, version: int | None = None) -> DataFrame:
    """The raw table, its columns under their new names. A CSV file is read as text unless `inferSchema` is set, with
    its malformed rows marked in MALFORMED.

    version: of a Delta or Iceberg table (see `commit_of`), to read what it held then.

    Raises:
        InputError: if it is missing or cannot be read as its format, or lacks a column that has a new name.
    """
    table = _read(spark, source, version)
    return table.toDF(*renamed(table.columns, source.columns)) if source.columns else table


def renamed(names: Sequence[str], columns: Mapping[str, str]) -> list[str]:
    """The names of a table's columns after `input.columns`.

    >>> renamed(["zip code", "age"], {"zip code": "zip"})
    ['zip', 'age']

    Raises:
        InputError: if one that has a new name is not there, or a new name is another column's.
    """
    known = [name for name in names if name != MALFORMED]
    for old in columns:
        if old not in known:
            raise InputError(f"input.columns: column {old!r} is not in the input; {instead_of(old, known, columns)}")
    new = [columns.get(name, name) for name in names]
    lower = [name.lower() for name in new]
    for old, name in columns.items():
        if lower.count(name.lower()) > 1:
            raise InputError(
                f"input.columns: {old!r} becomes {name!r}, as which the input has another column (up to case); rename "
                "that one, too, or take another name"
            )
    return new


def _read(spark: SparkSession, source: Input, version: int | None) -> DataFrame:
    reader = spark.read.options(**source.options)
    try:
        if source.format == "csv":
            return _read_csv(spark, source)
        if source.format == "parquet":
            return _read_parquet(spark, source)
        if version is not None:
            options = {key: value for key, value in source.options.items() if key != "timestampAsOf"}
            reader = spark.read.options(**{**options, "versionAsOf": str(version)})
        if source.format == "table":
            return reader.table(source.path)
        return reader.format(source.format).load(for_spark(source.path))
    except READ_ERRORS as error:
        condition = _condition(error)
        if condition.startswith(NOT_FOUND):
            raise InputError(f"input.path: {source.path} does not exist") from None
        known = meaning(error, source)
        if known is not None:
            raise known from None
        raise InputError(
            f"input.path: {source.path} cannot be read as {source.format} ({condition or type(error).__name__})"
        ) from None


# --- CSV


def _read_csv(spark: SparkSession, source: Input) -> DataFrame:
    options = _csv_options(source)
    first = spark.read.options(**options).csv(for_spark(source.path))
    if not first.columns:
        raise InputError(f"input.path: {source.path} is empty (0 bytes, or blank lines only)")
    _check_byte_order_mark(first, source)
    unnamed = _option(source, "header").lower() == "true" and _check_header(first, source)
    marked = T.StructType([*first.schema.fields, T.StructField(MALFORMED, T.StringType())])
    options |= {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": MALFORMED, "columnPruning": "false"}
    options["enforceSchema"] = (
        "true" if unnamed else "false"
    )  # the check of headers against one another fails at a name that is empty
    table = spark.read.options(**options).schema(marked).csv(for_spark(source.path))
    return table.select(
        *[_empty_as_null(field).alias(field.name) for field in first.schema.fields],
        quoted(MALFORMED).isNotNull().alias(MALFORMED),
    )


def _csv_options(source: Input) -> dict[str, str]:
    """The options, and those that the encoding needs: lines are cut at a byte 10, which UTF-16 also has inside
    characters.
    """
    options = {"escape": '"', **source.options}
    wide = _encoding(source).startswith(("UTF-16", "UTF-32"))
    return {"multiLine": "true", **options} if wide and not _option(source, "lineSep") else options


def _option(source: Input, *names: str) -> str:
    """The value of an option, whose name Spark takes in any case; empty if it is not given."""
    given = {key.lower(): value for key, value in source.options.items()}
    return next((given[name.lower()] for name in names if name.lower() in given), "")


def _encoding(source: Input) -> str:
    """The encoding, by the name that is usual for those of Unicode: UTF-8 for utf8."""
    given = _option(source, "encoding", "charset") or "UTF-8"
    return (
        re.sub(r"^UTF[-_]?(8|16|32)[-_]?(LE|BE)?$", lambda match: f"UTF-{match[1]}{match[2] or ''}", given.upper())
        if given[:3].upper() == "UTF"
        else given
    )


def _empty_as_null(field: T.StructField) -> Column:
    column = quoted(field.name)
    return F.when(column != "", column) if isinstance(field.dataType, T.StringType) else column


def _check_byte_order_mark(table: DataFrame, source: Input) -> None:
    """Raises InputError if an encoding is set, and the file begins with the mark of another."""
    encoding = _encoding(source)
    mark = byte_order_mark(_first_bytes(table)) if _option(source, "encoding", "charset") else None
    if mark is not None and not encoding.startswith(mark):
        raise InputError(
            f"input.options.encoding: it is {encoding}, but {source.path} begins with the byte order mark of {mark}; "
            f"set input.options.encoding: {mark}"
        )


def _check_header(table: DataFrame, source: Input) -> bool:
    """Whether a column has no name, which Spark then calls `_c` and its place.

    Raises:
        InputError: if the first line is no header that can be read, or has a name twice.
    """
    names = table.columns
    if not all(name.isprintable() and REPLACEMENT not in name for name in names):
        what = _looks(table, source)
        if what:
            raise InputError(f"input.path: {what}")
        if any(NUL in name for name in names):
            raise InputError(f"input.path: the first line of {source.path} holds NUL bytes, which no text has")
        lost = _malformed_names(table.sparkSession, source) if any(REPLACEMENT in name for name in names) else 0
        if lost:
            raise InputError(
                f"input.path: {lost} of {len(names)} names in the first line of {source.path} are not in "
                f"{_encoding(source)}; {_set_encoding(source)}"
            )
    _check_names_once(table, source)
    unnamed = any(name == f"_c{place}" for place, name in enumerate(names))
    if unnamed and len(table.inputFiles()) > 1:
        raise InputError(
            f"input.path: the first line of a file in {source.path} leaves a column without a name; name it, or write "
            "the files without it (pandas: to_csv(index=False))"
        )
    return unnamed


def _check_names_once(table: DataFrame, source: Input) -> None:
    """Raises InputError if the header has a name twice, but for case. Spark then adds to each of them its place."""
    ends = [
        name.removesuffix(str(place)).lower() for place, name in enumerate(table.columns) if name.endswith(str(place))
    ]
    if len(set(ends)) == len(ends):
        return
    options = {
        key: value for key, value in _csv_options(source).items() if key.lower() not in ("header", "inferschema")
    }
    first = table.sparkSession.read.options(**options).csv(for_spark(source.path)).head()
    names = [str(name or "").lower() for name in first or ()]
    places = [place + 1 for place, name in enumerate(names) if name and names.count(name) > 1]
    if places:
        listed = " and ".join(str(place) for place in places[:SHOWN])
        raise InputError(
            f"input.path: the first line of {source.path} holds a duplicate: a name stands twice (but for case), in "
            f"columns {listed}; rename one, or set input.options.header: false if that line is no header"
        )


def _malformed_names(spark: SparkSession, source: Input) -> int:
    """How many names of the header are not in its encoding."""
    if not _is_utf8(source):
        return 1
    names = spark.read.options(**_as_bytes(source)).csv(for_spark(source.path)).columns
    return sum(not _is_valid(name) for name in names)


def _is_valid(name: str) -> bool:
    try:
        name.encode("iso-8859-1").decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


# --- Parquet


def _read_parquet(spark: SparkSession, source: Input) -> DataFrame:
    """The table. A column of timestamps in nanoseconds, which Spark cannot hold, is marked in its metadata."""
    reader = spark.read.options(**source.options)
    try:
        table = reader.parquet(for_spark(source.path))
    except READ_ERRORS as error:
        if "PARQUET_TYPE_ILLEGAL" not in str(error):
            raise
        table = _with_nanoseconds(spark, source)
    empty = [
        file for file in table.inputFiles() if (path := local_path(file)) and path.is_file() and not path.stat().st_size
    ]
    if empty:
        raise InputError(
            f"input.path: {_name(empty[0])} is empty (0 bytes), no Parquet file; write it again, or remove it"
        )
    return table


def _with_nanoseconds(spark: SparkSession, source: Input) -> DataFrame:
    before = setting(spark, NANOS_AS_LONG) or "false"
    set_if_allowed(spark, NANOS_AS_LONG, "true")
    try:
        table = spark.read.options(**source.options).parquet(for_spark(source.path))
    finally:
        set_if_allowed(spark, NANOS_AS_LONG, before)
    columns = _nanosecond_columns(spark, table)
    why = (
        "a timestamp in nanoseconds, which Spark does not have; write it in microseconds (pandas: "
        "astype('datetime64[us]'), or to_parquet(coerce_timestamps='us')), or leave the column out"
    )
    return table.select(
        *[quoted(c).alias(c, metadata={UNREADABLE: why}) if c in columns else quoted(c) for c in table.columns]
    )


def _nanosecond_columns(spark: SparkSession, table: DataFrame) -> set[str]:
    """The columns that the footer of a file says are timestamps in nanoseconds; where it cannot be had, all that may
    be.
    """
    java = java_of(spark)
    with contextlib.suppress(PySparkException, Py4JError, IndexError):
        if java is not None:
            file = java.jvm.org.apache.hadoop.fs.Path(unquote(table.inputFiles()[0]))
            footer = java.jvm.org.apache.parquet.hadoop.ParquetFileReader.readFooter(java.hadoop, file)
            fields = footer.getFileMetaData().getSchema().getFields()
            return {field.getName() for field in fields if "TIMESTAMP(NANOS" in str(field.getLogicalTypeAnnotation())}
    return {field.name for field in table.schema.fields if isinstance(field.dataType, T.LongType)}


# --- text that cannot be decoded


def holds_damage(text: str | None) -> bool:
    """Whether a text may come from bytes that could not be decoded; `check_text` decides."""
    return text is not None and (REPLACEMENT in text or NUL in text)


def is_damaged(column: Column) -> Column:
    """`holds_damage` of each row."""
    return F.coalesce(F.contains(column, F.lit(REPLACEMENT)) | F.contains(column, F.lit(NUL)), F.lit(False))


def check_text(opened: Opened) -> None:
    """Raises InputError if a column of text holds bytes that its encoding does not have, or NUL: with the rows of each
    column.
    """
    texts, source = opened.texts, opened.source
    is_csv = source.format == "csv"
    nuls = [F.contains(quoted(name), F.lit(NUL)) for name in texts]
    lost = [
        F.contains(quoted(name), F.lit(REPLACEMENT)) if is_csv else ~F.is_valid_utf8(quoted(name)) for name in texts
    ]
    counts = _count_rows(opened.table, [*nuls, *lost])
    with_nul = dict(zip(texts, counts[: len(texts)], strict=True))
    malformed = dict(zip(texts, counts[len(texts) :], strict=True))
    if any(with_nul.values()):
        raise InputError(
            f"{_listed(with_nul)}: text holds NUL bytes; "
            f"{(_looks(opened.table, source) if is_csv else '') or 'mend it'}"
        )
    if is_csv and any(malformed.values()) and _is_utf8(source):
        malformed = _count_malformed(opened, texts)
    if any(malformed.values()):
        encoding = _encoding(source) if is_csv else "UTF-8"
        raise InputError(
            f"{_listed(malformed)}: text is not in {encoding}, and different values would be read as one; "
            f"{_set_encoding(source) if is_csv else 'write the table with text in UTF-8'}"
        )


def malformed_rows(opened: Opened, malformed: int, rows: int) -> InputError:
    """The error of a CSV file with malformed rows."""
    cure = (
        _looks(opened.table, opened.source)
        or "mend them, or set input.options (sep, quote, escape, multiLine, encoding)"
    )
    return InputError(
        f"input.path: {malformed} of {rows} rows are malformed (too few or too many fields, or unreadable); {cure}"
    )


def checked(opened: Opened) -> DataFrame:
    """The table, without its mark of malformed rows. One pass over a CSV file, none over others.

    Raises:
        InputError: if rows are malformed, or text is not in its encoding.
    """
    if MALFORMED not in opened.table.columns:
        return opened.table
    table = opened.table
    conditions = [
        F.coalesce(quoted(MALFORMED), F.lit(False)),
        *[is_damaged(quoted(name)) for name in opened.texts],
        F.lit(True),
    ]
    every = [
        F.count(quoted(name)) for name in table.columns if name != MALFORMED
    ]  # Spark wants more than the mark to be read
    malformed, *damaged, rows = _count_rows(table, conditions, every)
    if malformed:
        raise malformed_rows(opened, malformed, rows)
    if any(damaged):
        check_text(opened)
    return table.drop(MALFORMED)


def _count_rows(table: DataFrame, conditions: Sequence[Column], more: Sequence[Column] = ()) -> list[int]:
    """How many rows meet each condition."""
    counts = [F.sum(condition.cast("bigint")).alias(f"n{i}") for i, condition in enumerate(conditions)]
    counted = table.agg(*counts, *[column.alias(f"m{i}") for i, column in enumerate(more)]).head() if counts else None
    return [int(counted[i] or 0) if counted else 0 for i in range(len(conditions))]


def _count_malformed(opened: Opened, texts: Sequence[str]) -> dict[str, int]:
    """How many rows of each column of a CSV file are no UTF-8: a U+FFFD that the file holds is text like any other.

    Read as ISO-8859-1 every byte is one character, and separators, quotes and line ends are what they are in UTF-8.
    """
    source, names = opened.source, opened.table.columns
    raw = opened.table.sparkSession.read.options(**_as_bytes(source)).csv(for_spark(source.path))
    columns = [quoted(raw.columns[names.index(name)]) for name in texts]
    return dict(
        zip(
            texts,
            _count_rows(raw, [~F.is_valid_utf8(F.encode(c, "ISO-8859-1").cast("string")) for c in columns]),
            strict=True,
        )
    )


def _as_bytes(source: Input) -> dict[str, str]:
    options = {
        key: value
        for key, value in _csv_options(source).items()
        if key.lower() not in ("encoding", "charset", "inferschema")
    }
    return {**options, "encoding": "ISO-8859-1"}


def _is_utf8(source: Input) -> bool:
    """Whether bytes can be told apart by reading them as ISO-8859-1: UTF-8, and options that are the same in both."""
    return _encoding(source) == "UTF-8" and all(value.isascii() for value in source.options.values())


def _set_encoding(source: Input) -> str:
    if _option(source, "encoding", "charset"):
        return "set input.options.encoding to the file's own, or write the file in UTF-8"
    return "set input.options.encoding to the file's own (such as windows-1252 or ISO-8859-1)"


def _listed(counts: Mapping[str, int]) -> str:
    """The columns that have some, with their rows."""
    some = [f"{name!r} ({count} rows)" for name, count in counts.items() if count]
    more = f" and {len(some) - SHOWN} more" if len(some) > SHOWN else ""
    return f"column{'s' if len(some) > 1 else ''} {', '.join(some[:SHOWN])}{more}"


def _looks(table: DataFrame, source: Input) -> str:
    """What a table's first file is by its first bytes, as a sentence; empty if nothing speaks against CSV in its
    encoding.
    """
    if _encoding(source).startswith(("UTF-16", "UTF-32")):
        return ""  # it has the mark and the NUL bytes that its first bytes would be known by
    file = next(iter(table.inputFiles()), "")
    what = recognise(_first_bytes(table), is_packed=file.endswith(".gz"))
    return "" if what is None else f"{_name(file)} {what}"


def _first_bytes(table: DataFrame) -> bytes:
    """The first bytes of a table's first file; none where they cannot be had."""
    with contextlib.suppress(PySparkException, Py4JError, OSError, IndexError, ConfigurationError):
        file = unquote(table.inputFiles()[0])
        folder, _, name = str(local_path(file) or file).rpartition("/")
        return open_folder(folder or "/", table.sparkSession).begin(name, SAMPLE)
    return b""


# --- what errors mean


@contextlib.contextmanager
def explained(*tables: Opened) -> Iterator[None]:
    """Turns errors from inside the tasks that read these tables into InputErrors."""
    try:
        yield
    except READ_ERRORS as error:
        if "UnicodeDecodeError" in str(error):
            for opened in tables:
                check_text(opened)
        known = next((known for opened in tables if (known := meaning(error, opened.source))), None)
        if known is None:
            raise
        raise known from None


def meaning(error: Exception, source: Input | None = None) -> InputError | None:
    """What an error of Spark's readers means to the user, if it is one; a file is named if it is the source's (None: if
    any is).
    """
    text, condition = str(error), _condition(error)
    where = f"input.path: {source.path}" if source is not None else "a table"
    if "CSV header" in text:
        return InputError(f"{where} has files with different headers; expected the same columns in one order")
    if condition.startswith("INVALID_PARAMETER_VALUE.CHARSET") and source is not None:
        return InputError(
            f"input.options.encoding: {_encoding(source)} is no encoding that Java knows; expected one such as "
            "windows-1252"
        )
    if condition.startswith("COLUMN_ALREADY_EXISTS"):
        return InputError(f"{where} has a duplicate: several columns of one name but for case; rename them")
    if "PARQUET_TYPE_ILLEGAL" in text:
        kind = re.search(r"Illegal Parquet type: (\w+ \([\w(), ]+?\))\.", text)
        return InputError(
            f"{where} has a column of a type that Spark cannot read{f', {kind[1]}' if kind else ''}; write it as "
            "another"
        )
    return _failed_file(text, source)


def _failed_file(text: str, source: Input | None) -> InputError | None:
    match = FAILED_FILE.search(text)
    if match is None or (source is not None and not _is_of(match[1], source.path)):
        return None
    file = f"{'' if source is None else 'input.path: '}{_name(match[1])}"
    mismatch = re.search(r"Data type mismatches when reading Parquet column \[(\w+)\]", text)
    if "length is too low: 0)" in text:
        return InputError(f"{file} is empty (0 bytes), no Parquet file; write it again, or remove it")
    if "CANNOT_READ_FILE_FOOTER" in text or "is not a Parquet file" in text:
        return InputError(
            f"{file} cannot be read as parquet (it is none, or is truncated: its end is missing); copy it again, or "
            "set input.format"
        )
    if "FILE_NOT_EXIST" in text or "FileNotFoundException" in text:
        return InputError(f"{file} is gone since the table was looked at; run again")
    if mismatch:
        return InputError(f"{file} has column {mismatch[1]!r} in another type than the other files; write them alike")
    if "EOFException" in text:
        return InputError(f"{file} is truncated, or is not compressed as its name says; copy it again")
    return InputError(f"{file} cannot be read: it is damaged, or not what its name says; copy it again")


def _condition(error: Exception) -> str:
    return (error.getCondition() or "") if isinstance(error, PySparkException) else ""


def _name(file: str) -> str:
    return unquote(file).rpartition("/")[2]


def _is_of(file: str, path: str) -> bool:
    """Whether a file is the one at a path, or below it."""
    bare = [re.sub(r"^[A-Za-z][A-Za-z0-9+.-]+:/*", "/", unquote(text)) for text in (file, path)]
    return bare[0] == bare[1] or bare[0].startswith(bare[1].rstrip("/") + "/")
