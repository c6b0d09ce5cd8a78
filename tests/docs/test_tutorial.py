"""The tutorial's commands, one after the other, on the table that it is about."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from test_docs_commands import ROOT, commands

DATA = Path(os.environ.get("TCLOSE_DATA", ROOT.parent / "shared/data"))
TABLE = DATA / "kdd_census_income/census_income.parquet"


@pytest.mark.slow
@pytest.mark.skipif(not TABLE.exists(), reason="the table is not there")
def test_the_tutorial(tmp_path: Path) -> None:
    shutil.copy(TABLE, tmp_path / "census.parquet")
    asked = list(commands(ROOT / "docs/tutorial.md"))
    assert [command.split()[0] for command in asked][:1] == ["suggest"]
    assert {"release", "verify", "audit"} <= {command.split()[0] for command in asked}
    for command in asked:
        done = subprocess.run(
            [sys.executable, "-m", "tclose_spark", *shlex.split(command, comments=True)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (command, done.stderr[-2000:])
    assert (tmp_path / "census_release/public/certificate.json").exists()
