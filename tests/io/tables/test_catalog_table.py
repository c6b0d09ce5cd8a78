"""`output.table`: replaced in one commit by what was verified, and by nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import draw_people
from pyspark.sql import SparkSession

from tclose_spark import pipeline
from tclose_spark.errors import ConfigurationError, GuaranteeError
from tclose_spark.io.run import Run
from tclose_spark.io.tables import catalog
from tclose_spark.runfile.loading import load_spec
from tclose_spark.stages import publish

pytestmark = pytest.mark.on_spark

TABLE = "offices.released"


@pytest.fixture(scope="module", autouse=True)
def schema(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    spark.sql(f"CREATE SCHEMA offices LOCATION '{tmp_path_factory.mktemp('offices')}'")
    yield
    spark.sql("DROP SCHEMA offices CASCADE")


@pytest.fixture(scope="module")
def run(
    spark: SparkSession,
    write_run: Callable[..., Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Run:
    """A finished release, with its table."""
    path = write_run(
        tmp_path_factory.mktemp("people"),
        draw_people(7, 80),
        quasi={"age": {"type": "numeric"}},
        output={"table": TABLE},
        drop_others=True,
    )
    made = Run(load_spec(path), spark, lambda line: None, overwrite=True)
    pipeline.release(made)
    return made


def versions(spark: SparkSession) -> list[int]:
    return sorted(row["version"] for row in spark.sql(f"DESCRIBE HISTORY {TABLE}").collect())


def test_one_commit_a_release(spark: SparkSession, run: Run) -> None:
    release = run.public.path("release")
    files = spark.read.format("delta").load(release)
    assert spark.table(TABLE).exceptAll(files).isEmpty()
    assert spark.table(TABLE).count() == files.count() == 80
    before = versions(spark)
    catalog.replace_table(release, TABLE, spark)
    assert versions(spark) == [*before, before[-1] + 1]
    pipeline.verify(run)


def test_a_release_that_does_not_hold_does_not_reach_it(
    spark: SparkSession,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = versions(spark)
    monkeypatch.setattr(
        pipeline,
        "require_holds",
        lambda *_, **__: (_ for _ in ()).throw(GuaranteeError("it does not")),
    )
    with pytest.raises(GuaranteeError):
        pipeline.release(run)
    assert versions(spark) == before


def test_rows_that_did_not_arrive_are_taken_back(
    spark: SparkSession,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there = {tuple(row) for row in spark.table(TABLE).collect()}
    whole = catalog.read_delta
    calls: list[Any] = []

    def lossy(*arguments: Any) -> Any:
        calls.append(arguments)
        return whole(*arguments).limit(79) if len(calls) == 1 else whole(*arguments)

    monkeypatch.setattr(catalog, "read_delta", lossy)
    with pytest.raises(GuaranteeError, match="did not arrive whole"):
        catalog.replace_table(run.public.path("release"), TABLE, spark)
    assert {tuple(row) for row in spark.table(TABLE).collect()} == there
    assert spark.table(TABLE).count() == 80
    monkeypatch.undo()
    calls.clear()
    monkeypatch.setattr(catalog, "read_delta", lossy)
    with pytest.raises(GuaranteeError, match="did not arrive whole"):
        catalog.replace_table(run.public.path("release"), "offices.another", spark)
    assert not spark.catalog.tableExists("offices.another")


def test_a_changed_table_is_noticed(spark: SparkSession, run: Run) -> None:
    spark.sql(f"DELETE FROM {TABLE} WHERE age IS NOT NULL")
    with pytest.raises(GuaranteeError, match="is not the release"):
        pipeline.verify(run, finished=True)
    catalog.replace_table(run.public.path("release"), TABLE, spark)


def test_a_table_of_somebody_else_is_never_replaced(spark: SparkSession, run: Run) -> None:
    spark.sql("CREATE TABLE offices.raw USING delta AS SELECT 1 AS age")
    with pytest.raises(ConfigurationError, match="that no release made"):
        catalog.replace_table(run.public.path("release"), "offices.raw", spark)
    assert spark.table("offices.raw").columns == ["age"]


def test_where_the_table_may_not_be_replaced_the_finished_release_stays(
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whether that is seen at the begin, or the table came while the run went."""
    spec = run.spec.model_copy(
        update={"output": run.spec.output.model_copy(update={"table": "offices.raw"})},
    )
    other = Run(spec, run.spark, run.announce, overwrite=True)
    before = run.public.read("certificate.json")
    with pytest.raises(ConfigurationError, match="that no release made"):
        pipeline.release(other)
    assert run.public.read("certificate.json") == before
    monkeypatch.setattr(pipeline, "require_replaceable_table", lambda *_: None)
    monkeypatch.setattr(publish, "require_replaceable_table", lambda *_: None)
    with pytest.raises(ConfigurationError, match="that no release made"):
        pipeline.release(other)
    assert run.public.read("certificate.json") == before
    monkeypatch.undo()
    pipeline.release(run)
    assert (
        json.loads(run.public.read("certificate.json"))["release"] == json.loads(before)["release"]
    )


def test_a_table_that_cannot_be_looked_at_again_is_taken_back(
    spark: SparkSession,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: Any) -> bool:
        raise ConfigurationError("output.table: it cannot be read")

    monkeypatch.setattr(catalog, "is_same", broken)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        catalog.replace_table(run.public.path("release"), "offices.fresh", spark)
    assert not spark.catalog.tableExists("offices.fresh")


def test_a_schema_that_is_not_there_is_reported(spark: SparkSession, run: Run) -> None:
    with pytest.raises(
        ConfigurationError,
        match=r"output\.table: nowhere\.released cannot be written",
    ):
        catalog.replace_table(run.public.path("release"), "nowhere.released", spark)


@pytest.mark.parametrize(
    ("table", "kind"),
    [("ice.offices.released", "iceberg"), ("offices.released", "delta"), ("released", "delta")],
)
def test_a_table_has_the_format_of_its_catalog(spark: SparkSession, table: str, kind: str) -> None:
    spark.conf.set("spark.sql.catalog.ice", "org.apache.iceberg.spark.SparkCatalog")
    try:
        assert catalog._format(spark, table) == kind
    finally:
        spark.conf.unset("spark.sql.catalog.ice")
