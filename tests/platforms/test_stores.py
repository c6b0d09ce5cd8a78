"""Releases on object storage: input, hierarchies and output behind URIs, the same certificate as on
a local disk; on Spark, and in one process.

`make test-s3`, `make test-azure` and `make test-gcs` make the servers; Hadoop's connectors come
from Maven Central.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from served_stores import INSIDE, RELEASES, S3, Azure, Google, ServedStore, serving_store
from store_releases import (
    KILLED,
    Command,
    StoredPeople,
    certificate_in,
    command_in,
    in_two_buckets,
    put_people,
    sets,
    watched,
)

STAGES = ("profile", "plan", "anonymize", "verify", "report", "publish", "verify")
PUBLISHED = {"certificate.json", "codebook.csv", "contract.yaml", "release", "report.html"}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=[S3, Azure, Google], ids=lambda kind: kind.name)
def store(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[ServedStore]:
    with serving_store(request.param, tmp_path_factory.mktemp("server")) as made:
        yield made


@pytest.fixture(scope="module")
def people(store: ServedStore, tmp_path_factory: pytest.TempPathFactory) -> StoredPeople:
    return put_people(store, tmp_path_factory.mktemp("people"))


@pytest.fixture(params=["spark", "local"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def tclose(store: ServedStore, engine: str) -> Command:
    """Works on Spark where there are URIs, or in its own process."""
    return command_in(store.environment(by_spark=engine == "spark"))


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
    people: StoredPeople,
) -> None:
    """In one bucket; a process without Spark then verifies what Spark published."""
    output = sets(output__path=store.uri(RELEASES, "stages"))
    for stage in STAGES:
        assert "Traceback" not in tclose(stage, people.run_file, *people.inputs["parquet"], *output)
    locally = command_in(store.environment(by_spark=False))
    assert "engine     local: " in locally(
        "verify",
        people.run_file,
        *people.inputs["parquet"],
        *output,
    )
    assert certificate_in(store, RELEASES, "stages/public") == people.expected["parquet"]
    finished_in(store, f"{RELEASES}/stages/public", f"{RELEASES}/stages/internal")


def test_a_killed_publication_is_finished(
    store: ServedStore,
    engine: str,
    tclose: Command,
    people: StoredPeople,
) -> None:
    # a list of `killed_spark/validation` had the one length that Arrow's client cannot read
    # from Azurite (docs/notes/platforms.md)
    name = f"killed_on_{engine}"
    output = in_two_buckets(store, name)
    tclose(
        "release",
        people.run_file,
        *people.inputs["parquet"],
        *output,
        program=("-c", KILLED),
        code=-signal.SIGKILL,
    )
    left = store.keys(RELEASES, name)
    assert f"{name}/certificate.json" not in left
    assert any(key.startswith(f"{name}/release/") for key in left)
    assert f"{name}/lock" in left
    said = tclose("release", people.run_file, *people.inputs["parquet"], *output)
    assert f"engine     {engine}: " in said
    finished_in(store, f"{RELEASES}/{name}", f"{INSIDE}/{name}")
    assert certificate_in(store, RELEASES, name) == people.expected["parquet"]


def test_readers_see_a_whole_release_or_no_certificate(
    store: ServedStore,
    engine: str,
    tclose: Command,
    people: StoredPeople,
) -> None:
    """While a release from a Delta table replaces one from a CSV file, of which nothing is left."""
    name = f"replaced_{engine}"
    output = in_two_buckets(store, name)
    with watched(store, RELEASES, name) as first:
        tclose("release", people.run_file, *people.inputs["csv"], *output)
    assert certificate_in(store, RELEASES, name) == people.expected["csv"]
    before = finished_in(store, f"{RELEASES}/{name}", f"{INSIDE}/{name}")
    assert {state for state in first if "certificate.json" in state} == {before}
    assert "--overwrite" in tclose(
        "release",
        people.run_file,
        *people.inputs["delta"],
        *output,
        code=2,
    )
    with watched(store, RELEASES, name) as second:
        tclose("release", people.run_file, *people.inputs["odd delta"], *output, "--overwrite")
    assert certificate_in(store, RELEASES, name) == people.expected["delta"]
    after = finished_in(store, f"{RELEASES}/{name}", f"{INSIDE}/{name}")
    assert not {key for key in before & after if key.endswith(".parquet")}
    assert [state for state in second if "certificate.json" in state] == [before, after]
    assert any(state & after and "certificate.json" not in state for state in second)
    assert "the finished release holds" in tclose(
        "verify",
        people.run_file,
        *people.inputs["odd delta"],
        *output,
    )


def test_a_lock_of_another_run_is_respected(
    store: ServedStore,
    engine: str,
    tclose: Command,
    people: StoredPeople,
) -> None:
    """Made by a run elsewhere, on either engine."""
    name = f"locked_{engine}"
    store.put(
        RELEASES,
        f"{name}/internal/lock",
        b'{"host": "far", "space": "", "pid": 1, "born": "1", "user": "u", "since": "2026-01-01T00:00:00+00:00"}',
    )
    output = sets(output__path=store.uri(RELEASES, name))
    said = tclose("release", people.run_file, *people.inputs["parquet"], *output, code=2)
    assert "is being written by another run: process 1 of u on far" in said
    assert store.keys(RELEASES, name) == [f"{name}/internal/lock"]
