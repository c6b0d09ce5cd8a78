"""What releases publish, figure and report does not change unnoticed. `releases/NAME.txt` has what
is recorded of each
run: tables and class table column by column, the certificate in its order, internal figures, pages
    and printed lines.

A change that means to alter some of it records it again, in a commit that says so: `TCLOSE_RECORD=1
pytest tests/recorded -m "not more"`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml
from recorded_runs import RUNS, RecordedRun
from records import record_of_release, require_only, require_same

from tclose_spark import Release, pipeline
from tclose_spark.io.run import Run

RECORDED = Path(__file__).with_name("releases")
SECRET = "the secret of recorded releases"


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is long enough for pseudonyms."""
    monkeypatch.setenv("TCLOSE_SECRET", SECRET)


def released(
    recorded: RecordedRun,
    folder: Path,
    write_run: Callable[..., Path],
    open_run: Callable[..., Run],
) -> Any:
    """The record of a run that is carried out in a folder; of a line, of its last release."""
    settings: Mapping[str, Any] = recorded.settings
    if recorded.months:
        settings = {**settings, "output": {"after": "out", **settings.get("output", {})}}
    printed = list[str]()
    for number, make in enumerate(recorded.months or (recorded.table,)):
        path = write_run(folder, make(), **settings)
        if recorded.form:
            path.write_text(path.read_text() + yaml.safe_dump({"release": dict(recorded.form)}))
        for name, other in recorded.beside.items():
            pq.write_table(other(), folder / name)
        for name, text in recorded.texts.items():
            (folder / name).write_text(text)
        run = open_run(path, overwrite=number > 0)
        run.announce = printed.append
        pipeline.release(run)
    shown = repr(Release.open(folder / "out"))
    return record_of_release(folder, [*printed, *shown.splitlines()], recorded.whole)


@pytest.mark.parametrize("name", RUNS)
def test_a_release_is_as_recorded(
    name: str,
    tmp_path: Path,
    write_run: Callable[..., Path],
    open_run: Callable[..., Run],
) -> None:
    require_same(RECORDED / f"{name}.txt", released(RUNS[name], tmp_path, write_run, open_run))


@pytest.mark.on_spark
@pytest.mark.parametrize("name", RUNS)
def test_spark_gives_what_is_recorded(
    name: str,
    tmp_path: Path,
    write_run: Callable[..., Path],
    open_run: Callable[..., Run],
) -> None:
    require_same(RECORDED / f"{name}.txt", released(RUNS[name], tmp_path, write_run, open_run))


def test_every_record_is_of_a_run() -> None:
    require_only(RECORDED, RUNS)
