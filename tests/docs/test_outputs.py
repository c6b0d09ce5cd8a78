"""Pages show what commands print: the commands of every page are run again, and print what the page
shows.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv

import tclose_spark as tc
from tclose_spark import __version__
from tclose_spark.cli import app

pytestmark = pytest.mark.more

ROOT = Path(__file__).resolve().parents[2]
OUTPUTS = ROOT / "docs/site/outputs.py"
COMMANDS = ROOT / "docs/commands"


def check(*pages: Path) -> subprocess.CompletedProcess[str]:
    """In a process of its own, as a user's: without the tests' Spark session, secret and engine."""
    settings = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("TCLOSE_", "OPENLINEAGE"))
    }
    return subprocess.run(
        [sys.executable, OUTPUTS, "--check", *pages],
        env={**settings, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )


def test_commands_print_what_pages_show() -> None:
    done = check()  # all pages in one process, because each process imports for seconds
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("shown", "same"), [(__version__, True), ("another", False)])
def test_another_output_is_noticed(tmp_path: Path, shown: str, same: bool) -> None:
    page = tmp_path / "page.md"
    page.write_text(f'```console\n$ tclose version\n{{"tclose_spark": "{shown}"}}\n```\n')
    done = check(page)
    assert (done.returncode == 0) == same, done.stderr
    assert ("-" + f'{{"tclose_spark": "{shown}"}}' in done.stdout) != same


def test_every_command_has_a_page_with_a_run() -> None:
    pages = [page.read_text() for page in COMMANDS.glob("*.md")]
    have_options = {
        name for page in pages for name in re.split(r"[\[\], ]+", page.split("\n")[1])[1:] if name
    }
    have_runs = {
        name for page in pages for name in re.findall(r"^\$ tclose (\w+)", page, re.MULTILINE)
    }
    commands = {command.name or command.callback.__name__ for command in app.registered_commands}
    assert commands == have_options
    assert commands - have_runs == {
        "compile",
    }  # which prints where it keeps kernels, and that depends on the machine


def test_the_python_of_the_tutorial_follows_its_shell(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its names are other ones, so nothing is there already."""
    page = (ROOT / "docs/tutorial.md").read_text()
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    table = pa.table(
        {
            "age": [20 + i % 50 for i in range(400)],
            "disease": ["flu", "gout", "cold", "cough"] * 100,
        },
    )
    csv.write_csv(table, "people.csv")
    tc.suggest("people.csv", file="people.yaml", log=None).write("people.yaml")
    tc.release(None, "people.yaml", overrides=["method.effort=fast"], log=None)
    exec(block, {})
    assert {one.name for one in tmp_path.iterdir()} >= {
        "people_release",
        "ours_release",
        "ours.yaml",
    }
