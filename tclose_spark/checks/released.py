"""The rows of a written release, read from its files: tallied by class, and hashed as they lie there.

Tasks open the files themselves, whose columns are coded by dictionaries: some tenths of a microsecond a row, a tenth of
what it takes Spark to read them and hand them over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_schema

from tclose_spark.checks.tallies import Tally, add_up, tally_schema
from tclose_spark.io.capabilities import java_of
from tclose_spark.io.storage import NO_PATTERN, for_spark
from tclose_spark.io.tables import plain, quoted
from tclose_spark.io.workers import Mapper, at_first, map_batches
from tclose_spark.table.dictionaries import coded
from tclose_spark.table.fingerprint import Fingerprint

ROWS_AT_ONCE = 1 << 20  # of a file, that a task holds as codes
SAME_TEXT = (T.StringType, T.ByteType, T.ShortType, T.IntegerType, T.LongType, T.BooleanType)
"""Types whose values Arrow writes as Spark does."""
ROWS, DIGEST = "rows", "digest"


@dataclass(frozen=True)
class ReleasedRows:
    """tallies: of the release's classes (see `tallies.tally_classes`), made when they are first asked for."""

    tallies: DataFrame
    _observation: Observation

    @property
    def fingerprint(self) -> Fingerprint:
        """Of the rows that were tallied; to be asked for after the tallies were made."""
        figures = self._observation.get
        return Fingerprint(int(figures[ROWS] or 0), int(figures[DIGEST] or 0))


def read_released(release: DataFrame, folder: str, labels: Sequence[str], sensitive: Sequence[str]) -> ReleasedRows:
    """The rows of a release that lies in a folder, with these columns of labels and of sensitive values.

    Its files are opened by tasks where Arrow writes these columns as the text that Spark writes, and the session is on
    a Spark of its own (shared platforms refuse files that have a log of Delta beside them); else Spark
    reads them, and writes the text.
    """
    texts = [*labels, *sensitive]
    schema = tally_schema(len(labels), len(sensitive))
    parts = pa.schema([*schema, pa.field(ROWS, pa.int64()), pa.field(DIGEST, pa.int64())])
    by_files = java_of(release.sparkSession) is not None
    if by_files and all(isinstance(release.schema[name].dataType, SAME_TEXT) for name in texts):
        reader = release.sparkSession.read.format("binaryFile").options(pathGlobFilter="*.parquet", **NO_PATTERN)
        files = reader.load(for_spark(folder)).select("content")
        strings = [field.name for field in release.schema if isinstance(field.dataType, T.StringType)]
        tally = _tally_files(release.columns, strings, texts, len(labels), parts)
        tallied = map_batches(files, tally, from_arrow_schema(parts))
    else:
        text = [plain(release, name).cast("string").alias(f"t{i}") for i, name in enumerate(texts)]
        columns = [quoted(name).alias(f"c{i}") for i, name in enumerate(release.columns)]
        tally = _tally_batches(len(release.columns), len(labels), parts)
        tallied = map_batches(release.select(*columns, *text), tally, from_arrow_schema(parts))
    observation = Observation()
    observed = tallied.observe(observation, F.sum(ROWS).alias(ROWS), F.sum(DIGEST).alias(DIGEST))
    return ReleasedRows(add_up(observed.select(*schema.names), len(labels), schema), observation)


def _tally_files(
    columns: Sequence[str], strings: Sequence[str], texts: Sequence[str], labels: int, schema: pa.Schema
) -> Mapper:
    """Tallies files, ROWS_AT_ONCE rows at a time."""

    def tally(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for content in batch.column(0):
                file = pq.ParquetFile(
                    pa.BufferReader(content.as_buffer()),
                    read_dictionary=list(strings),
                    coerce_int96_timestamp_unit="us",
                )
                for rows in file.iter_batches(ROWS_AT_ONCE, columns=list(columns)):
                    if not rows.num_rows:
                        continue
                    held = {name: coded(rows.column(name)) for name in columns}
                    text = [_as_text(held[name]) for name in texts]
                    yield _tallied(list(held.values()), text, labels, schema)

    return tally


def _tally_batches(columns: int, labels: int, schema: pa.Schema) -> Mapper:
    """Tallies batches of a release's columns and, behind them, the text of its labels and sensitive values."""

    def tally(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                held = [coded(column) for column in batch.columns]
                yield _tallied(held[:columns], held[columns:], labels, schema)

    return tally


def _as_text(column: pa.DictionaryArray) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(column.indices, column.dictionary.cast(pa.string()))


def _tallied(columns: Sequence[pa.Array], texts: Sequence[pa.Array], labels: int, schema: pa.Schema) -> pa.RecordBatch:
    """The tally of some rows; in its first row their fingerprint."""
    found = Fingerprint.of(columns)
    tally = Tally.of(texts[:labels], None, texts[labels:], np.ones(found.rows, dtype=np.int64))
    part = tally.write(pa.schema(list(schema)[:-2]))
    figures = [at_first(n, len(part), pa.int64()) for n in (found.rows, found.digest)]
    return pa.RecordBatch.from_arrays([*part.columns, *figures], schema=schema)
