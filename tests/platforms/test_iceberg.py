"""Iceberg tables of all kinds as input, by their names in a catalog: each gives the release of a
plain Parquet file. An Iceberg table as output.

The catalog is a folder (Hadoop's), or a server (REST) from the jars that `make test-iceberg`
brings. Iceberg's runtime comes by Ivy, as Delta does. All releases in a catalog are made by one
process: this file, submitted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from conftest import draw_people, of_any_version
from pyspark.sql import DataFrame, SparkSession
from servers import serving, set_by_conf
from standalone import SPARK_HOME, free_port
from test_cluster import BIN, PACKAGES

ROOT = Path(__file__).resolve().parents[2]
SERVER = ROOT / ".jars-iceberg-rest"
ICEBERG = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0"
ROWS = 60
COLUMNS = ("age", "sex", "city", "disease", "grade", "site")

pytestmark = pytest.mark.slow


# --- tables: each function makes one of a name, with the rows of `people`


def plain(people: DataFrame, name: str) -> None:
    people.writeTo(name).create()


def partitioned(people: DataFrame, name: str) -> None:
    """By a column and by a bucket; overwritten once."""
    from pyspark.sql import functions as F

    people.limit(7).writeTo(name).partitionedBy("city", F.partitioning.bucket(4, "age")).create()
    people.sparkSession.sql(f"DELETE FROM {name}")
    people.writeTo(name).append()


def with_deleted_rows(people: DataFrame, name: str, version: str = "2") -> None:
    """Deleted rows are named in files beside those that hold them (merge on read)."""
    more = people.limit(7).selectExpr("age", "'gone' AS sex", *COLUMNS[2:])
    properties = {"format-version": version, "write.delete.mode": "merge-on-read"}
    writer = people.union(more).coalesce(1).writeTo(name)
    for key, value in properties.items():
        writer = writer.tableProperty(key, value)
    writer.create()
    spark = people.sparkSession
    spark.sql(f"DELETE FROM {name} WHERE sex = 'gone'")
    assert spark.table(f"{name}.delete_files").count(), (
        "the rows were deleted by writing the files anew"
    )


def with_deletion_vectors(people: DataFrame, name: str) -> None:
    with_deleted_rows(people, name, "3")


def with_renamed_columns(people: DataFrame, name: str) -> None:
    """Half of the rows were written before, and then the last change was of names."""
    spark = people.sparkSession
    half = people.where("grade < 3").selectExpr("age AS years", *COLUMNS[1:], "1L AS other")
    half.writeTo(name).create()
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN years TO age_in_years")
    spark.sql(f"ALTER TABLE {name} DROP COLUMN other")
    people.where("NOT grade < 3").withColumnRenamed("age", "age_in_years").writeTo(name).append()
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN age_in_years TO age")


TABLES = (plain, partitioned, with_deleted_rows, with_deletion_vectors, with_renamed_columns)


# --- what the submitted process does


def main(conf: Path) -> None:
    """Prints, as JSON, the certificate of the release of each table, and of what was asked
    beside.
    """
    from tclose_spark import release
    from tclose_spark.io.spark.session import get_session

    spark = get_session("tests")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    spark.sql("CREATE NAMESPACE IF NOT EXISTS ice.offices")
    people = spark.read.parquet(str(conf.parent / "people.parquet")).select(*COLUMNS)
    said: list[str] = []

    def made(
        output: str,
        name: str | None = None,
        *overrides: str,
        **options: bool,
    ) -> dict[str, Any]:
        table = () if name is None else ("input.format=table", f"input.path=ice.offices.{name}")
        given = {"overrides": [*table, *overrides], "log": said.append, **options}
        return dict(release(None, conf, conf.parent / output, **given).certificate)

    results = {"expected": made("expected")}
    for make in TABLES:
        make(people, f"ice.offices.{make.__name__}")
        results[make.__name__] = made(make.__name__, make.__name__)
    snapshots = spark.table("ice.offices.plain.snapshots")
    results["snapshot"] = snapshots.first()["snapshot_id"]  # type: ignore[index]
    made("plain", "plain", if_changed=True)
    results["unchanged"] = any(line.startswith("nothing to do") for line in said)
    people.limit(9).writeTo("ice.offices.plain").append()
    results["grown"] = made("plain", "plain", if_changed=True)
    results["as it was"] = made(
        "pinned",
        "plain",
        f"input.options={{versionAsOf: {results['snapshot']}}}",
    )
    results["replaced"] = replaced(spark, conf, made)
    print("RESULTS", json.dumps(results))


def replaced(spark: SparkSession, conf: Path, made: Callable[..., Any]) -> dict[str, Any]:
    """What became of a table that two releases replaced: of `plain`, which has grown, and of
    `partitioned`.
    """
    from tclose_spark import TcloseError, verify
    from tclose_spark.io.tables import catalog

    table = "ice.offices.released"
    sets = (f"output.table={table}",)

    def state() -> list[Any]:
        """Its rows, without order, and the number of its snapshots."""
        return [
            sorted(map(repr, spark.table(table).collect())),
            spark.table(f"{table}.snapshots").count(),
        ]

    def message(act: Callable[[], object]) -> str:
        try:
            act()
        except TcloseError as error:
            return str(error)
        return "no error"

    def lossy(*arguments: Any) -> DataFrame:
        catalog.read_delta = whole
        return whole(*arguments).limit(ROWS - 1).withColumnRenamed("grade", "other")

    certificates = [made("first", "plain", *sets)]
    first, snapshot = state(), spark.table(f"{table}.snapshots").first()["snapshot_id"]  # type: ignore[index]
    certificates.append(made("second", "partitioned", *sets))
    second = state()
    whole, catalog.read_delta = catalog.read_delta, lossy
    release = str(conf.parent / "second/public/release")
    found = {
        "certificates": certificates,
        "rows": [spark.read.format("delta").load(release).count(), len(second[0])],
        "snapshots": [first[1], second[1]],
        "lost": message(lambda: catalog.replace_table(release, table, spark)),
        "taken back": state()[0] == second[0] and spark.table(table).columns == list(COLUMNS),
        "older": len(first[0])
        - spark.read.option("versionAsOf", str(snapshot)).table(table).count(),
        "another's": message(lambda: catalog.replace_table(release, "ice.offices.plain", spark)),
    }
    spark.sql("CREATE TABLE ice.offices.prepared (a INT) TBLPROPERTIES ('tclose.release' = 'true')")
    catalog.replace_table(release, "ice.offices.prepared", spark)
    found["prepared"] = catalog.is_same(release, "ice.offices.prepared", spark)
    checked = [
        f"{part}={value}"
        for part, value in (("input.format", "table"), ("input.path", "ice.offices.partitioned"))
    ]
    options = {"overrides": [*checked, *sets], "log": print}
    found["verified"] = message(lambda: verify(None, conf, conf.parent / "second", **options))
    spark.sql(f"DELETE FROM {table} WHERE grade = 2")
    found["changed"] = message(lambda: verify(None, conf, conf.parent / "second", **options))
    return found


@pytest.fixture(scope="module", params=["hadoop", "rest"])
def catalog(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Mapping[str, str]]:
    """The settings of a catalog: a folder, or a server."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "hadoop":
        yield {"type": "hadoop", "warehouse": f"file://{folder}"}
        return
    if not SERVER.is_dir():
        pytest.skip("made by make test-iceberg")
    jars = [f"{SERVER}/*", *(SPARK_HOME / "jars").glob("hadoop-client-*.jar")]
    port = free_port()
    server = [
        "java",
        "-Xmx256m",
        "-cp",
        ":".join(map(str, jars)),
        "org.apache.iceberg.rest.RESTCatalogServer",
    ]
    environment = {
        "CATALOG_REST_PORT": str(port),
        "CATALOG_WAREHOUSE": f"file://{folder}/warehouse",
        "CATALOG_URI": f"jdbc:sqlite:{folder}/tables.db",
        "CATALOG_IO__IMPL": "org.apache.iceberg.hadoop.HadoopFileIO",
    }
    with serving(server, folder, port, **environment):
        yield {"type": "rest", "uri": f"http://127.0.0.1:{port}"}


@pytest.fixture(scope="module")
def results(
    catalog: Mapping[str, str],
    write_run: Callable[..., Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Mapping[str, Any]:
    """What `main` prints, with a catalog of Iceberg tables."""
    conf = write_run(
        tmp_path_factory.mktemp("people"),
        draw_people(5, ROWS),
        quasi={"age": {"type": "numeric"}, "sex": {}, "city": {"hierarchy": "cities.csv"}},
        sensitive={"disease": {"t": "0.4"}, "grade": {"distance": "ordered"}},
        k=5,
        insensitive_attributes=["site"],
        allow_unique=["site"],
        drop_others=True,
    )
    settings = {
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        **{f"spark.sql.catalog.ice.{key}": value for key, value in catalog.items()},
        "spark.ui.enabled": "false",
    }
    packages = ("--packages", f"{PACKAGES},{ICEBERG}")
    done = subprocess.run(
        [
            BIN / "spark-submit",
            "--master",
            "local[2]",
            *packages,
            *set_by_conf(settings),
            __file__,
            conf,
        ],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": f"{ROOT}:{ROOT}/tests"},
        cwd=conf.parent,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, (
        done.stdout[-3000:] + done.stderr[-3000:]
    )  # Python's errors come by stdout
    found: dict[str, Any] = json.loads(done.stdout.partition("RESULTS ")[2])
    return found


@pytest.mark.parametrize("kind", [make.__name__ for make in TABLES])
def test_the_release_is_that_of_a_parquet_file(results: Mapping[str, Any], kind: str) -> None:
    assert of_any_version(results[kind]) == of_any_version(results["expected"])


def test_an_older_snapshot_is_read_where_it_is_named(results: Mapping[str, Any]) -> None:
    assert results["grown"]["release"]["rows"] == ROWS + 9
    assert of_any_version(results["as it was"]) == of_any_version(results["expected"])


def test_snapshots_are_told_apart(results: Mapping[str, Any]) -> None:
    """By `--if-changed`, and in the certificate."""
    assert results["unchanged"]
    assert (
        results["plain"]["input"]["version"]
        == results["snapshot"]
        == results["as it was"]["input"]["version"]
    )
    assert results["grown"]["input"]["version"] not in (None, results["snapshot"])
    assert (
        results["with_renamed_columns"]["input"]["version"] is None
    )  # its last snapshot has the old names


def test_a_table_is_replaced_in_one_commit(results: Mapping[str, Any]) -> None:
    found = results["replaced"]
    assert found["certificates"][0]["release"]["rows"] == ROWS + 9
    assert of_any_version(found["certificates"][1]) == of_any_version(results["expected"])
    assert found["rows"] == [ROWS, ROWS]
    assert found["snapshots"] == [1, 2]
    assert found["older"] == 0
    assert found["prepared"]
    assert found["verified"] == "no error"


def test_a_table_that_is_not_the_release_is_noticed(results: Mapping[str, Any]) -> None:
    found = results["replaced"]
    assert "did not arrive whole in ice.offices.released; it is as it was before" in found["lost"]
    assert found["taken back"]
    assert "ice.offices.plain is a table that no release made" in found["another's"]
    assert "the table ice.offices.released is not the release" in found["changed"]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
