"""The people whom a release stands for, counted by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tclose_spark.options.weights.judge import release_weights
from tclose_spark.requirements.figures import plain
from tclose_spark.table.columns import weights
from tclose_spark.table.columns.weights import listed_totals

ROWS = [
    ("[20, 29]", "flu", 1.5),
    ("[20, 29]", None, 2.0),
    ("[30, 39]", "flu", 10.25),
    ("[30, 39]", "gout", 0.0),
]


def test_two_classes_of_a_survey(table_of: Callable[..., Any]) -> None:
    released = table_of(ROWS, age="string", disease="string", w="double")
    assert plain(release_weights(released, ["age"], ["disease"], "w")) == {
        "total": 13.75,
        "smallest_class": 3.5,
        "mean_class": 6.875,
        "totals": {
            "disease": [
                {"value": "flu", "people": 11.75},
                {"value": None, "people": 2.0},
                {"value": "gout", "people": 0.0},
            ],
        },
    }


@pytest.mark.parametrize(
    ("most", "listed"),
    [
        (3, [("gout", 3.0), ("flu", 1.0), (None, 1.0)]),
        (2, [("gout", 3.0), ("flu", 1.0), {"others": 1, "people": 1.0}]),
        (1, [("gout", 3.0), {"others": 2, "people": 2.0}]),
    ],
)
def test_the_largest_totals_are_listed_and_the_others_are_one_entry(
    most: int,
    listed: list[Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(weights, "MOST_TOTALS", most)
    expected = [
        one if isinstance(one, dict) else {"value": one[0], "people": one[1]} for one in listed
    ]
    assert listed_totals({None: 10**6, "flu": 10**6, "gout": 3 * 10**6}) == expected
