"""What tells one state of an input from another."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tclose_spark.io.input import reading as module
from tclose_spark.io.input.reading import commit_of, input_state
from tclose_spark.runfile.spec import Input


def state(spark: SparkSession, source: Input) -> str | None:
    return input_state(spark, source, commit_of(spark, source))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "people [1].csv"
    (folder / "part").mkdir(parents=True)
    (folder / "part/a.csv").write_text("age\n31\n")
    (folder / "b.csv").write_text("age\n32\n")
    return folder


@pytest.mark.parametrize("place", ["{}", "file://{}"])
def test_of_files_it_is_their_names_sizes_and_times(
    spark: SparkSession,
    folder: Path,
    place: str,
) -> None:
    source = Input(path=place.format(folder), format="csv")
    file = folder / "part/a.csv"
    found = [state(spark, source)]
    file.write_text("age\n311\n")
    found.append(state(spark, source))
    os.utime(file, ns=(0, file.stat().st_mtime_ns + 1))
    found.append(state(spark, source))
    file.rename(folder / "c.csv")
    found.append(state(spark, source))
    assert found[-1] == state(spark, source)
    assert None not in found
    assert len(set(found)) == len(found)


def test_files_behind_links_are_looked_at(
    spark: SparkSession,
    folder: Path,
    tmp_path: Path,
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/c.csv").write_text("age\n33\n")
    (folder / "linked").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    source = Input(path=str(folder), format="csv")
    found = state(spark, source)
    assert found == state(spark, source)
    (tmp_path / "elsewhere/c.csv").write_text("age\n333\n")
    assert found is not None
    assert found != state(spark, source)


def test_of_files_elsewhere_spark_lists_them(
    spark: SparkSession,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "local_path", lambda path: None)
    source = Input(path=f"file://{folder}", format="csv")
    found = [state(spark, source), state(spark, source)]
    (folder / "part/a.csv").write_text("age\n311\n")
    found.append(state(spark, source))
    assert found[0] is not None
    assert found[0] == found[1] != found[2]


def test_of_a_delta_table_it_is_its_commit(spark: SparkSession, tmp_path: Path) -> None:
    source = Input(path=str(tmp_path / "delta"), format="delta")

    def write(mode: str) -> str | None:
        spark.createDataFrame([(1,)], "age int").write.format("delta").mode(mode).save(source.path)
        return state(spark, source)

    first, second = write("append"), write("append")
    assert first != second
    assert state(spark, source) == second
    assert (
        state(spark, Input(path=source.path, format="delta", options={"versionAsOf": "0"})) == first
    )


def test_a_delta_table_that_was_made_anew_is_another(spark: SparkSession, tmp_path: Path) -> None:
    found = []
    for name in ("a", "b"):
        spark.createDataFrame([(1,)], "age int").write.format("delta").save(str(tmp_path / name))
        commit = commit_of(spark, Input(path=str(tmp_path / name), format="delta"))
        assert commit is not None
        assert commit.version == 0
        found.append(commit)
    assert found[0] != found[1]


def test_of_a_view_there_is_none(spark: SparkSession, folder: Path) -> None:
    spark.range(3).createOrReplaceTempView("people_view")
    assert state(spark, Input(path="people_view", format="table")) is None
    assert state(spark, Input(path=str(folder / "none"), format="csv")) is None
