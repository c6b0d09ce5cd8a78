"""Reading CSV files: requires a readable header, marks malformed rows, and reads empty text as
missing.
"""

from __future__ import annotations

import contextlib
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
from tclose_spark.io.input.read_errors import file_name
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
                f"input.path: the first line of {source.path} holds NUL bytes, which no text has"
            )
        lost = (
            _malformed_names(table.sparkSession, source)
            if any(REPLACEMENT in name for name in names)
            else 0
        )
        if lost:
            raise InputError(
                f"input.path: {lost} of {len(names)} names in the first line of {source.path} are "
                f"not in {encoding_of(source)}; {how_to_set_encoding(source)}"
            )
    _check_names_once(table, source)
    unnamed = any(name == f"_c{place}" for place, name in enumerate(names))
    if unnamed and len(table.inputFiles()) > 1:
        raise InputError(
            f"input.path: the first line of a file in {source.path} leaves a column without a "
            "name; name it, or write the files without it (pandas: to_csv(index=False))"
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
