"""An Iceberg table as input, by its name in a catalog: the release of a plain table. Iceberg's runtime comes by Ivy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import draw_people
from test_cluster import BIN, PACKAGES

ROOT = Path(__file__).resolve().parents[2]
ICEBERG = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0"

pytestmark = pytest.mark.slow

MAKE = """
import sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
people = spark.read.parquet(sys.argv[1])
people.limit(7).writeTo("ice.offices.people").partitionedBy("city").tableProperty("format-version", "2").create()
people.writeTo("ice.offices.people").overwritePartitions()
first = spark.table("ice.offices.people.snapshots").orderBy("committed_at").collect()[-1].snapshot_id
print("SNAPSHOT", first)
if len(sys.argv) > 2:
    people.limit(9).writeTo("ice.offices.people").append()
"""


@pytest.fixture(scope="module")
def conf(write_run: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(
        tmp_path_factory.mktemp("people"),
        draw_people(3, 120),
        quasi={"age": {"type": "numeric"}, "sex": {}, "city": {"hierarchy": "cities.csv"}},
        sensitive={"disease": {"t": "0.4"}},
        k=5,
        drop_others=True,
    )


@pytest.fixture(scope="module")
def submit(conf: Path) -> Callable[..., str]:
    """`submit(program, argument, ...)`: what it says, with a catalog of Iceberg tables in a folder."""
    settings = {
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": f"file://{conf.parent}/warehouse",
        "spark.pyspark.python": sys.executable,
        "spark.ui.enabled": "false",
    }
    options = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]

    def run(*arguments: object) -> str:
        command = [BIN / "spark-submit", "--master", "local[2]", "--packages", f"{PACKAGES},{ICEBERG}", *options]
        done = subprocess.run(
            list(map(str, [*command, *arguments])),
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            cwd=conf.parent,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    return run


def certificate(output: Path) -> dict[str, Any]:
    made: dict[str, Any] = json.loads((output / "public/certificate.json").read_text())
    return {**made, "issued": None}


def test_the_same_release(submit: Callable[..., str], conf: Path, tmp_path: Path) -> None:
    release = (ROOT / "jobs/release.py", "--config", conf)
    submit(*release, "--set", f"output.path={tmp_path}/plain")
    (tmp_path / "make.py").write_text(MAKE)
    said = submit(tmp_path / "make.py", conf.parent / "people.parquet", "more")
    snapshot = said.split("SNAPSHOT ")[1].split()[0]
    table = ("--set", "input.format=table", "--set", "input.path=ice.offices.people")
    pinned = ("--set", f"input.options={{snapshot-id: {snapshot}}}")
    submit(*release, *table, *pinned, "--set", f"output.path={tmp_path}/iceberg")
    assert certificate(tmp_path / "iceberg") == certificate(tmp_path / "plain")
    submit(*release, *table, "--set", f"output.path={tmp_path}/newest")
    assert certificate(tmp_path / "newest")["release"]["rows"] == 129
