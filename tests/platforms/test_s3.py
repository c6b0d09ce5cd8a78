"""Releases on object storage: input, hierarchies and output behind s3a://, the same certificate as on a local disk; on
Spark, and in one process.

The server is moto's, from the environment that `make test-s3` makes; Hadoop's connector comes by Ivy, as Delta does.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import Request, urlopen
from xml.etree import ElementTree

import deltalake
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pyspark
import pytest
from conftest import draw_people

ROOT = Path(__file__).resolve().parents[2]
SERVER = ROOT / ".venv-s3/bin/moto_server"
HEADERS = {
    "Content-Type": "application/octet-stream",
    "Authorization": "AWS4-HMAC-SHA256 Credential=tests/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, "
    "Signature=none",  # which this server does not look at
}
STAGES = ("profile", "plan", "anonymize", "verify", "report", "publish", "verify")
RAW, RELEASES, INSIDE = "raw", "releases", "inside"
ODD = "delta 2, \u00e9=+"
"""A folder whose name has signs that URIs quote."""
KILLED = """
import os, signal, sys
from tclose_spark import cli
from tclose_spark.io.storage import arrow

move = arrow.ArrowFolder._move_file

def once(self, source, name):
    move(self, source, name)
    os.kill(os.getpid(), signal.SIGKILL)

arrow.ArrowFolder._move_file = once
cli.main(sys.argv[1:])
"""
"""A command that is killed when it has published one object."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not SERVER.is_file(), reason="made by make test-s3"),
]


def hadoop() -> str:
    """The version of Spark's Hadoop, which its connector must have."""
    (jar,) = (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar")
    return jar.stem.removeprefix("hadoop-client-api-")


CONNECTOR = [
    "--packages",
    ",".join(
        [
            f"org.apache.hadoop:hadoop-aws:{hadoop()}",
            *[f"software.amazon.awssdk:{part}:2.29.52" for part in ("s3", "s3-transfer-manager", "sts")],
        ]
    ),
    "--exclude-packages",
    "software.amazon.awssdk:bundle,io.netty:*,org.slf4j:*",
]
"""Of spark-submit: Hadoop's connector with those parts of the SDK that it uses, in place of all of it (600 MB)."""


class Store:
    """A server that speaks S3."""

    def __init__(self, url: str) -> None:
        self.url = url

    def ask(self, method: str, path: str, body: bytes | None = None) -> bytes:
        request = Request(f"{self.url}/{path}", data=body, method=method, headers=HEADERS)
        with urlopen(request, timeout=30) as answer:
            found: bytes = answer.read()
            return found

    def put(self, bucket: str, key: str, body: bytes) -> None:
        self.ask("PUT", f"{bucket}/{quote(key)}", body)

    def get(self, bucket: str, key: str) -> bytes:
        return self.ask("GET", f"{bucket}/{quote(key)}")

    def keys(self, bucket: str, prefix: str) -> list[str]:
        """The objects below a prefix, without what stands for empty folders."""
        listed = ElementTree.fromstring(self.ask("GET", f"{bucket}?list-type=2&prefix={quote(prefix)}"))
        found = [str(key.text) for key in listed.iter() if key.tag.endswith("}Key")]
        return [key for key in found if not key.endswith("/")]

    def environment(self, by_spark: bool) -> dict[str, str]:
        """Of a process whose Spark knows this server, or that knows it itself."""
        options = " ".join([*self.options(), "pyspark-shell"])
        return {
            **os.environ,
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": str(ROOT),
            "AWS_ACCESS_KEY_ID": "tests",
            "AWS_SECRET_ACCESS_KEY": "tests",
            **({"PYSPARK_SUBMIT_ARGS": options} if by_spark else {"AWS_ENDPOINT_URL": self.url}),
        }

    def options(self) -> list[str]:
        """Of spark-submit."""
        settings = {
            "spark.hadoop.fs.s3a.endpoint": self.url,
            "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
            "spark.hadoop.fs.s3a.path.style.access": "true",
        }
        return [*CONNECTOR, *[part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    log = tmp_path_factory.mktemp("server") / "log"
    with log.open("wb") as said:
        server = subprocess.Popen([SERVER, "-H", "127.0.0.1", "-p", str(port)], stdout=said, stderr=said)
    made = Store(f"http://127.0.0.1:{port}")
    try:
        for bucket in (RAW, RELEASES, INSIDE):
            while True:
                assert server.poll() is None, log.read_text()[-2000:]
                try:
                    made.ask("PUT", bucket)
                    break
                except URLError:
                    time.sleep(0.2)
        yield made
    finally:
        server.terminate()
        server.wait()


Command = Callable[..., str]
"""`tclose(command, ..., code=0)`: what it says, in a process of its own. program: what runs in place of the package."""


def command_in(environment: Mapping[str, str]) -> Command:
    def run(*arguments: object, code: int = 0, program: Sequence[str] = ("-m", "tclose_spark")) -> str:
        command = [sys.executable, *program, *map(str, arguments)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == code, done.stderr[-3000:]
        return done.stdout + done.stderr

    return run


@pytest.fixture(scope="module")
def tclose(store: Store) -> Command:
    """Works on Spark where there are URIs."""
    return command_in(store.environment(by_spark=True))


@pytest.fixture(scope="module")
def locally(store: Store) -> Command:
    """Works in its own process."""
    return command_in(store.environment(by_spark=False))


@pytest.fixture(scope="module")
def run_file(write_run: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run file of files on a local disk."""
    return write_run(
        tmp_path_factory.mktemp("people"),
        draw_people(3, 300),
        quasi={
            "age": {"type": "numeric", "round_to": "5"},
            "sex": {"generalization": "set"},
            "city": {"hierarchy": "cities.csv"},
        },
        sensitive={"disease": {"t": "0.4"}, "grade": {"distance": "ordered", "t": "0.4", "l": {"distinct": 2}}},
        k=8,
        method={"name": "closeness_tree"},
        insensitive_attributes=["site"],
        drop_others=True,
    )


def sets(**values: str) -> list[str]:
    return [part for key, value in values.items() for part in ("--set", f"{key.replace('__', '.')}={value}")]


@pytest.fixture(scope="module")
def from_the_store(store: Store, run_file: Path) -> list[str]:
    """What makes the run read its input and its hierarchy from the store."""
    people = pq.read_table(run_file.parent / "people.parquet")
    for i in range(3):
        part = run_file.parent / f"part-{i}.parquet"
        pq.write_table(people.slice(100 * i, 100), part)
        store.put(RAW, f"people/part-{i}.parquet", part.read_bytes())
    store.put(RAW, "cities.csv", (run_file.parent / "cities.csv").read_bytes())
    return sets(
        input__path=f"s3a://{RAW}/people",
        input__format="parquet",
        attributes__quasi_identifiers__city__hierarchy=f"s3a://{RAW}/cities.csv",
    )


@pytest.fixture(scope="module")
def others(store: Store, run_file: Path) -> Mapping[str, list[str]]:
    """The same rows as a CSV file and as a Delta table in the store."""
    people = pq.read_table(run_file.parent / "people.parquet")
    csv.write_csv(people, run_file.parent / "people.csv")
    store.put(RAW, "csv/people.csv", (run_file.parent / "people.csv").read_bytes())
    table = run_file.parent / "delta"
    deltalake.write_deltalake(table, people)
    for path in table.rglob("*"):
        if path.is_file():
            for folder in ("delta", ODD):
                store.put(RAW, f"{folder}/{path.relative_to(table)}", path.read_bytes())
    as_csv = sets(input__format="csv", input__options="{header: true}")
    return {
        "local csv": [*as_csv, *sets(input__path=str(run_file.parent / "people.csv"))],
        "csv": [*as_csv, *sets(input__path=f"s3a://{RAW}/csv/people.csv")],
        "delta": sets(input__path=f"s3a://{RAW}/delta", input__format="delta"),
        "odd delta": sets(input__path=f"s3a://{RAW}/{ODD}", input__format="delta"),
    }


def undated(text: str | bytes) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(text)
    return {**made, "issued": None}


@pytest.fixture(scope="module")
def expected(run_file: Path, tclose: Command) -> dict[str, Any]:
    """The certificate of the release on a local disk."""
    tclose("release", run_file, *sets(output__path=str(run_file.parent / "plain")))
    return undated((run_file.parent / "plain/public/certificate.json").read_text())


def test_the_same_release_stage_by_stage(
    store: Store,
    tclose: Command,
    locally: Command,
    run_file: Path,
    from_the_store: list[str],
    expected: dict[str, Any],
) -> None:
    output = sets(output__path=f"s3a://{RELEASES}/stages")
    for stage in STAGES:
        said = tclose(stage, run_file, *from_the_store, *output)
        assert "Traceback" not in said
    assert "engine     local: " in locally("verify", run_file, *from_the_store, *output)
    assert undated(store.get(RELEASES, "stages/public/certificate.json")) == expected
    public = {key.split("/")[2] for key in store.keys(RELEASES, "stages/public/")}
    assert public == {"certificate.json", "release", "report.html"}
    inside = {key.split("/")[2] for key in store.keys(RELEASES, "stages/internal/")}
    assert "run.json" in inside
    assert not inside & {"staging", "lock", "recheck"}


def test_a_finished_release_is_replaced(
    store: Store, tclose: Command, run_file: Path, others: Mapping[str, list[str]], expected: dict[str, Any]
) -> None:
    """From a CSV file, then with --overwrite from a Delta table; nothing of the first is left."""
    output = sets(output__path=f"s3a://{RELEASES}/replaced")
    said = tclose("release", run_file, *others["csv"], *output)
    assert "engine     spark: PYSPARK_SUBMIT_ARGS is set" in said
    tclose("release", run_file, *others["local csv"], *sets(output__path=str(run_file.parent / "from_csv")))
    local = undated((run_file.parent / "from_csv/public/certificate.json").read_text())
    assert undated(store.get(RELEASES, "replaced/public/certificate.json")) == local
    before = set(store.keys(RELEASES, "replaced/public/release/"))
    assert "--overwrite" in tclose("release", run_file, *others["delta"], *output, code=2)
    tclose("release", run_file, *others["delta"], *output, "--overwrite")
    second = undated(store.get(RELEASES, "replaced/public/certificate.json"))
    assert second["release"] == expected["release"]
    assert second["input"] == {**expected["input"], "version": 0}
    after = set(store.keys(RELEASES, "replaced/public/release/"))
    assert {key for key in before & after if "_delta_log" not in key} == set()


def test_a_release_in_one_process_is_killed_and_replaced(
    store: Store,
    locally: Command,
    run_file: Path,
    from_the_store: list[str],
    others: Mapping[str, list[str]],
    expected: dict[str, Any],
) -> None:
    """From Parquet, CSV and Delta, with two buckets. Killed in its publication, it is finished by another command."""
    output = sets(output__path="", output__public=f"s3a://{RELEASES}/here", output__internal=f"s3a://{INSIDE}/here")
    locally("release", run_file, *from_the_store, *output, program=("-c", KILLED), code=-signal.SIGKILL)
    left = store.keys(RELEASES, "here/")
    assert "here/certificate.json" not in left
    assert any(key.startswith("here/release/") for key in left)
    assert "here/lock" in left
    said = locally("publish", run_file, *from_the_store, *output)
    assert "engine     local: " in said
    first = finished_in(store)
    assert undated(store.get(RELEASES, "here/certificate.json")) == expected

    assert "--overwrite" in locally("release", run_file, *others["csv"], *output, code=2)
    locally("release", run_file, *others["csv"], *output, "--overwrite")
    second = finished_in(store)
    locally("release", run_file, *others["local csv"], *sets(output__path=str(run_file.parent / "csv_here")))
    from_csv = undated((run_file.parent / "csv_here/public/certificate.json").read_text())
    assert undated(store.get(RELEASES, "here/certificate.json")) == from_csv
    locally("release", run_file, *others["odd delta"], *output, "--overwrite")
    third = finished_in(store)
    certificate = undated(store.get(RELEASES, "here/certificate.json"))
    assert certificate["release"] == expected["release"]
    assert certificate["input"] == {**expected["input"], "version": 0}
    assert not first & second | second & third
    assert "the finished release holds" in locally("verify", run_file, *others["odd delta"], *output)


def finished_in(store: Store) -> set[str]:
    """The data files of a finished release and of its evidence, in their two buckets."""
    public, internal = store.keys(RELEASES, "here/"), store.keys(INSIDE, "here/")
    assert {key.split("/")[1] for key in public} == {"certificate.json", "release", "report.html"}
    assert not {key.split("/")[1] for key in internal} & {"staging", "lock", "recheck"}
    return {key for key in (*public, *internal) if key.endswith(".parquet")}


def test_a_lock_of_another_run_is_respected(
    store: Store, locally: Command, run_file: Path, from_the_store: list[str]
) -> None:
    """Made by a run elsewhere, on either engine."""
    store.put(
        RELEASES,
        "locked/internal/lock",
        b'{"host": "far", "pid": 1, "born": "1", "user": "u", "since": "2026-01-01T00:00:00+00:00"}',
    )
    said = locally("release", run_file, *from_the_store, *sets(output__path=f"s3a://{RELEASES}/locked"), code=2)
    assert "is being written by another run: process 1 of u on far" in said
    assert store.keys(RELEASES, "locked/") == ["locked/internal/lock"]
