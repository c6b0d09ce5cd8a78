"""The secret: what it decides, where it is, and where it is not."""

from __future__ import annotations

import stat
from collections import Counter, defaultdict
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from people import PEOPLE, read, run_stages
from promise_page import promises
from spark_traces import RAW, RUNS, SECRET, Traces

from tclose_spark import pipeline
from tclose_spark.errors import ConfigurationError
from tclose_spark.table.fingerprint import RowHash


def classes_of(linked: pd.DataFrame) -> Counter[tuple[Any, ...]]:
    """Everybody with the labels of the class."""
    rows: Counter[tuple[Any, ...]] = Counter(
        linked[["age_raw", "city_raw", "disease", "age", "city"]].itertuples(
            index=False,
            name=None,
        ),
    )
    return rows


@promises(
    "A hash of each row's content (BLAKE2b), keyed with a secret, decides ties",
    "Protect the secret like the raw table.",
    "An adversary with the method, the secret and the raw quasi-identifiers",
)
def test_the_secret_decides_ties(
    conf: Path,
    dealt_in_turn: Path,
    open_run: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Another run with the secret replays who came into which class; one with another secret does
    not.
    """
    replayed = {}
    for secret in ("tests", "another"):
        monkeypatch.setenv("TCLOSE_SECRET", secret)
        run = open_run(conf, f"output.path={tmp_path / secret}", "method.deal=round_robin")
        run_stages(run, "profile", "plan", "anonymize")
        replayed[secret] = classes_of(read(tmp_path / secret / "internal/staging/linked"))
    first = classes_of(read(dealt_in_turn / "internal/linked"))
    assert {secret: classes == first for secret, classes in replayed.items()} == {
        "tests": True,
        "another": False,
    }


@promises("The secret is `TCLOSE_SECRET`, or `internal/secret` (mode 0600)")
def test_where_the_secret_is(make_run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TCLOSE_SECRET", "given")
    given = make_run(PEOPLE.select(["age", "disease"]))
    given.begin()
    assert given.secret == "given"
    kept = Path(given.internal.path("secret"))
    assert not kept.exists()
    monkeypatch.delenv("TCLOSE_SECRET")
    made = make_run(PEOPLE.select(["age", "disease"]))
    made.begin()
    assert len(made.secret) == 64
    assert made.secret == kept.read_text().strip()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


@pytest.mark.parametrize("left", [b"", b"\n", b"\xff\xfe\x00"])
def test_a_kept_secret_that_is_empty_or_damaged_is_refused(
    make_run: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    left: bytes,
) -> None:
    monkeypatch.delenv("TCLOSE_SECRET")
    run = make_run(PEOPLE.select(["age", "disease"]))
    run.begin()
    Path(run.internal.path("secret")).write_bytes(left)
    with pytest.raises(ConfigurationError, match="internal/secret is empty or damaged"):
        pipeline.profile(run)


@pytest.mark.on_spark
@promises("Only tasks hash with it.")
def test_only_tasks_hash_with_the_secret(
    make_run: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The driver could not: here it has no hash. Tasks are other processes, which have it."""

    def not_here(*_: Any) -> None:
        raise AssertionError("the driver hashes rows")

    monkeypatch.setattr(RowHash, "of", not_here)
    monkeypatch.setattr(RowHash, "of_rows", not_here)
    quasi = {"age": {"type": "numeric"}, "city": {}}
    run = make_run(PEOPLE.select(["age", "city", "disease"]), quasi=quasi, k=5)
    run_stages(run, "profile", "plan", "anonymize")


@promises("A hash of each row's content (BLAKE2b)")
def test_the_hash_is_blake2b_of_the_content_under_the_secret() -> None:
    """As the standard library computes it: the exclusive or of the hashes of a row's values."""
    columns = [pa.array(["flu", None]), pa.array([7, 8])]
    master = blake2b(b"tests").digest()
    keys = [blake2b(f"column {i}".encode(), key=master).digest() for i in range(2)]
    parts = [
        blake2b(b"flu", key=keys[0], digest_size=8),
        blake2b(digest_size=8, key=keys[0], person=b"missing"),
        *[blake2b(n.to_bytes(8, "little"), key=keys[1], digest_size=8) for n in (7, 8)],
    ]
    flu, missing, seven, eight = (int.from_bytes(part.digest(), "little") for part in parts)
    assert RowHash.of("tests", 2).of_rows(columns).tolist() == [flu ^ seven, missing ^ eight]


@promises(
    "Neither the secret nor a raw value appears in a plan, a page, an event log or a log of Spark",
)
def test_spark_shows_neither_the_secret_nor_a_raw_value(traces: Traces) -> None:
    kinds = {
        "a plan": [
            text for text in traces.texts.values() if "mapInArrow" in text.replace("MapIn", "mapIn")
        ],
        "a page": [
            text for place, text in traces.texts.items() if place.startswith("/SQL/execution")
        ],
        "an event log": [
            text for place, text in traces.texts.items() if place.startswith("event log")
        ],
        "a log": [traces.texts["the log"]],
    }
    assert all(kinds.values())
    for what in (SECRET, *RAW):
        assert [place for place, text in traces.texts.items() if what in text] == []


def test_all_of_spark_was_looked_at(traces: Traces) -> None:
    """The search would find what is there: plans, accumulables and pages name our own columns."""
    shown = [
        place
        for place, text in traces.texts.items()
        if "MapInArrow" in text or "mapInArrow" in text
    ]
    assert any(place.startswith("/SQL/execution") for place in shown)
    assert any(place.startswith("event log") for place in shown)
    assert any(place.startswith("/api") for place in shown)
    assert "INFO" in traces.texts["the log"]
    stages = [
        event["Stage Info"]
        for event in traces.events
        if event["Event"] == "SparkListenerStageCompleted"
    ]
    ended = Counter(
        event["Stage ID"] for event in traces.events if event["Event"] == "SparkListenerTaskEnd"
    )
    assert len(stages) > 10 * len(RUNS)
    assert ended == {
        stage["Stage ID"]: stage["Number of Tasks"] for stage in stages
    }  # each task of each stage


def test_the_secret_is_in_no_file_of_a_run(traces: Traces) -> None:
    files = [file for output in traces.outputs for file in output.rglob("*") if file.is_file()]
    assert len(files) > 30
    assert [file for file in files if SECRET.encode() in file.read_bytes()] == []


def test_no_stage_takes_its_number_of_tasks_from_a_default(traces: Traces) -> None:
    """240 rows: a stage has as many tasks as files, tasks of the plan, or shares of 100,000 rows;
    Spark's default is 200.
    """
    tasks: dict[int, int] = defaultdict(int)
    for event in traces.events:
        if event["Event"] == "SparkListenerTaskEnd":
            tasks[event["Stage ID"]] += 1
    assert max(tasks.values()) <= 4
    for output in traces.outputs:
        assert len(list((output / "internal/classes").glob("*.parquet"))) == 1
