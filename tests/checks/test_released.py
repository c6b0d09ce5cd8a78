"""The rows of a release, read from its files: the same tallies and the same fingerprint as Spark
gives, wherever and however the files lie.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tclose_spark.checks import released
from tclose_spark.checks.classes.tallies import tally_classes
from tclose_spark.checks.released import read_released
from tclose_spark.io.tables.delta import read_delta, write_delta
from tclose_spark.table.fingerprint import Fingerprint

SCHEMA = (
    "age string, low bigint, sex string, disease string, pay int, sick boolean, rate double, "
    "at timestamp, born date, cost decimal(9,2), photo binary, score float"
)
AT, DAY = datetime(2024, 2, 29, 12, 30, 0, 500, tzinfo=UTC), date(1900, 1, 31)
ROWS: list[tuple[Any, ...]] = [
    ("[20, 29]", 20, "f", "flu", 3, True, 0.5, AT, DAY, Decimal("1.50"), b"\x00", 0.1),
    ("[20, 29]", 20, "f", "flu", 3, True, 0.5, AT, DAY, Decimal("1.50"), b"\x00", 0.1),
    ("[20, 29]", 20, None, None, None, None, None, None, None, None, None, None),
    ("[30, 39]", None, "m", "gout", -1, False, -0.0, AT, DAY, Decimal("-2.00"), b"", float("nan")),
    ("", 30, "m", "", 7, False, 1e300, AT, DAY, Decimal("0.00"), b"x", -1.0),
] * 3
BY_FILES = (["age", "low", "sex"], ["disease", "pay", "sick"])
BY_SPARK = (["age", "rate"], ["at", "disease"])


def tallied(tallies: DataFrame, labels: int) -> dict[tuple[Any, ...], Counter[tuple[Any, ...]]]:
    found = {}
    for row in tallies.collect():
        *values, counts = row[labels:]
        assert tuple(row[:labels]) not in found
        found[tuple(row[:labels])] = Counter(
            dict(zip(zip(*values, strict=True), counts, strict=True)),
        )
    return found


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A release in three files, some of which hold parts of one class."""
    path = str(tmp_path_factory.mktemp("released") / "release")
    write_delta(spark.createDataFrame(ROWS, SCHEMA).repartition(3, "pay", F.rand(1)), path)
    return path


@pytest.mark.parametrize(
    ("labels", "sensitive"),
    [BY_FILES, BY_SPARK],
    ids=["by its files", "by Spark"],
)
@pytest.mark.parametrize("at_once", [1 << 20, 2])
def test_the_tallies_are_those_of_any_table(
    spark: SparkSession,
    folder: str,
    labels: list[str],
    sensitive: list[str],
    at_once: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(released, "ROWS_AT_ONCE", at_once)
    release = read_delta(spark, folder)
    rows = read_released(release, folder, labels, sensitive)
    assert tallied(rows.tallies, len(labels)) == tallied(
        tally_classes(release, labels, sensitive),
        len(labels),
    )
    columns = [column.combine_chunks() for column in release.toArrow().columns]
    assert rows.fingerprint == Fingerprint.of(columns)
    assert rows.fingerprint.rows == len(ROWS)


def test_files_are_read_and_not_the_table(spark: SparkSession, folder: str) -> None:
    """What is judged lies in the folder: a table that says less has another fingerprint than is
    found.
    """
    half = read_delta(spark, folder).limit(4)
    rows = read_released(half, folder, *BY_FILES)
    rows.tallies.collect()
    assert rows.fingerprint.rows == len(ROWS)


@pytest.mark.parametrize("name", ["with blanks", "a[b]{c}*?", "50%20", "größe"])
def test_folders_of_any_name(spark: SparkSession, tmp_path: Path, name: str) -> None:
    path = str(tmp_path / name)
    write_delta(spark.createDataFrame(ROWS, SCHEMA), path)
    rows = read_released(read_delta(spark, path), path, *BY_FILES)
    rows.tallies.collect()
    assert rows.fingerprint.rows == len(ROWS)


def test_files_whose_times_spark_wrote_by_an_older_calendar(
    spark: SparkSession,
    tmp_path: Path,
    settings: Callable[[Mapping[str, str]], AbstractContextManager[None]],
) -> None:
    path = str(tmp_path / "release")
    with settings(
        {
            "spark.sql.parquet.int96RebaseModeInWrite": "LEGACY",
            "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY",
            "spark.sql.parquet.outputTimestampType": "INT96",
        },
    ):
        write_delta(spark.createDataFrame(ROWS, SCHEMA).coalesce(1), path)
    (part,) = Path(path).glob("*.parquet")
    assert b"org.apache.spark.legacyINT96" in pq.read_metadata(part).metadata
    release = read_delta(spark, path)
    rows = read_released(release, path, *BY_FILES)
    rows.tallies.collect()
    assert rows.fingerprint == Fingerprint.of(
        [column.combine_chunks() for column in release.toArrow().columns],
    )
