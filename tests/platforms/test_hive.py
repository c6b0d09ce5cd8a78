"""A Hive metastore: its tables in, a table of it replaced. The server is the one among the jars of
Spark.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from conftest import draw_people
from servers import serving, set_by_conf
from standalone import HOST, SPARK_HOME, free_port
from test_cluster import BIN, PACKAGES, ROOT

from tclose_spark import pipeline
from tclose_spark.io.run import Run

METASTORE = "org.apache.hadoop.hive.metastore.HiveMetaStore"
TABLES = {
    "by_delta": "USING delta",
    "by_hive": "STORED AS PARQUET",
    "by_hive_in_partitions": "PARTITIONED BY (city) STORED AS ORC",
}
"""How each table of people is made."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def conf(write_run: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(
        tmp_path_factory.mktemp("people"),
        draw_people(5, 200),
        quasi={"age": {"type": "numeric"}, "sex": {}, "city": {"hierarchy": "cities.csv"}},
        sensitive={"disease": {"t": "0.4"}, "grade": {"distance": "ordered"}},
        k=5,
        drop_others=True,
    )


@pytest.fixture(scope="module")
def found(conf: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """What `main` prints, with a metastore."""
    folder, port = tmp_path_factory.mktemp("metastore"), free_port()
    settings = {
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/tables;create=true",
        "datanucleus.schema.autoCreateAll": "true",
        "hive.metastore.schema.verification": "false",
        "hive.metastore.warehouse.dir": f"file://{folder}/warehouse",
    }
    server = [
        "java",
        "-Xmx256m",
        "-Dhive.async.log.enabled=false",
        "-cp",
        f"{SPARK_HOME}/jars/*",
        METASTORE,
        "-p",
        port,
    ]
    server += [part for key, value in settings.items() for part in ("--hiveconf", f"{key}={value}")]
    options = set_by_conf(
        {
            "spark.sql.catalogImplementation": "hive",
            "spark.hadoop.hive.metastore.uris": f"thrift://{HOST}:{port}",
            "spark.sql.warehouse.dir": f"file://{folder}/warehouse",
            "spark.ui.enabled": "false",
        },
    )
    command = [
        BIN / "spark-submit",
        "--master",
        "local[2]",
        "--packages",
        PACKAGES,
        *options,
        __file__,
        conf,
    ]
    with serving(server, folder, port):
        done = subprocess.run(
            list(map(str, command)),
            env={
                **os.environ,
                "PYSPARK_PYTHON": sys.executable,
                "PYTHONPATH": f"{ROOT}:{ROOT}/tests",
            },
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    looked: dict[str, Any] = json.loads(done.stdout.partition("FOUND ")[2])
    return looked


def main(conf: Path) -> None:
    """Prints, as JSON, the certificates of the releases, and what became of the table that they
    replaced.
    """
    from tclose_spark import release, verify
    from tclose_spark.io.spark.session import get_session

    spark = get_session("tests")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    spark.conf.set("hive.exec.dynamic.partition.mode", "nonstrict")
    spark.sql("CREATE SCHEMA offices")
    people = spark.read.parquet(str(conf.parent / "people.parquet"))
    people.select("disease", "grade", "age", "sex", "city").createOrReplaceTempView("people")
    certificates = {}
    for name, clauses in TABLES.items():
        spark.sql(f"CREATE TABLE offices.{name} {clauses} AS SELECT * FROM people")
        sets = ["input.format=table", f"input.path=offices.{name}", "output.table=offices.released"]
        made = release(None, conf, conf.parent / name, overrides=sets, log=None)
        certificates[name] = dict(made.certificate)
    verify(None, conf, conf.parent / name, overrides=sets, log=None)  # the table too
    history = spark.sql("DESCRIBE HISTORY offices.released").count()
    tables = [row.name for row in spark.catalog.listTables("offices") if not row.isTemporary]
    print(
        "FOUND",
        json.dumps({"certificates": certificates, "versions": history, "tables": tables}),
    )


@pytest.mark.parametrize("name", TABLES)
def test_the_release_is_that_of_a_parquet_file(
    found: Mapping[str, Any],
    conf: Path,
    open_run: Callable[..., Run],
    name: str,
    tmp_path: Path,
) -> None:
    expected = pipeline.release(open_run(conf, f"output.path={tmp_path}/out"))
    made = found["certificates"][name]
    assert made["release"] == expected["release"]
    assert made["guarantees"] == expected["guarantees"]
    assert made["input"]["version"] == (0 if name == "by_delta" else None)


def test_the_table_is_replaced_in_one_commit_by_each_release(found: Mapping[str, Any]) -> None:
    assert found["versions"] == len(TABLES)
    assert sorted(found["tables"]) == sorted([*TABLES, "released"])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
