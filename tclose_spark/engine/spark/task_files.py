"""Tables whose files tasks open themselves. Spark takes several times as long to read rows and hand
them to Python.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tclose_spark.engine.local.counting import LOST, NUL, Counts
from tclose_spark.engine.local.parquet_files import ParquetFile, Piece, rows_of_piece
from tclose_spark.engine.local.reading import open_files, place_of_input
from tclose_spark.engine.local.table import NeedsSparkError
from tclose_spark.errors import InputError
from tclose_spark.io.input.csv_on_spark import DamagedTextError
from tclose_spark.io.spark.cluster import REFUSALS, java_of
from tclose_spark.io.spark.driver import is_brought
from tclose_spark.io.storage.folders import VOLUMES, local_path
from tclose_spark.io.tables.columns import quoted
from tclose_spark.runfile.spec import Input
from tclose_spark.table.arrays import Mapper
from tclose_spark.table.column_names.names import renamed
from tclose_spark.table.columns.spark_types import is_unsupported, why_unreadable

TASK_BYTES = 128 << 20
"""The bytes of files that a task reads, if there are enough for all cores: Spark's own figure."""
FILE_BYTES = 4 << 20
"""The bytes that opening a file counts for, and the least of a task: Spark's own figure."""
MOST_FILES = 10_000  # whose footers the driver reads
AS_WRITTEN = {
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96TimestampConversion": "false",
}
"""Settings with which Spark reads the values that files hold, and no file less."""


@dataclass(frozen=True)
class TaskFiles:
    """A table whose files tasks open themselves in `map_batches` and `send_to_tasks`. For other
    operations Spark reads it.

    frame: the table, as Spark reads it. fields: its columns, as they are in the files.
    texts: the names of those that must be sound text.
    """

    frame: DataFrame
    pieces: Sequence[Piece]
    fields: Sequence[pa.Field]
    texts: frozenset[str]

    def select(self, names: Sequence[str]) -> TaskFiles:
        """The columns of these names."""
        held = dict(zip(self.frame.columns, self.fields, strict=True))
        return replace(
            self,
            frame=self.frame.select(*map(quoted, names)),
            fields=[held[name] for name in names],
        )

    def rename(self, names: Sequence[str]) -> TaskFiles:
        """The same columns under these names."""
        return replace(self, frame=self.frame.toDF(*names))

    def opening(self, mapper: Mapper, may_be_coded: bool = False) -> tuple[DataFrame, Mapper]:
        """(table, mapper): this mapper on that table does what the given one does on this table.
        may_be_coded: see `engine.tables.map_batches`.
        """
        if any(is_unsupported(one.type) or why_unreadable(one) for one in self.fields):
            return self.frame, mapper
        names = self.frame.columns
        pieces = self.pieces
        fields = pa.schema(self.fields)
        texts = self.texts

        def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            places = (place for batch in batches for place in batch.column(0).to_pylist())
            rows = (
                batch
                for place in places
                for batch in _rows(pieces[place], fields, texts, may_be_coded)
            )
            return mapper(batch.rename_columns(names) for batch in rows)

        return self.frame.sparkSession.range(0, len(pieces), 1, len(pieces)), run


def frame_of(table: DataFrame | TaskFiles) -> DataFrame:
    """The table, as Spark reads it."""
    return table.frame if isinstance(table, TaskFiles) else table


def opened_by_tasks(
    frame: DataFrame,
    schema: pa.Schema,
    source: Input,
    version: int | None = None,
    columns: Sequence[str] | None = None,
) -> DataFrame | TaskFiles:
    """A table that Spark reads from a source, in the form whose files tasks open, if they find the
    same rows in them.

    schema: of the frame. version: of a Delta table. columns: see `engine.sources.read_table`.
    """
    spark = frame.sparkSession
    try:
        fields, files = (
            _plan(frame, source, version) if _may_open(spark, source, version) else ([], [])
        )
        names = renamed([one.name for one in fields], source.columns)
    except (NeedsSparkError, InputError, OSError):  # Spark reports what is wrong with an input
        return frame
    held = pa.schema([one.with_name(name) for one, name in zip(fields, names, strict=True)])
    pieces = (
        _pieces(files, spark.sparkContext.defaultParallelism)
        if held.equals(schema, check_metadata=True)
        else []
    )
    used = [
        one.name
        for one, name in zip(fields, names, strict=True)
        if columns is None or name in columns
    ]
    return TaskFiles(frame, pieces, fields, frozenset(used)) if pieces else frame


def _may_open(spark: SparkSession, source: Input, version: int | None) -> bool:
    """Whether tasks may open the files of a source, and would read what Spark reads. Tasks reach
    the files of local paths, because Spark's own tasks open them under the same paths.
    """
    known = source.format == "parquet" or (source.format == "delta" and version is not None)
    if not known or is_brought() or java_of(spark) is None:
        return False
    if local_path(source.path) is None or source.path.startswith(VOLUMES):
        return False
    try:
        return all(spark.conf.get(key) == value for key, value in AS_WRITTEN.items())
    except REFUSALS:
        return False


def _plan(
    frame: DataFrame,
    source: Input,
    version: int | None,
) -> tuple[list[pa.Field], list[ParquetFile]]:
    """(columns, files) of a source; none if these are not the files that Spark reads."""
    schema, files = open_files(place_of_input(source), source, version, MOST_FILES)
    same = source.format == "delta" or {file.path for file in files} == {
        *map(local_path, frame.inputFiles()),
    }
    return (list(schema), files) if same else ([], [])


def _pieces(files: Sequence[ParquetFile], cores: int) -> list[list[tuple[ParquetFile, list[int]]]]:
    """The row groups of files in their order, divided among tasks by their bytes."""
    most = min(TASK_BYTES, max(FILE_BYTES, sum(file.size + FILE_BYTES for file in files) // cores))
    pieces: list[list[tuple[ParquetFile, list[int]]]] = []
    filled = most
    for file in files:
        for group, rows in enumerate(file.rows):
            size = file.size * rows // max(1, sum(file.rows)) + (0 if group else FILE_BYTES)
            if filled + size > most:
                pieces.append([])
                filled = 0
            if not pieces[-1] or pieces[-1][-1][0] is not file:
                pieces[-1].append((file, []))
            pieces[-1][-1][1].append(group)
            filled += size
    return pieces


def _rows(
    piece: Piece,
    fields: pa.Schema,
    texts: frozenset[str],
    may_be_coded: bool,
) -> Iterator[pa.RecordBatch]:
    counts: Counts = Counter()
    for batch in rows_of_piece(piece, fields, counts, may_be_coded):
        if any(counts[what, name] for what in (LOST, NUL) for name in texts):
            raise DamagedTextError("text of a column in use is not UTF-8, or holds NUL")
        yield batch
