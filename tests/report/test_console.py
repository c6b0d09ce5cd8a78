"""The summary of a release for a terminal."""

from typing import Any

import pytest
from some_certificate import certificate_with

from tclose_spark.report.console import certificate_lines


def certificate(**t: Any) -> dict[str, Any]:
    """A release whose disease has this t."""
    closeness = {"disease": {"distance": "equal", **t}}
    return {
        "verdict": "holds",
        "release": {"name": "people", "rows": 100, "classes": 9, "fingerprint": "75d2-9a1f"},
        "input": {"rows": 109},
        "guarantees": {"k": {"required": 5, "achieved": 7}, "t": closeness, "l": {}},
        "suppressed": {
            "rows": 9,
            "limit": 0.1,
            "guarantees": {"k": {"required": 5, "achieved": 9}, "t": closeness, "l": {}},
        },
        "attributes": {"sensitive": {"disease": {"homogeneous": {"classes": 0, "rows": 0}}}},
        "utility": {"ncp": 0.25},
        "unprotected": {},
    }


def lines_of_t(**t: Any) -> set[str]:
    """What the lines of disease's t report, of classes and of suppressed rows."""
    lines = certificate_lines(certificate_with(certificate(**t)), "public", "internal")
    return {line.split("  ")[-1].strip() for line in lines if line.startswith("  t of disease")}


@pytest.mark.parametrize(
    ("required", "achieved", "text"),
    [
        (0.2, 0.15, "requested 0.2, achieved 0.150000"),
        (0.2, 0.2, "requested 0.2, achieved 0.200000"),
        (0.2, 0.19999999, "requested 0.2, achieved 0.19999999"),
        (0.2, 0.20000001, "requested 0.2, achieved 0.20000001"),
        (1 / 3, 0.333333, "requested 0.3333333, achieved 0.3333330"),
        (None, 0.2, "not requested, achieved 0.200000"),
    ],
)
def test_an_achieved_t_that_differs_from_its_limit_is_never_printed_as_the_limit(
    required,
    achieved,
    text,
):
    assert lines_of_t(required=required, achieved=achieved) == {text}


def test_over_people_too():
    text = "requested 0.2, achieved 0.19999999 over people, 0.15000000 over rows"
    assert lines_of_t(
        required=0.2,
        achieved=0.15,
        over_people={"achieved": 0.19999999, "holds": True},
    ) == {text}


def test_the_same_for_supersets():
    made = certificate(required=None, achieved=0.3)
    by = {"whole_table": 8, "itself": 1, "superset": 0}
    made["guarantees"]["nt"] = {
        "disease": {
            "n": 50,
            "distance": "equal",
            "required": 0.1,
            "required_exact": "1/10",
            "achieved": 0.09999999,
            "classes": by,
        },
    }
    text = "\n".join(certificate_lines(certificate_with(made), "public", "internal"))
    assert "n 50, requested 0.1, achieved 0.09999999" in text


def test_the_precision_of_each_quasi_identifier_once():
    made = certificate(required=0.2, achieved=0.1)
    made["utility"]["ncp_by_quasi_identifier"] = {"born": 0.5, "sex": 0.1, "mean": None}
    text = "up to 5 wide: 40% of rows; up to 10 wide: 60% of rows"
    codebook = [
        {"column": column, "precision": precision}
        for column, precision in (
            ("born_min", text),
            ("born_max", text),
            ("sex", "the value: 100% of rows"),
            ("mean", ""),
            ("disease", ""),
        )
    ]
    whole = certificate_with(made)
    lines = [
        " ".join(line.split()) for line in certificate_lines(whole, "public", "internal", codebook)
    ]
    assert [line for line in lines if line.startswith("precision")] == [
        "precision of born up to 5 wide: 40%; up to 10 wide: 60%",
        "precision of sex the value: 100%",
    ]
    assert not any("precision" in line for line in certificate_lines(whole, "public", "internal"))
