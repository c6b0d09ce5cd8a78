"""Which values of a column stand for missing values, and which only look like it."""

from typing import Any

import pyarrow as pa
import pytest

from tclose_spark.suggesting.codes import codes_of_column


def codes(*values: Any, rows: int = 20, least: int = 10, **more: Any) -> list[str]:
    """The codes of a column with so many rows of each value."""
    return list(
        codes_of_column(pa.array(values), pa.array([rows] * len(values)), least, **more).rows,
    )


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([*range(100), 999], ["999"]),
        ([*range(100), 998, 999], ["998", "999"]),
        ([1, 2, 3, 4, 5, 98, 99], ["98", "99"]),
        ([1, 2, 9], ["9"]),
        ([1, 2, 3, 4, 5, 7, 9], ["7", "9"]),
        ([*range(11), 77, 88, 99], ["77", "88", "99"]),
        ([0, 1, 7, 8, 9], ["7", "8", "9"]),
        ([1, 2, -8, -9], ["-9", "-8"]),
        ([*range(0, 5_000, 7), -9], ["-9"]),
        ([*range(0, 5_000, 7), -99_999], ["-99999"]),
        ([1.5, 2.5, 3.25, 999.0], ["999"]),
        ([20.5, 21.5, 22.5, 99.9], ["99.9"]),
        ([*map(str, range(20, 60)), "Unknown", "65+", "10-17"], ["Unknown"]),
        (["20", "31", "45", "none"], ["none"]),
        (
            ["White", "Black", "unbekannt", "Missing", "NA", "."],
            [".", "Missing", "NA", "unbekannt"],
        ),
        (["2020-01-31", "2020-02-01", "9999-12-31"], ["9999-12-31"]),
        (["31.01.2020", "01.01.1900"], ["01.01.1900"]),
    ],
)
def test_codes_are_found(values: list[Any], found: list[str]) -> None:
    assert codes(*values) == found


@pytest.mark.parametrize(
    "values",
    [
        range(100),
        range(1, 10),
        [-1, 0, 1],
        [-3, -2, -1, 0, 1, 2, 3],
        [0.99, 1.99, 4.99, 9.99, 99.99],
        [5, 9, 15, 19, 29, 49, 99],  # prices
        ["DE", "FR", "NA", "IT"],  # Namibia
        ["yes", "none"],
        ["007", "008", "999"],  # codes of one length
        ["Lyon", "65+"],
        [],
        [3],
    ],
)
def test_values_are_no_codes(values: Any) -> None:
    assert codes(*values) == []


def test_a_number_that_few_share_is_counted_and_not_named() -> None:
    found = codes_of_column(pa.array([*range(60), 998, 999]), pa.array([9] * 60 + [9, 30]), 10)
    assert (found.rows, found.unnamed) == ({"999": 30}, 9)


def test_numbers_of_a_system_of_codes_are_values() -> None:
    assert codes("250", "401", "999", "?", numbers=False) == ["?"]
