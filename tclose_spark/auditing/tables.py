"""Opens the tables of an audit, at paths or in memory, with the columns of its question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.errors import InputError
from tclose_spark.io.input.damaged_text import SourceTable, checked, translate_read_errors
from tclose_spark.io.input.frames import as_dataframe
from tclose_spark.io.input.reading import read_table, renamed
from tclose_spark.io.input.table_argument import source_of, unread
from tclose_spark.runfile.spec import FRAME, Input


@contextmanager
def opened_tables(
    spark: SparkSession,
    question: AuditQuestion,
    table: Any,
    reference: Any = None,
    background: Any = None,
    *,
    kind: str | None = None,
    options: Mapping[str, str] | None = None,
) -> Iterator[tuple[DataFrame, DataFrame | None, DataFrame | None]]:
    """The table, and the reference and background table if given. Read errors are raised as InputError.

    kind: the table's format, if its path does not show it. options: of Spark's reader, for all tables.
    """
    given, sensitive = options or {}, list(question.sensitive_attributes)
    others = [
        None if other is None else open_table(spark, other, columns, None, given, question.renamed)
        for other, columns in ((reference, sensitive), (background, list(question.quasi_identifiers)))
    ]
    opened = open_table(spark, table, [*question.labels, *sensitive], kind, given, question.renamed)
    with translate_read_errors(*[one for one in (opened, *others) if one is not None]):
        reference, background = (None if other is None else other.table for other in others)
        yield opened.table, reference, background


def open_table(
    spark: SparkSession,
    table: Any,
    columns: Sequence[str],
    kind: str | None,
    options: Mapping[str, str],
    new_names: Mapping[str, str] = MappingProxyType({}),
) -> SourceTable:
    """A table in memory, or at a path with the format `kind` (by default that of the path), checked for damaged text in
    these columns. new_names: of columns that the table has under their old names only.
    """
    if not isinstance(table, str):
        frame = as_dataframe(spark, table)
        names = renamed(frame.columns, _needed(new_names, frame, columns))
        return SourceTable(frame.toDF(*names), Input(path=FRAME, format="table"), columns)
    source = source_of(table, kind, options)
    try:
        read = read_table(spark, source)
        needed = _needed(new_names, read, columns)
        if needed:
            source = source.model_copy(update={"columns": needed})
            read = read_table(spark, source)
        opened = SourceTable(read, source, columns)
    except InputError as error:
        raise unread(error, source) from None
    with translate_read_errors(opened):
        return replace(opened, table=checked(opened))


def _needed(new_names: Mapping[str, str], table: DataFrame, columns: Sequence[str]) -> dict[str, str]:
    """The new names without which a column would be missing."""
    there = table.columns
    return {old: new for old, new in new_names.items() if new in columns and new not in there and old in there}
