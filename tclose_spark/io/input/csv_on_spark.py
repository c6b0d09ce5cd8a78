"""Reading CSV files on Spark: requires a readable header, marks malformed rows, and reads empty
text as missing. Rows and text that were not read as they are in the file are counted, and rejected.

Spark silently replaces bytes that it cannot decode by one character, which makes different values
equal. Such text is therefore rejected. Messages name columns and counts, never the content of a
file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.io.input import problems
from tclose_spark.io.input.csv_options import (
    Numerals,
    as_bytes,
    csv_options,
    encoding_of,
    how_to_set_encoding,
    is_utf8,
    is_wide,
    numerals_of,
    option_of,
)
from tclose_spark.io.input.read_errors import READ_ERRORS, file_name, meaning
from tclose_spark.io.input.signatures import SAMPLE, recognise, require_mark
from tclose_spark.io.input.text_files import PACKERS
from tclose_spark.io.storage.folders import for_spark, local_path, open_folder
from tclose_spark.io.tables.columns import MALFORMED, quoted
from tclose_spark.runfile.spec import Input

# What bytes that cannot be decoded become; what no text holds.
REPLACEMENT = "\ufffd"
NUL = "\0"


def read_csv(spark: SparkSession, source: Input) -> DataFrame:
    """The table, as text unless `inferSchema` is set, with its malformed rows marked in MALFORMED.

    Raises:
        InputError: if the file is empty, in another encoding, or has a first line that is no
            header.
    """
    options = csv_options(source)
    first = spark.read.options(**options).csv(for_spark(source.path))
    if not first.columns:
        raise problems.empty_csv(source)
    require_mark(_first_bytes(first), source)
    unnamed = option_of(source, "header").lower() == "true" and _check_header(first, source)
    marked = T.StructType([*first.schema.fields, T.StructField(MALFORMED, T.StringType())])
    options |= {
        "mode": "PERMISSIVE",
        "columnNameOfCorruptRecord": MALFORMED,
        "columnPruning": "false",
    }
    # The check of headers against one another fails at a name that is empty.
    options["enforceSchema"] = "true" if unnamed else "false"
    table = spark.read.options(**options).schema(marked).csv(for_spark(source.path))
    names = _given_names(first, source) if unnamed else first.columns
    numerals = numerals_of(source)
    return table.select(
        *[
            _value(field, numerals).alias(name)
            for field, name in zip(first.schema.fields, names, strict=True)
        ],
        quoted(MALFORMED).isNotNull().alias(MALFORMED),
    )


def _value(field: T.StructField, numerals: Numerals | None) -> Column:
    """The values of a column. Empty text is missing, and numbers are written as in Python."""
    column = quoted(field.name)
    if not isinstance(field.dataType, T.StringType):
        return column
    text = F.when(column != "", column)
    if numerals is None:
        return text
    plain = F.translate(text, numerals.decimal + numerals.others, ".")
    return F.when(text.rlike(numerals.pattern), plain).otherwise(text)


def _given_names(table: DataFrame, source: Input) -> list[str]:
    """The names of columns. One without a name is `_` and its place, which Spark calls `_c` and its
    place.
    """
    first = _first_line(table, source)
    return [name if first[place] else f"_{place}" for place, name in enumerate(table.columns)]


def _first_line(table: DataFrame, source: Input) -> list[str]:
    """The fields of the first line."""
    options = {
        key: value
        for key, value in csv_options(source).items()
        if key.lower() not in ("header", "inferschema")
    }
    return [
        str(name or "")
        for name in table.sparkSession.read.options(**options).csv(for_spark(source.path)).head()
        or ()
    ]


def _check_header(table: DataFrame, source: Input) -> bool:
    """Whether a column has no name; Spark then calls it `_c` and its place.

    Raises:
        InputError: if the first line is not a readable header, or has a name twice.
    """
    names = table.columns
    if not all(name.isprintable() and REPLACEMENT not in name for name in names):
        what = looks_like(table, source)
        if what:
            raise InputError(f"input.path: {what}")
        if any(NUL in name for name in names):
            raise InputError(
                f"input.path: the first line of {source.path} holds NUL bytes, which no text has",
            )
        lost = (
            _malformed_names(table.sparkSession, source)
            if any(REPLACEMENT in name for name in names)
            else 0
        )
        if lost:
            raise InputError(
                f"input.path: {lost} of {len(names)} names in the first line of {source.path} are "
                f"not in {encoding_of(source)}; {how_to_set_encoding(source)}",
            )
    _check_names_once(table, source)
    unnamed = any(name == f"_c{place}" for place, name in enumerate(names))
    if unnamed and len(table.inputFiles()) > 1:
        raise InputError(
            f"input.path: the first line of a file in {source.path} leaves a column without a "
            "name; name it, or write the files without it (pandas: to_csv(index=False))",
        )
    return unnamed


def _check_names_once(table: DataFrame, source: Input) -> None:
    """Raises InputError if the header has a name twice, in any case. Spark would then add its place
    to each.
    """
    ends = [
        name.removesuffix(str(place)).lower()
        for place, name in enumerate(table.columns)
        if name.endswith(str(place))
    ]
    if len(set(ends)) < len(ends):
        problems.require_names_once(_first_line(table, source), source)


def _malformed_names(spark: SparkSession, source: Input) -> int:
    """The number of header names that are invalid in the encoding."""
    if not is_utf8(source):
        return 1
    names = spark.read.options(**as_bytes(source)).csv(for_spark(source.path)).columns
    return sum(not _is_valid(name) for name in names)


def _is_valid(name: str) -> bool:
    try:
        name.encode("iso-8859-1").decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def looks_like(table: DataFrame, source: Input) -> str:
    """A sentence about the true format of a table's first file, by its first bytes; empty if they
    may be CSV in its encoding.
    """
    if is_wide(encoding_of(source)):
        return ""  # it has the mark and the NUL bytes that its first bytes would be known by
    file = next(iter(table.inputFiles()), "")
    what = recognise(_first_bytes(table), is_packed=file.endswith((*PACKERS,)))
    return "" if what is None else f"{file_name(file)} {what}"


def _first_bytes(table: DataFrame) -> bytes:
    """The first bytes of a table's first file; empty if they cannot be read."""
    with contextlib.suppress(PySparkException, Py4JError, OSError, IndexError, ConfigurationError):
        file = unquote(table.inputFiles()[0])
        folder, _, name = str(local_path(file) or file).rpartition("/")
        return open_folder(folder or "/", table.sparkSession).begin(name, SAMPLE)
    return b""


class DamagedTextError(ValueError):
    """A task finds text that is damaged, which `check_text` reports."""


@dataclass(frozen=True)
class SourceTable:
    """A table that was read.

    source: its place and format.
    columns: the columns in use.
    """

    table: DataFrame
    source: Input
    columns: Sequence[str]

    @property
    def texts(self) -> list[str]:
        """The columns of text in use."""
        kinds = {field.name: field.dataType for field in self.table.schema.fields}
        return [name for name in self.columns if isinstance(kinds.get(name), T.StringType)]


@contextlib.contextmanager
def translate_read_errors(*tables: SourceTable) -> Iterator[None]:
    """Turns errors of tasks that read these tables into InputErrors."""
    try:
        yield
    except READ_ERRORS as error:
        if any(kind.__name__ in str(error) for kind in (UnicodeDecodeError, DamagedTextError)):
            for opened in tables:
                check_text(opened)
        known = next((known for opened in tables if (known := meaning(error, opened.source))), None)
        if known is None:
            raise
        raise known from None


def holds_damage(text: str | None) -> bool:
    """Whether a text may come from undecodable bytes; `check_text` decides."""
    return text is not None and (REPLACEMENT in text or NUL in text)


def is_damaged(column: Column) -> Column:
    """`holds_damage` of each row."""
    return F.coalesce(
        F.contains(column, F.lit(REPLACEMENT)) | F.contains(column, F.lit(NUL)),
        F.lit(False),
    )


def check_text(opened: SourceTable) -> None:
    """Raises InputError if a column of text has bytes that are invalid in its encoding, or NUL,
    with the rows of each column.
    """
    texts = opened.texts
    source = opened.source
    is_csv = source.format == "csv"
    nuls = [F.contains(quoted(name), F.lit(NUL)) for name in texts]
    lost = [
        F.contains(quoted(name), F.lit(REPLACEMENT)) if is_csv else ~F.is_valid_utf8(quoted(name))
        for name in texts
    ]
    counts = _count_rows(opened.table, [*nuls, *lost])
    with_nul = dict(zip(texts, counts[: len(texts)], strict=True))
    malformed = dict(zip(texts, counts[len(texts) :], strict=True))
    if any(with_nul.values()):
        raise problems.nul_bytes(with_nul, looks_like(opened.table, source) if is_csv else "")
    if is_csv and any(malformed.values()) and is_utf8(source):
        malformed = _count_malformed(opened, texts)
    if any(malformed.values()):
        raise problems.undecodable(malformed, source)


def malformed_rows(opened: SourceTable, malformed: int, rows: int) -> InputError:
    """The error for a CSV file with malformed rows."""
    return problems.malformed_rows(malformed, rows, looks_like(opened.table, opened.source))


def checked(opened: SourceTable) -> DataFrame:
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
    # Spark wants more than the mark to be read.
    every = [F.count(quoted(name)) for name in table.columns if name != MALFORMED]
    malformed, *damaged, rows = _count_rows(table, conditions, every)
    if malformed:
        raise malformed_rows(opened, malformed, rows)
    if any(damaged):
        check_text(opened)
    return table.drop(MALFORMED)


def _count_rows(
    table: DataFrame,
    conditions: Sequence[Column],
    more: Sequence[Column] = (),
) -> list[int]:
    """The number of rows that meet each condition."""
    counts = [
        F.sum(condition.cast("bigint")).alias(f"n{i}") for i, condition in enumerate(conditions)
    ]
    counted = (
        table.agg(*counts, *[column.alias(f"m{i}") for i, column in enumerate(more)]).head()
        if counts
        else None
    )
    return [int(counted[i] or 0) if counted else 0 for i in range(len(conditions))]


def _count_malformed(opened: SourceTable, texts: Sequence[str]) -> dict[str, int]:
    """The number of rows of each column of a CSV file that are invalid UTF-8. A U+FFFD in the file
    is valid text.

    If the file is read as ISO-8859-1, every byte is one character, and separators, quotes and line
    ends are the same as in UTF-8.
    """
    source = opened.source
    names = opened.table.columns
    raw = opened.table.sparkSession.read.options(**as_bytes(source)).csv(for_spark(source.path))
    columns = [quoted(raw.columns[names.index(name)]) for name in texts]
    return dict(
        zip(
            texts,
            _count_rows(
                raw,
                [~F.is_valid_utf8(F.encode(c, "ISO-8859-1").cast("string")) for c in columns],
            ),
            strict=True,
        ),
    )
