"""The sample of whole values is the same, however many tasks add up the samples of others."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from tclose_spark.engine import sampling
from tclose_spark.engine.sampling import sample_table
from tclose_spark.engine.tables import collect, of_arrow, union
from tclose_spark.io.local_session import LocalSession
from tclose_spark.table.entities import whole_values

PARTS, ROWS, MOST_ROWS = 6, 500, 300
NAMES = ("person", "sex")


def a_part(seed: int) -> pa.Table:
    draw = np.random.default_rng(seed)
    return pa.table(
        {"person": draw.integers(0, 700, ROWS), "sex": draw.choice(["m", "f"], ROWS)},
    )


@pytest.mark.parametrize("on", ["local", "spark"])
def test_tasks_that_add_up_find_the_sample_that_one_task_finds(
    on: str,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session: Any = LocalSession() if on == "local" else spark
    table = union([of_arrow(session, a_part(seed)) for seed in range(PARTS)])
    monkeypatch.setattr(whole_values, "MOST_ROWS", MOST_ROWS)  # in this process only
    samples = []
    for rows_of_a_task in (PARTS * ROWS, ROWS):
        monkeypatch.setattr(sampling, "ROWS_OF_A_TASK", rows_of_a_task)
        sample = sample_table(table, NAMES, PARTS * ROWS)
        order = np.lexsort(sample.hashes.T)
        samples.append(replace(sample, hashes=sample.hashes[order].tolist()))
    assert samples[0] == samples[1]
    assert samples[0].rows == PARTS * ROWS
    assert 50 < len(samples[0].hashes) <= MOST_ROWS


@pytest.mark.parametrize(("rows", "functions", "shuffles"), [(ROWS, 1, 0), (PARTS * ROWS, 2, 1)])
def test_a_task_needs_one_worker(
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    rows: int,
    functions: int,
    shuffles: int,
) -> None:
    """Spark gives each of two functions in a row a worker of its own, unless a shuffle is between
    them.
    """
    plans: list[str] = []

    def watched(table: DataFrame) -> pa.Table:
        plans.append(table._jdf.queryExecution().executedPlan().toString())
        return collect(table)

    monkeypatch.setattr(sampling, "collect", watched)
    monkeypatch.setattr(sampling, "ROWS_OF_A_TASK", ROWS)
    sample_table(of_arrow(spark, a_part(0)), NAMES, rows)
    (plan,) = plans
    assert plan.count("MapInArrow") == functions, plan
    assert plan.count("Exchange") == shuffles, plan
