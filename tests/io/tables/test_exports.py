"""`output.export`: the release once more as Parquet and CSV, the same rows, nothing beside them."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest
from people import list_again

from tclose_spark import pipeline
from tclose_spark.engine import exports
from tclose_spark.engine.tables import collect, of_arrow, session_of
from tclose_spark.errors import GuaranteeError, InputError
from tclose_spark.io.run import Run
from tclose_spark.io.run_state import RunState
from tclose_spark.io.spark.installation import minor
from tclose_spark.stages.publish import is_everywhere

N = 60
PEOPLE = pa.table(
    {
        "age": pa.array([None if i % 30 == 0 else 20 + i % 9 for i in range(N)], pa.int32()),
        "born": [date(1990, 1, 1 + i % 20) for i in range(N)],
        "disease": [["flu", "gout", "ulcer"][i % 3] for i in range(N)],
        "note": [[None, "", " a ", 'b"c', "d,e", "f\ng", "h\\", "ü"][i % 8] for i in range(N)],
        "score": pa.array([None if i % 7 == 0 else i / 10 for i in range(N)], pa.float64()),
        "at": pa.array(
            [datetime(2024, 1, 1, i % 24, 0, 0, i, tzinfo=UTC) for i in range(N)],
            pa.timestamp("us", "UTC"),
        ),
    },
)
ROLES: dict[str, Any] = {
    "quasi": {"age": {"type": "numeric"}, "born": {"type": "date", "numeric_output": "bounds"}},
    "sensitive": {"disease": {"t": "0.5"}},
    "insensitive_attributes": ["note", "score", "at"],
    "allow_unique": ["note", "score", "at"],
    "output": {"export": ["parquet", "csv"]},
}


@pytest.fixture(scope="module")
def conf(write_run: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that exports."""
    return write_run(tmp_path_factory.mktemp("exports"), PEOPLE, **ROLES)


@pytest.fixture(scope="module")
def finished(conf: Path, open_run: Callable[..., Run]) -> Path:
    """The folder of what its release published."""
    run = open_run(conf)
    pipeline.release(run)
    return Path(run.public.path())


def test_an_export_has_the_rows_and_nothing_beside_them(finished: Path) -> None:
    names = {path.name for path in finished.iterdir()}
    assert names == {
        "release",
        "certificate.json",
        "report.html",
        "codebook.csv",
        "contract.yaml",
        "release_parquet",
        "release_csv",
    }
    for kind in ("parquet", "csv"):
        files = [path.name for path in (finished / f"release_{kind}").iterdir()]
        assert files
        assert all(name.startswith("part-") and name.endswith(kind) for name in files)


def test_parquet_has_the_rows(finished: Path) -> None:
    files = [(finished / name).glob("*.parquet") for name in ("release_parquet", "release")]
    exported, released = (pa.concat_tables([pq.read_table(file) for file in of]) for of in files)
    exported = exported.cast(released.schema)  # Spark writes times without their zone, which is UTC
    assert sorted(map(str, exported.to_pylist())) == sorted(map(str, released.to_pylist()))


@pytest.mark.skipif(
    minor(pyspark.__version__) == "4.0",
    reason="Parquet of Spark 4.0 always writes them",
)
def test_parquet_has_no_figures_of_columns(finished: Path) -> None:
    for file in (finished / "release_parquet").iterdir():
        groups = pq.ParquetFile(file).metadata
        columns = [
            groups.row_group(i).column(j)
            for i in range(groups.num_row_groups)
            for j in range(groups.num_columns)
        ]
        assert not any(column.is_stats_set and column.statistics.has_min_max for column in columns)


def test_csv_is_read_by_others_as_it_was_written(finished: Path) -> None:
    rows = []
    for file in (finished / "release_csv").iterdir():
        with file.open(encoding="utf-8", newline="") as text:
            rows += list(csv.DictReader(text))
    assert list(rows[0]) == ["age", "born_min", "born_max", "disease", "note", "score", "at"]
    people = PEOPLE.to_pylist()
    assert sorted(row["note"] for row in rows) == sorted(person["note"] or "" for person in people)
    assert sorted(row["score"] for row in rows) == sorted(
        "" if p["score"] is None else str(p["score"]) for p in people
    )
    assert sorted(datetime.fromisoformat(row["at"]) for row in rows) == sorted(
        p["at"] for p in people
    )
    assert all(
        date.fromisoformat(row["born_min"]) <= date.fromisoformat(row["born_max"]) for row in rows
    )


def test_csv_with_formulas_escaped(
    write_run: Callable[..., Path],
    open_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    """Texts that a spreadsheet may calculate get an apostrophe; numbers, and the release itself,
    are as they were.
    """
    texts = ["=1+cmd", "+a", "-a", "@a", "\ta", "\ra", "-5", "+1e3", "a=1", "'=1", "", None]
    table = PEOPLE.set_column(3, "note", pa.array([texts[i % 12] for i in range(N)]))
    table = table.set_column(4, "score", pa.array([-float(i) for i in range(N)]))
    output = {"path": str(tmp_path / "out"), "export": ["csv", "parquet"], "escape_formulas": True}
    conf = write_run(tmp_path, table, **{**ROLES, "output": output})
    pipeline.release(open_run(conf))
    rows = []
    for file in (tmp_path / "out/public/release_csv").iterdir():
        with file.open(encoding="utf-8", newline="") as text:
            rows += list(csv.DictReader(text))
    escaped = ["'=1+cmd", "'+a", "'-a", "'@a", "'\ta", "'\ra", "-5", "+1e3", "a=1", "'=1", "", ""]
    assert sorted(row["note"] for row in rows) == sorted(escaped * 5)
    assert sorted(float(row["score"]) for row in rows) == sorted(-float(i) for i in range(N))
    for kind in ("release", "release_parquet"):
        files = (tmp_path / "out/public" / kind).glob("*.parquet")
        notes = pa.concat_tables([pq.read_table(file) for file in files])["note"].to_pylist()
        assert sorted(map(str, notes)) == sorted(map(str, texts * 5))
    other = open_run(conf, "output.escape_formulas=false")  # it judges what was written
    assert pipeline.verify(other, finished=True).holds
    assert not is_everywhere(other, RunState.parse(other.internal.read("run.json")))
    assert is_everywhere(open_run(conf), RunState.parse(other.internal.read("run.json")))


def test_an_export_may_be_one_file(
    open_run: Callable[..., Run],
    conf: Path,
    tmp_path: Path,
) -> None:
    run = open_run(
        conf,
        f"output={{path: {tmp_path / 'out'}, export: [csv, parquet], one_file: true}}",
    )
    pipeline.release(run)
    for kind in ("csv", "parquet"):
        assert [file.name for file in (tmp_path / f"out/public/release_{kind}").iterdir()] == [
            f"release.{kind}",
        ]
    assert pq.read_table(tmp_path / "out/public/release_parquet/release.parquet").num_rows == N
    with (tmp_path / "out/public/release_csv/release.csv").open(
        encoding="utf-8",
        newline="",
    ) as text:
        rows = list(csv.DictReader(text))
    assert sorted(row["note"] for row in rows) == sorted(
        person["note"] or "" for person in PEOPLE.to_pylist()
    )
    assert pipeline.verify(run, finished=True).holds
    state = RunState.parse(run.internal.read("run.json"))
    assert is_everywhere(run, state)
    assert not is_everywhere(
        open_run(conf, f"output={{path: {tmp_path / 'out'}, export: [csv, parquet]}}"),
        state,
    )
    (tmp_path / "out/public/release_csv/part-0.csv").write_text("age\n")
    with pytest.raises(GuaranteeError, match=r"release_csv/part-0.csv is no file of this release"):
        pipeline.verify(run, finished=True)


def altered(folder: Path) -> None:
    file = next(folder.glob("*.csv"))
    file.write_bytes(file.read_bytes().replace(b"gout", b"mump"))


def doubled(folder: Path) -> None:
    file = next(folder.glob("part-*"))
    shutil.copy(file, folder / f"part-9{file.name}")


def lost(folder: Path) -> None:
    next(folder.glob("part-*")).unlink()


def added(folder: Path) -> None:
    (folder / "_SUCCESS").touch()


@pytest.mark.parametrize(
    ("change", "kind"),
    [(altered, "csv"), (doubled, "parquet"), (lost, "csv"), (added, "parquet")],
)
def test_what_was_changed_is_noticed(
    conf: Path,
    finished: Path,
    open_run: Callable[..., Run],
    tmp_path: Path,
    change: Callable[[Path], None],
    kind: str,
) -> None:
    shutil.copytree(finished.parent, tmp_path / "out")
    change(tmp_path / f"out/public/release_{kind}")
    run = open_run(conf, f"output.path={tmp_path / 'out'}")
    with pytest.raises(
        GuaranteeError,
        match=rf"release_{kind}/\S+ (was changed|is no file|is missing)",
    ):
        pipeline.verify(run, finished=True)
    list_again(tmp_path / "out")
    with pytest.raises(
        GuaranteeError,
        match=f"release_{kind} has not the (rows|files)|_SUCCESS cannot be read",
    ):
        pipeline.verify(run, finished=True)


def test_overwriting_replaces_and_removes_exports(
    conf: Path,
    finished: Path,
    open_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    shutil.copytree(finished.parent, tmp_path / "out")
    run = open_run(
        conf,
        f"output={{path: {tmp_path / 'out'}, export: [csv]}}",
        "privacy.k=4",
        overwrite=True,
    )
    pipeline.release(run)
    public = tmp_path / "out/public"
    assert not (public / "release_parquet").exists()
    assert pipeline.verify(run, finished=True).holds
    shutil.copytree(finished / "release_parquet", public / "release_parquet")
    with pytest.raises(GuaranteeError, match=r"release_parquet/\S+ is no file of this release"):
        pipeline.verify(run, finished=True)


def test_an_export_that_lost_rows_is_never_public(
    conf: Path,
    open_run: Callable[..., Run],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = exports.write_export
    monkeypatch.setattr(
        "tclose_spark.stages.report.write_export",
        lambda table, *how: whole(of_arrow(session_of(table), collect(table, 59)), *how),
    )
    run = open_run(conf, f"output={{path: {tmp_path}, export: [parquet]}}")
    with pytest.raises(GuaranteeError, match="release_parquet has not the rows of the release"):
        pipeline.release(run)
    assert not run.public.exists()


def test_csv_takes_no_bytes(
    write_run: Callable[..., Path],
    open_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    table = PEOPLE.set_column(3, "note", pa.array([b"x"] * N))
    with pytest.raises(InputError, match="'note' is of type binary, which CSV does not hold"):
        pipeline.release(
            open_run(write_run(tmp_path, table, **{**ROLES, "output": {"export": ["csv"]}})),
        )
