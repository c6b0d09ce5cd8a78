"""Tallies of tasks, added up."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

from tclose_spark.engine.spark.tables import spark_schema
from tclose_spark.stages.staging import tallies as tallies_module
from tclose_spark.stages.staging.batches import STAGED
from tclose_spark.stages.staging.tallies import DRAWN, ROWS, staged_tallies


def test_of_each_column_the_lowest_hashes_are_kept_without_a_sort_of_all(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draw, most = np.random.default_rng(1), 5
    seen = [(place, f"{h:016x}", 1) for place in (0, 1) for h in draw.integers(0, 40, 300).tolist()]
    rows = [(None, DRAWN, json.dumps([str(place), hashed]), n, None) for place, hashed, n in seen]
    rows += [(None, ROWS, "[]", 300, None), (None, ROWS, "[]", 1, None)]
    spark.createDataFrame(rows, spark_schema(STAGED)).repartition(4).write.parquet(
        str(tmp_path / "staged"),
    )
    monkeypatch.setattr(tallies_module, "MOST_SAMPLED", most)
    tallies = staged_tallies(spark, str(tmp_path / "staged")).collect()
    counted = Counter((place, hashed) for place, hashed, _ in seen)
    expected = {
        key: counted[key]
        for place in (0, 1)
        for key in sorted(k for k in counted if k[0] == place)[:most]
    }
    sampled = [(*json.loads(r.key), r.n) for r in tallies if r.tally == DRAWN]
    found = {(int(place), hashed): n for place, hashed, n in sampled}
    assert len(found) == len(sampled) <= 2 * most * 2  # two partitions add up
    assert {key: found[key] for key in expected} == expected
    assert [r.n for r in tallies if r.tally == ROWS] == [301]
