"""Delta tables, without the features that move or hide columns and rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from tclose_spark.engine.local.parquet_files import ParquetFile, open_parquet, require_few
from tclose_spark.engine.local.table import NeedsSparkError
from tclose_spark.io.input import problems
from tclose_spark.io.input.states import AS_OF, Commit
from tclose_spark.io.storage.stores import Place, StoreError, StorePath, delta_options, named
from tclose_spark.io.tables.delta_log import LOGS
from tclose_spark.runfile.spec import Input
from tclose_spark.table.columns.spark_types import field_of, is_unsupported

FEATURES = {"timestampNtz"}
"""Reader features of tables whose files hold the rows as they are."""
NO_CONSTANTS = (pa.types.is_timestamp, pa.types.is_floating, pa.types.is_binary)
"""Types of partition columns whose values engines may read differently."""
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""What the folder of a partition has in place of a missing value."""
OF_COLUMNS = ("__", "delta.columnMapping")  # metadata that change what a column holds


def open_delta(
    folder: Place,
    source: Input,
    version: int | None,
    most: int | None = None,
) -> tuple[pa.Schema, list[ParquetFile]]:
    """(columns, files) of a table at a version (None: the requested or newest).

    Raises:
        InputError: if there is no Delta table.
        NeedsSparkError: if the table has features that need Spark, or more than `most` files.
    """
    table = _opened(folder, source, version)
    told = json.loads(table.schema().to_json())["fields"]
    schema = pa.schema([field_of(one["name"], one["type"]) for one in told])
    if any(key.startswith(OF_COLUMNS) for one in told for key in one["metadata"]):
        raise NeedsSparkError(f"input.path: {source.path} has columns of types of Spark's")
    if all(is_unsupported(one.type) for one in schema):
        raise NeedsSparkError(f"input.path: {source.path} has no plain column")
    keys = table.metadata().partition_columns
    if any(test(schema.field(key).type) for key in keys for test in NO_CONSTANTS):
        raise NeedsSparkError(
            f"input.path: {source.path} has a partition column of times, fractions or bytes",
        )
    files: list[ParquetFile] = []
    added = pa.table(table.get_add_actions(flatten=True))
    require_few(added.num_rows, most, source)
    for action in added.to_pylist():
        values = {
            key: _partition_value(action, key, schema.field(key).type, source) for key in keys
        }
        constants = {
            key: pa.scalar(value).cast(schema.field(key).type) for key, value in values.items()
        }
        files.append(_opened_file(_file(folder, action["path"]), constants, schema, source))
    return schema, files


def _partition_value(action: Mapping[str, Any], key: str, kind: pa.DataType, source: Input) -> Any:
    """The value of a partition column in a file. Spark reads an empty text as it is, deltalake as
    missing; only the folder of the file shows which it is.
    """
    value = action[f"partition.{key}"]
    if value is not None or not pa.types.is_string(kind):
        return value
    folders = [unquote(unquote(folder)) for folder in action["path"].split("/")[:-1]]
    if f"{key}={NO_VALUE}" in folders:
        return None
    if f"{key}=" in folders:
        return ""
    raise NeedsSparkError(
        f"input.path: {source.path} has a partition that is missing or an empty text",
    )


def _opened_file(
    file: Place,
    constants: Mapping[str, pa.Scalar],
    schema: pa.Schema,
    source: Input,
) -> ParquetFile:
    opened = open_parquet(file, constants)
    held = [one for one in schema if one.name not in constants and not is_unsupported(one.type)]
    names = opened.schema.names
    if any(one.name in names and opened.schema.field(one.name).type != one.type for one in held):
        raise NeedsSparkError(f"input.path: {source.path} has a file of other types than the table")
    if not any(one.name in names for one in held):
        raise NeedsSparkError(f"input.path: {source.path} has a file without plain columns")
    return opened


def commit_of_table(folder: Place, source: Input) -> Commit | None:
    """The commit that is read; None if the log lacks it."""
    try:
        version = _opened(folder, source, None).version()
        written = (folder / LOGS / f"{version:020}.json").stat().st_mtime_ns // 1_000_000
    except (NeedsSparkError, OSError):
        return None
    time = datetime.fromtimestamp(written // 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return Commit(version, f"{time}.{written % 1000:03}".rstrip("0").rstrip("."))


def _opened(folder: Place, source: Input, version: int | None) -> Any:
    """The table at a version."""
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    wanted = str(source.options.get(AS_OF, "")) if version is None else str(version)
    if set(source.options) - {AS_OF} or not (wanted or "0").isdecimal():
        raise NeedsSparkError(
            f"input.options: {source.path} is read with options of Spark's reader",
        )
    if not (folder / LOGS).is_dir():
        if is_in_delta(folder):
            raise NeedsSparkError(f"input.path: {source.path} is a part of a Delta table")
        raise problems.missing(source)
    on_store = isinstance(folder, StorePath)
    if on_store and {"%", "#"} & set(source.path):  # deltalake would read the log of another folder
        raise NeedsSparkError(
            f"input.path: {source.path} has % or # in it, and is a Delta table on an object store",
        )
    try:
        with named(source.path) if on_store else nullcontext():
            options = (
                delta_options(source.path, folder.files) if isinstance(folder, StorePath) else None
            )
            table = DeltaTable(
                str(folder),
                int(wanted) if wanted else None,
                storage_options=options,
            )
        protocol = table.protocol()
        settings = table.metadata().configuration
    except DeltaError as error:
        raise NeedsSparkError(
            f"input.path: {source.path} is a Delta table with an unknown log",
        ) from error
    extra = set(protocol.reader_features or ()) - FEATURES
    mapped = settings.get("delta.columnMapping.mode", "none") != "none"
    if extra or mapped or settings.get("delta.enableInCommitTimestamps") == "true":
        what = ", ".join(sorted(extra)) or "columns under other names, or its own times"
        raise NeedsSparkError(f"input.path: {source.path} is a Delta table with {what}")
    return table


def is_in_delta(place: Place) -> bool:
    """Whether a file or folder is a part of a Delta table."""
    for folder in place.parents:
        with suppress(StoreError):  # a bucket may be open from some folder on only
            if (folder / LOGS).is_dir():
                return True
    return False


def _file(folder: Place, path: str) -> Place:
    """A file of the table. The log quotes what a URI quotes."""
    plain = folder / path
    return plain if plain.exists() else folder / unquote(path)
