"""Shuffles have tasks by rows, and the session keeps its own number."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tclose_spark.audit.audit import audit_table
from tclose_spark.audit.question import ask
from tclose_spark.io.shuffles import PARTITIONS, ROWS_A_TASK, sized_shuffles


@pytest.mark.parametrize(
    ("rows", "tasks"), [(0, "1"), (1, "1"), (ROWS_A_TASK, "1"), (ROWS_A_TASK + 1, "2"), (10**9, "10000")]
)
def test_tasks_follow_from_rows(spark: SparkSession, rows: int, tasks: str) -> None:
    before = spark.conf.get(PARTITIONS)
    with sized_shuffles(spark, rows):
        assert spark.conf.get(PARTITIONS) == tasks
    assert spark.conf.get(PARTITIONS) == before


def test_the_sessions_number_is_put_back_after_an_error(spark: SparkSession) -> None:
    before = spark.conf.get(PARTITIONS)
    with pytest.raises(ZeroDivisionError), sized_shuffles(spark, 10**9):
        1 / 0  # noqa: B018
    assert spark.conf.get(PARTITIONS) == before


def test_an_audit_writes_no_crowd_of_files(spark: SparkSession, settings: Callable[..., Any], tmp_path: Path) -> None:
    people = spark.createDataFrame(
        [(f"zip {i % 10}", "flu" if i % 3 else "gout") for i in range(60)], "zip string, disease string"
    )
    with settings({PARTITIONS: "200"}):
        audit_table(
            people,
            ask(["zip"], {"disease": {"t": "0.5"}}, k=2),
            classes_output=str(tmp_path / "classes"),
            attacks=False,
        )
    assert len(list((tmp_path / "classes").glob("*.parquet"))) == 1
