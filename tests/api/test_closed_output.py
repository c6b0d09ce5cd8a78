"""A reader that closes the output of a command early, as `head -1` does, changes neither code nor
files.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def run_closed(*arguments: str, both: bool = False) -> tuple[int, str]:
    """(the exit code of a command whose output nobody reads, its messages). both: nobody reads
    these, either.
    """
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "tclose_spark", *arguments],
            stdout=write,
            stderr=write if both else subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(write)
    return done.returncode, done.stderr or ""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(
        "age,sex,disease\n"
        + "".join(f"{20 + i % 4},{'fm'[i % 2]},{'ab'[i % 3 % 2]}\n" for i in range(60)),
    )
    return path


@pytest.mark.parametrize(("k", "code"), [(5, 0), (500, 1)])
def test_an_audit_keeps_its_verdict(table: Path, k: int, code: int) -> None:
    given = ["audit", str(table), "-q", "age,sex", "-s", "disease", "--k", str(k)]
    found, messages = run_closed(*given)
    assert found == code, messages
    assert "BrokenPipe" not in messages


@pytest.mark.parametrize(("k", "code"), [(5, 0), (500, 1)])
def test_an_audit_keeps_its_verdict_if_nobody_reads_its_messages(
    table: Path,
    k: int,
    code: int,
) -> None:
    assert (
        run_closed("audit", str(table), "-q", "age,sex", "-s", "disease", "--k", str(k), both=True)[
            0
        ]
        == code
    )


def test_an_audit_without_an_output_keeps_its_verdict(table: Path) -> None:
    audit = [sys.executable, "-m", "tclose_spark", "audit", str(table), "-q", "age", "--k", "5"]
    assert subprocess.run(["sh", "-c", '"$@" >&-', "sh", *audit], check=False).returncode == 0


def test_a_suggestion_is_written(table: Path, tmp_path: Path) -> None:
    code, messages = run_closed("suggest", str(table), "--output", str(tmp_path / "run.yaml"))
    assert code == 0, messages
    assert "BrokenPipe" not in messages
    assert (tmp_path / "run.yaml").exists()
