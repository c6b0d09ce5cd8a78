"""Tallies of tasks, added up."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

from tclose_spark.stages.staging import tallies as tallies_module
from tclose_spark.stages.staging.batches import STAGED
from tclose_spark.stages.staging.tallies import PRESENT, SAMPLED, staged_tallies


def test_of_each_identifier_the_lowest_hashes_are_kept_without_a_sort_of_all(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw, most = np.random.default_rng(1), 5
    seen = [(place, f"{h:016x}", 1) for place in (0, 1) for h in draw.integers(0, 40, 300).tolist()]
    rows = [(None, SAMPLED, [str(place), hashed], n) for place, hashed, n in seen]
    rows += [(None, PRESENT, ["0"], 300), (None, PRESENT, ["0"], 1)]
    spark.createDataFrame(rows, STAGED).repartition(4).write.parquet(str(tmp_path / "staged"))
    monkeypatch.setattr(tallies_module, "MOST_SAMPLED", most)
    tallies = staged_tallies(spark, str(tmp_path / "staged"), 2)
    counted = Counter((place, hashed) for place, hashed, _ in seen)
    expected = {key: counted[key] for place in (0, 1) for key in sorted(k for k in counted if k[0] == place)[:most]}
    found = [(int(r.key[0]), r.key[1], r.n) for r in tallies.collect() if r.tally == SAMPLED]
    assert len(found) == len(expected)
    assert {(place, hashed): n for place, hashed, n in found} == expected
    assert [r.n for r in tallies.collect() if r.tally == PRESENT] == [301]
    plan = tallies._jdf.queryExecution().executedPlan().toString()
    assert plan.count("TakeOrderedAndProject") >= 2
    assert "Window" not in plan
    assert not [r for r in staged_tallies(spark, str(tmp_path / "staged")).collect() if r.tally == SAMPLED]
