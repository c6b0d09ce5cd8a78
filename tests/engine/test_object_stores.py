"""Input, hierarchies and output on object stores that pyarrow opens, in this process."""

from __future__ import annotations

import gzip
import shutil
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from conftest import draw_people, undated
from object_store import FilesInFolder, use_as_store

import tclose_spark as tc
from tclose_spark.api.errors import known
from tclose_spark.engine.local.reading import LOCAL_INPUTS
from tclose_spark.engine.local.table import NeedsSparkError
from tclose_spark.engine.tables import collect
from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.storage import folder as moving
from tclose_spark.io.storage.folders import ArrowFolder
from tclose_spark.io.storage.stores import StoreError, StorePath
from tclose_spark.runfile.spec import Input

ROWS = 120


class Killed(BaseException):
    """What ends a process in these tests."""


@pytest.fixture(autouse=True)
def buckets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the buckets. In `raw` are people and a hierarchy."""
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    for module in (
        "api.engine_choice",
        "api.session",
        "api.release",
    ):  # other tests may have left a session
        monkeypatch.setattr(f"tclose_spark.{module}.spark_present", lambda: "")
    use_as_store(tmp_path / "buckets", monkeypatch)
    (tmp_path / "buckets/raw").mkdir(parents=True)
    return tmp_path / "buckets"


@pytest.fixture
def run_file(write_run: Callable[..., Path], tmp_path: Path) -> Path:
    return write_run(
        tmp_path / "run",
        draw_people(3, ROWS),
        quasi={"age": {"type": "numeric"}, "sex": {}, "city": {"hierarchy": "cities.csv"}},
        sensitive={"disease": {"t": "0.4"}},
        k=8,
        insensitive_attributes=["site"],
        drop_others=True,
    )


@pytest.fixture
def stored(run_file: Path, buckets: Path) -> list[str]:
    """The settings of the same run with its files in buckets."""
    people = pq.read_table(run_file.parent / "people.parquet")
    (buckets / "raw/people").mkdir()
    pq.write_table(people.slice(0, 50), buckets / "raw/people/part-0.parquet")
    pq.write_table(people.slice(50), buckets / "raw/people/part-1.parquet")
    shutil.copy(run_file.parent / "cities.csv", buckets / "raw/cities.csv")
    return [
        "input.path=s3a://raw/people",
        "attributes.quasi_identifiers.city.hierarchy=s3://raw/cities.csv",
        "output.path=",
        "output.public=s3a://releases/people",
        "output.internal=s3a://inside/people",
        "output.export=[csv, parquet]",
    ]


def files(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}


@pytest.fixture
def expected(run_file: Path) -> dict[str, Any]:
    """The certificate of the release on this disk."""
    return undated(
        tc.release(
            None,
            run_file,
            overrides=["output.export=[csv, parquet]"],
            log=None,
        ).certificate,
    )


def test_exports_on_stores_may_be_one_file(
    run_file: Path,
    stored: list[str],
    buckets: Path,
) -> None:
    tc.release(None, run_file, overrides=[*stored, "output.one_file=true"], log=None)
    names = {name for name in files(buckets) if "/release_" in name}
    assert names == {
        f"releases/people/release_{kind}/release.{kind}" for kind in ("csv", "parquet")
    }
    assert (
        pq.read_table(buckets / "releases/people/release_parquet/release.parquet").num_rows == ROWS
    )
    tc.verify(None, run_file, overrides=stored, log=None)


def test_a_release_from_and_to_stores(
    run_file: Path,
    stored: list[str],
    expected: dict[str, Any],
    buckets: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same certificate; then another in its place, which was killed in its publication and is
    repeated.
    """
    said: list[str] = []
    made = tc.release(None, run_file, overrides=stored, log=said.append)
    assert said[0].startswith("engine     local: ")
    assert undated(made.certificate) == expected
    assert made.to_arrow().num_rows == ROWS
    first = files(buckets)
    assert not [name for name in first if "lock" in name or "staging" in name]
    assert {name.split("/")[2] for name in first if name.startswith("releases/")} == {
        "certificate.json",
        "codebook.csv",
        "contract.yaml",
        "release",
        "release_csv",
        "release_parquet",
        "report.html",
    }
    with pytest.raises(
        ConfigurationError,
        match="s3a://releases/people holds a finished release; give overwrite=True",
    ):
        tc.release(None, run_file, overrides=stored, log=None)

    moved: list[str] = []
    move: Callable[..., None] = ArrowFolder._move_file

    def kill(self: ArrowFolder, source: ArrowFolder, name: str) -> None:
        if len(moved) == 2:
            raise Killed
        moved.append(name)
        move(self, source, name)

    with monkeypatch.context() as patch:
        patch.setattr(ArrowFolder, "_move_file", kill)
        patch.setattr(moving, "AT_ONCE", 1)
        with pytest.raises(Killed):
            tc.release(None, run_file, overrides=stored, overwrite=True, log=None)
    assert not (buckets / "releases/people/certificate.json").exists()
    again = tc.run_stage("publish", None, run_file, overrides=stored, log=None)
    assert undated(again.certificate) == expected
    second = files(buckets)
    assert not [name for name in second if "lock" in name or "staging" in name]
    assert not [name for name in first & second if "part-" in name and not name.startswith("raw/")]
    assert tc.verify(None, run_file, overrides=stored, log=None).certificate == again.certificate


def test_a_finished_release_on_a_store_is_opened(
    run_file: Path,
    expected: dict[str, Any],
    buckets: Path,
) -> None:
    shutil.copytree(run_file.parent / "out", buckets / "releases/opened")
    made = tc.Release.open("gs://releases/opened")
    assert undated(made.certificate) == expected
    assert made.report.path == "gs://releases/opened/public/report.html"
    assert made.to_arrow().num_rows == ROWS
    assert made.table == made.to_arrow()
    assert made.classes.num_rows == expected["release"]["classes"]
    with pytest.raises(
        ConfigurationError,
        match=r"^there is no finished release in gs://releases/none/public",
    ):
        tc.Release.open("gs://releases/none")


def test_the_store_that_refuses_is_named(
    run_file: Path,
    stored: list[str],
    buckets: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """When it is opened, and when it is written to."""
    how: dict[str, Any] = {"overrides": stored, "engine": "local", "log": None}
    use_as_store(buckets, monkeypatch, refused="releases")
    with pytest.raises(
        ConfigurationError,
        match=r"s3a://releases/people cannot be read or written \(access denied\)$",
    ):
        tc.release(None, run_file, **how)
    use_as_store(buckets, monkeypatch)
    write = FilesInFolder.open_output_stream
    for bucket in ("releases", "inside"):

        def refuse(self: Any, path: str, *args: Any, refused: str = bucket, **options: Any) -> Any:
            if f"/{refused}/" in path:
                raise OSError(
                    "AWS Error ACCESS_DENIED during PutObject operation: signed with AKIA",
                )
            return write(self, path, *args, **options)

        monkeypatch.setattr(FilesInFolder, "open_output_stream", refuse)
        said = rf"output: s3a://{bucket}/people cannot be written \(access denied\)$"
        with pytest.raises(ConfigurationError, match=said):
            tc.release(None, run_file, **how)
    assert {name.split("/")[0] for name in files(buckets)} == {"raw"}


def test_tables_on_a_store_are_audited(run_file: Path, stored: list[str], buckets: Path) -> None:
    columns: dict[str, Any] = {"quasi_identifiers": ["sex", "city"], "sensitive": ["disease"]}
    here = tc.audit(run_file.parent / "people.parquet", **columns)
    there = tc.audit(
        "s3://raw/people",
        format="parquet",
        classes_output="s3://inside/classes",
        **columns,
    )
    assert there.figures == here.figures
    assert "inside/classes/_delta_log/00000000000000000000.json" in files(buckets)


@pytest.mark.parametrize("name", ["a%20b", "a#b"])
def test_delta_tables_with_names_that_deltalake_takes_for_others_are_left_to_spark(
    buckets: Path,
    name: str,
) -> None:
    (buckets / "raw" / name / "_delta_log").mkdir(parents=True)
    with pytest.raises(NeedsSparkError, match=f"s3://raw/{name} has % or #"):
        LOCAL_INPUTS.read_table(LocalSession(), Input(path=f"s3://raw/{name}", format="delta"))


@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz"])
def test_csv_on_a_store(buckets: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    people = draw_people(1, 5000).select(["age", "city", "id"])
    path, how = buckets / "raw" / name, {"header": "true", "inferSchema": "true"}
    with (gzip.open if name.endswith("gz") else open)(path, "wb") as file:
        csv.write_csv(people, file)
    monkeypatch.setattr("tclose_spark.engine.local.csv_files.PART", 10_000)
    here, there = (
        collect(
            LOCAL_INPUTS.read_table(LocalSession(), Input(path=where, format="csv", options=how)),
        )
        for where in (str(path), f"s3://raw/{name}")
    )
    assert there == here
    assert there["id"].to_pylist() == list(range(5000))


def test_what_is_missing_or_damaged_is_named(buckets: Path) -> None:
    (buckets / "raw/no.parquet").write_text("no")
    for path, said in (
        ("s3://raw/none", "s3://raw/none does not exist"),
        ("s3://raw/no.parquet", "no.parquet"),
    ):
        with pytest.raises(InputError, match=said):
            LOCAL_INPUTS.read_table(LocalSession(), Input(path=path, format="parquet"))


@pytest.mark.parametrize("name", ["people.csv", "people.parquet"])
def test_a_store_that_stops_answering_is_not_taken_for_damage(
    buckets: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    table = draw_people(1, 50).select(["age", "id"])
    (csv.write_csv if name.endswith("csv") else pq.write_table)(table, buckets / "raw" / name)
    read = LOCAL_INPUTS.read_table(
        LocalSession(),
        Input(path=f"s3://raw/{name}", format=name.rpartition(".")[2]),
    )
    use_as_store(buckets, monkeypatch)

    def refuse(self: Any, path: str) -> None:
        raise OSError(
            f"When reading '{path}': AWS Error SLOW_DOWN during GetObject operation: signed with "
            "AKIA",
        )

    monkeypatch.setattr(FilesInFolder, "open_input_file", refuse, raising=False)
    with pytest.raises(StoreError) as found:
        collect(read)
    assert "AKIA" not in "".join(traceback.format_exception(found.value))
    told = known(found.value)
    assert isinstance(told, ConfigurationError)
    assert str(told) == f"s3://raw/{name} cannot be read or written (slow down)"


@pytest.mark.parametrize(
    "uri",
    ["s3://key:secret@bucket/a", "s3://bucket?secret=a", "abfss://container/a", "gs://"],
)
def test_a_uri_with_credentials_or_without_a_bucket_is_refused(uri: str) -> None:
    with pytest.raises(ConfigurationError, match="is not as expected: s3://BUCKET/PATH") as found:
        StorePath.of(uri)
    assert "secret" not in str(found.value)


def test_places_of_a_store() -> None:
    place = StorePath.of("s3a://raw/people/")
    assert [str(place), place.name, place.path.rpartition("buckets/")[2]] == [
        "s3a://raw/people",
        "people",
        "raw/people",
    ]
    assert str(place / "a/b") == "s3a://raw/people/a/b"
    assert (place / "a").parent == place
    assert not place.exists()
    (place / "a/b").write_bytes(pa.py_buffer(b"1"))
    assert [str(one) for one in place.iterdir()] == ["s3a://raw/people/a"]
    assert [(str(one), size.st_size) for one, size in place.walk()] == [("s3a://raw/people/a/b", 1)]
    assert list(place.walk(recursive=False)) == []
    place.remove()
    assert not place.exists()
