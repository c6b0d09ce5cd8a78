"""Linkage with the raw table in audits: computed here by rows, the same on both engines."""

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
from tclose_spark.auditing import linkage as module
from tclose_spark.errors import InputError

RAW = [
    (20, "a", "flu"),
    (25, "b", "flu"),
    (31, "a", "gout"),
    (38, "b", "gout"),
    (29, "a", "cold"),
    (40, None, "cold"),
]
RELEASED = [
    ("[20, 31]", "*", "flu"),
    ("[20, 31]", "*", "flu"),
    ("[20, 31]", "*", "gout"),
    ("[29, 40]", "*", "gout"),
    ("[29, 40]", "*", "cold"),
    ("[29, 40]", "*", "cold"),
]
QUASI, SENSITIVE = ["age", "job"], {"disease": "equal"}


def table(rows: list[tuple[Any, ...]]) -> pa.Table:
    return pa.table(dict(zip(["age", "job", "disease"], zip(*rows, strict=True), strict=True)))


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_both_engines_link_rows(engine: str, spark: SparkSession) -> None:
    found = audit(table(RELEASED), QUASI, SENSITIVE, raw=table(RAW), engine=engine).to_json()[
        "linkage"
    ]
    assert (found["rows"], found["classes"], found["without"]) == (6, 2, 0)
    # both classes cover 29 and 31, are as wide, and have three rows; only the second has a cold,
    # both have a gout
    assert found["nearest"] == pytest.approx((1 + 1 + 1 + 1 + 0.5 + 1) / 6)
    assert found["blind"] == pytest.approx((0.5 + 0.5 + 1 + 0.5 + 0.5 + 0.5) / 6)
    assert found["one_to_one"] == 1


def test_rows_without_a_class_of_their_own_are_never_linked() -> None:
    raw = [*RAW[:5], (40, "a", "mumps")]
    found = audit(table(RELEASED), QUASI, SENSITIVE, raw=table(raw), engine="local").linkage
    assert found is not None
    assert (found.without, found.rows) == (1, 6)
    assert found.nearest < 1


def test_a_raw_table_without_rows_is_refused() -> None:
    with pytest.raises(InputError, match="raw: the table has no rows"):
        audit(table(RELEASED), QUASI, SENSITIVE, raw=table(RAW).slice(0, 0), engine="local")


def test_more_rows_than_the_sample_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ROWS", 4)
    found = audit(table(RELEASED), QUASI, SENSITIVE, raw=table(RAW), engine="local")
    assert found.linkage is not None
    assert (found.linkage.rows, found.linkage.one_to_one) == (4, None)


def test_the_command_and_the_page(
    tmp_path: Path,
    tclose: Callable[..., tuple[int, str, str]],
) -> None:
    pq.write_table(table(RAW), tmp_path / "raw.parquet")
    pq.write_table(table(RELEASED), tmp_path / "released.parquet")
    asked = [
        "audit",
        tmp_path / "released.parquet",
        "-q",
        "age,job",
        "-s",
        "disease",
        "--raw",
        tmp_path / "raw.parquet",
    ]
    _, said, _ = tclose(*map(str, asked), "--html", str(tmp_path / "page.html"))
    assert "Linkage with the raw table: of 6 raw rows among 2 classes" in said
    assert Page((tmp_path / "page.html").read_text()).only("p", "Of 6 raw rows among 2 classes")
    assert json.loads(tclose(*map(str, asked), "--json")[1])["linkage"]["rows"] == 6


def test_what_cannot_be_linked_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="no column 'disease'"):
        audit(
            table(RELEASED),
            QUASI,
            SENSITIVE,
            raw=table(RAW).drop_columns(["disease"]),
            engine="local",
        )
    monkeypatch.setattr(module, "MOST_CLASSES", 1)
    found = audit(table(RELEASED), QUASI, SENSITIVE, raw=table(RAW), engine="local")
    assert found.linkage is None
    assert "linkage is not measured: there are more than 1 classes" in found.notes


@pytest.mark.parametrize("shift", [0, -100, -1014, 10**15])
def test_linkage_does_not_depend_on_where_numbers_begin(shift: int) -> None:
    """Neither the nearest class nor the assignment, which chance decides where several cost as
    little.
    """

    def moved(low: int, high: int) -> str:
        return f"[{shift + low}, {shift + high}]"

    raw = pa.table({"age": [shift + age for age in (4, 2, 3, 14)], "way": [18, 8, 15, 15]})
    released = pa.table(
        {"age": [moved(2, 4)] * 2 + [moved(3, 14)] * 2, "way": ["[8, 18]"] * 2 + ["15"] * 2},
    )
    found = audit(released, ["age", "way"], raw=raw, engine="local").linkage
    assert found is not None
    assert (found.nearest, found.one_to_one) == (1, 1)


def test_moments_near_one_another_keep_their_digits() -> None:
    """A microsecond of a second of 2024 is a millionth of the range, wherever the range lies."""
    seen = [f"2024-05-06T07:08:09.00000{i}" for i in range(6)]
    raw = pa.table({"seen": seen})
    released = pa.table(
        {"seen": [f"[{seen[i // 3 * 3]}, {seen[i // 3 * 3 + 2]}]" for i in range(6)]},
    )
    found = audit(released, ["seen"], raw=raw, engine="local").linkage
    assert found is not None
    assert (found.nearest, found.one_to_one) == (1, 1)
