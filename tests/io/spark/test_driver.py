"""The driver's JVM: what it is started with, when, and that its jars are looked for once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tclose_spark.errors import ConfigurationError
from tclose_spark.io.spark import driver
from tclose_spark.io.spark import installation as jars
from tclose_spark.io.spark.defaults import defaults
from tclose_spark.io.spark.driver import Jvm
from tclose_spark.io.spark.installation import LARGE, compiler

QUICK = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
FAKE = """#!/bin/sh
printf '%s\\n' "$JAVA_TOOL_OPTIONS" "$@" > "$SPARK_HOME/told"
exec sleep 600
"""


@pytest.fixture
def fake_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A SPARK_HOME whose spark-submit writes down in `told` what it was given, and waits."""
    (tmp_path / "bin").mkdir()
    submit = tmp_path / "bin/spark-submit"
    submit.write_text(FAKE)
    submit.chmod(0o755)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("size", "chosen", "options"),
    [(0, "", QUICK), (LARGE, "", ""), (0, "full", ""), (LARGE, "quick", QUICK)],
)
def test_the_compiler_fits_the_input(
    monkeypatch: pytest.MonkeyPatch,
    size: int,
    chosen: str,
    options: str,
) -> None:
    monkeypatch.setenv("TCLOSE_COMPILER", chosen)
    assert compiler(size) == options


def test_a_compiler_that_is_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TCLOSE_COMPILER", "c3")
    with pytest.raises(ConfigurationError, match="TCLOSE_COMPILER is 'c3'; expected quick or full"):
        compiler(0)


def test_the_size_of_an_input(tmp_path: Path) -> None:
    (tmp_path / "part").mkdir()
    (tmp_path / "part/a").write_bytes(b"12345")
    (tmp_path / "b").write_bytes(b"123")
    assert driver.size_on_disk(str(tmp_path)) == 8
    assert driver.size_on_disk(f"file://{tmp_path}/b") == 3
    assert (
        driver.size_on_disk(str(tmp_path / "none")) == driver.size_on_disk("s3://bucket/table") == 0
    )


def test_the_users_java_options_come_after_ours(
    fake_spark: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=4")
    jvm = Jvm({"spark.master": "local"}, QUICK)
    while not (fake_spark / "told").exists() or not (fake_spark / "told").read_text().endswith(
        "pyspark-shell\n",
    ):
        assert jvm.runs
    options, *arguments = (fake_spark / "told").read_text().splitlines()
    jvm.end()
    assert options.endswith(f"{QUICK} -XX:TieredStopAtLevel=4")
    assert arguments[:2] == ["--conf", "spark.master=local"]


def test_nothing_is_left_of_a_jvm_that_ended(fake_spark: Path) -> None:
    jvm = Jvm({}, "")
    assert jvm.folder.stat().st_mode & 0o777 == 0o700
    jvm.end()
    assert not jvm.runs
    assert not jvm.folder.exists()
    with pytest.raises(ConnectionError), jvm.gateway():
        pass


def test_other_processes_do_not_find_its_port(fake_spark: Path) -> None:
    jvm = Jvm({}, "")
    (jvm.folder / "port").write_bytes(b"\0\0\x1f\x40" + b"\0\0\0\3abc")
    with jvm.gateway():
        assert (os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]) == (
            "8000",
            "abc",
        )
    assert "PYSPARK_GATEWAY_PORT" not in os.environ
    jvm.end()


def test_a_run_file_that_is_wrong_starts_no_java(fake_spark: Path, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text("name: x\n")
    code = (
        "import sys; from tclose_spark.cli import main; code = main();assert not {'pyspark', "
        "'numba', 'pandas', 'great_expectations'} & set(sys.modules); sys.exit(code)"
    )
    command = [sys.executable, "-c", code, "release", str(tmp_path / "run.yaml")]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 2
    assert not (fake_spark / "told").exists()


def start_early(monkeypatch: pytest.MonkeyPatch, path: Path, gateway: object) -> list[int]:
    """The sizes that a JVM was started for, where PySpark has this gateway."""
    started: list[int] = []
    pyspark = SimpleNamespace(SparkContext=SimpleNamespace(_gateway=gateway))
    monkeypatch.setitem(sys.modules, "pyspark", pyspark)
    monkeypatch.setattr(driver, "start", started.append)
    driver.start_early(str(path))
    return started


def test_java_is_started_for_the_size_of_the_input(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    (tmp_path / "table.csv").write_text("a,b\n")
    assert start_early(monkeypatch, tmp_path / "table.csv", gateway=None) == [4]


def test_no_java_is_started_where_there_is_one(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    assert start_early(monkeypatch, tmp_path, gateway=object()) == []
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "8000")
    assert start_early(monkeypatch, tmp_path, gateway=None) == []


DELTA = jars.to_be_found()["spark.jars.packages"]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two jars, and a cache of the user's that is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("TCLOSE_DELTA_JARS", raising=False)
    for name in ("a b.jar", "c.jar"):
        (tmp_path / name).write_text("jar")
    return tmp_path


def test_jars_that_ivy_found_are_not_looked_for_again(cache: Path) -> None:
    assert "spark.jars.packages" in jars.delta_settings()
    jars.remember(DELTA, [f"file://{cache}/a%20b.jar", str(cache / "c.jar")])
    assert jars.delta_settings() == {"spark.jars": f"{cache}/a b.jar,{cache}/c.jar"}


def test_jars_of_other_packages_are_none_of_delta(cache: Path) -> None:
    jars.remember(f"{DELTA},org.apache.hadoop:hadoop-aws:3.4.2", [str(cache / "c.jar")])
    assert "spark.jars" not in jars.delta_settings()


def test_spark_submit_is_given_the_jars_that_are_known(cache: Path) -> None:
    assert "spark.jars.packages" in defaults()
    jars.remember(DELTA, [str(cache / "c.jar")])
    assert defaults()["spark.jars"] == f"{cache}/c.jar"
    assert "spark.jars.packages" not in defaults()


def test_jars_of_another_delta_are_looked_for(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jars.remember(DELTA, [str(cache / "c.jar")])
    monkeypatch.setattr(
        "importlib.metadata.version",
        {"delta-spark": "4.5.0", "pyspark": "4.1.4"}.__getitem__,
    )
    assert jars.delta_settings()["spark.jars.packages"] == "io.delta:delta-spark_4.1_2.13:4.5.0"


@pytest.mark.parametrize(
    ("delta", "spark", "package"),
    [
        ("4.4.0", "4.1.4", "io.delta:delta-spark_4.1_2.13:4.4.0"),
        ("4.4.0", "4.0.5", "io.delta:delta-spark_4.0_2.13:4.4.0"),
        ("4.0.1", "4.0.5", "io.delta:delta-spark_2.13:4.0.1"),
    ],
)
def test_jars_are_those_of_the_spark_that_is_installed(
    monkeypatch: pytest.MonkeyPatch,
    delta: str,
    spark: str,
    package: str,
) -> None:
    monkeypatch.setattr(
        "importlib.metadata.version",
        {"delta-spark": delta, "pyspark": spark}.__getitem__,
    )
    assert jars.to_be_found()["spark.jars.packages"] == package


def test_a_delta_of_spark_4_0_is_refused_on_4_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "importlib.metadata.version",
        {"delta-spark": "4.0.1", "pyspark": "4.1.4"}.__getitem__,
    )
    with pytest.raises(ConfigurationError, match=r"'delta-spark==4.4.0', or 'pyspark<4.1'"):
        jars.to_be_found()


def test_jars_that_are_gone_or_changed_are_looked_for(cache: Path) -> None:
    jars.remember(DELTA, [str(cache / "c.jar")])
    (cache / "c.jar").write_text("another jar")
    assert "spark.jars" not in jars.delta_settings()
    (cache / "c.jar").unlink()
    assert "spark.jars" not in jars.delta_settings()


def test_a_record_that_others_may_write_to_is_not_believed(cache: Path) -> None:
    jars.remember(DELTA, [str(cache / "c.jar")])
    next((cache / "cache/tclose_spark").iterdir()).chmod(0o666)
    assert "spark.jars" not in jars.delta_settings()
