"""The documentation as a site: it is built without a warning, and has the pages that are made of
the code.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.more

ROOT = Path(__file__).resolve().parents[2]


def test_every_page_of_docs_is_on_it(site: Path) -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").with_suffix("")
        made = site / name.parent if name.name == "index" else site / name
        assert (made / "index.html").exists(), name


def test_the_commands_are_on_it(site: Path) -> None:
    for command, page in (
        ("plan", "stages"),
        ("release", "release"),
        ("audit", "audit"),
        ("schema", "setup"),
    ):
        shown = (site / "commands" / page / "index.html").read_text()
        assert f"Options of {command}" in shown
        assert f"tclose {command} [OPTIONS]" in re.sub(r"<[^>]+>", "", shown)


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
    keys = {
        key for part in (schema, *schema["$defs"].values()) for key in part.get("properties", ())
    }
    assert [key for key in sorted(keys) if f"<code>{key}</code>" not in page] == []


def test_nothing_on_it_is_loaded_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert not re.findall(
            r'<(?:script|link|img)[^>]+(?:src|href)="https?://',
            page.read_text(),
        ), page


def test_every_page_is_within_two_clicks(site: Path) -> None:
    pages = {page.parent for page in site.rglob("index.html")} - {site / "notebooks"}
    first = links(site)
    within = first.union(*(links(page) for page in first)) | {site}
    assert pages <= within, sorted(str(page.relative_to(site)) for page in pages - within)


def links(page: Path) -> set[Path]:
    """The pages to which the text of a page links, menus left out."""
    text = (page / "index.html").read_text()
    found = re.findall(r'href="([^":#]+)', text[text.index("<article") : text.index("</article>")])
    folders = {Path(os.path.normpath(page / link)) for link in found}
    return {folder for folder in folders if (folder / "index.html").exists()}
