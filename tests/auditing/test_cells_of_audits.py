"""Rare cells in audits: both engines find the same, the command prints them, and wrong options are
named.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest
from html_page import Page
from pyspark.sql import SparkSession

from tclose_spark.api.audit import audit
from tclose_spark.auditing.parts import rare_cells as uniques
from tclose_spark.errors import ConfigurationError

COLUMNS = ["province", "activity", "sex", "income"]
WORST = {
    "columns": ("province", "income"),
    "cells": 6,
    "smallest": 1,
    "rare_cells": 6,
    "rare_rows": 10,
}


def table() -> pa.Table:
    return pa.table(
        {
            "province": [*"2332424223"],
            "activity": [*"AAAABBBBAA"],
            "sex": [*"FFFMFFFFMM"],
            "income": [*"hlllhmhlhm"],
        },
    )


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_both_engines_find_them(engine: str, spark: SparkSession) -> None:
    found = audit(table(), COLUMNS, cells=3, below=3, engine=engine).to_json()["cells"]
    assert (found["rows"], found["rare_rows"], found["below"], found["left"]) == (
        10,
        10,
        (3, 3, 3),
        (),
    )
    assert found["combinations"][0] == WORST
    assert len(found["combinations"]) == 4 + 6 + 4
    assert {one["name"] for one in found["columns"]} == set(COLUMNS)


def test_thresholds_and_levels() -> None:
    levels = {"province": 1, "activity": 2, "sex": 2, "income": 0}
    found = audit(table(), COLUMNS, cells=2, below=[3, 2], levels=levels, engine="local").cells
    assert found is not None
    assert {one.columns: (one.smallest, one.rare_rows) for one in found.combinations} == {
        ("province",): (2, 2),
        ("activity",): (4, 0),
        ("sex",): (3, 0),
        ("province", "activity"): (2, 0),
        ("province", "sex"): (1, 1),
    }


def test_the_command_and_the_page(
    tmp_path: Path,
    tclose: Callable[..., tuple[int, str, str]],
) -> None:
    path = tmp_path / "people.csv"
    pa.csv.write_csv(table(), path)
    asked = [
        "audit",
        str(path),
        "-q",
        ",".join(COLUMNS),
        "--cells",
        "3",
        "--below",
        "3",
        "--engine",
        "local",
    ]
    page = tmp_path / "page.html"
    _, said, _ = tclose(*asked, "--html", str(page), "--no-labels")
    lines = [line.split() for line in said.splitlines()]
    assert ["province,", "income", "6", "1", "6", "10"] in lines
    assert ["activity,", "sex", "3", "3", "0", "0"] in lines
    assert "10 of 10 rows are in a rare cell" in said
    assert Page(page.read_text()).only("tr", "province, income 6").endswith("6 1 6 10")
    found = json.loads(tclose(*asked, "--json")[1])["cells"]
    assert found["combinations"][0] == {**WORST, "columns": ["province", "income"]}
    levels = "province=1,activity=2,sex=3,income=0"
    found = json.loads(tclose(*asked, "--below", "3,2,1", "--levels", levels, "--json")[1])["cells"]
    assert found["below"] == [3, 2, 1]
    assert len(found["combinations"]) == 7


def test_what_is_left_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    found = audit(table(), COLUMNS, cells=3, combinations=12, engine="local")
    (note,) = [note for note in found.notes if note.startswith("cells of")]
    assert note.startswith(
        "cells of 4 combinations of 3 quasi-identifiers are not counted, all those among "
        "province, income, activity, ",
    )
    monkeypatch.setattr(uniques, "MOST_CLASSES", 3)
    beyond = audit(table(), COLUMNS, cells=3, engine="local")
    assert beyond.cells is None
    assert any("cells are not counted" in note for note in beyond.notes)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"below": 2}, "give --cells, too"),
        (
            {"cells": 3, "below": "3,2"},
            "found 2 thresholds; expected one, or one for each of the 3 sizes",
        ),
        ({"cells": 3, "below": "few"}, "whole numbers such as 3,2,1"),
        ({"cells": 3, "below": 0}, "below"),
        ({"cells": 0}, "cells"),
        ({"cells": 3, "levels": "province=1"}, "found no level of 'activity'"),
        (
            {"cells": 3, "levels": "a=1,province=1,activity=1,sex=1,income=1"},
            "found a level of 'a'",
        ),
        ({"cells": 3, "levels": "province=x"}, "levels such as zip=1,age=2"),
        ({"cells": 3, "levels": "province=1,province=2"}, "each column once"),
        ({"cells": 3, "levels": "province=0,activity=0,sex=0,income=0"}, "all are 0"),
        ({"cells": 2, "person": "income"}, "leave out one of the two"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], expected: str) -> None:
    columns = [name for name in COLUMNS if name != options.get("person")]
    with pytest.raises(ConfigurationError) as refused:
        audit(table(), columns, engine="local", **options)
    assert expected.replace("--", "") in str(refused.value).replace("--", "")
