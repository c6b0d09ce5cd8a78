"""Dates and times in cross tables and means: by period, and as dates."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tclose_spark as tc
from tclose_spark.usefulness.cross_tables import _by_period, _moments, _periods

ROWS = 1200


def periods(first: str, last: str, most: int = 8, unit: str = "D") -> list[tuple[str, str, str]]:
    """The periods of every day from the first to the last, with their ends as moments."""
    codes = np.arange(first, last, dtype="M8[D]").astype(f"M8[{unit}]").astype(np.int64)
    found = list(_periods(unit, codes, np.ones(len(codes), dtype=np.int64), most))
    at = np.array([ends for _, *ends in found], f"M8[{unit}]")
    assert (at[1:, 0].astype(np.int64) - at[:-1, 1].astype(np.int64) == 1).all(), "without a gap"
    return [
        (name, str(low), str(high)) for (name, _, _), (low, high) in zip(found, at, strict=True)
    ]


def test_years_then_months_then_days():
    assert periods("2023-11-05", "2025-02-01") == [
        ("2023", "2023-01-01", "2023-12-31"),
        ("2024", "2024-01-01", "2024-12-31"),
        ("2025", "2025-01-01", "2025-12-31"),
    ]
    assert [name for name, _, _ in periods("2024-01-10", "2024-04-02")] == [
        "2024-01",
        "2024-02",
        "2024-03",
        "2024-04",
    ]
    assert periods("2024-02-28", "2024-03-01", unit="us")[1] == (
        "2024-02-29",
        "2024-02-29T00:00:00.000000",
        "2024-02-29T23:59:59.999999",
    )


def test_many_periods_are_joined_evenly():
    found = periods("2000-01-01", "2024-01-01")
    assert len(found) <= 8
    assert found[0][0] == "2000 to 2002"
    assert found[-1][2] == "2023-12-31"


def test_no_moment_has_no_period():
    empty = np.array([], dtype=np.int64)
    assert list(_periods("D", empty, empty, 8)) == []


def test_sensitive_moments_are_grouped_by_period_and_missing_apart():
    values = [
        "2023-05-01 10:00:00",
        None,
        "2022-01-31 00:00:00.5",
        "2023-01-01 00:00:00",
        "2021-12-31 23:59:59",
    ]
    names, group = _by_period(
        _moments(values),
        np.ones(5, dtype=np.int64),
        np.array([0, 1, 2, 3, 4, 4]),
    )
    assert names == ["2021", "2022", "2023", "(missing)"]
    assert group.tolist() == [2, 3, 1, 2, 0, 0]


@pytest.mark.parametrize("values", [["2023-02-30"], ["2023-05-01", "flu"], ["12"], ["2023-05"]])
def test_other_texts_are_no_moments(values: list[str]):
    assert _moments(values) is None


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    people: dict[str, Any] = {
        "at": [datetime(2018, 3, 1) + timedelta(days=i * 7 % 1800, seconds=i) for i in range(ROWS)],
        "born": [date(1990, 1, 1) + timedelta(days=i * 11 % 300) for i in range(ROWS)],
        "age": [20 + i % 50 for i in range(ROWS)],
        "out": [
            datetime(2020, 3, 1) + timedelta(days=i * 13 % 1100, seconds=1) for i in range(ROWS)
        ],
    }
    spec = {
        "attributes": {
            "quasi_identifiers": {
                "at": {"type": "timestamp"},
                "born": {"type": "date", "numeric_output": "bounds"},
                "age": {"type": "numeric"},
            },
            "sensitive_attributes": {"out": {"distance": "ordered", "t": 0.5}},
        },
        "privacy": {"k": 5},
    }
    made = tc.release(
        pa.table(people),
        spec,
        tmp_path_factory.mktemp("out") / "o",
        log=None,
        engine="local",
    )
    return (Path(made.internal_path) / "report.html").read_text()


def test_the_strongest_cross_table_is_by_year(page: str):
    table = page[page.index("The pair with the strongest association") :]
    heads = table[: table.index("</thead>")]
    assert [year in heads for year in ("2020", "2021", "2022", "2023")] == [True] * 4
    assert ":" not in heads.partition("<thead>")[2]


def test_means_of_dates_are_dates(page: str):
    means = page[page.index("<h3>Means") : page.index("<h3>Cross tables")]
    assert "Standard deviations of dates and times are in days" in means
    assert '<code>born</code></th><td class="figure">1990-0' in means
    at = (
        datetime(2018, 3, 1)
        + sum((timedelta(days=i * 7 % 1800, seconds=i) for i in range(ROWS)), timedelta()) / ROWS
    )
    assert f'<code>at</code></th><td class="figure">{at:%Y-%m-%dT%H:}' in means
    assert '<code>age</code></th><td class="figure">44.5</td>' in means
