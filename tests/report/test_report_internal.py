"""The internal report: the raw side is there, each figure beside that of the release, and what is
missing is said.
"""

import copy
from typing import Any

import pytest
from html_page import Page
from some_certificate import certificate_with
from some_figures import figures_with
from test_report_browser import figures
from test_report_html import certificate  # noqa: F401 - a fixture

from tclose_spark.io.run_state import (
    AnonymizeRecord,
    InputRecord,
    PlanFigures,
    ProfileRecord,
    RunState,
    Stages,
    SubjectsRecord,
    WrittenRecord,
)
from tclose_spark.report.internal import MadeBy, render_internal, versions
from tclose_spark.report.mechanism import Mechanism
from tclose_spark.runfile.attributes import Attributes
from tclose_spark.stages.warnings import could_be_intervals, query_error_notes

RAW: dict[str, Any] = {
    "rows": 90,
    "suppressed": 10,
    "whole": 30170,
    "worth": {
        "query_error": 0.123,
        "query_error_90": 0.9,
        "accuracy": 0.31,
        "accuracy_raw": 0.42,
        "accuracy_majority": 0.2,
    },
    "target": "occupation",
    "why_no_classifier": "",
    "groups": {
        "people": 100,
        "alone": 0.25,
        "few": 0.5,
        "chance": 0.375,
        "certain": {"occupation": 0.29, "income": 0.3},
        "guess": {"occupation": 0.56, "income": 0.57},
    },
    "uniques": {
        "rows": 100,
        "required": 3,
        "searched": 2,
        "combinations": 820,
        "unique": 17,
        "by_size": (3, 15),
        "columns": (
            {"name": "age", "uniques": 21, "share": 0.75},
            {"name": "<i>sex", "uniques": 15, "share": 0.5},
        ),
        "frequent": ({"columns": ("age", "<i>sex"), "rows": 12},),
        "highest": 39,
        "mean": 4.5,
    },
    "cells": {
        "rows": 100,
        "below": (3, 3),
        "rare_rows": 41,
        "combinations": (
            {
                "columns": ("age", "<i>sex"),
                "cells": 57,
                "smallest": 1,
                "rare_cells": 29,
                "rare_rows": 40,
            },
            {"columns": ("age",), "cells": 31, "smallest": 2, "rare_cells": 7, "rare_rows": 14},
        ),
        "columns": ({"name": "age", "rare_cells": 36}, {"name": "<i>sex", "rare_cells": 29}),
        "left": ({"size": 3, "among": ("age", "<i>sex", "job"), "combinations": 1},),
    },
    "linkage": {
        "rows": 90,
        "classes": 30,
        "nearest": 0.875,
        "one_to_one": None,
        "blind": 0.0625,
        "without": 0,
    },
    "means": [{"name": "age", "raw": (38.5, 13.25), "released": (38.75, 12.5)}],
    "associations": [
        {"quasi": "age", "sensitive": "occupation", "raw": 0.35, "released": 0.15, "moved": 0.08},
    ],
    "tables": [
        {
            "quasi": "age",
            "sensitive": "occupation",
            "rows": ["17 to <b>40", "all others"],
            "columns": ["clerk", "all others"],
            "raw": [[0.6, 0.4], [0, 0]],
            "released": [[0.5, 0.5], [0, 0]],
        },
    ],
}
MINIMALITY = {
    "measured": True,
    "beyond_chance": [
        {
            "quasi_identifier": "age",
            "value": "17 to 40",
            "sensitive_attribute": "occupation",
            "sensitive_value": "clerk",
            "people": 1000,
            "wide": 600,
            "said": 0.16,
            "true": 0.31,
        },
    ],
}


@pytest.fixture
def made() -> dict[str, Any]:
    fingerprint = "f00-0000000000000001"
    profiled = ProfileRecord(
        input=InputRecord(path="people.csv", rows=30170, version=7, fingerprint=fingerprint),
        seconds=1.5,
        repeated=[],
        subjects=SubjectsRecord(internal=["rows are counted, and 'ref' groups them"], public=[]),
    )
    written = AnonymizeRecord(
        written=WrittenRecord(raw=fingerprint, published=fingerprint),
        method={"mean_closeness_ratio": 0.98},
        seconds=2,
    )
    stages = Stages(profile=profiled, anonymize=written)
    plan = {"figures": {"blocks": 3}, "note": "blocks: 3", "details": {}}
    return {
        "state": RunState(configuration="c0ffee", stages=stages),
        "plan": plan,
        "versions": versions(),
        "minimality": MINIMALITY,
        "notes": [],
        "suggested": None,
        "totals": {},
    }


def page_of(certificate: dict[str, Any], made: dict[str, Any], raw: Any = RAW) -> Page:  # noqa: F811
    found = {
        **figures("occupation", "income"),
        "by_input": {"ncp": 0.4, "ncp_by_quasi_identifier": {"age": 0.35}},
        "guessed": {"occupation": 0.22, "income": 0.23},
    }
    mechanism, plan = Mechanism.read(made["minimality"]), PlanFigures.read(made["plan"])
    read = {**made, "minimality": mechanism, "plan": plan}
    return Page(
        render_internal(certificate_with(certificate), figures_with(**found), raw, MadeBy(**read)),
    )


def test_it_says_what_it_is_and_has_the_same_first_pages(certificate, made):  # noqa: F811
    page = page_of(certificate, made)
    assert page.only("p", "Not for publication")
    assert page.only("strong") == "Verdict: holds"
    assert page.after("Fingerprint").startswith("75d2-9a1f-04be")
    assert page.only("h2", "What is not promised")


def test_attacks_before_and_after(certificate, made):  # noqa: F811
    page = page_of(certificate, made)
    assert page.only("tr", "alone with their").endswith("25% 0%")
    assert page.only("tr", "groups of fewer than 20 rows").endswith("50% 0%")
    assert page.only("tr", "chance to pick").endswith("37.5% 5%")
    assert page.only("tr", "rows for which income").endswith("30% 27.9%")
    assert page.only("tr", "rows whose occupation").endswith("56% 22%")


def test_counts_that_are_mostly_wrong_are_warned_of(certificate, made):  # noqa: F811
    losses = {"age": 0.9, "city": 0.3, "pay": None}
    assert query_error_notes({**RAW, "worth": {"query_error": 0.5}}, losses) == []
    assert query_error_notes(None, losses) == []
    notes = query_error_notes({**RAW, "worth": {"query_error": 0.51}}, losses)
    useless = "the table is nearly useless: half of random counts from it are wrong by 51% or more"
    assert notes == [f"{useless}; age loses most (NCP 0.9000), so leave it out, or make it finer"]
    assert query_error_notes({**RAW, "worth": {"query_error": 0.51}}, {"age": None}) == [useless]
    dated = query_error_notes({**RAW, "worth": {"query_error": 0.51}}, losses, ["age"])
    cure = "compare intervals, without its hierarchy, which can end at any value"
    assert dated == [f"{useless}; age loses most (NCP 0.9000), so {cure}"]
    fine = query_error_notes({**RAW, "worth": {"query_error": 0.51}}, {"age": 0.1, "city": 0.01})
    assert fine == [f"{useless}; no quasi-identifier loses much (NCP at most 0.1000)"]
    assert (
        "age loses most"
        in query_error_notes({**RAW, "worth": {"query_error": 0.51}}, {"age": 0.11})[0]
    )
    assert page_of(certificate, {**made, "notes": notes}).only("p", notes[0])
    assert "nearly useless" not in page_of(certificate, made).source


def test_what_the_mechanism_tells(certificate, made):  # noqa: F811
    assert page_of(certificate, made).only("tr", "clerk", "600").endswith("600 of 1,000 16% 31%")
    made["minimality"] = {"measured": False, "why": "no context"}
    assert page_of(certificate, made).only("p", "Not measured: no context.")
    made["minimality"] = {"measured": True, "beyond_chance": []}
    assert page_of(certificate, made).only("p", "Nothing beyond chance.")


def test_raw_and_released_side_by_side(certificate, made):  # noqa: F811
    page = page_of(certificate, made)
    assert page.only("tr", "age", "38.5") == "age 38.5 38.75 13.25 12.5"
    assert page.only("tr", "with occupation").endswith("0.35 0.15 8%")
    assert page.only("tr", "<b>40") == "17 to <b>40 60% 50% 40% 50%"
    assert "<b>40" not in page.source
    assert page.only("p", "Half of the answers are within 12.3%")
    assert [
        page.only("tr", who)[-3:] for who in ("raw rows", "released rows", "nothing (always")
    ] == [
        "42%",
        "31%",
        "20%",
    ]
    assert page.only("p", "A sample of 100 of the 30,170 rows")
    assert page.only("p", "10 of these rows are suppressed")


def test_special_uniques_of_the_sample(certificate, made):  # noqa: F811
    page = page_of(certificate, made)
    assert page.only("p", "In a sample of 100 rows: rows that are unique")
    assert page.only(
        "p",
        "17 of 100 rows are unique by at most 2",
        "820 combinations",
        "those of 3 quasi-identifiers are",
    )
    assert page.only("tr", "2 of 2 quasi-identifiers").endswith(" 15")
    assert page.only("tr", "age, <i>sex 12").endswith(" 12")
    assert page.only("tr", "<i>sex 15").endswith(" 50%")
    assert page_of(certificate, made, RAW | {"whole": 100}).only("p", "In all 100 rows:")
    assert "Special uniques" not in page_of(certificate, made, RAW | {"uniques": None}).text


def test_rare_cells_of_the_sample(certificate, made):  # noqa: F811
    page = page_of(certificate, made)
    assert page.only(
        "p",
        "41 of 100 rows are in a cell of fewer rows than 3",
        "1 combinations of 3 were left out",
    )
    assert page.only("tr", "age, <i>sex 57").endswith("57 1 29 40")
    assert page.only("tr", "<i>sex 29")
    assert page.only("p", "is in one of the sample, too; the reverse need not hold")
    assert "Rare cells" not in page_of(certificate, made, RAW | {"cells": None}).text


def test_linkage_of_the_sample_is_beside_a_blind_guess(certificate, made):  # noqa: F811
    line = page_of(certificate, made).only("p", "looks for the nearest class")
    assert "Of 90 sampled rows among 30 classes, 87.5% have their own class first" in line
    assert "A blind guess is right for 6.2" in line
    assert "nearest class" not in page_of(certificate, made, RAW | {"linkage": None}).text


def test_what_could_not_be_measured_is_said(certificate, made):  # noqa: F811
    raw = copy.deepcopy(RAW)
    raw |= {
        "why_no_classifier": "scikit-learn is not installed (the extra `analysis`)",
        "groups": None,
    }
    page = page_of(certificate, made, raw)
    assert page.only("p", "Not trained: scikit-learn is not installed")
    assert page.only("tr", "alone with their").endswith("not counted 0%")
    assert page_of(certificate, made, None).only("p", "No rows could be drawn")


def test_how_it_was_made(certificate, made):  # noqa: F811
    page = page_of(certificate, made)
    assert page.after("Input").startswith("people.csv, version 7")
    assert page.after("Plan").startswith("blocks 3")
    assert page.after("Work").startswith("mean closeness ratio 0.98")
    assert page.after("Seconds").startswith("profile 1.5, anonymize 2")
    assert f"numpy {versions()['numpy']}" in page.after("Versions")
    assert "http" not in page.source
    assert not page.open


@pytest.mark.parametrize("kind", ["timestamp", "date"])
def test_dates_with_a_hierarchy_could_be_intervals(kind: str) -> None:
    quasi = {
        "time": {"type": kind, "hierarchy": {"dates": ["month", "year"]}},
        "day": {"type": kind},
        "sex": {},
    }
    attributes = Attributes.model_validate(
        {"quasi_identifiers": quasi, "sensitive_attributes": {"x": {"t": 0.2}}},
    )
    assert could_be_intervals(attributes) == {"time"}
