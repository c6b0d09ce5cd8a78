"""Which engine a call takes, why, and what it says."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from conftest import hide_spark
from deltalake import write_deltalake
from object_store import use_as_store
from people import PEOPLE, ROLES
from pyspark.sql import DataFrame, SparkSession

import tclose_spark as tc
from tclose_spark import cli, pipeline
from tclose_spark.api import engine_choice, session
from tclose_spark.api.arguments import given_run
from tclose_spark.api.engine_choice import (
    LOCAL_VERBS,
    MOST_BYTES,
    MOST_ROWS,
    Asked,
    Work,
    asked_engine,
    choose_engine,
    is_read_here,
    spark_present,
    work_of,
)
from tclose_spark.api.errors import called_from_command_line
from tclose_spark.api.stages import STAGES
from tclose_spark.engine.local.table import NeedsSparkError
from tclose_spark.errors import ConfigurationError
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.spark import driver
from tclose_spark.io.spark.driver import PORT
from tclose_spark.runfile.loading import load_spec
from tclose_spark.runfile.spec import Output, ReleaseSpec

RunFile = Callable[..., Path]
SPEC: dict[str, Any] = {
    "attributes": {
        "quasi_identifiers": {"age": {"type": "numeric"}},
        "sensitive_attributes": {"disease": {"t": 1}},
    },
    "privacy": {"k": 2},
}
TABLE = pa.table({"age": [1, 2], "disease": ["flu", "gout"]})
OF_SPARK = ("SPARK_REMOTE", "DATABRICKS_RUNTIME_VERSION", PORT, "TCLOSE_MASTER", "TCLOSE_ENGINE")


def spec_with(**settings: Any) -> ReleaseSpec:
    return ReleaseSpec.model_validate({"output": {"path": "/out"}, **SPEC, **settings})


@pytest.fixture
def nothing_of_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process in which neither the environment nor a session says that Spark is there."""
    for name in OF_SPARK:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", None)


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch, nothing_of_spark: None) -> list[str]:
    """The engines on which stages were begun: no stage runs, and no session is started."""
    begun: list[str] = []

    def begin(run: Any, **_: Any) -> None:
        begun.append("local" if isinstance(run.session, LocalSession) else "spark")

    class Nothing:
        """A run, a lock, or events, of which nothing is kept."""

        def __init__(
            self,
            spec: Any = None,
            session: Any = None,
            announce: Any = None,
            *_: Any,
        ) -> None:
            self.announce = announce
            self.session, self.events = session, self if spec is None else Nothing()

        def __enter__(self) -> Nothing:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def locked(self, to_read: bool) -> Nothing:
            return Nothing()

    for name in STAGES:
        monkeypatch.setattr(pipeline, name, begin)
    monkeypatch.setattr("tclose_spark.io.run.Run", Nothing)
    monkeypatch.setattr(driver, "start_early", lambda path: None)
    for name in ("find_session", "get_session"):
        monkeypatch.setattr(f"tclose_spark.io.spark.session.{name}", lambda title: object())
    monkeypatch.setattr("tclose_spark.io.spark.session.borrowed", lambda found: Nothing())
    return begun


def test_an_engine_is_chosen_by_size_and_by_what_is_there() -> None:
    for work, name in (
        (Work(size=MOST_BYTES), "local"),
        (Work(size=MOST_BYTES + 1), "spark"),
        (Work(rows=MOST_ROWS), "local"),
        (Work(size=9, rows=MOST_ROWS), "local"),
        (Work(size=9, rows=MOST_ROWS + 1), "spark"),
        (Work(rows=MOST_ROWS + 1), "spark"),
        (Work(needs="output.table"), "spark"),
    ):
        assert choose_engine(Asked(), work, "").name == name
        assert choose_engine(Asked(), work, "a Spark session is active").name == "spark"
        assert choose_engine(Asked("spark", "--engine"), work, "").name == "spark"
        if not work.needs:
            assert (
                choose_engine(Asked("local", "--engine"), work, "a Spark session is active").name
                == "local"
            )


def test_the_reason_is_told() -> None:
    assert [choose_engine(asked, work, present).line for asked, work, present in (
        (Asked(), Work(size=2_500_000), ""),
        (Asked(), Work(), ""),
        (Asked(), Work(rows=3000), ""),
        (Asked(), Work(rows=3_000_000), ""),
        (Asked(), Work(size=41_000_000, rows=2_000_001), ""),
        (Asked(), Work(size=2_300_000_000), ""),
        (Asked(), Work(needs="output.table"), ""),
        (Asked(), Work(), "a Spark session is active"),
        (Asked("local", "TCLOSE_ENGINE"), Work(), ""),
    )] == [
        "engine     local: 2.5 MB of files, no Spark session",
        "engine     local: nothing to read, no Spark session",
        "engine     local: 3,000 rows in memory, no Spark session",
        "engine     spark: 3,000,000 rows in memory, more than 2,000,000 rows",
        "engine     spark: 41 MB of files, more than 2,000,000 rows",
        "engine     spark: 2.3 GB of files, more than 1 GB",
        "engine     spark: output.table needs it",
        "engine     spark: a Spark session is active",
        "engine     local: TCLOSE_ENGINE asks for it",
    ]  # fmt: skip


def test_option_before_environment_before_run_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TCLOSE_ENGINE", raising=False)
    assert asked_engine(None, "spark") == Asked("spark", "the run file")
    assert asked_engine(None) == Asked("auto", "the run file")
    monkeypatch.setenv("TCLOSE_ENGINE", "local")
    assert asked_engine(None, "spark") == Asked("local", "TCLOSE_ENGINE")
    assert asked_engine("auto", "spark") == Asked("auto", "the argument engine")
    with called_from_command_line(print):
        assert asked_engine("auto", "spark") == Asked("auto", "--engine")
        with pytest.raises(
            ConfigurationError,
            match=r"^--engine is 'fast'; expected auto, local or spark$",
        ):
            asked_engine("fast", "spark")
    monkeypatch.setenv("TCLOSE_ENGINE", "fast")
    with pytest.raises(
        ConfigurationError,
        match=r"^TCLOSE_ENGINE is 'fast'; expected auto, local or spark$",
    ):
        asked_engine(None, "spark")


def test_a_wrong_engine_in_a_run_file_has_its_line(run_file: RunFile) -> None:
    path = run_file(PEOPLE, **ROLES)
    path.write_text(f"engine: fast\n{path.read_text()}")
    with pytest.raises(
        ConfigurationError,
        match=r"run\.yaml, line 1: engine: found 'fast'; expected .*local",
    ):
        load_spec(path)


def test_the_engine_is_no_part_of_the_configuration() -> None:
    assert (
        spec_with(engine="local").fingerprint
        == spec_with(engine="spark").fingerprint
        == spec_with().fingerprint
    )
    assert spec_with(privacy={"k": 3}).fingerprint != spec_with().fingerprint


@pytest.mark.parametrize(
    ("settings", "needs"),
    [
        ({}, ""),
        ({"input": {"path": "/a.csv", "format": "csv"}}, ""),
        ({"input": {"path": "/people", "format": "delta"}}, ""),
        ({"input": {"path": "census.people", "format": "table"}}, "input.format: table"),
        ({"input": {"path": "hdfs://a/b"}}, "the URI of input.path"),
        ({"input": {"path": "/data/part-*.parquet"}}, "the pattern of input.path"),
        ({"output": {"path": "/out", "table": "a.b"}}, "output.table"),
        ({"output": {"path": "hdfs://a/b"}}, "the URI of output.path"),
        ({"output": {"public": "/out", "internal": "hdfs://a/b"}}, "the URI of output.internal"),
        (
            {
                "attributes": {
                    **SPEC["attributes"],
                    "quasi_identifiers": {"zip": {"hierarchy": "hdfs://a/zip.csv"}},
                },
            },
            "the URI of the hierarchy of 'zip'",
        ),
    ],
    ids=str,
)
def test_what_only_spark_can_do(settings: dict[str, Any], needs: str) -> None:
    work = work_of("release", spec_with(**settings))
    assert work.needs == needs
    assert choose_engine(Asked(), work, "").name == ("spark" if needs else "local")
    if needs:
        with pytest.raises(
            ConfigurationError,
            match=f"^engine: the run file asks for local, and {needs} needs Spark",
        ):
            choose_engine(Asked("local"), work, "")


STORED = {
    "input": {"path": "s3a://raw/people"},
    "output": {"public": "s3://a/out", "internal": "gs://b/out"},
}


def test_files_on_an_object_store_are_read_here(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use_as_store(tmp_path, monkeypatch)
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    people = tmp_path / "raw/people"
    people.mkdir(parents=True)
    pq.write_table(TABLE, people / "part-1.parquet")
    pq.write_table(TABLE, people / "part-2.parquet")
    work = work_of("release", spec_with(**STORED))
    assert work == Work(size=2 * (people / "part-1.parquet").stat().st_size, rows=4)
    assert (
        choose_engine(Asked(), work, "").line
        == f"engine     local: {work.size / 1000:.1f} kB of files, no Spark session"
    )
    monkeypatch.setattr(engine_choice, "MOST_ROWS", 3)
    assert choose_engine(Asked(), work_of("release", spec_with(**STORED)), "").name == "spark"


@pytest.mark.parametrize(
    ("bucket", "path"),
    [("raw", "s3a://raw/people"), ("a", "s3://a/out"), ("b", "gs://b/out")],
)
def test_a_store_that_refuses_is_left_to_spark(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    bucket: str,
    path: str,
) -> None:
    use_as_store(tmp_path, monkeypatch, refused=bucket)
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    work = work_of("release", spec_with(**STORED))
    told = f"engine     spark: this process does not open {path} (access denied)"
    assert choose_engine(Asked(), work, "").line == told
    assert (
        choose_engine(Asked("local"), work, "").name == "local"
    )  # as was asked for; it reports the same
    monkeypatch.setattr(engine_choice, "find_spec", lambda name: None)
    assert choose_engine(Asked(), work_of("release", spec_with(**STORED)), "").name == "local"


def test_options_of_spark_submit_may_open_a_store(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use_as_store(tmp_path, monkeypatch)
    monkeypatch.setenv(
        "PYSPARK_SUBMIT_ARGS",
        "--packages org.apache.hadoop:hadoop-aws:3.4.2 pyspark-shell",
    )
    choice = choose_engine(Asked(), work_of("release", spec_with(**STORED)), "")
    assert (
        choice.line
        == "engine     spark: PYSPARK_SUBMIT_ARGS is set, and may say how to reach s3a://raw/people"
    )
    assert choose_engine(Asked(), work_of("release", spec_with()), "").name == "local"


def test_a_release_on_a_store_is_read_where_it_was_made(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use_as_store(tmp_path, monkeypatch, refused="closed")
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    hide_spark(monkeypatch)  # a session reads every store
    assert is_read_here("s3://open/out")
    assert not is_read_here("s3://closed/out")
    assert is_read_here("s3://closed/out", "local")
    assert not is_read_here("s3://open/out", "spark")
    assert not is_read_here("hdfs://host/out")
    assert is_read_here("/out", "spark")
    monkeypatch.setattr(engine_choice, "spark_present", lambda: "a Spark session is active")
    assert not is_read_here("s3://open/out")
    assert is_read_here("s3://open/out", "local")


def test_a_store_is_asked_only_if_it_decides(
    monkeypatch: pytest.MonkeyPatch,
    nothing_of_spark: None,
) -> None:
    def ask(root: str) -> Any:
        raise AssertionError(f"{root} was opened")

    monkeypatch.setattr("tclose_spark.io.storage.stores._opened", ask)
    for engine in ("local", "spark"):
        assert session.choose("release", asked_engine(engine), spec_with(**STORED)).name == engine
    monkeypatch.setattr(session, "spark_present", lambda: "a Spark session is active")
    assert session.choose("release", asked_engine(None), spec_with(**STORED)).name == "spark"


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "delta"])
def test_small_files_of_many_rows_are_many_rows(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
) -> None:
    """A gigabyte of Parquet may hold more rows than this process."""
    table, path = (
        pa.table({"age": pa.array([1] * 5000), "disease": ["flu"] * 5000}),
        tmp_path / f"people.{kind}",
    )
    if kind == "parquet":
        path.mkdir()
        pq.write_table(table.slice(0, 2000), path / "part-1.parquet")
        pq.write_table(table.slice(2000), path / "part-2.parquet")
    elif kind == "delta":
        write_deltalake(path, table)
    else:
        with (gzip.open if kind.endswith("gz") else open)(path, "wb") as file:
            pa_csv.write_csv(table, file)
    spec = spec_with(input={"path": str(path), "format": kind.removesuffix(".gz")})
    monkeypatch.setattr(engine_choice, "MOST_ROWS", 5001)
    assert choose_engine(Asked(), work_of("release", spec), "").name == "local"
    monkeypatch.setattr(engine_choice, "MOST_ROWS", 4999)
    assert choose_engine(Asked(), work_of("release", spec), "").name == "spark"


def test_the_table_decides(tmp_path: Path, spark: SparkSession) -> None:
    pq.write_table(TABLE, tmp_path / "a.parquet")
    spec = spec_with(input={"path": str(tmp_path / "a.parquet")})
    assert work_of("profile", spec) == Work(size=(tmp_path / "a.parquet").stat().st_size, rows=2)
    assert work_of("release", spec_with(), TABLE) == Work(rows=2)
    assert work_of("release", spec_with(), spark.range(2)).needs == "a DataFrame of Spark"


@pytest.mark.parametrize(
    "verb",
    sorted({"audit", "explain", "compare", "suggest", "hierarchy", "generate"} - LOCAL_VERBS),
)
def test_other_verbs_work_on_spark(verb: str) -> None:
    with pytest.raises(
        ConfigurationError,
        match=f"--engine asks for local, and {verb} needs Spark; expected auto or",
    ):
        choose_engine(Asked("local", "--engine"), work_of(verb), "")
    assert choose_engine(Asked(), work_of(verb), "").line == f"engine     spark: {verb} needs it"
    assert all(not work_of(name, spec_with()).needs for name in STAGES)


def test_spark_is_seen_where_it_is(nothing_of_spark: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert spark_present() == ""
    for name, told in (
        ("TCLOSE_SPARK_LOCAL_DIR", "TCLOSE_SPARK_LOCAL_DIR is set"),
        ("TCLOSE_MASTER", "TCLOSE_MASTER is set"),
        ("SPARK_REMOTE", "SPARK_REMOTE is set"),
        ("DATABRICKS_RUNTIME_VERSION", "the platform provides a session"),
        (PORT, "spark-submit started this process"),
    ):
        with monkeypatch.context() as patch:
            patch.setenv(name, "1")
            assert spark_present() == told


def test_a_session_is_seen(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in OF_SPARK:
        monkeypatch.delenv(name, raising=False)
    assert spark_present() == "a Spark session is active"
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", None)
    assert spark_present() == ""  # imported, and nothing runs


def test_a_small_table_is_released_in_this_process(
    on: list[str],
    run_file: RunFile,
    capfd: Any,
) -> None:
    said: list[str] = []
    path = run_file(PEOPLE, **ROLES)
    session.run_stages(given_run(None, path), "profile", "plan", log=said.append)
    assert on == ["local", "local"]
    (line,) = said
    assert re.fullmatch(r"engine     local: [\d.]+ kB of files, no Spark session", line)
    assert cli.main(["profile", str(path)]) == 0
    assert cli.main(["profile", str(path), "--engine", "spark"]) == 0
    assert on == ["local", "local", "local", "spark"]
    told = capfd.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == [line, "engine     spark: --engine asks for it"]


def test_the_engine_is_named_first_and_not_beside_an_error(
    on: list[str],
    run_file: RunFile,
    monkeypatch: pytest.MonkeyPatch,
    capfd: Any,
) -> None:
    path, told = run_file(PEOPLE, **ROLES), ["profile    12 rows"]

    def speak(run: Any, **_: Any) -> None:
        for line in told:
            run.announce(line)
        raise ConfigurationError("this is wrong")

    monkeypatch.setattr(pipeline, "profile", speak)
    assert cli.main(["profile", str(path), "--engine", "local"]) == 2
    assert capfd.readouterr().err.splitlines() == [
        "engine     local: --engine asks for it",
        "profile    12 rows",
        "error: this is wrong",
    ]
    told.clear()
    assert cli.main(["profile", str(path), "--engine", "local"]) == 2
    assert capfd.readouterr().err == "error: this is wrong\n"


@pytest.mark.parametrize("verb", ["audit", "explain"])
def test_the_run_file_of_an_audit_asks_for_its_engine(
    nothing_of_spark: None,
    run_file: RunFile,
    capfd: Any,
    verb: str,
) -> None:
    path = run_file(PEOPLE, **ROLES)
    path.write_text(f"engine: local\n{path.read_text()}")
    cli.main([verb, load_spec(path).input.path, "--config", str(path)])
    assert "engine     local: the run file asks for it" in capfd.readouterr().err.splitlines()
    assert cli.main([verb, str(path.parent / "*.csv"), "--config", str(path)]) == 2
    assert "the run file asks for local, and the pattern of input.path needs Spark" in (
        capfd.readouterr().err
    )


def test_local_refuses_a_catalog_table_and_names_the_line(
    on: list[str],
    run_file: RunFile,
    capfd: Any,
) -> None:
    path = run_file(PEOPLE, **ROLES, output={"table": "a.b"})
    path.write_text(f"engine: local\n{path.read_text()}")
    assert cli.main(["release", str(path)]) == 2
    asked = (
        "engine: the run file asks for local, and output.table needs Spark; expected auto or spark"
    )
    assert capfd.readouterr().err == f"error: {path}, line 1: {asked}\n"
    with pytest.raises(
        ConfigurationError,
        match=r"^the argument engine asks for local, and output.table needs Spark",
    ):
        tc.run_stage("profile", None, path, engine="local")
    assert on == []


def test_jobs_work_on_spark(
    on: list[str],
    run_file: RunFile,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = run_file(PEOPLE, **ROLES)
    path.write_text(f"engine: local\n{path.read_text()}")
    monkeypatch.setattr("sys.argv", ["tclose-job", "profile", str(path)])
    cli.job()
    assert on == ["spark"]


@pytest.fixture
def refusing(monkeypatch: pytest.MonkeyPatch, on: list[str]) -> None:
    """Makes the local engine refuse each input."""

    def refuse(run: Any, **_: Any) -> None:
        on.append("local" if isinstance(run.session, LocalSession) else "spark")
        if on[-1] == "local":
            raise NeedsSparkError("people.csv has line breaks inside quotes")

    monkeypatch.setattr(pipeline, "profile", refuse)


def test_what_only_spark_can_read_is_read_on_spark(
    on: list[str],
    refusing: None,
    run_file: RunFile,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []
    run = given_run(None, run_file(PEOPLE, **ROLES))
    session.run_stages(run, "profile", log=said.append)
    assert on == ["local", "spark"]
    assert said == [
        "engine     spark: people.csv has line breaks inside quotes, which the local engine does "
        "not read",
    ]
    with pytest.raises(NeedsSparkError):  # as was asked for
        session.run_stages(run, "profile", log=None, engine="local")
    monkeypatch.setattr(session, "find_spec", lambda name: None)
    with pytest.raises(NeedsSparkError):  # without another engine
        session.run_stages(run, "profile", log=None)
    assert on == ["local", "spark", "local", "local"]


def test_a_table_in_memory_is_a_view_of_the_session(
    on: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[pa.Table] = []

    def look(run: Any, **_: Any) -> None:
        ((name, table),) = run.session.views.items()
        seen.append(table.collect())
        raise ConfigurationError(f"input.path: {name} has no rows")

    monkeypatch.setattr(pipeline, "profile", look)
    stream = TABLE.to_reader()
    with pytest.raises(ConfigurationError, match=r"^the table that was given has no rows$"):
        tc.run_stage("profile", stream, {**SPEC, "input": {"path": "x"}}, "/out", log=None)
    assert seen == [TABLE]


def test_a_local_release_is_read_without_spark(finished: Path, spark: SparkSession) -> None:
    """In a process that cannot import Spark: the rows and the classes are those that Spark
    reads.
    """
    program = """
import json, sys
for name in ("pyspark", "py4j"):
    sys.modules[name] = None
import tclose_spark as tc
made = tc.Release.open(sys.argv[1])
table = made.to_arrow()
assert made.table.equals(table)
sizes = sorted(made.classes["size"].to_pylist())
print(json.dumps([table.num_rows, table.column_names, made.preview(), len(made.to_pandas()), sizes]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, finished],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "80"},
    )
    assert done.stderr == ""
    rows, names, preview, pandas_rows, sizes = json.loads(done.stdout)
    made = tc.Release(Output(path=str(finished)))
    expected = spark.read.format("delta").load(f"{made.path}/release").toArrow()
    classes = spark.read.format("delta").load(f"{made.internal_path}/classes")
    assert sizes == sorted(row["size"] for row in classes.collect())
    by = [(name, "ascending") for name in names]
    assert made.to_arrow().cast(expected.schema).sort_by(by) == expected.sort_by(by)
    assert (rows, names, pandas_rows) == (
        expected.num_rows,
        expected.column_names,
        expected.num_rows,
    )
    lines = preview.splitlines()
    shown = [line.split("  ") for line in lines[3:]]
    assert lines[0] == f"published rows ({len(shown)} shown), with the precision of their labels"
    assert 1 < len(shown) <= 10
    assert made.preview() == preview


def test_a_large_release_and_one_behind_a_uri_are_tables_of_spark(
    finished: Path,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = tc.Release(Output(path=str(finished)))
    assert isinstance(made.table, DataFrame)  # of the session of the tests
    monkeypatch.delenv("TCLOSE_ENGINE", raising=False)
    monkeypatch.setattr("tclose_spark.api.release.spark_present", lambda: "")
    assert isinstance(made.table, pa.Table)
    assert isinstance(made.classes, pa.Table)
    assert isinstance(tc.Release(Output(path=f"file://{finished}")).table, DataFrame)
    rows = made.certificate["release"]["rows"]
    monkeypatch.setattr("tclose_spark.api.engine_choice.MOST_ROWS", rows - 1)
    assert isinstance(made.table, DataFrame)
    assert isinstance(made.classes, pa.Table)
    monkeypatch.setenv("TCLOSE_ENGINE", "local")
    assert isinstance(made.table, pa.Table)


def test_the_command_line_imports_no_spark() -> None:
    program = """
import sys
import tclose_spark.api.public, tclose_spark.cli
print(*sorted(name for name in sys.modules if name.split(".")[0] in ("pyspark", "py4j")))
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "\n"
