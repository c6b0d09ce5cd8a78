"""Python functions in Spark's workers."""

from __future__ import annotations

import gc
import sys
import zipimport
from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from tclose_spark.table.arrays import Mapper

PLAIN = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}


def map_batches(table: DataFrame, mapper: Mapper, schema: StructType | str) -> DataFrame:
    """`DataFrame.mapInArrow` for columns of any name, without its cost for each task: see
    `forget_zip_importers` and `freeze_modules`.
    """
    names = table.columns

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        forget_zip_importers()
        yield from mapper(_plain(batch.rename_columns(names)) for batch in batches)
        forget_zip_importers()
        freeze_modules()

    # Spark takes a dot or a backtick in a name for syntax.
    numbered = (
        table.toDF(*map(str, range(len(names)))) if set("".join(names)) & set(".`") else table
    )
    return numbered.mapInArrow(run, schema)


def _plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch with plain types in place of large ones, which some platforms hand over."""
    kinds = [PLAIN.get(field.type, field.type) for field in batch.schema]
    if kinds == batch.schema.types:
        return batch
    return batch.cast(pa.schema(list(zip(batch.schema.names, kinds, strict=True))))


def forget_zip_importers() -> None:
    """Drops the importers of zip files and jars, which are made again from a cache if an import
    needs them.

    Before every task, a worker makes all importers read their files again, including Spark's own
    jar and
    pyspark.zip: 0.11 CPU seconds a task, 0.01 without (on one core of 2026).
    """
    for path, importer in list(sys.path_importer_cache.items()):
        if isinstance(importer, zipimport.zipimporter):
            del sys.path_importer_cache[path]


_frozen = 0  # modules of this process whose objects are frozen


def freeze_modules() -> None:
    """Exempts the objects of all loaded modules from garbage collection, if modules were loaded
    since the last call.

    After every task a worker collects garbage. Walking through the objects of NumPy, pandas and
    numba took 0.06 CPU seconds a task, most of what a task with few rows costs.
    """
    global _frozen
    if len(sys.modules) != _frozen:
        _frozen = len(sys.modules)
        gc.collect()
        gc.freeze()
