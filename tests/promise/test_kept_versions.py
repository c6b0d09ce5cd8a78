"""Earlier releases that stay readable as versions of the Delta table (`output.keep_versions`)."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from people import list_again
from promise_page import promises
from town import ROLES, months, rows
from typer.testing import CliRunner

from tclose_spark import pipeline
from tclose_spark.cli.commands import app
from tclose_spark.errors import ConfigurationError, GuaranteeError
from tclose_spark.io.run import Run
from tclose_spark.stages.verify import verify_finished

Next = Callable[..., Mapping[str, Any]]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture(scope="module")
def releases_in(
    write_run: Callable[..., Path],
    open_run: Callable[..., Run],
) -> Callable[..., Next]:
    """`releases_in(folder, first)(keep)` releases the next month of a town into one output; returns
    the certificate.
    """

    def begun(folder: Path, first: int = 0) -> Next:
        town = islice(months(0, 100), first, None)

        def release(keep: int = 2, leavers: str = "keep") -> Mapping[str, Any]:
            output = {"after": "out", "leavers": leavers, "keep_versions": keep}
            conf = write_run(folder, rows(next(town)), output=output, **ROLES)
            return pipeline.release(open_run(conf, overwrite=True))

        return release

    return begun


@pytest.fixture
def next_month(tmp_path: Path, releases_in: Callable[..., Next]) -> Next:
    return releases_in(tmp_path)


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory, releases_in: Callable[..., Next]) -> Path:
    """A folder with two months, and copies of their output after each of them."""
    folder = tmp_path_factory.mktemp("town")
    release = releases_in(folder)
    for month in ("1", "2"):
        release()
        shutil.copytree(folder / "out", folder / month)
    return folder


@pytest.fixture
def after(town: Path) -> Callable[[int], Path]:
    """`after(months)`: the output of `town` as it was after so many months."""

    def restored(number: int) -> Path:
        shutil.rmtree(town / "out")
        return Path(shutil.copytree(town / str(number), town / "out"))

    return restored


def table_at(output: Path, version: int | None = None) -> pa.Table:
    """The rows of a release at a version, as any reader of Delta reads them."""
    return DeltaTable(str(output / "public/release"), version).to_pyarrow_table()


@promises("It has no history, except the earlier releases that `output.keep_versions` keeps.")
def test_earlier_releases_are_versions_of_the_table(
    out: Path,
    next_month: Next,
    open_run: Callable[..., Run],
) -> None:
    next_month()
    first = table_at(out)
    next_month()
    second = table_at(out)
    assert table_at(out, 0) == first != second
    certificate = next_month()
    assert certificate["earlier"]["versions"] == [1, 2]
    page = (out / "public/report.html").read_text()
    assert "version 2 is this one, and version 1 is the one before." in page
    assert table_at(out, 1) == second
    assert table_at(out) == table_at(out, 2)
    assert table_at(out).num_rows == certificate["release"]["rows"]
    with pytest.raises(FileNotFoundError):
        table_at(out, 0)
    assert verify_finished(open_run(out.parent / "run.yaml")).holds
    found = CliRunner().invoke(
        app,
        ["audit", str(out / "public/release"), "--quasi-identifiers", "age,sex"],
    )
    assert f"{certificate['release']['rows']:,} rows" in found.stdout, found.output


@promises("Withheld people are still in the earlier versions of the table.")
def test_withheld_people_stay_in_earlier_versions(out: Path, next_month: Next) -> None:
    next_month(leavers="withhold")
    first = table_at(out)
    assert next_month(leavers="withhold")["earlier"]["withheld"] > 0
    assert table_at(out).num_rows < first.num_rows
    assert table_at(out, 0) == first


@pytest.mark.on_spark
def test_Spark_keeps_and_reads_versions(out: Path, next_month: Next, spark: Any) -> None:
    next_month()
    first = table_at(out)
    next_month()
    reader = spark.read.format("delta")
    for version, rows_then in enumerate([first, table_at(out)]):
        read = reader.option("versionAsOf", version).load(str(out / "public/release"))
        assert sorted(map(tuple, read.collect())) == sorted(
            tuple(row.values()) for row in rows_then.to_pylist()
        )


def test_versions_begin_with_the_release_before_the_key_is_given(
    out: Path,
    next_month: Next,
) -> None:
    for _ in range(2):
        next_month(1)
    assert DeltaTable(str(out / "public/release")).version() == 0
    before = table_at(out)
    next_month(3)
    assert table_at(out, 0) == before
    assert next_month(2)["earlier"]["versions"] == [1, 2]
    assert next_month(9)["earlier"]["versions"] == [1, 2, 3], "version 0 does not come back"
    assert next_month(1)["earlier"]["versions"] == [0]
    assert {path.name for path in (out / "public/release").iterdir() if path.is_dir()} == {
        "_delta_log",
    }


def commit(version: int, **action: Any) -> Callable[[Path], None]:
    """A damage: more in a commit."""

    def damage(table: Path) -> None:
        log = table / f"_delta_log/{version:020}.json"
        log.write_text(log.read_text() + json.dumps(action) + "\n")

    return damage


def without(kind: str, version: int) -> Callable[[Path], None]:
    """A damage: the actions of a kind gone."""

    def damage(table: Path) -> None:
        log = table / f"_delta_log/{version:020}.json"
        log.write_text(
            "".join(line for line in log.read_text().splitlines(True) if f'{{"{kind}"' not in line),
        )

    return damage


STRANGE = {"path": "x.parquet", "deletionTimestamp": 1, "dataChange": True}
ADDED = {
    "path": "x.parquet",
    "partitionValues": {},
    "size": 1,
    "modificationTime": 1,
    "dataChange": True,
}


def written(
    below: str,
    change: Callable[[pa.Table], pa.Table],
    **options: Any,
) -> Callable[[Path], None]:
    """A damage: the file of most rows is written again. If it is the only one, its commit has its
    size.
    """

    def damage(table: Path) -> None:
        file, *more = sorted(
            (table / below).glob("*.parquet"),
            key=lambda one: -pq.read_metadata(one).num_rows,
        )
        pq.write_table(
            change(pq.read_table(file)),
            file,
            **{"store_schema": False, "write_statistics": False, **options},
        )
        if more:
            return  # a table of the evidence, whose log is not compared with the sizes of files
        log = table / f"_delta_log/{0:020}.json"
        log.write_text(
            re.sub(r'"size": ?[0-9]+', f'"size": {file.stat().st_size}', log.read_text()),
        )

    return damage


def other_disease(rows: pa.Table) -> pa.Table:
    """The rows, the first with the disease of another row."""
    place, diseases = rows.column_names.index("disease"), rows["disease"].to_pylist()
    other = next(one for one in diseases if one != diseases[0])
    return rows.set_column(place, "disease", pa.array([other, *diseases[1:]]))


def removed_at(time: Any) -> Callable[[Path], None]:
    """A damage: a time of removal."""

    def damage(table: Path) -> None:
        log = table / f"_delta_log/{1:020}.json"
        log.write_text(
            re.sub(
                r'"deletionTimestamp": ?[0-9]+',
                f'"deletionTimestamp": "{time}"',
                log.read_text(),
            ),
        )

    return damage


def another_history(table: Path) -> None:
    """A damage: one figure of the history."""
    page = table / "../../internal/history.json"
    entries = json.loads(page.read_text())
    entries[0]["rows"] += 1
    page.write_text(json.dumps(entries, indent=1))


a_value_changed = written("_earlier/0", other_disease)
a_row_less = written("_earlier/0", lambda rows: rows.slice(1))
statistics = written("_earlier/0", lambda rows: rows, write_statistics=True)
a_record_less = written("../../internal/records", lambda rows: rows.slice(1))


@promises(
    "With `output.keep_versions`, it holds one for each kept release and each one since",
    "Each readable earlier version of the table has the rows of the release that it was.",
    "The history lists the releases of the line.",
    "Kept records are those of the released rows.",
)
@pytest.mark.parametrize(
    ("damage", "found"),
    [
        (
            without("remove", 1),
            "holds 1 metaData, 1 protocol; expected 1 metaData, 1 protocol, 1 remove",
        ),
        (commit(0, remove=STRANGE), "expected 1 metaData, 1 protocol$"),
        (commit(1, remove=STRANGE), "2 remove; expected 1 metaData, 1 protocol, 1 remove"),
        (commit(1, remove={**STRANGE, "tags": {"who": "p1"}}), "removes a file in an unusual way"),
        (commit(0, add=ADDED), "adds a file in an unusual way"),
        (commit(0, commitInfo={"userName": "p1"}), "1 commitInfo"),
        (
            lambda table: (table / f"_delta_log/{2:020}.json").write_text(""),
            "does not list _delta_log/0*2.json",
        ),
        (
            lambda table: (table / "_earlier/0/x.parquet").write_text("x"),
            "does not list _earlier/0/x.parquet",
        ),
        (
            lambda table: next((table / "_earlier/0").glob("*.parquet")).write_text("x"),
            "not as long as its log says",
        ),
        (lambda table: shutil.rmtree(table / "_earlier"), "_earlier/0/.*is not there"),
        (a_value_changed, "version 0 of .*release has not the rows of the earlier release"),
        (a_row_less, "version 0 of .*release has not the rows of the earlier release"),
        (statistics, "damaged: .*parquet has metadata beyond"),
        (removed_at("p1 has flu"), "removes a file in an unusual way"),
        (lambda table: (table / "../../internal/history.json").unlink(), "history.json is missing"),
        (
            lambda table: (table / "../../internal/history.json").write_text("[]"),
            "history.json does not follow",
        ),
        (another_history, "history.json does not follow from the certificate"),
        (a_record_less, "records has not a record of each released row"),
        (
            lambda table: shutil.rmtree(table / "../../internal/people"),
            "internal/people is missing",
        ),
        (lambda table: shutil.rmtree(table / "../../internal/records"), "records.* cannot be read"),
        (lambda table: shutil.rmtree(table / "../../internal/atoms"), "internal/atoms is missing"),
    ],
)
def test_whatever_else_is_in_the_log_is_found(
    damage: Callable[[Path], None],
    found: str,
    after: Callable[[int], Path],
    open_run: Callable[..., Run],
) -> None:
    out = after(2)
    damage(out / "public/release")
    list_again(out)
    with pytest.raises(GuaranteeError, match=found):
        verify_finished(open_run(out.parent / "run.yaml"))


def test_only_commits_after_the_release_are_called_later(
    after: Callable[[int], Path],
    open_run: Callable[..., Run],
) -> None:
    out = after(2)
    DeltaTable(str(out / "public/release")).delete("sex = 'f'")
    with pytest.raises(GuaranteeError, match=r"later commits: DELETE \(commit 2\)\)"):
        verify_finished(open_run(out.parent / "run.yaml"))


def without_diseases(table: Path) -> None:
    """A damage: the log no longer names a column."""
    log = table / f"_delta_log/{0:020}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    (meta,) = [action["metaData"] for action in actions if "metaData" in action]
    schema = json.loads(meta["schemaString"])
    schema["fields"] = [field for field in schema["fields"] if field["name"] != "disease"]
    meta["schemaString"] = json.dumps(schema)
    log.write_text("".join(json.dumps(action) + "\n" for action in actions))


@pytest.mark.parametrize(
    "damage",
    [
        lambda table: next(table.glob("*.parquet")).write_text("x"),
        lambda table: next(table.glob("*.parquet")).unlink(),
        without_diseases,
        without("metaData", 0),
        commit(0, add=ADDED),
        lambda table: (table / f"_delta_log/{0:020}.json").unlink(),
        lambda table: (table / f"_delta_log/{0:020}.json").write_text("{"),
        lambda table: (table / f"_delta_log/{1:020}.json").write_text(""),
    ],
)
def test_a_changed_earlier_release_is_not_kept(
    damage: Callable[[Path], None],
    after: Callable[[int], Path],
    releases_in: Callable[..., Next],
) -> None:
    out = after(1)
    damage(out / "public/release")
    with pytest.raises(ConfigurationError, match="was changed after its publication"):
        releases_in(out.parent, first=1)()


def test_a_version_that_is_gone_is_missed(out: Path, next_month: Next) -> None:
    for _ in range(2):
        next_month(3)
    shutil.rmtree(out / "public/release/_earlier")
    with pytest.raises(ConfigurationError, match="was changed after its publication: _earlier/0/"):
        next_month(3)


def test_versions_are_those_of_a_line(
    tmp_path: Path,
    write_run: Callable[..., Path],
    open_run: Any,
) -> None:
    with pytest.raises(ConfigurationError, match="versions are those of a line"):
        open_run(
            write_run(tmp_path, rows(next(months(0, 20))), output={"keep_versions": 2}, **ROLES),
        )
