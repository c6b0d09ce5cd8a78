"""The session: the active one with the settings of a run, else a new one, else a message that says what is missing."""

import os
import subprocess
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from tclose_spark.session import SETTINGS, get_session

RUN = "name: x\ninput: {path: people.parquet}\noutput: {path: out}\nattributes: {quasi_identifiers: {a: }, sensitive_attributes: {b: }}\n"


def tclose(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """`tclose profile` on a run file, in a process of its own with this environment."""
    (folder / "run.yaml").write_text(RUN + "privacy: {k: 2}\n")
    command = [sys.executable, "-c", "import sys; from tclose_spark.cli import main; sys.exit(main())", "profile", str(folder / "run.yaml")]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_the_active_session_is_used(spark: SparkSession) -> None:
    assert get_session("another") is spark


def test_the_active_session_gets_the_settings_of_a_run(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    spark.conf.set("spark.databricks.delta.stats.collect", "true")
    session = get_session("another")
    assert {key: session.conf.get(key) for key in SETTINGS} == SETTINGS
    assert session.conf.get("spark.sql.session.timeZone") == "UTC"


def test_settings_that_no_run_needs_are_left_alone(spark: SparkSession) -> None:
    before = spark.conf.get("spark.sql.shuffle.partitions")
    assert get_session("another").conf.get("spark.sql.shuffle.partitions") == before


def test_without_java_the_message_says_what_to_install(tmp_path: Path) -> None:
    done = tclose(tmp_path, PATH=str(tmp_path))
    assert done.returncode == 2
    assert "Java was not found: install a Java 17 runtime" in done.stderr


def test_delta_jars_that_are_not_there_are_named(tmp_path: Path) -> None:
    done = tclose(tmp_path, PATH=os.environ["PATH"], TCLOSE_DELTA_JARS="/nowhere/delta-spark.jar")
    assert done.returncode == 2
    assert "TCLOSE_DELTA_JARS: /nowhere/delta-spark.jar is not a file" in done.stderr


def test_without_the_network_the_message_names_the_setting_for_local_jars(tmp_path: Path) -> None:
    offline = f"-Duser.home={tmp_path} -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=9 -Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=9"
    done = tclose(tmp_path, PATH=os.environ["PATH"], JAVA_TOOL_OPTIONS=offline, SPARK_LOCAL_IP="127.0.0.1")
    assert done.returncode == 2, done.stderr
    assert "the Delta jars could not be had" in done.stderr
    assert "set TCLOSE_DELTA_JARS to local copies" in done.stderr


def test_a_new_session_writes_and_reads_delta(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(3).write.format("delta").save(str(tmp_path / "table"))
    assert spark.read.format("delta").load(str(tmp_path / "table")).count() == 3
