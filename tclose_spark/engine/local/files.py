"""Files of the local engine: staged rows, and Delta tables that this process writes and reads."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from tclose_spark.errors import ConfigurationError
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.storage.folders import open_folder, place_of
from tclose_spark.io.storage.stores import Place, on_arrow, opened, sorted_places
from tclose_spark.io.tables.delta_log import LOG, LOGS, PROPERTIES, log_of
from tclose_spark.table.columns.parquet import WRITER
from tclose_spark.table.columns.spark_types import arrow_schema, delta_schema

PLAIN = {"minReaderVersion": 1, "minWriterVersion": 2}
WITHOUT_ZONE = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["timestampNtz"],
    "writerFeatures": ["timestampNtz", "appendOnly", "invariants"],
}
"""What a table requires of its readers and writers: without, and with times that have no zone."""

Partition = Callable[[], Iterable[pa.RecordBatch]]
"""The batches of a partition, computed by each call."""


def write_rows(
    partitions: Sequence[Partition],
    schema: pa.Schema,
    folder: Place,
    dictionaries: bool = True,
) -> list[Place]:
    """Writes each partition that has rows into a Parquet file of a folder, without statistics;
    returns the files.

    dictionaries: whether values are coded; not if each is a batch of rows.

    Raises:
        OSError: if a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)

    def write(part: Partition) -> Place | None:
        file = folder / f"part-{uuid4()}.parquet"
        writer = None
        path, files = on_arrow(file)
        try:
            for batch in part():
                if batch.num_rows:
                    writer = writer or pq.ParquetWriter(
                        path,
                        schema,
                        files,
                        store_schema=False,
                        write_statistics=False,
                        use_dictionary=dictionaries,
                        write_page_checksum=True,
                    )
                    writer.write_batch(batch.cast(schema) if batch.schema != schema else batch)
            if writer is not None:
                writer.add_key_value_metadata(WRITER)
        finally:
            if writer is not None:
                writer.close()
        return None if writer is None else file

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [file for file in pool.map(write, partitions) if file is not None]


def read_parts(files: Sequence[Place], schema: pa.Schema) -> tuple[Partition, ...]:
    """The rows of Parquet files with these columns, a partition a file."""

    def rows(file: Place) -> Iterator[pa.RecordBatch]:
        with pq.ParquetFile(opened(file), page_checksum_verification=True) as held:
            for batch in held.iter_batches(columns=schema.names):
                yield batch if batch.schema == schema else _cast(batch, schema)

    return tuple(partial(rows, file) for file in files)


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = [batch[field.name].cast(field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def write_delta_files(partitions: Sequence[Partition], schema: pa.Schema, path: str) -> None:
    """Writes a Delta table of one commit.

    Raises:
        ConfigurationError: if there is something in the folder already.
    """
    folder = place_of(path)
    if folder.exists() and any(folder.iterdir()):
        raise ConfigurationError(f"{path} holds a table already")
    files = write_rows(partitions, schema, folder)
    write_log(path, schema, files)


def write_log(path: str, schema: pa.Schema, files: Sequence[Place]) -> None:
    """Writes the log of a table at a path, with these columns and files."""
    now = int(time.time() * 1000)
    without_zone = any(
        pa.types.is_timestamp(field.type) and field.type.tz is None for field in schema
    )
    actions: list[dict[str, Any]] = [
        {
            "metaData": {
                "id": str(uuid4()),
                "format": {"provider": "parquet", "options": {}},
                "schemaString": delta_schema(schema),
                "partitionColumns": [],
                "configuration": PROPERTIES,
                "createdTime": now,
            },
        },
        {"protocol": WITHOUT_ZONE if without_zone else PLAIN},
        *(
            {
                "add": {
                    "path": file.name,
                    "partitionValues": {},
                    "size": file.stat().st_size,
                    "modificationTime": now,
                    "dataChange": True,
                },
            }
            for file in files
        ),
    ]
    open_folder(path, LocalSession()).write(
        LOG,
        "".join(json.dumps(action) + "\n" for action in actions),
    )


def read_log(folder: Place, version: int | None = None) -> tuple[pa.Schema, list[Place]]:
    """(the columns, the files) of a version (None: the last) of a table that a run wrote (see
    `delta_log`).
    """
    log = (
        sorted_places((folder / LOGS).glob("*.json"))[-1]
        if version is None
        else folder / log_of(version)
    )
    actions = [json.loads(line) for line in log.read_text(encoding="utf-8").split("\n") if line]
    (text,) = (action["metaData"]["schemaString"] for action in actions if "metaData" in action)
    files = [folder / unquote(action["add"]["path"]) for action in actions if "add" in action]
    return arrow_schema(text), files
