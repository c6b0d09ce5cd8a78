"""A Spark Declarative Pipeline that makes the raw table, and the release after it, as in
docs/pipelines.md.

`spark-pipelines` is that of the environment of Spark Connect, the release that of this one: `make
test-pipelines`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.csv as csv
import pytest
from test_cluster import BIN

import tclose_spark as tc

ROOT = Path(__file__).resolve().parents[2]
CONNECT = ROOT / ".venv-connect/bin"
HIVE = ("--conf", "spark.sql.catalogImplementation=hive", "--conf", "spark.ui.enabled=false")
ROWS = 400

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (CONNECT / "spark-pipelines").is_file(),
        reason="made by make test-pipelines",
    ),
]


def run(
    folder: Path,
    *command: object,
    python: object = sys.executable,
) -> subprocess.CompletedProcess[str]:
    """A command in the folder, whose Spark has this Python."""
    env = {**os.environ, "PYSPARK_PYTHON": str(python), "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def refresh(folder: Path) -> subprocess.CompletedProcess[str]:
    """A run of the pipeline."""
    return run(folder, CONNECT / "spark-pipelines", *HIVE, "run", python=CONNECT / "python")


def release(folder: Path) -> subprocess.CompletedProcess[str]:
    """The step after it."""
    return run(
        folder,
        BIN / "spark-submit",
        *HIVE,
        ROOT / "jobs/release.py",
        "--config",
        "release.yaml",
        "--overwrite",
    )


def published(folder: Path) -> Any:
    return json.loads((folder / "release/public/certificate.json").read_text())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, with two CSV files that have come in, and its table released."""
    made = tmp_path_factory.mktemp("office")
    shutil.copytree(ROOT / "conf/pipelines", made, dirs_exist_ok=True)
    (made / "incoming").mkdir()
    people = tc.generate(ROWS)
    csv.write_csv(people.slice(0, 300), made / "incoming/january.csv")
    csv.write_csv(people.slice(300), made / "incoming/february.csv")
    for step in (refresh, release):
        done = step(made)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return made


def test_the_release_is_that_of_the_rows_in_the_files(folder: Path) -> None:
    plain = tc.release(
        tc.generate(ROWS),
        folder / "release.yaml",
        folder / "plain",
        log=None,
        engine="local",
    )
    assert published(folder)["release"] == plain.certificate["release"]
    assert published(folder)["input"]["rows"] == ROWS


def test_a_refresh_that_fails_leaves_the_release_as_it_was(folder: Path) -> None:
    """A file with columns in another order breaks the pipeline, which has emptied its table by
    then. Whoever releases all the same gets an error.
    """
    before = published(folder)
    people = tc.generate(ROWS)
    csv.write_csv(people.select(people.column_names[::-1]), folder / "incoming/march.csv")
    done = refresh(folder)
    assert done.returncode == 1, done.stderr[-3000:]
    assert "Run is COMPLETED" not in done.stdout + done.stderr
    done = release(folder)
    assert done.returncode == 2, done.stderr[-3000:]
    assert "no rows" in done.stdout + done.stderr
    assert published(folder) == before
