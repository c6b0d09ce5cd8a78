"""Rows and text that were not read as they are in the file: counted, and rejected.

Spark silently replaces bytes that it cannot decode by one character, which makes different values
equal. Such text is therefore rejected. Messages name columns and counts, never the content of a
file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tclose_spark.errors import InputError
from tclose_spark.io.input import problems
from tclose_spark.io.input.csv_options import as_bytes, is_utf8
from tclose_spark.io.input.read_errors import READ_ERRORS, meaning
from tclose_spark.io.input.spark.csv_files import NUL, REPLACEMENT, looks_like
from tclose_spark.io.storage.folders import for_spark
from tclose_spark.io.tables.columns import MALFORMED, quoted
from tclose_spark.runfile.spec import Input


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
        F.contains(column, F.lit(REPLACEMENT)) | F.contains(column, F.lit(NUL)), F.lit(False)
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
    table: DataFrame, conditions: Sequence[Column], more: Sequence[Column] = ()
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
                raw, [~F.is_valid_utf8(F.encode(c, "ISO-8859-1").cast("string")) for c in columns]
            ),
            strict=True,
        )
    )
