"""`tclose release --resume` continues a run that broke off where it stopped, and only if nothing
has changed.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tclose_spark
from tclose_spark import pipeline
from tclose_spark.errors import ConfigurationError, UnreachableError
from tclose_spark.io.run import Run
from tclose_spark.io.run_state import ORDER, PublishRecord
from tclose_spark.stages import publish

OpenRun = Callable[..., Run]
WORK = {
    "plan": (pipeline, "make_plan"),
    "anonymize": (pipeline, "write_release"),
    "verify": (pipeline, "judge_staged"),
    "report": (pipeline, "write_reports"),
    "publish": (publish, "_move"),
}
"""What each stage does before it records that it is finished; of a publication, the first of its
moves.
"""


class KilledError(BaseException):
    """Ends a run as a signal does: no handler of errors cleans up after it."""


def break_off(run: Run, stage: str, **options: Any) -> None:
    """A release that ends when this work of the stage is done, and not recorded yet."""
    module, name = WORK[stage]
    work = getattr(module, name)

    def killed(*arguments: Any) -> None:
        work(*arguments)
        raise KilledError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, name, killed)
        with pytest.raises(KilledError):
            pipeline.release(run, **options)


def resumed(run: Run) -> tuple[list[str], str]:
    """The stages that a resumed release runs, and what it reports last about resuming."""
    lines: list[str] = []
    run.announce = lines.append
    pipeline.release(run, resume=True)
    *_, line = (line for line in lines if line.startswith("resume"))
    return [line.split()[0] for line in lines if line.split()[0] in ORDER], line


@pytest.fixture
def fresh(conf: Path, tmp_path: Path) -> Path:
    """A run file and its table that a test may change. Its output is `out` beside it."""
    folder = tmp_path / "fresh"
    shutil.copytree(conf.parent, folder, ignore=shutil.ignore_patterns("out"))
    copy = folder / conf.name
    copy.write_text(conf.read_text().replace(str(conf.parent), str(folder)))
    return copy


@pytest.mark.parametrize("stage", WORK)
def test_a_run_that_broke_off_continues_with_the_stage_that_was_not_finished(
    stage: str,
    fresh: Path,
    open_run: OpenRun,
    certificate: dict[str, Any],
) -> None:
    output = f"output.path={fresh.parent}/out"
    break_off(open_run(fresh, output), stage)
    stages, line = resumed(open_run(fresh, output))
    assert stages == list(ORDER[ORDER.index(stage) :])
    assert line.startswith(f"resume     continues with {stage}: profile")
    made = json.loads((fresh.parent / "out/public/certificate.json").read_text())
    assert made["verdict"] == certificate["verdict"]
    assert pipeline.verify(open_run(fresh, output), finished=True).holds


def test_what_is_resumed_is_the_release_of_an_unbroken_run(
    fresh: Path,
    open_run: OpenRun,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TCLOSE_SECRET", "of both runs")
    whole = pipeline.release(open_run(fresh, f"output.path={fresh.parent}/whole"))
    for stage in WORK:
        output = f"output.path={fresh.parent}/{stage}"
        break_off(open_run(fresh, output), stage)
        continued = pipeline.release(open_run(fresh, output), resume=True)
        assert {**continued, "issued": ""} == {**whole, "issued": ""}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("input", "the input has changed since it was read"),
        ("run file", "the staged run was made with another configuration"),
        ("version", "the staged run was made by another version of tclose_spark"),
        ("secret", "a secret or the output has other settings than those of the staged run"),
        ("output", "a secret or the output has other settings than those of the staged run"),
        ("rows", "the staged run failed, so its rows were removed"),
        ("nothing staged", "no run is staged whose profile is finished"),
    ],
)
def test_it_begins_again_if_something_has_changed(
    change: str,
    why: str,
    fresh: Path,
    open_run: OpenRun,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    break_off(open_run(fresh), "anonymize")
    staging, more = Path(open_run(fresh).staging.path()), ()
    if change == "input":
        table = fresh.parent / "people.parquet"
        os.utime(table, ns=(table.stat().st_mtime_ns + 1,) * 2)
    elif change == "run file":
        more = ("privacy.k=6",)
    elif change == "secret":
        monkeypatch.setenv("TCLOSE_SECRET", "another one")
    elif change == "output":
        more = ("output.export=[csv]",)
    elif change == "version":
        state = json.loads((staging / "run.json").read_text())
        (staging / "run.json").write_text(json.dumps({**state, "version": "0.0.9"}))
    elif change == "rows":
        (staging / "columns.json").unlink()
    else:
        shutil.rmtree(staging)
    stages, line = resumed(open_run(fresh, *more))
    assert stages == list(ORDER)
    assert line == f"resume     begins with profile: {why}"


def test_a_run_that_failed_begins_again(fresh: Path, open_run: OpenRun) -> None:
    with pytest.raises(UnreachableError):
        pipeline.release(open_run(fresh, "privacy.k=100000"))
    with pytest.raises(UnreachableError):
        pipeline.release(open_run(fresh, "privacy.k=100000"), resume=True)


def test_damage_of_the_staged_rows_is_found(fresh: Path, open_run: OpenRun) -> None:
    """Rows that are lost after a run broke off do not vanish from its release."""
    break_off(open_run(fresh), "anonymize")
    staged = open_run(fresh).staging
    [file] = Path(staged.path("rows")).rglob("*.parquet")
    table = pq.read_table(file)
    [held] = table["batch"].drop_null().to_pylist()
    rows = pa.ipc.open_stream(held).read_all()
    half = pa.BufferOutputStream()
    with pa.ipc.new_stream(half, rows.schema) as stream:
        stream.write_table(rows.slice(0, rows.num_rows // 2))
    batches = [
        None if batch is None else half.getvalue().to_pybytes()
        for batch in table["batch"].to_pylist()
    ]
    place = table.schema.get_field_index("batch")
    pq.write_table(
        table.set_column(
            place,
            table.schema.field(place),
            [pa.array(batches, table.schema.types[place])],
        ),
        file,
    )
    stages, line = resumed(open_run(fresh))
    assert (stages, line.partition(": ")[0]) == ([*ORDER], "resume     begins again with profile")


def test_a_finished_release_is_not_replaced_without_overwrite(
    output: Path,
    conf: Path,
    open_run: OpenRun,
) -> None:
    before = (output / "public/certificate.json").read_bytes()
    with pytest.raises(ConfigurationError, match="holds a finished release"):
        pipeline.release(open_run(conf, f"output.path={output}"), resume=True)
    assert (output / "public/certificate.json").read_bytes() == before


def test_a_publication_that_broke_off_is_completed_once(fresh: Path, open_run: OpenRun) -> None:
    """With `--overwrite` too: the release that it completes is the one that the command was to
    make.
    """
    pipeline.release(open_run(fresh))
    run = open_run(fresh, overwrite=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publish, "_keep", lambda run: (_ for _ in ()).throw(KilledError))
        with pytest.raises(KilledError):
            pipeline.release(run)
    lines: list[str] = []
    again = open_run(fresh, overwrite=True)
    again.announce = lines.append
    pipeline.release(again, resume=True)
    assert lines == ["note: completed a publication that broke off"]


def test_a_publication_of_an_older_input_is_not_all(fresh: Path, open_run: OpenRun) -> None:
    run = open_run(fresh, overwrite=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publish, "_keep", lambda run: (_ for _ in ()).throw(KilledError))
        with pytest.raises(KilledError):
            pipeline.release(run)
    table = fresh.parent / "people.parquet"
    os.utime(table, ns=(table.stat().st_mtime_ns + 1,) * 2)
    stages, line = resumed(open_run(fresh, overwrite=True))
    assert stages == list(ORDER)
    assert line == "resume     begins with profile: no run is staged whose profile is finished"


def test_a_published_run_that_was_removed_begins_again(fresh: Path, open_run: OpenRun) -> None:
    run = open_run(fresh)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publish, "_keep", lambda run: (_ for _ in ()).throw(KilledError))
        with pytest.raises(KilledError):
            pipeline.release(run)
    shutil.rmtree(run.public.path())
    run.staging.write("run.json", run.state.with_record(PublishRecord(seconds=0.0)).text)
    assert resumed(open_run(fresh))[0] == list(ORDER)


def test_a_staged_file_that_is_lost_is_made_again(fresh: Path, open_run: OpenRun) -> None:
    break_off(open_run(fresh), "report")
    open_run(fresh).staging.remove("plan_report.json")
    stages, line = resumed(open_run(fresh))
    assert stages == list(ORDER)
    assert "begins again with profile" in line
    assert "plan_report.json is missing" in line


def test_a_table_in_memory_is_read_again(fresh: Path, tmp_path: Path) -> None:
    table, lines = pd.read_parquet(fresh.parent / "people.parquet"), []
    where = tmp_path / "memory"
    with pytest.MonkeyPatch.context() as patch:
        work = pipeline.make_plan

        def killed(*arguments: Any) -> None:
            work(*arguments)
            raise KilledError

        patch.setattr(pipeline, "make_plan", killed)
        with pytest.raises(KilledError):
            tclose_spark.release(table, fresh, where, log=None)
    tclose_spark.release(table, fresh, where, resume=True, log=lines.append)
    assert [line for line in lines if line.startswith("resume")] == [
        "resume     begins with profile: this input has no files or versions that show whether it "
        "changed",
    ]
