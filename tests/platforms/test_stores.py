"""Releases on object storage: input, hierarchies and output behind URIs, the same certificate as on a local disk; on
Spark, and in one process.

`make test-s3`, `make test-azure` and `make test-gcs` make the servers; Hadoop's connectors come from Maven Central.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from served_stores import INSIDE, RELEASES, S3, Azure, Google, ServedStore, serving_store
from store_releases import (
    KILLED,
    Certificates,
    Command,
    command_in,
    inputs_in,
    release_locally,
    sets,
    undated,
    watched,
    write_people,
)

STAGES = ("profile", "plan", "anonymize", "verify", "report", "publish", "verify")
PUBLISHED = {"certificate.json", "codebook.csv", "contract.yaml", "release", "report.html"}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=[S3, Azure, Google], ids=lambda kind: kind.name)
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedStore]:
    with serving_store(request.param, tmp_path_factory.mktemp("server")) as made:
        yield made


@pytest.fixture(scope="session")
def run_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_people(tmp_path_factory.mktemp("people"))


@pytest.fixture(scope="session")
def expected(run_file: Path) -> Certificates:
    return release_locally(run_file)


@pytest.fixture(scope="module")
def inputs(store: ServedStore, run_file: Path) -> Mapping[str, list[str]]:
    return inputs_in(store, run_file)


@pytest.fixture(params=["spark", "local"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def tclose(store: ServedStore, engine: str) -> Command:
    """Works on Spark where there are URIs, or in its own process."""
    return command_in(store.environment(by_spark=engine == "spark"))


def in_two_buckets(store: ServedStore, name: str) -> list[str]:
    return sets(output__path="", output__public=store.uri(RELEASES, name), output__internal=store.uri(INSIDE, name))


def finished_in(store: ServedStore, public: str, internal: str) -> frozenset[str]:
    """The objects of a finished release, in BUCKET/FOLDER, whose evidence is in another one."""
    objects, evidence = (
        {key.removeprefix(f"{folder}/") for key in store.keys(bucket, folder)}
        for bucket, _, folder in (public.partition("/"), internal.partition("/"))
    )
    assert {key.split("/")[0] for key in objects} == PUBLISHED
    assert "run.json" in evidence
    assert not {key.split("/")[0] for key in evidence} & {"staging", "lock", "recheck"}
    return frozenset(objects)


@pytest.mark.parametrize("engine", ["spark"], indirect=True)
def test_the_same_release_stage_by_stage(
    store: ServedStore,
    tclose: Command,
    run_file: Path,
    inputs: Mapping[str, list[str]],
    expected: Certificates,
) -> None:
    """In one bucket; a process without Spark then verifies what Spark published."""
    output = sets(output__path=store.uri(RELEASES, "stages"))
    for stage in STAGES:
        assert "Traceback" not in tclose(stage, run_file, *inputs["parquet"], *output)
    locally = command_in(store.environment(by_spark=False))
    assert "engine     local: " in locally("verify", run_file, *inputs["parquet"], *output)
    assert undated(store.get(RELEASES, "stages/public/certificate.json")) == expected["parquet"]
    finished_in(store, f"{RELEASES}/stages/public", f"{RELEASES}/stages/internal")


def test_a_killed_publication_is_finished(
    store: ServedStore,
    engine: str,
    tclose: Command,
    run_file: Path,
    inputs: Mapping[str, list[str]],
    expected: Certificates,
) -> None:
    name = f"killed_{engine}"
    output = in_two_buckets(store, name)
    tclose("release", run_file, *inputs["parquet"], *output, program=("-c", KILLED), code=-signal.SIGKILL)
    left = store.keys(RELEASES, name)
    assert f"{name}/certificate.json" not in left
    assert any(key.startswith(f"{name}/release/") for key in left)
    assert f"{name}/lock" in left
    said = tclose("release", run_file, *inputs["parquet"], *output)
    assert f"engine     {engine}: " in said
    finished_in(store, f"{RELEASES}/{name}", f"{INSIDE}/{name}")
    assert undated(store.get(RELEASES, f"{name}/certificate.json")) == expected["parquet"]


def test_readers_see_a_whole_release_or_no_certificate(
    store: ServedStore,
    engine: str,
    tclose: Command,
    run_file: Path,
    inputs: Mapping[str, list[str]],
    expected: Certificates,
) -> None:
    """While a release from a Delta table replaces one from a CSV file, of which nothing is left."""
    name = f"replaced_{engine}"
    output = in_two_buckets(store, name)
    with watched(store, RELEASES, name) as first:
        tclose("release", run_file, *inputs["csv"], *output)
    assert undated(store.get(RELEASES, f"{name}/certificate.json")) == expected["csv"]
    before = finished_in(store, f"{RELEASES}/{name}", f"{INSIDE}/{name}")
    assert {state for state in first if "certificate.json" in state} == {before}
    assert "--overwrite" in tclose("release", run_file, *inputs["delta"], *output, code=2)
    with watched(store, RELEASES, name) as second:
        tclose("release", run_file, *inputs["odd delta"], *output, "--overwrite")
    assert undated(store.get(RELEASES, f"{name}/certificate.json")) == expected["delta"]
    after = finished_in(store, f"{RELEASES}/{name}", f"{INSIDE}/{name}")
    assert not {key for key in before & after if key.endswith(".parquet")}
    assert [state for state in second if "certificate.json" in state] == [before, after]
    assert any(state & after and "certificate.json" not in state for state in second)
    assert "the finished release holds" in tclose("verify", run_file, *inputs["odd delta"], *output)


def test_a_lock_of_another_run_is_respected(
    store: ServedStore,
    engine: str,
    tclose: Command,
    run_file: Path,
    inputs: Mapping[str, list[str]],
) -> None:
    """Made by a run elsewhere, on either engine."""
    name = f"locked_{engine}"
    store.put(
        RELEASES,
        f"{name}/internal/lock",
        b'{"host": "far", "space": "", "pid": 1, "born": "1", "user": "u", "since": "2026-01-01T00:00:00+00:00"}',
    )
    output = sets(output__path=store.uri(RELEASES, name))
    said = tclose("release", run_file, *inputs["parquet"], *output, code=2)
    assert "is being written by another run: process 1 of u on far" in said
    assert store.keys(RELEASES, name) == [f"{name}/internal/lock"]
