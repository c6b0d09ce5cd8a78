"""What runs report to OpenLineage, read by OpenLineage's own Java client: `make test-pipelines`.

The client comes by Ivy, as Delta does. It is called by one process: this file, submitted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from conftest import draw_people
from test_cluster import BIN

ROOT = Path(__file__).resolve().parents[2]
CLIENT = "io.openlineage:openlineage-java:1.55.0"
PATHS = (
    "/data/people.csv",
    "/data/people/",
    "file:/data/people",
    "file:///data/people",
    "hdfs://name:8020/people",
    "hdfs:/people",
    "dbfs:/people",
    "s3://bucket/people",
    "s3a://bucket/of/people/",
    "s3n://bucket/people",
    "s3a://bucket",
    "gs://bucket/people",
    "abfs://box@office.dfs.core.windows.net/people",
    "abfss://box@office.dfs.core.windows.net/of/people",
    "wasb://box@office.blob.core.windows.net/people",
)

pytestmark = pytest.mark.slow


def main(events: Path) -> None:
    """Prints, as JSON, what the Java client makes of each event, and how it names each path."""
    from pyspark.sql import SparkSession

    java = SparkSession.builder.getOrCreate()._jvm
    assert java is not None
    utils = java.io.openlineage.client.OpenLineageClientUtils
    name = java.io.openlineage.client.utils.filesystem.FilesystemDatasetUtils.fromLocation
    read = [utils.runEventFromJson(line) for line in events.read_text().splitlines()]
    columns = [event.getOutputs()[0].getFacets().getColumnLineage().getFields() for event in read]
    named = [name(java.java.net.URI(path)) for path in PATHS]
    results = {
        "events": [json.loads(utils.toJson(event)) for event in read],
        "columns": [sorted(fields.getAdditionalProperties()) for fields in columns],
        "names": [(each.getNamespace(), each.getName()) for each in named],
    }
    print("RESULTS", json.dumps(results))


@pytest.fixture(scope="module")
def events(write_run: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The events of a release, and of a run that fails, as the package's client writes them."""
    conf = write_run(
        tmp_path_factory.mktemp("people"),
        draw_people(5, 60),
        quasi={"age": {"type": "numeric"}, "sex": {}},
        sensitive={"disease": {"t": "0.4"}},
        k=5,
        method={"name": "closeness_tree"},
        drop_others=True,
    )
    file = conf.parent / "events.jsonl"
    transport = {"TYPE": "file", "LOG_FILE_PATH": str(file), "APPEND": "true"}
    env = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        **{f"OPENLINEAGE__TRANSPORT__{key}": transport[key] for key in transport},
    }
    tclose = [sys.executable, "-m", "tclose_spark", "release", str(conf), "--engine", "local"]
    for options, code in (((), 0), (("--overwrite", "--set", "privacy.k=61"), 3)):
        done = subprocess.run(
            [*tclose, *options],
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr
    return file


@pytest.fixture(scope="module")
def read(events: Path) -> Any:
    """What `main` prints."""
    packages = ["--packages", CLIENT, "--exclude-packages", "org.slf4j:slf4j-api"]
    command = [
        BIN / "spark-submit",
        "--master",
        "local[1]",
        "--conf",
        "spark.ui.enabled=false",
        *packages,
        __file__,
        events,
    ]
    env = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": f"{ROOT}:{ROOT}/tests"}
    done = subprocess.run(
        command,
        env=env,
        cwd=events.parent,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return json.loads(done.stdout.partition("RESULTS ")[2])


def full(value: Any) -> Any:
    """Without what is empty, and with the time as a time: Java drops zeros at its end."""
    if isinstance(value, dict):
        parts = {key: full(part) for key, part in value.items() if part not in (None, [], {})}
        return parts | (
            {"eventTime": datetime.fromisoformat(parts["eventTime"])}
            if "eventTime" in parts
            else {}
        )
    return [full(part) for part in value] if isinstance(value, list) else value


def test_the_client_reads_every_event_whole(events: Path, read: Any) -> None:
    written = [json.loads(line) for line in events.read_text().splitlines()]
    assert [event["eventType"] for event in written] == ["START", "COMPLETE", "START", "FAIL"]
    assert full(read["events"]) == full(written)
    assert read["columns"] == [["age", "disease", "sex"]] * 4


def test_paths_have_the_names_that_other_jobs_give_them(read: Any) -> None:
    from tclose_spark.io.lineage import dataset

    assert dict(zip(PATHS, map(tuple, read["names"]), strict=True)) == {
        path: dataset(path) for path in PATHS
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
