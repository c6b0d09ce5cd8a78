"""The sample of whole values is the same, however many tasks add up the samples of others."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from tclose_spark.engine import sampling
from tclose_spark.engine.sampling import sample_table
from tclose_spark.engine.tables import of_arrow, union
from tclose_spark.io.local_session import LocalSession
from tclose_spark.table.entities import whole_values

PARTS, ROWS = 6, 500
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
    monkeypatch.setattr(whole_values, "MOST_ROWS", 300)
    samples = []
    for rows_of_a_task in (PARTS * ROWS, ROWS):
        monkeypatch.setattr(sampling, "ROWS_OF_A_TASK", rows_of_a_task)
        sample = sample_table(table, NAMES, PARTS * ROWS)
        order = np.lexsort(sample.hashes.T)
        samples.append((sample.rows, sample.level, sample.draws, sample.hashes[order].tolist()))
    assert samples[0] == samples[1]
    assert samples[0][0] == PARTS * ROWS
    assert 50 < len(samples[0][3]) <= 300


def test_no_task_needs_two_workers(
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two functions in a row, without a shuffle between them, are applied by two workers."""
    plans: list[str] = []

    def watched(table: DataFrame) -> pa.Table:
        plans.append(table._jdf.queryExecution().executedPlan().toString())
        return collect(table)

    collect = sampling.collect
    monkeypatch.setattr(sampling, "collect", watched)
    monkeypatch.setattr(sampling, "ROWS_OF_A_TASK", ROWS)
    samples = sampling.map_batches(
        of_arrow(spark, a_part(0)),
        lambda batches: iter([sampling._one(whole_values.sample_of(batches, len(NAMES)), 0)]),
        sampling.SAMPLES,
    ).localCheckpoint()
    sampling.added_up(samples.select(sampling.SAMPLE), len(NAMES), PARTS * ROWS)
    (plan,) = plans
    assert plan.count("MapInArrow") == 2, plan
    assert plan.count("Exchange") == 1, plan
