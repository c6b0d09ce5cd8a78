"""Sessions that give their users little, as Databricks' shared and serverless compute do: no
context, no JVM, no RDD, nothing kept, and few settings. (Spark Connect itself:
tests/platforms/test_connect.py.)

The session is the tests' own; what such a platform refuses, it refuses to this package only.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkAttributeError, PySparkValueError
from pyspark.sql import SparkSession
from pyspark.sql.classic.dataframe import DataFrame
from pyspark.sql.conf import RuntimeConfig

from tclose_spark import pipeline
from tclose_spark.checks import validation
from tclose_spark.engine.tables import keep
from tclose_spark.errors import ConfigurationError
from tclose_spark.io.run import Run
from tclose_spark.io.spark import cluster as capabilities
from tclose_spark.io.spark import session
from tclose_spark.io.storage.folders import open_folder
from tclose_spark.io.tables.delta import STATISTICS

pytestmark = pytest.mark.on_spark

ALLOWED = ("spark.sql.session.timeZone", "spark.sql.ansi.enabled", "spark.sql.shuffle.partitions")
OURS = ("tclose_spark", "great_expectations")


def is_ours(depth: int) -> bool:
    """Whether the caller at this depth is no part of PySpark."""
    return sys._getframe(depth + 1).f_globals["__name__"].split(".")[0] in OURS


def refused(name: str, before: Any) -> property:
    """An attribute that PySpark has, and nobody else."""

    def get(self: Any) -> Any:
        if is_ours(1):
            raise PySparkAttributeError(f"[JVM_ATTRIBUTE_NOT_SUPPORTED] `{name}` is not there")
        return self.__dict__[name] if before is None else before.__get__(self)

    return property(get, lambda self, value: self.__dict__.__setitem__(name, value))


@contextmanager
def restricted(allowed: tuple[str, ...] = ALLOWED) -> Iterator[list[str]]:
    """Inside it the session is restricted; the settings that were refused meanwhile."""
    set_, left = RuntimeConfig.set, []

    def set_some(self: Any, key: str, value: Any) -> None:
        if is_ours(1) and key not in allowed:
            left.append(key)
            raise PySparkValueError(f"[CONFIG_NOT_AVAILABLE] Configuration {key} is not available")
        set_(self, key, value)

    def keep_nothing(*_: Any, **__: Any) -> Any:
        raise PySparkValueError(
            "[NOT_SUPPORTED_WITH_SERVERLESS] PERSIST TABLE is not supported on serverless compute",
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            SparkSession,
            "sparkContext",
            refused("sparkContext", SparkSession.sparkContext),
        )
        for kind, name in (
            (SparkSession, "_jvm"),
            (SparkSession, "_jsparkSession"),
            (SparkSession, "_sc"),
        ):
            patch.setattr(kind, name, refused(name, None), raising=False)
        for name in ("_jdf", "_sc"):
            patch.setattr(
                DataFrame,
                name,
                refused(name, getattr(DataFrame, name, None)),
                raising=False,
            )
        patch.setattr(DataFrame, "rdd", refused("rdd", DataFrame.rdd))
        for name in ("persist", "cache", "checkpoint", "localCheckpoint"):
            patch.setattr(DataFrame, name, keep_nothing)
        patch.setattr(RuntimeConfig, "set", set_some)
        yield left


def test_the_same_release(
    make_run: Callable[..., Run],
    drawn_people: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = make_run(
        drawn_people(5, 120),
        quasi={"age": {"type": "numeric"}, "city": {"hierarchy": "cities.csv"}},
        insensitive_attributes=["site"],
        drop_others=True,
    )
    fingerprint = pipeline.release(run)["release"]["fingerprint"]
    run.overwrite = True
    with restricted() as left:
        again = pipeline.release(run)
        pipeline.verify(run)
    assert again["release"]["fingerprint"] == fingerprint
    assert set(left) == {STATISTICS}  # else nothing but the settings that are allowed


def test_the_refusals_are_real(spark: SparkSession) -> None:
    assert capabilities.java_of(spark) is not None
    assert capabilities.set_if_allowed(spark, "spark.sql.legacy.javaCharsets", "true")
    with restricted():
        assert capabilities.java_of(spark) is None
        assert not capabilities.set_if_allowed(spark, "spark.sql.legacy.javaCharsets", "true")
        with keep(spark.range(3)) as table:
            assert table.count() == 3


def test_a_setting_that_is_refused_is_left_and_said_where_it_matters(
    spark: SparkSession,
    settings: Callable[..., Any],
    capsys: pytest.CaptureFixture[str],
) -> None:
    with settings({session.RETRIES_NOTICED: "false"}), restricted() as left:
        session._configure(spark)
    assert session.RETRIES_NOTICED in left
    assert session.RETRIES_NOTICED in capsys.readouterr().err
    with restricted():
        session._configure(spark)  # it has the value that is asked for
    assert capsys.readouterr().err == ""


def test_a_decisive_setting_that_is_refused_is_an_error(
    spark: SparkSession,
    settings: Callable[..., Any],
) -> None:
    with (
        settings({"spark.sql.ansi.enabled": "true"}),
        restricted(("spark.sql.session.timeZone",)),
        pytest.raises(ConfigurationError, match=r"spark\.sql\.ansi\.enabled to false"),
    ):
        session._configure(spark)


def test_folders_by_uri_need_a_jvm(spark: SparkSession, tmp_path: Path) -> None:
    with restricted(), pytest.raises(ConfigurationError, match="cannot open Hadoop's file systems"):
        open_folder(f"file://{tmp_path}", spark)


def test_class_tables_that_are_not_brought(
    make_run: Callable[..., Run],
    drawn_people: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(validation, "MOST_LOCAL", 0)  # Great Expectations on Spark
    with restricted():
        pipeline.release(
            make_run(drawn_people(6), quasi={"age": {"type": "numeric"}}, drop_others=True),
        )
