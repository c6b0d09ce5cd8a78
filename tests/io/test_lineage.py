"""What runs tell OpenLineage of."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from conftest import hide_spark

from tclose_spark.api.arguments import given_run
from tclose_spark.api.session import run_stages
from tclose_spark.engine.local.table import NeedsSparkError
from tclose_spark.errors import UnreachableError
from tclose_spark.io.lineage import dataset, event, is_configured
from tclose_spark.runfile.loading import load_spec

PEOPLE = pa.table(
    {
        "name": [f"person {i}" for i in range(40)],
        "age": [30 + i % 7 for i in range(40)],
        "sex": ["f", "m"] * 20,
        "disease": ["flu", "flu", "gout", "ulcer"] * 10,
        "region": ["north"] * 40,
    },
)
ROLES: dict[str, Any] = {
    "sensitive": {"disease": {"t": "0.3"}},
    "direct_identifiers": ["name"],
    "insensitive_attributes": ["region"],
}


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], list[dict[str, Any]]]:
    """The events that were written since, in order."""
    file = tmp_path / "events.jsonl"
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "file")
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__LOG_FILE_PATH", str(file))
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__APPEND", "true")
    return lambda: (
        [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    )


Told = Callable[[], list[dict[str, Any]]]


def carry_out(
    path: Path,
    *names: str,
    sets: tuple[str, ...] = (),
    said: list[str] | None = None,
) -> None:
    run_stages(
        given_run(None, path, None, sets),
        *names,
        log=lambda line: said is None or said.append(line),
    )


@pytest.mark.usefixtures("spark")
def test_a_run_tells_of_its_begin_and_its_release(
    run_file: Callable[..., Path],
    told: Told,
) -> None:
    path = run_file(PEOPLE, **ROLES)
    for stage in ("profile", "plan", "anonymize", "verify", "report", "publish"):
        carry_out(path, stage)
    begun, ended = told()
    assert (begun["eventType"], ended["eventType"]) == ("START", "COMPLETE")
    assert begun["run"]["runId"] == ended["run"]["runId"]
    assert (ended["job"]["namespace"], ended["job"]["name"]) == ("tclose_spark", "small")
    assert ended["inputs"][0]["name"] == str(path.parent / "people.parquet")
    (released,) = ended["outputs"]
    assert (released["namespace"], released["name"]) == (
        "file",
        str(path.parent / "out/public/release"),
    )
    certificate = json.loads((path.parent / "out/public/certificate.json").read_text())
    guarantees = released["facets"]["tclose_guarantees"]
    assert guarantees["verdict"] == "holds"
    assert guarantees["guarantees"] == certificate["guarantees"]
    columns = released["facets"]["columnLineage"]["fields"]
    how = {name: column["inputFields"][0]["transformations"][0] for name, column in columns.items()}
    assert {name: each["masking"] for name, each in how.items()} == {
        "age": True,
        "sex": True,
        "disease": False,
        "region": False,
    }
    assert {facet["_producer"] for facet in released["facets"].values()} == {ended["producer"]}
    text = json.dumps([begun, ended])
    assert not [value for value in ("person", "gout", "ulcer", "north") if value in text]


@pytest.mark.usefixtures("spark")
def test_a_run_that_fails_says_so(run_file: Callable[..., Path], told: Told) -> None:
    path = run_file(PEOPLE, k=50, **ROLES)
    with pytest.raises(UnreachableError):
        carry_out(path, "release")
    assert [event["eventType"] for event in told()] == ["START", "FAIL"]


# Which the local engine does not read.
QUOTED = "age,sex,disease\n" + "20,f,flu\n21,m,gout\n" * 20 + '20,f,a "b"\n'


def test_a_run_that_begins_again_on_spark_is_one_run(
    run_file: Callable[..., Path],
    told: Told,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hide_spark(monkeypatch)  # or the run begins on Spark
    (tmp_path / "people.csv").write_text(QUOTED)
    source = {"path": str(tmp_path / "people.csv"), "format": "csv", "options": {"header": "true"}}
    path = run_file(None, source=source, sensitive={"disease": {"t": "0.9"}})
    said: list[str] = []
    carry_out(path, "release", said=said)
    assert said[0].startswith("engine     spark: ")
    assert "people.csv has a quote inside an unquoted field" in said[0]
    begun, ended = told()
    assert (begun["eventType"], ended["eventType"]) == ("START", "COMPLETE")
    assert begun["run"] == ended["run"]
    assert (
        json.loads((path.parent / "out/internal/run.json").read_text())["id"]
        == begun["run"]["runId"]
    )


def test_a_local_run_that_cannot_begin_again_fails_once(
    run_file: Callable[..., Path],
    told: Told,
    tmp_path: Path,
) -> None:
    (tmp_path / "people.csv").write_text(QUOTED)
    source = {"path": str(tmp_path / "people.csv"), "format": "csv", "options": {"header": "true"}}
    with pytest.raises(NeedsSparkError):
        carry_out(
            run_file(None, source=source, drop_others=True),
            "release",
            sets=("engine=local",),
        )
    assert [event["eventType"] for event in told()] == ["START", "FAIL"]


@pytest.mark.usefixtures("spark")
def test_nothing_is_reported_where_nothing_says_where_to(run_file: Callable[..., Path]) -> None:
    said: list[str] = []
    carry_out(run_file(PEOPLE, **ROLES), "profile", said=said)
    assert not [line for line in said if "OpenLineage" in line]


def test_columns_are_those_of_the_release(run_file: Callable[..., Path]) -> None:
    path = run_file(
        PEOPLE,
        **{**ROLES, "quasi": {"age": {"type": "numeric", "numeric_output": "bounds"}}},
    )
    spec = load_spec(path, ("attributes.drop_others=true",))
    (released,) = event(spec, str(UUID(int=1)), "START").outputs
    fields = released.facets["columnLineage"].fields
    assert {name: each.inputFields[0].field for name, each in fields.items()} == {
        "age_min": "age",
        "age_max": "age",
        "disease": "disease",
        "region": "region",
    }


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("s3a://bucket/of/people", ("s3://bucket", "of/people")),
        ("gs://bucket/people/", ("gs://bucket", "people")),
        ("s3a://key:secret@bucket/people", ("s3://bucket", "people")),
        ("s3://key@bucket/people", ("s3://bucket", "people")),
        (
            "abfss://box:secret@office.dfs.core.windows.net/people",
            ("abfss://office.dfs.core.windows.net", "people"),
        ),
        ("hdfs://user:secret@name:8020/people", ("hdfs://name:8020", "/people")),
        (
            "abfs://box@office.dfs.core.windows.net/people",
            ("abfss://box@office.dfs.core.windows.net", "people"),
        ),
        ("hdfs://name:8020/people", ("hdfs://name:8020", "/people")),
        ("/data/people/", ("file", "/data/people")),
    ],
)
def test_a_dataset_has_the_name_that_other_producers_give_it(
    path: str,
    named: tuple[str, str],
) -> None:
    """Otherwise the graph of a lineage server breaks in two at it. `make test-pipelines` compares
    with their client.
    """
    assert dataset(path) == named


@pytest.mark.parametrize(
    ("variables", "configured"),
    [
        ({}, False),
        ({"OPENLINEAGE_NAMESPACE": "x"}, False),
        ({"OPENLINEAGE_URL": "http://127.0.0.1:9"}, True),
        ({"OPENLINEAGE_URL": "http://127.0.0.1:9", "OPENLINEAGE_DISABLED": "true"}, False),
    ],
)
def test_it_is_configured_where_something_says_where_to(
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    configured: bool,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert is_configured() == configured


@pytest.mark.usefixtures("spark")
def test_a_release_does_not_hang_on_who_hears_of_it(
    run_file: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", "http://127.0.0.1:9")
    said: list[str] = []
    carry_out(run_file(PEOPLE, **ROLES), "profile", said=said)
    assert [
        line
        for line in said
        if line.startswith("note: an OpenLineage event of this run could not be sent (")
    ]
