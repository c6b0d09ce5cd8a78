"""The inputs of `engine.sources` as DataFrames of Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

from pyspark.sql import DataFrame, SparkSession

from tclose_spark.engine.local.reading import LOCAL_INPUTS
from tclose_spark.engine.protocol import OpenedTable
from tclose_spark.engine.spark.tables import arrow_schema
from tclose_spark.engine.spark.task_files import TaskFiles, frame_of, opened_by_tasks
from tclose_spark.engine.tables import errors_of_tasks
from tclose_spark.errors import InputError
from tclose_spark.io.input import csv_on_spark, reading
from tclose_spark.io.input.csv_options import is_read_here
from tclose_spark.io.input.reading import as_dataframe
from tclose_spark.io.input.sniffing import completed
from tclose_spark.io.input.states import Commit
from tclose_spark.io.local_session import LocalSession
from tclose_spark.runfile.spec import Input


class SparkInputs:
    """The inputs of `engine.sources` as DataFrames of Spark."""

    def read_table(
        self,
        session: SparkSession,
        source: Input,
        version: int | None,
        columns: Sequence[str] | None,
    ) -> Any:
        """See `engine.sources`. Tasks open its files if they may. This process reads what Spark
        does not.
        """
        if is_read_here(source):
            return as_dataframe(
                session,
                LOCAL_INPUTS.read_table(LocalSession(), source, columns=columns).collect(),
            )
        frame = reading.read_table(session, source, version)
        return opened_by_tasks(frame, arrow_schema(frame), source, version, columns)

    def frame_table(self, session: SparkSession, table: Any) -> DataFrame:
        """See `engine.sources`."""
        return as_dataframe(session, table)

    @contextmanager
    def viewed(self, session: SparkSession, table: Any, name: str) -> Iterator[None]:
        """See `engine.sources`."""
        as_dataframe(session, table).createOrReplaceTempView(name)
        try:
            yield
        finally:
            session.catalog.dropTempView(name)

    def require_paths(self, places: Mapping[str, Any]) -> None:
        """Spark reaches all places."""

    def commit_of(self, session: SparkSession, source: Input) -> Commit | None:
        """See `engine.sources`."""
        return reading.commit_of(session, source)

    def input_state(
        self,
        session: SparkSession,
        source: Input,
        commit: Commit | None,
    ) -> str | None:
        """See `engine.sources`."""
        return reading.input_state(session, source, commit)

    @contextmanager
    def errors_translated(self, *tables: OpenedTable) -> Iterator[None]:
        """See `engine.sources`."""
        with (
            errors_of_tasks(InputError),
            csv_on_spark.translate_read_errors(*map(_source_table, tables)),
        ):
            yield

    def checked(self, opened: OpenedTable) -> OpenedTable:
        """See `engine.sources`."""
        if isinstance(opened.table, TaskFiles):
            return opened  # tasks check text as they read it
        with self.errors_translated(opened):
            return replace(opened, table=csv_on_spark.checked(_source_table(opened)))

    def check_text(self, opened: OpenedTable) -> None:
        """See `engine.sources`."""
        csv_on_spark.check_text(_source_table(opened))

    def check_rows(self, opened: OpenedTable, malformed: int, rows: int) -> None:
        """See `engine.sources`."""
        if malformed:
            raise csv_on_spark.malformed_rows(_source_table(opened), malformed, rows)


SPARK_INPUTS = SparkInputs()


def _source_table(opened: OpenedTable) -> csv_on_spark.SourceTable:
    source = completed(opened.source, opened.columns)
    return csv_on_spark.SourceTable(frame_of(cast(DataFrame, opened.table)), source, opened.columns)
