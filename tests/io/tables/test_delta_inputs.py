"""Delta tables of all kinds as input: their rows, at the version that the run began with, give the
release of a plain table.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import draw_people, of_any_version
from delta.tables import DeltaTable, IdentityGenerator
from pyspark.sql import DataFrame, SparkSession

from tclose_spark import pipeline
from tclose_spark.errors import InputError
from tclose_spark.io.run import Run
from tclose_spark.stages import profile as stage

pytestmark = pytest.mark.on_spark

OpenRun = Callable[..., Run]
ROWS = 60
COLUMNS = ("age", "sex", "city", "disease", "grade")
TYPES = "age bigint, sex string, city string, disease string, grade bigint"
DELETABLE = {"delta.enableDeletionVectors": "true"}


@pytest.fixture(scope="module")
def conf(write_run: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(
        tmp_path_factory.mktemp("people"),
        draw_people(5, ROWS),
        quasi={"age": {"type": "numeric"}, "sex": {}, "city": {"hierarchy": "cities.csv"}},
        sensitive={"disease": {"t": "0.4"}, "grade": {"distance": "ordered"}},
        k=5,
        drop_others=True,
    )


@pytest.fixture(scope="module")
def people(spark: SparkSession, conf: Path) -> DataFrame:
    """The rows that every table holds."""
    return spark.read.parquet(str(conf.parent / "people.parquet")).select(*COLUMNS)


@pytest.fixture(scope="module")
def expected(conf: Path, open_run: OpenRun) -> dict[str, Any]:
    """What the certificate of the Parquet file's release says."""
    return of_any_version(pipeline.release(open_run(conf)))


@pytest.fixture
def release(conf: Path, open_run: OpenRun, tmp_path: Path) -> Callable[..., Any]:
    """`release(path, "key=value", ...)`: the certificate of a Delta table's release."""

    def of(path: str, *sets: str) -> Any:
        source = (f"input.path={path}", "input.format=delta", f"output.path={tmp_path}/out")
        return pipeline.release(open_run(conf, *source, *sets))

    return of


def property_list(**properties: str) -> str:
    return ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())


# --- tables: each function makes one at a path, with the rows of `people`


def partitioned(people: DataFrame, path: str) -> None:
    people.write.format("delta").partitionBy("city", "grade").save(path)


def with_deletion_vectors(people: DataFrame, path: str) -> None:
    spark = people.sparkSession
    more = people.limit(7).selectExpr("age", "'gone' AS sex", "city", "disease", "grade")
    writer = people.union(more).coalesce(1).write.format("delta")
    writer.options(**DELETABLE).save(path)
    spark.sql(f"DELETE FROM delta.`{path}` WHERE sex = 'gone'")
    added = [file for file in Path(path).iterdir() if file.suffix == ".bin"]
    assert added, "the rows were deleted by writing the files anew"


def with_mapped_columns(people: DataFrame, path: str) -> None:
    spark = people.sparkSession
    mapping = property_list(**{"delta.columnMapping.mode": "name"})
    spark.sql(
        f"CREATE TABLE delta.`{path}` (years bigint, {TYPES.partition(', ')[2]}) USING delta "
        f"TBLPROPERTIES ({mapping})",
    )
    people.withColumnRenamed("age", "years").write.format("delta").mode("append").save(path)
    spark.sql(f"ALTER TABLE delta.`{path}` RENAME COLUMN years TO age")
    spark.sql(f"ALTER TABLE delta.`{path}` ADD COLUMN other string")
    spark.sql(f"ALTER TABLE delta.`{path}` DROP COLUMN other")


def with_a_generated_column(people: DataFrame, path: str) -> None:
    table = DeltaTable.create(people.sparkSession).addColumns(
        people.schema,
    )  # which Delta 4.0 does not by SQL
    table.addColumn("decade", "bigint", generatedAlwaysAs="age DIV 10")
    table.addColumn("number", "bigint", generatedAlwaysAs=IdentityGenerator()).location(
        path,
    ).execute()
    people.write.format("delta").mode("append").save(path)


def with_a_change_data_feed(people: DataFrame, path: str) -> None:
    spark = people.sparkSession
    feed = {"delta.enableChangeDataFeed": "true"}
    people.selectExpr("age + 1 AS age", *COLUMNS[1:]).write.format("delta").options(**feed).save(
        path,
    )
    spark.sql(f"UPDATE delta.`{path}` SET age = age - 1")
    assert (Path(path) / "_change_data").is_dir()


def clustered_with_tracked_rows(people: DataFrame, path: str) -> None:
    spark = people.sparkSession
    spark.sql(
        f"CREATE TABLE delta.`{path}` ({TYPES}) USING delta CLUSTER BY (age) TBLPROPERTIES "
        f"({property_list(**{'delta.enableRowTracking': 'true', 'delta.checkpointPolicy': 'v2'})})",
    )
    people.write.format("delta").mode("append").save(path)


def with_a_widened_type(people: DataFrame, path: str) -> None:
    spark = people.sparkSession
    widening = property_list(**{"delta.enableTypeWidening": "true"})
    spark.sql(
        f"CREATE TABLE delta.`{path}` (age int, {TYPES.partition(', ')[2]}) USING delta "
        f"TBLPROPERTIES ({widening})",
    )
    half = people.selectExpr("CAST(age AS int) AS age", *COLUMNS[1:]).coalesce(1).localCheckpoint()
    first = half.limit(ROWS // 2).localCheckpoint()
    first.write.format("delta").mode("append").save(path)
    spark.sql(f"ALTER TABLE delta.`{path}` ALTER COLUMN age TYPE bigint")
    rest = half.exceptAll(first).selectExpr("CAST(age AS bigint) AS age", *COLUMNS[1:])
    rest.write.format("delta").mode("append").save(path)


def by_a_stream(people: DataFrame, path: str) -> None:
    spark, source = people.sparkSession, f"{path}.source"
    people.repartition(4).write.parquet(source)
    stream = spark.readStream.schema(people.schema).option("maxFilesPerTrigger", 2).parquet(source)
    query = stream.writeStream.format("delta").option("checkpointLocation", f"{path}/_checkpoints")
    query.trigger(availableNow=True).start(path).awaitTermination()


KINDS = (
    partitioned,
    with_deletion_vectors,
    with_mapped_columns,
    with_a_generated_column,
    with_a_change_data_feed,
    clustered_with_tracked_rows,
    with_a_widened_type,
    by_a_stream,
)


@pytest.mark.parametrize("make", KINDS, ids=[make.__name__.replace("_", " ") for make in KINDS])
def test_a_table(
    make: Callable[[DataFrame, str], None],
    people: DataFrame,
    expected: dict[str, Any],
    release: Callable[..., Any],
    tmp_path: Path,
    settings: Callable[..., Any],
) -> None:
    path = str(tmp_path / "people")
    with settings(
        {"spark.databricks.delta.stats.collect": "true"},
    ):  # as tables have them that others write
        make(people, path)
    certificate = release(path)
    assert of_any_version(certificate) == expected
    last = people.sparkSession.sql(f"DESCRIBE HISTORY delta.`{path}` LIMIT 1").collect()[0][
        "version"
    ]
    assert certificate["input"]["version"] == last


# --- time


def test_a_new_version_while_the_run_goes_changes_nothing(
    people: DataFrame,
    expected: dict[str, Any],
    release: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = str(tmp_path / "people")
    people.write.format("delta").save(path)
    profile_table, guard, planned = stage.profile_table, stage.guard_insensitive, pipeline.plan

    def append(then: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any) -> Any:
            people.limit(9).write.format("delta").mode("append").save(path)
            return then(*arguments)

        return called

    monkeypatch.setattr(stage, "profile_table", append(profile_table))
    monkeypatch.setattr(stage, "guard_insensitive", append(guard))
    monkeypatch.setattr(pipeline, "plan", append(planned))
    certificate = release(path)
    assert of_any_version(certificate) == expected
    assert certificate["input"]["version"] == 0
    assert people.sparkSession.sql(f"DESCRIBE HISTORY delta.`{path}`").count() == 4


def test_the_first_version_of_an_overwritten_table(
    people: DataFrame,
    expected: dict[str, Any],
    release: Callable[..., Any],
    tmp_path: Path,
) -> None:
    path = str(tmp_path / "people")
    people.write.format("delta").save(path)
    people.limit(9).write.format("delta").mode("overwrite").save(path)
    assert of_any_version(release(path, "input.options={versionAsOf: 0}")) == expected


# --- what is refused, with what to do


@pytest.mark.slow
def test_files_that_were_vacuumed_are_said(
    people: DataFrame,
    release: Callable[..., Any],
    tmp_path: Path,
    settings: Callable[..., Any],
) -> None:

    path, spark = str(tmp_path / "people"), people.sparkSession
    people.write.format("delta").save(path)
    people.limit(9).write.format("delta").mode("overwrite").save(path)
    with settings({"spark.databricks.delta.retentionDurationCheck.enabled": "false"}):
        spark.sql(f"VACUUM delta.`{path}` RETAIN 0 HOURS")
    with pytest.raises(InputError, match="is gone since the table was looked at"):
        release(path, "input.options={versionAsOf: 0}")
    with pytest.raises(InputError, match=r"input\.path: .* cannot be read as delta"):
        release(path, "input.options={versionAsOf: 17}")


def test_a_name_that_only_a_mapped_column_has(
    people: DataFrame,
    expected: dict[str, Any],
    release: Callable[..., Any],
    tmp_path: Path,
) -> None:

    path = str(tmp_path / "people")
    mapped = {"delta.columnMapping.mode": "name"}
    people.withColumnRenamed("age", "age in years").write.format("delta").options(**mapped).save(
        path,
    )
    roles = (
        "attributes.quasi_identifiers={age in years: {type: numeric}, sex: {}, city: {hierarchy: "
        "cities.csv}}"
    )
    with pytest.raises(InputError, match="a Delta table cannot hold this name"):
        release(path, roles)
    assert of_any_version(release(path, "input.columns={age in years: age}")) == expected
