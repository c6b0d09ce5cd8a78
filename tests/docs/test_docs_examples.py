"""Run files and tables that stand on pages: run files are loaded, and what is said of a table is
what it has.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from textwrap import dedent

import pytest

from tclose_spark.measures.closeness import distinct_l, k_anonymity, t_closeness
from tclose_spark.runfile.loading import load_spec

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path, language: str) -> Iterator[str]:
    """The fenced code of a page in one language, in lists as well."""
    found = re.findall(
        rf'^( *)```{language}(?: title="[^"]+")?\n(.*?)^ *```$',
        page.read_text(),
        re.MULTILINE | re.DOTALL,
    )
    yield from (dedent(text) for _, text in found)


RUN_FILES = [
    (page.relative_to(ROOT).as_posix(), text)
    for page in PAGES
    for text in blocks(page, "yaml")
    if text.startswith("name:") and "\nprivacy:" in text
]


def test_pages_have_run_files() -> None:
    assert {"README.md", "docs/several.md"} <= {page for page, _ in RUN_FILES}


@pytest.mark.parametrize(("page", "text"), RUN_FILES, ids=[page for page, _ in RUN_FILES])
def test_a_run_file_of_a_page_is_one(page: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(text)
    assert load_spec(tmp_path / "run.yaml").privacy.k >= 2


def test_several_attributes_have_a_t_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(
        next(text for page, text in RUN_FILES if page == "docs/several.md"),
    )
    sensitive = load_spec(tmp_path / "run.yaml").attributes.sensitive_attributes
    assert {name: a.t for name, a in sensitive.items()} == {
        "disease": Fraction(1, 4),
        "income": Fraction(3, 20),
    }


def test_the_table_of_another_tool_is_as_the_page_says() -> None:
    page = ROOT / "docs/others.md"
    rows = list(csv.DictReader(next(blocks(page, "csv")).splitlines(), delimiter=";"))
    kept = [row for row in rows if row["age"] != "*"]
    labels, kept_labels = (
        [[row[name] for row in of] for name in ("age", "zip", "sex")] for of in (rows, kept)
    )
    diseases, kept_diseases = ([row["disease"] for row in of] for of in (rows, kept))
    assert (len(rows), k_anonymity(labels), distinct_l(labels, diseases)) == (18, 2, 1)
    assert t_closeness(labels, diseases) == Fraction(2, 3)
    assert (k_anonymity(kept_labels), t_closeness(kept_labels, kept_diseases)) == (
        5,
        Fraction(1, 2),
    )
