"""What a run leaves in Spark's plans, pages, event log and logs: neither the secret nor a raw value, and no crowds of
empty tasks.
"""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest
from spark_traces import RAW, RUNS, SECRET, Traces


def test_all_of_spark_was_looked_at(traces: Traces) -> None:
    """The search would find what is there: plans, accumulables and pages name our own columns."""
    shown = [place for place, text in traces.texts.items() if "MapInArrow" in text or "mapInArrow" in text]
    assert any(place.startswith("/SQL/execution") for place in shown)
    assert any(place.startswith("event log") for place in shown)
    assert any(place.startswith("/api") for place in shown)
    assert "INFO" in traces.texts["the log"]
    stages = [event["Stage Info"] for event in traces.events if event["Event"] == "SparkListenerStageCompleted"]
    ended = Counter(event["Stage ID"] for event in traces.events if event["Event"] == "SparkListenerTaskEnd")
    assert len(stages) > 10 * len(RUNS)
    assert ended == {stage["Stage ID"]: stage["Number of Tasks"] for stage in stages}  # each task of each stage


@pytest.mark.parametrize("what", [SECRET, *RAW])
def test_neither_the_secret_nor_a_raw_value_is_told_to_spark(traces: Traces, what: str) -> None:
    assert [place for place, text in traces.texts.items() if what in text] == []


def test_the_secret_is_in_no_file_of_a_run(traces: Traces) -> None:
    files = [file for output in traces.outputs for file in output.rglob("*") if file.is_file()]
    assert len(files) > 30
    assert [file for file in files if SECRET.encode() in file.read_bytes()] == []


def test_no_stage_takes_its_number_of_tasks_from_a_default(traces: Traces) -> None:
    """240 rows: a stage has as many tasks as files, tasks of the plan, or shares of 100,000 rows; Spark's default is
    200.
    """
    tasks: dict[int, int] = defaultdict(int)
    for event in traces.events:
        if event["Event"] == "SparkListenerTaskEnd":
            tasks[event["Stage ID"]] += 1
    assert max(tasks.values()) <= 4
    for output in traces.outputs:
        assert len(list((output / "internal/classes").glob("*.parquet"))) == 1
