"""Special uniques in audits: both engines find the same, by quasi-identifier, and no value of a row
is shown.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from html_page import Page
from pyspark.sql import SparkSession

from tclose_spark.api.audit import audit
from tclose_spark.auditing.parts import rare_cells as uniques
from tclose_spark.errors import ConfigurationError

ROWS = [
    # zip, age_min, age_max, job
    *[("75001", 20, 29, "nurse")] * 3,
    *[("75002", 30, 39, "nurse")] * 2,
    *[("75001", 30, 39, "baker")] * 2,
    *[("75002", 20, 29, "baker")] * 2,
    *[(None, 20, 29, "baker")] * 2,
    (None, 30, 39, "nurse"),  # by zip and age, and by zip and job
    ("75002", 20, 49, "nurse"),  # by both bounds, which are one quasi-identifier
]
QUASI = ["zip", "age", "job"]
FOUND = {
    "rows": 13,
    "required": 3,
    "searched": 3,
    "combinations": 7,
    "unique": 2,
    "by_size": (1, 1, 0),
    "highest": 2.0,
    "mean": 2.0,
    "columns": (
        {"name": "age", "uniques": 2, "share": 0.75},
        {"name": "zip", "uniques": 2, "share": 0.5},
        {"name": "job", "uniques": 1, "share": 0.25},
    ),
    "frequent": (
        {"columns": ("age",), "rows": 1},
        {"columns": ("zip", "age"), "rows": 1},
        {"columns": ("zip", "job"), "rows": 1},
    ),
}


def table() -> pa.Table:
    zips, low, high, jobs = zip(*ROWS, strict=True)
    return pa.table(
        {
            "zip": zips,
            "age_min": low,
            "age_max": high,
            "job": jobs,
            "patient": [str(i) for i in range(13)],
        },
    )


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_both_engines_find_them(engine: str, spark: SparkSession) -> None:
    found = audit(table(), QUASI, special_uniques=3, engine=engine)
    assert found.to_json()["special_uniques"] == FOUND
    assert not [note for note in found.notes if "special uniques" in note]


def test_they_are_searched_for_on_request_only() -> None:
    assert audit(table(), QUASI, engine="local").to_json()["special_uniques"] is None


def test_rows_that_are_twice_in_the_table_are_not_unique() -> None:
    found = audit(
        pa.concat_tables([table(), table()]),
        QUASI,
        special_uniques=3,
        engine="local",
    ).special_uniques
    assert found is not None
    assert (found.rows, found.unique, found.frequent) == (26, 0, ())


def test_notes_report_where_the_search_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    found = audit(table(), QUASI, special_uniques=3, combinations=6, engine="local")
    assert found.special_uniques is not None
    assert (found.special_uniques.searched, found.special_uniques.combinations) == (2, 6)
    assert [note for note in found.notes if "more than 6 combinations" in note]
    monkeypatch.setattr(uniques, "MOST_CLASSES", 7)
    assert audit(table(), QUASI, special_uniques=3, engine="local").special_uniques is not None
    monkeypatch.setattr(uniques, "MOST_CLASSES", 6)
    found = audit(table(), QUASI, special_uniques=3, engine="local")
    assert found.special_uniques is None
    assert [note for note in found.notes if note.startswith("special uniques are not measured")]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"special_uniques": 3, "person": "patient"}, "person with several rows"),
        ({"special_uniques": 0}, "found 0; expected at least 1"),
    ],
)
def test_what_is_refused(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        audit(table(), QUASI, engine="local", **asked)


def test_the_command(tmp_path: Path, tclose: Callable[..., tuple[int, str, str]]) -> None:
    pq.write_table(table(), tmp_path / "table.parquet")
    asked = [
        "audit",
        str(tmp_path / "table.parquet"),
        "-q",
        "zip,age,job",
        "--special-uniques",
        "2",
        "--no-labels",
    ]
    code, printed, _ = tclose(*asked, "--html", str(tmp_path / "page.html"))
    assert code == 0
    lines = [line.split() for line in printed.splitlines()]
    for line in (["2", "of", "3", "1"], ["age", "2", "0.750"], ["zip,", "age", "1"]):
        assert line in lines
    assert "2 of 13 rows are unique by at most 2 quasi-identifiers" in printed
    page = Page((tmp_path / "page.html").read_text())
    assert page.only("tr", "2 of 3 quasi-identifiers").endswith(" 1")
    assert page.only("tr", "age 2").endswith("2 75%")
    assert page.only("tr", "zip, job").endswith(" 1")
    for value in ("75001", "nurse", "baker"):
        assert value not in printed.replace(str(tmp_path), "")
        assert value not in page.text
    code, printed, _ = tclose(*asked, "--json", "--combinations", "3")
    assert json.loads(printed)["special_uniques"]["by_size"] == [1]
