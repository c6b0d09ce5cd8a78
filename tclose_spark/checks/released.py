"""The rows of a written release, read from its files: tallied by class, and hashed as written.

Tasks open the files themselves. Their columns are dictionary-coded, which takes a tenth of the time that Spark takes to
read and transfer rows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from tclose_spark.checks.classes.tallies import ClassTally, add_up, tally_schema
from tclose_spark.io.spark.capabilities import java_of
from tclose_spark.io.spark.workers import Mapper, at_first, map_batches
from tclose_spark.io.storage.folders import NO_PATTERN, for_spark
from tclose_spark.io.tables.columns import quoted
from tclose_spark.io.tables.prepared import plain
from tclose_spark.table.dictionaries import coded
from tclose_spark.table.fingerprint import Fingerprint

ROWS_AT_ONCE = 1 << 20  # of a file, held as codes in a task
MAGIC = b"PAR1"  # the first and last bytes of a Parquet file
SPARK_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"
SPARK_WORDS = {
    b"org.apache.spark.version": rb"[0-9]+(\.[0-9A-Za-z]+)*(-SNAPSHOT)?",
    b"org.apache.spark.timeZone": rb"[A-Za-z0-9_+-]+([/:][A-Za-z0-9_+-]+)*",
    b"org.apache.spark.legacyDateTime": rb"",
    b"org.apache.spark.legacyINT96": rb"",
}
"""What Spark adds to the metadata of a file: its version, and its date rules."""
WRITERS = r"parquet-(cpp-arrow|mr) version [0-9A-Za-z.-]+( \(build [0-9a-f]+\))?"
"""The names of Arrow and Spark in the metadata of a file."""
LARGE_OF = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}
SAME_TEXT = (T.StringType, T.ByteType, T.ShortType, T.IntegerType, T.LongType, T.BooleanType)
"""Types whose values Arrow and Spark write alike."""
ROWS, DIGEST = "rows", "digest"


class DamagedFileError(ValueError):
    """A file of a release is not as it was written. The message names it."""


@dataclass(frozen=True)
class ReleasedRows:
    """The rows of a release. tallies: of its classes (see `tallies.tally_classes`), computed when first used."""

    tallies: DataFrame
    _observation: Observation

    @property
    def fingerprint(self) -> Fingerprint:
        """The fingerprint of the tallied rows; available after the tallies were computed."""
        figures = self._observation.get
        return Fingerprint(int(figures[ROWS] or 0), int(figures[DIGEST] or 0))


def read_released(release: DataFrame, folder: str, labels: Sequence[str], sensitive: Sequence[str]) -> ReleasedRows:
    """The rows of a release in a folder, with these columns of labels and of sensitive values.

    Tasks open the files if Arrow writes these columns as the same text as Spark, and the session has its own Spark
    (shared platforms refuse files beside a Delta log). Otherwise Spark reads the rows and writes the text.
    """
    texts = [*labels, *sensitive]
    schema = tally_schema(len(labels), len(sensitive))
    parts = pa.schema([*schema, pa.field(ROWS, pa.int64()), pa.field(DIGEST, pa.int64())])
    by_files = java_of(release.sparkSession) is not None
    if by_files and all(isinstance(release.schema[name].dataType, SAME_TEXT) for name in texts):
        reader = release.sparkSession.read.format("binaryFile").options(pathGlobFilter="*.parquet", **NO_PATTERN)
        files = reader.load(for_spark(folder)).select("path", "content")
        tally = _tally_files(release.schema, texts, len(labels), parts)
        tallied = map_batches(files, tally, from_arrow_schema(parts))
    else:
        text = [plain(release, name).cast("string").alias(f"t{i}") for i, name in enumerate(texts)]
        columns = [quoted(name).alias(f"c{i}") for i, name in enumerate(release.columns)]
        tally = _tally_batches(len(release.columns), len(labels), parts)
        tallied = map_batches(release.select(*columns, *text), tally, from_arrow_schema(parts))
    observation = Observation()
    observed = tallied.observe(observation, F.sum(ROWS).alias(ROWS), F.sum(DIGEST).alias(DIGEST))
    return ReleasedRows(add_up(observed.select(*schema.names), len(labels), schema), observation)


def _tally_files(released: T.StructType, texts: Sequence[str], labels: int, schema: pa.Schema) -> Mapper:
    """Tallies files of these columns, ROWS_AT_ONCE rows at a time."""
    described, kinds = released.json(), to_arrow_schema(released)

    def tally(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for path, content in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
                for rows in _rows_of(path.rpartition("/")[2], content.as_buffer(), kinds, described):
                    held = {name: coded(rows.column(name)) for name in kinds.names}
                    text = [_as_text(held[name]) for name in texts]
                    yield _tallied(list(held.values()), text, labels, schema)

    return tally


def _rows_of(name: str, content: pa.Buffer, kinds: pa.Schema, described: str) -> Iterator[pa.RecordBatch]:
    """The rows of a Parquet file of this name, texts dictionary-coded.

    kinds: the columns of the release; described: the same as Spark describes them.

    Raises:
        DamagedFileError: if the file cannot be read, has other columns, or reveals more than its rows.
    """
    strings = [field.name for field in kinds if pa.types.is_string(field.type)]
    try:
        file = pq.ParquetFile(pa.BufferReader(content), read_dictionary=strings, coerce_int96_timestamp_unit="us")
        found, words = file.metadata.schema.to_arrow_schema(), dict(file.metadata.metadata or {})
        if found.names != kinds.names or not all(map(_is_alike, found.types, kinds.types)):
            raise DamagedFileError(f"{name} has other columns than the release")
        columns = json.loads(words.pop(SPARK_SCHEMA, described))
        footer = content[len(content) - 8 - file.metadata.serialized_size :].to_pybytes()
        plain = all(key in SPARK_WORDS and re.fullmatch(SPARK_WORDS[key], word) for key, word in words.items())
        twice = any(footer.count(key) > 1 for key in (SPARK_SCHEMA, *SPARK_WORDS))
        if (
            not plain
            or twice
            or not re.fullmatch(WRITERS, file.metadata.created_by)
            or columns != json.loads(described)
        ):
            raise DamagedFileError(f"{name} has metadata beyond that of the release")
        if content[: len(MAGIC)].to_pybytes() != MAGIC:  # Arrow does not check it
            raise DamagedFileError(f"{name} cannot be read")
        for rows in file.iter_batches(ROWS_AT_ONCE, columns=kinds.names):
            if rows.num_rows:
                yield rows
    except DamagedFileError:
        raise
    except (pa.ArrowException, OSError, KeyError, ValueError):
        raise DamagedFileError(f"{name} cannot be read") from None


def _is_alike(found: pa.DataType, kind: pa.DataType) -> bool:
    """Whether a column in a file can be of a type of Spark, whose timestamps have several units and zones."""
    if pa.types.is_timestamp(kind):
        return bool(pa.types.is_timestamp(found))
    return found in (kind, LARGE_OF.get(kind, kind))


def _tally_batches(columns: int, labels: int, schema: pa.Schema) -> Mapper:
    """Tallies batches of a release's columns, followed by the text of its labels and sensitive values."""

    def tally(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                held = [coded(column) for column in batch.columns]
                yield _tallied(held[:columns], held[columns:], labels, schema)

    return tally


def _as_text(column: pa.DictionaryArray) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(column.indices, column.dictionary.cast(pa.string()))


def _tallied(columns: Sequence[pa.Array], texts: Sequence[pa.Array], labels: int, schema: pa.Schema) -> pa.RecordBatch:
    """The tally of some rows, with their fingerprint in its first row."""
    found = Fingerprint.of(columns)
    tally = ClassTally.of(texts[:labels], None, texts[labels:], np.ones(found.rows, dtype=np.int64))
    part = tally.write(pa.schema(list(schema)[:-2]))
    figures = [at_first(n, len(part), pa.int64()) for n in (found.rows, found.digest)]
    return pa.RecordBatch.from_arrays([*part.columns, *figures], schema=schema)
