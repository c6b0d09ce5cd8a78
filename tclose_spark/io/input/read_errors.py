"""The meaning of errors of Spark's readers. Messages name files and columns, never the content of a
file.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from tclose_spark.errors import InputError, text_of
from tclose_spark.io.input import problems
from tclose_spark.io.input.csv_options import encoding_of
from tclose_spark.runfile.spec import Input

READ_ERRORS = (PySparkException, Py4JJavaError)
FAILED_FILE = re.compile(r"Encountered error while reading file (.+?)\.(?=\s|$)")


def meaning(error: Exception, source: Input | None = None) -> InputError | None:
    """The meaning of an error of Spark's readers; None for other errors. A file is named if it
    belongs to the source (None: always).
    """
    text = text_of(error)
    condition = condition_of(error)
    where = f"input.path: {source.path}" if source is not None else "a table"
    if "CSV header" in text:
        return InputError(
            f"{where} has files with different headers; expected the same columns in one order",
        )
    if condition.startswith("INVALID_PARAMETER_VALUE.CHARSET") and source is not None:
        return InputError(
            f"input.options.encoding: {encoding_of(source)} is no encoding that Java knows; "
            "expected one such as windows-1252",
        )
    if condition.startswith("COLUMN_ALREADY_EXISTS"):
        return problems.duplicate_names(where)
    if "PARQUET_TYPE_ILLEGAL" in text:
        kind = re.search(r"Illegal Parquet type: (\w+ \([\w(), ]+?\))\.", text)
        return InputError(
            f"{where} has a column of a type that Spark cannot "
            f"read{f', {kind[1]}' if kind else ''}; write it as another",
        )
    return _failed_file(text, source)


def _failed_file(text: str, source: Input | None) -> InputError | None:
    match = FAILED_FILE.search(text)
    if match is None or (source is not None and not _is_of(match[1], source.path)):
        return None
    file = f"{'' if source is None else 'input.path: '}{file_name(match[1])}"
    mismatch = re.search(r"Data type mismatches when reading Parquet column \[(\w+)\]", text)
    if "length is too low: 0)" in text:
        return problems.empty_parquet(file)
    if "CANNOT_READ_FILE_FOOTER" in text or "is not a Parquet file" in text:
        return problems.no_parquet(file)
    if "FILE_NOT_EXIST" in text or "FileNotFoundException" in text:
        return problems.gone(file)
    if mismatch:
        return InputError(
            f"{file} has column {mismatch[1]!r} in another type than the other files; write them "
            "alike",
        )
    if "EOFException" in text:
        return problems.truncated(file)
    return problems.damaged(file)


def condition_of(error: Exception) -> str:
    """Spark's name of an error; empty if it has none."""
    return (error.getCondition() or "") if isinstance(error, PySparkException) else ""


def file_name(file: str) -> str:
    """The last part of a file's URI."""
    return unquote(file).rpartition("/")[2]


def _is_of(file: str, path: str) -> bool:
    """Whether a file is at a path, or below it."""
    bare = [re.sub(r"^[A-Za-z][A-Za-z0-9+.-]+:/*", "/", unquote(text)) for text in (file, path)]
    return bare[0] == bare[1] or bare[0].startswith(bare[1].rstrip("/") + "/")
