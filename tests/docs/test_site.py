"""The documentation as a site: it is built without a warning, and has the pages that are made of the code."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tclose_spark.api.stages import STAGES

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    return folder


def test_every_page_of_docs_is_on_it(site: Path) -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").with_suffix("")
        made = site / name.parent if name.name == "index" else site / name
        assert (made / "index.html").exists(), name


def test_the_commands_are_on_it(site: Path) -> None:
    page = (site / "reference/commands/index.html").read_text()
    for command in (*STAGES, "audit", "compare", "generate"):
        assert f"tclose {command}" in page
    assert "--overwrite" in page


def test_every_message_is_on_it(site: Path) -> None:
    page = re.sub(r"\s+", " ", (site / "reference/messages/index.html").read_text())
    for text in (
        "holds a finished release; give --overwrite to replace it",
        "expected one of equal_width: N, equal_mass: N, edges: [a, b, ..]",
        "is not as it was written",
    ):
        assert text in page


def test_every_key_of_a_run_file_is_on_it(site: Path) -> None:
    page = (site / "reference/run_file/index.html").read_text()
    schema = json.loads((ROOT / "tclose_spark/runfile/run_file.schema.json").read_text())
    keys = {key for part in (schema, *schema["$defs"].values()) for key in part.get("properties", ())}
    assert [key for key in sorted(keys) if f"<code>{key}</code>" not in page] == []


def test_nothing_on_it_is_loaded_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert not re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="https?://', page.read_text()), page
