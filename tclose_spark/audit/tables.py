"""The tables that an audit is given, at paths or in memory, opened with the columns that are asked about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from tclose_spark.audit.question import Question
from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.io.formats import guess_format
from tclose_spark.io.frames import as_dataframe
from tclose_spark.io.reading import Opened, checked, explained, read_table
from tclose_spark.runfile.loading import resolve
from tclose_spark.runfile.spec import FRAME, Input

FORMATS = ("csv", "parquet", "delta", "table")


@contextmanager
def opened_tables(
    spark: SparkSession,
    question: Question,
    table: Any,
    reference: Any = None,
    background: Any = None,
    *,
    kind: str | None = None,
    options: Mapping[str, str] | None = None,
) -> Iterator[tuple[DataFrame, DataFrame | None, DataFrame | None]]:
    """The table, the reference and the background table, where they are given. Errors of their files end here.

    kind: what the table is, where its path does not say it. options: of Spark's reader, for all of them.
    """
    given, sensitive = options or {}, list(question.sensitive_attributes)
    others = [
        None if other is None else open_table(spark, other, columns, None, given)
        for other, columns in ((reference, sensitive), (background, list(question.quasi_identifiers)))
    ]
    opened = open_table(spark, table, [*question.labels, *sensitive], kind, given)
    with explained(*[one for one in (opened, *others) if one is not None]):
        reference, background = (None if other is None else other.table for other in others)
        yield opened.table, reference, background


def open_table(
    spark: SparkSession, table: Any, columns: Sequence[str], kind: str | None, options: Mapping[str, str]
) -> Opened:
    """A table in memory; or that at a path, read as `kind`, by default what its path says it is. Its text, in these
    columns, is what the file holds.
    """
    if not isinstance(table, str):
        return Opened(as_dataframe(spark, table), Input(path=FRAME, format="table"), columns)
    found: Any = kind or guess_format(table)
    if found not in FORMATS:
        raise ConfigurationError(f"--format {found}: expected {', '.join(FORMATS)}")
    if found == "csv":
        options = {"header": "true", **options}
    where = table if found == "table" else resolve(table, "TABLE", Path.cwd())
    source = Input(path=where, format=found, options=dict(options))
    try:
        opened = Opened(read_table(spark, source), source, columns)
    except InputError as error:
        hint = (
            " (neither a file nor a table of the catalog)"
            if found == "table"
            else f" (read as {found}; --format says another)"
        )
        raise InputError(str(error) + hint) from None
    with explained(opened):
        return replace(opened, table=checked(opened))
