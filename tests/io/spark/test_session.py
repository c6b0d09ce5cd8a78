"""The session: the active one with the settings of a run, else a new one, else a message that says
what is missing.
"""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from tclose_spark.errors import ConfigurationError
from tclose_spark.io.causes import why_no_session
from tclose_spark.io.spark.installation import driver_memory, master, require_java
from tclose_spark.io.spark.session import SESSION_SETTINGS, get_session

pytestmark = pytest.mark.more

RUN = (
    "name: x\n"
    "input: {path: people.parquet}\n"
    "output: {path: out}\n"
    "attributes: {quasi_identifiers: {a: }, sensitive_attributes: {b: {t: 1}}}\n"
)


def tclose(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """`tclose profile` on a run file, in a process of its own with this environment."""
    (folder / "run.yaml").write_text(RUN + "privacy: {k: 2}\n")
    (folder / "people.parquet").touch()
    command = [
        sys.executable,
        "-c",
        "import sys; from tclose_spark.cli import main; sys.exit(main())",
        "profile",
        str(folder / "run.yaml"),
    ]
    return subprocess.run(
        command,
        env={"TCLOSE_ENGINE": "spark", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_active_session_is_used(spark: SparkSession) -> None:
    assert get_session("another") is spark


def test_the_active_session_gets_the_settings_of_a_run(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    spark.conf.set("spark.databricks.delta.stats.collect", "true")
    session = get_session("another")
    assert {key: session.conf.get(key) for key in SESSION_SETTINGS} == SESSION_SETTINGS
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


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        (
            "JAVA_HOME",
            "/nonexistent",
            "JAVA_HOME is '/nonexistent', where there is no bin/java; set it to a Java 17, or "
            "unset it",
        ),
        (
            "TCLOSE_MASTER",
            "nonsense",
            "TCLOSE_MASTER is 'nonsense'; expected local[*], local[N], spark://HOST:PORT, yarn or "
            "k8s",
        ),
        (
            "TCLOSE_MASTER",
            "spark://127.0.0.1:1",
            "TCLOSE_MASTER is 'spark://127.0.0.1:1', where nothing answers",
        ),
        (
            "TCLOSE_DRIVER_MEMORY",
            "lots",
            "TCLOSE_DRIVER_MEMORY is 'lots'; expected a size such as 4g or 800m",
        ),
        (
            "TCLOSE_DRIVER_MEMORY",
            "10m",
            "TCLOSE_DRIVER_MEMORY is '10m'; expected a size such as 4g or 800m, of at least 450m",
        ),
        (
            "TCLOSE_DRIVER_MEMORY",
            "100000g",
            "TCLOSE_DRIVER_MEMORY is '100000g', and this machine has ",
        ),
    ],
)
def test_the_variable_that_keeps_spark_from_starting_is_named(
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str,
    says: str,
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigurationError) as found:
        [check() for check in (require_java, master, driver_memory)]
    assert says in str(found.value)


@pytest.mark.parametrize(
    "value",
    [
        "local",
        "local[2]",
        "local[*]",
        "local[4, 3]",
        "local-cluster[2,1,1024]",
        "yarn",
        "k8s://https://host:6443",
    ],
)
def test_masters_that_spark_knows_are_taken(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("TCLOSE_MASTER", value)
    assert master() == value


@pytest.mark.parametrize(
    ("log", "says"),
    [
        (
            "Error occurred during initialization of VM\n"
            "Could not reserve enough space for object heap",
            "TCLOSE_DRIVER_MEMORY",
        ),
        (
            "java.lang.IllegalArgumentException: System memory 259522560 must be at least "
            "471859200.",
            "TCLOSE_DRIVER_MEMORY",
        ),
        (
            "java.io.IOException: No space left on device\n\tat java.base/java.io.FileOutputStream",
            "set SPARK_LOCAL_DIRS to a larger disk",
        ),
        (
            ":: unresolved dependency: io.delta#delta-spark_4.1_2.13;4.4.0: not found",
            f"(delta-spark_{'.'.join(pyspark.__version__.split('.')[:2])}_2.13-4.4.0.jar and "
            "delta-storage-4.4.0.jar)",
        ),
        ("SparkException: All masters are unresponsive! Giving up.\n\tat x.Y", "TCLOSE_MASTER"),
        (
            "Exception in thread: java.net.BindException: Cannot assign\n"
            "\tat x.Y.main(Y)\n"
            "\t... 3 more",
            "BindException: Cannot assign",
        ),
    ],
)
def test_what_spark_says_when_it_does_not_start(log: str, says: str) -> None:
    assert says in why_no_session(log)


def test_without_the_network_the_message_names_the_setting_for_local_jars(tmp_path: Path) -> None:
    offline = (
        f"-Duser.home={tmp_path} -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=9 "
        "-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=9"
    )
    done = tclose(
        tmp_path,
        PATH=os.environ["PATH"],
        HOME=str(tmp_path),  # where no jars are remembered
        JAVA_TOOL_OPTIONS=offline,
        SPARK_LOCAL_IP="127.0.0.1",
    )
    assert done.returncode == 2, done.stderr
    assert "the Delta jars could not be had" in done.stderr
    assert "set TCLOSE_DELTA_JARS to local copies" in done.stderr


def test_a_new_session_writes_and_reads_delta(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(3).write.format("delta").save(str(tmp_path / "table"))
    assert spark.read.format("delta").load(str(tmp_path / "table")).count() == 3


def test_what_spark_puts_on_disk_is_in_a_folder_of_this_user_alone(spark: SparkSession) -> None:
    folder = Path(spark.sparkContext.getConf().get("spark.local.dir") or "")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert any(file.name.startswith("blockmgr") for file in folder.iterdir())
