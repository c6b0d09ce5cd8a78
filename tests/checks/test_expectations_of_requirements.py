"""The suite of a class table, requirement by requirement."""

from __future__ import annotations

from typing import Any

import pytest

from tclose_spark.requirements.judge import judged_attribute
from tclose_spark.requirements.registry import expectations_of
from tclose_spark.runfile.attributes import SensitiveAttribute

CLOSE = "t-closeness of disease: EMD <= 1/4 in every class"
ENTROPY = "entropy l-diversity of disease: at least 3/2"


def bounds_of(k: int | None, **settings: Any) -> tuple[set[str], list[tuple[dict[str, Any], str]]]:
    """(the columns that no class may lack, (the bound of a column, its meaning)) of the suite for
    one attribute.
    """
    asked = SensitiveAttribute.model_validate(settings)
    suite = expectations_of(
        k,
        [judged_attribute("disease", asked, {"flu": 6, "gout": 2}, None, True)],
    )
    present = [one for one in suite if one.type == "expect_column_values_to_not_be_null"]
    bounds = [one for one in suite if one.type == "expect_column_values_to_be_between"]
    assert len(present) + len(bounds) == len(suite)
    columns = {str(dict(one.arguments)["column"]) for one in present}
    assert all(one.meaning == f"every class has {dict(one.arguments)['column']}" for one in present)
    return columns, [(dict(one.arguments), one.meaning) for one in bounds]


@pytest.mark.parametrize(
    ("settings", "column", "bounds"),
    [
        (
            {"t": "0.25"},
            "margin_disease",
            [
                ({"column": "emd_disease", "max_value": 0.25}, CLOSE),
                ({"column": "margin_disease", "min_value": 0}, f"{CLOSE}, in exact integers"),
            ],
        ),
        (
            {"l": {"entropy": "1.5"}},
            "exact_entropy_disease",
            [
                ({"column": "entropy_disease", "min_value": pytest.approx(1.5, abs=1e-8)}, ENTROPY),
                ({"column": "exact_entropy_disease", "min_value": 0}, f"{ENTROPY}, exactly"),
            ],
        ),
        (
            {"l": {"recursive": {"c": "3", "l": 2}}},
            "recursive_margin_disease",
            [
                (
                    {"column": "recursive_margin_disease", "min_value": 0, "strict_min": True},
                    "recursive (3, 2)-diversity of disease",
                ),
            ],
        ),
    ],
)
def test_a_requirement_adds_its_exact_column_and_its_bounds(
    settings: dict[str, Any],
    column: str,
    bounds: list[tuple[dict[str, Any], str]],
) -> None:
    without, least = bounds_of(4)
    present, asked = bounds_of(4, **settings)
    assert column in present - without
    assert [one for one in asked if one not in least] == bounds


def test_k_and_the_number_of_values() -> None:
    _, asked = bounds_of(4, l={"distinct": 2})
    assert asked == [
        ({"column": "size", "min_value": 4}, "k-anonymity: every class has at least 4 records"),
        (
            {"column": "distinct_disease", "min_value": 2},
            "distinct l-diversity of disease: at least 2 values",
        ),
    ]


def test_without_requirements_every_class_has_records_and_figures() -> None:
    present, bounds = bounds_of(None)
    assert present == {"size", "emd_disease", "distinct_disease"}
    assert [(one["column"], one["min_value"]) for one, _ in bounds] == [
        ("size", 1),
        ("distinct_disease", 1),
    ]
