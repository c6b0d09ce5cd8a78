"""Releases against a Spark Connect server: the same fingerprint as without. Needs what `make
test-connect` installs.

The server is a process of its own; the stages run by the command, each in a process of its own,
with SPARK_REMOTE.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pyspark
import pytest
from conftest import draw_people, undated

from tclose_spark.io.spark.installation import delta_settings

pytest.importorskip("grpc_status")

ROOT = Path(__file__).resolve().parents[2]
STAGES = ("profile", "plan", "anonymize", "verify", "report", "publish", "verify")
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
QUASI = {
    "age": {"type": "numeric", "round_to": "5"},
    "sex": {"generalization": "set"},
    "city": {"hierarchy": "cities.csv"},
}


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT), **more}


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a server listens, with Delta and two cores."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.ui.enabled": "false",
        **delta_settings(),
    }
    submit = [
        str(Path(pyspark.__file__).parent / "bin/spark-submit"),
        "--class",
        SERVER,
        "--master",
        "local[2]",
    ]
    sets = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
    log = tmp_path_factory.mktemp("server") / "log"
    with log.open("wb") as said:
        server = subprocess.Popen(
            [*submit, *sets, "spark-internal"],
            env=environment(),
            stdout=said,
            stderr=said,
            cwd=log.parent,
            start_new_session=True,
        )
    while "Connect server started" not in log.read_text():
        assert server.poll() is None, log.read_text()[-2000:]
        time.sleep(0.5)
    yield f"sc://127.0.0.1:{port}"
    os.killpg(server.pid, signal.SIGTERM)
    server.wait()


def tclose(*arguments: object, code: int = 0, **more: str) -> str:
    """What a command says, in a process of its own."""
    command = [sys.executable, "-m", "tclose_spark", *map(str, arguments)]
    done = subprocess.run(
        command,
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == code, done.stderr[-3000:]
    return done.stdout + done.stderr


def certificate(output: Path) -> dict[str, Any]:
    return undated(json.loads((output / "public/certificate.json").read_text()))


@pytest.fixture(scope="module")
def run_file(write_run: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    sensitive = {
        "disease": {"t": "0.4"},
        "grade": {"distance": "ordered", "t": "0.4", "l": {"distinct": 2}},
    }
    return write_run(
        tmp_path_factory.mktemp("people"),
        draw_people(3, 300),
        quasi=QUASI,
        sensitive=sensitive,
        k=8,
        method={"name": "closeness_tree"},
        insensitive_attributes=["site"],
        drop_others=True,
    )


def test_the_same_release_stage_by_stage(remote: str, run_file: Path, tmp_path: Path) -> None:
    tclose("release", run_file, "--set", f"output.path={tmp_path}/plain")
    for stage in STAGES:
        said = tclose(
            stage,
            run_file,
            "--set",
            f"output.path={tmp_path}/remote",
            SPARK_REMOTE=remote,
        )
        assert "Traceback" not in said
        assert "Failed to set" not in said
    assert certificate(tmp_path / "remote") == certificate(tmp_path / "plain")
    classes = [
        pq.read_table(tmp_path / f"{name}/internal/classes").num_rows
        for name in ("plain", "remote")
    ]
    assert classes[0] == classes[1]


def test_csv_linked_rows_and_another_method(remote: str, run_file: Path, tmp_path: Path) -> None:
    people = pq.read_table(run_file.parent / "people.parquet").select(
        ["age", "sex", "city", "disease", "grade"],
    )
    people.to_pandas().to_csv(run_file.parent / "people.csv", index=False)
    sets = [
        "input={path: people.csv, format: csv, options: {header: true, inferSchema: true}}",
        "output.keep_linked=true",
        "attributes.insensitive_attributes=[]",
        "method={name: stack_and_deal}",
        "attributes.sensitive_attributes.grade={distance: ordered, t: 0.4}",
    ]
    options = [part for one in sets for part in ("--set", one)]
    for name, more in (("plain", {}), ("remote", {"SPARK_REMOTE": remote})):
        tclose("release", run_file, *options, "--set", f"output.path={tmp_path}/{name}", **more)
    assert certificate(tmp_path / "remote") == certificate(tmp_path / "plain")
    assert (tmp_path / "remote/internal/linked/_delta_log").is_dir()


def test_an_audit(remote: str, run_file: Path) -> None:
    asked = [
        "audit",
        run_file.parent / "people.parquet",
        "-q",
        "sex,city",
        "-s",
        "disease:equal",
        "--k",
        "2",
        "--t",
        "1",
    ]
    plain, remotely = tclose(*asked, "--json"), tclose(*asked, "--json", SPARK_REMOTE=remote)
    read = json.JSONDecoder().raw_decode  # notes follow what is printed
    assert read(remotely)[0] == read(plain)[0]


def test_a_uri_is_refused_with_what_to_do(remote: str, run_file: Path, tmp_path: Path) -> None:
    said = tclose(
        "profile",
        run_file,
        "--set",
        f"output.path=hdfs://{tmp_path}/out",
        code=2,
        SPARK_REMOTE=remote,
    )
    assert re.search("cannot open Hadoop's file systems", said)
