"""Parquet files with more than their rows, by Arrow and by Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tclose_spark.errors import GuaranteeError
from tclose_spark.io.storage.folders import LocalFolder
from tclose_spark.io.tables.plain_parquet import require_plain_parquet

ROWS = pa.table(
    {"disease": ["flu", None, "gout", "ulcer"], "age": pa.array([20, 30, 30, 41], pa.int64())},
)
WITHOUT: dict[str, Any] = {"store_schema": False, "write_statistics": False}
OLDER = (b"version 1.16.0", b"version 1.15.2")


def judge(file: Path, schema: pa.Schema = ROWS.schema) -> None:
    require_plain_parquet(LocalFolder(str(file.parent)), [file.name], schema)


def made(folder: Path, words: dict[str, str] | None = None, **options: Any) -> Path:
    file = folder / "part.parquet"
    with pq.ParquetWriter(file, ROWS.schema, **{**WITHOUT, **options}) as writer:
        for row in range(len(ROWS)):
            writer.write_table(ROWS.slice(row, 1))
        writer.add_key_value_metadata(words or {})
    return file


def by_spark(spark: SparkSession, folder: Path, statistics: str) -> Path:
    frame = spark.createDataFrame(ROWS.to_pandas().astype({"age": "int64"})).coalesce(1)
    frame.write.option("parquet.column.statistics.enabled", statistics).parquet(
        f"file://{folder}/made",
    )
    (file,) = (folder / "made").glob("part-*.parquet")
    return file


def replaced(file: Path, *pairs: tuple[bytes, bytes]) -> None:
    content = file.read_bytes()
    for old, new in pairs:
        assert old in content
        assert len(old) == len(new)
        content = content.replace(old, new)
    file.write_bytes(content)


def test_a_file_of_rows_is_one(tmp_path: Path) -> None:
    judge(made(tmp_path))


@pytest.mark.parametrize(
    "options",
    [
        {"write_statistics": True},
        {"write_statistics": True, "write_page_index": True},
        {"sorting_columns": [pq.SortingColumn(0)]},
        {"words": {"note": "person 1 has flu"}},
        *(
            {"words": {f"org.apache.spark.legacy{key}": "person 1 has flu"}}
            for key in ("INT96", "DateTime")
        ),
        {"store_schema": True},
    ],
    ids=lambda options: " ".join(options),
)
def test_what_else_arrow_writes_is_found(tmp_path: Path, options: dict[str, Any]) -> None:
    file = made(tmp_path, **options)
    with pytest.raises(
        GuaranteeError,
        match=r"part\.parquet has metadata beyond that of the release",
    ):
        judge(file)


@pytest.mark.parametrize("key", ["legacyINT96", "legacyDateTime"])
def test_what_spark_writes_of_dates_is_no_more_than_rows(tmp_path: Path, key: str) -> None:
    judge(made(tmp_path, {f"org.apache.spark.{key}": ""}))


def test_a_column_more_is_found(tmp_path: Path) -> None:
    with pytest.raises(GuaranteeError, match="other columns"):
        judge(made(tmp_path), ROWS.schema.remove(1))


@pytest.mark.parametrize(
    "change",
    [lambda b: b[:4] + b"text" + b[4:], lambda b: b[:-8] + b"\x05" + b[-7:], len],
)
def test_other_bytes_are_found(tmp_path: Path, change: Callable[[bytes], Any]) -> None:
    file = made(tmp_path)
    changed = change(file.read_bytes())
    file.write_bytes(changed if isinstance(changed, bytes) else b"PAR1")
    with pytest.raises(GuaranteeError, match=r"part\.parquet (cannot be read|has metadata beyond)"):
        judge(file)


def test_a_damaged_footer_ends_with_no_other_error(tmp_path: Path) -> None:
    """Each byte of a footer as any of these: it is found, or it changes a number of the footer."""
    file = made(tmp_path)
    whole = file.read_bytes()
    first, found = len(whole) - 8 - pq.read_metadata(file).serialized_size, 0
    for place in range(first, len(whole)):
        for byte in {0, 1, 0x15, 0x7F, 0xFF, whole[place] ^ 1} - {whole[place]}:
            file.write_bytes(whole[:place] + bytes([byte]) + whole[place + 1 :])
            try:
                judge(file)
            except GuaranteeError:
                found += 1
    assert found > 3 * (len(whole) - first)


@pytest.mark.on_spark
def test_spark_writes_no_statistics_if_it_may_not(spark: SparkSession, tmp_path: Path) -> None:
    file = by_spark(spark, tmp_path, "false")
    judge(file)
    assert all(pq.read_metadata(file).row_group(0).column(i).statistics is None for i in range(2))


@pytest.mark.on_spark
@pytest.mark.parametrize("older", [False, True])
def test_statistics_that_spark_writes_are_compared_with_the_rows(
    spark: SparkSession,
    tmp_path: Path,
    older: bool,
) -> None:
    """An older Spark writes them always, and a session may refuse the setting against them."""
    file = by_spark(spark, tmp_path, "true")
    if older:
        replaced(file, OLDER)
    judge(file)
    content = file.read_bytes()
    at = len(content) - 8 - pq.read_metadata(file).serialized_size
    file.write_bytes(content[:at] + content[at:].replace(b"ulcer", b"fluuu"))
    with pytest.raises(
        GuaranteeError,
        match="statistics of 'disease' that are not those of its rows",
    ):
        judge(file)
