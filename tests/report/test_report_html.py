"""The report page: every figure is there, labels are data, nothing is promised that does not hold,
nothing is fetched.
"""

import copy
import re
from fractions import Fraction
from typing import Any

import pytest
from html_page import Page
from some_certificate import certificate_with
from some_figures import figures_with

from tclose_spark.report.certificate.building import COUNTS
from tclose_spark.report.html import number, render_report

LABELS = {"age": "[17, 42]", "sex": "*"}
EXTREMES: dict[str, list[dict[str, Any]]] = {
    "largest": [{"size": 1044, "labels": LABELS, "emd": {"occupation": 0.0912345}}],
    "smallest": [
        {
            "size": 20,
            "labels": {"age": "[28, 31]", "sex": "Female"},
            "emd": {"occupation": 0.143607},
        },
    ],
}


@pytest.fixture
def certificate() -> dict[str, Any]:
    """A release that holds, with one of everything."""
    return {
        "verdict": "holds",
        "tool": {"name": "tclose_spark", "version": "0.1.0"},
        "issued": "2026-11-21T01:02:03Z",
        "release": {
            "name": "adult",
            "rows": 30162,
            "classes": 1508,
            "fingerprint": "75d2-9a1f-04be",
            "columns": ["age", "sex", "occupation", "income", "wave"],
        },
        "input": {"rows": 30170, "version": 7},
        "regions": "overlapping",
        "information": {
            "tuples": {
                "distance": "equal",
                "achieved": 0.412345,
                "achieved_exact": "1/2",
                "growth": [],
            },
        },
        "method": {
            "name": "stack_and_deal",
            "stack_order": "value",
            "deal": "local",
            "class_size": "auto",
        },
        "guarantees": {
            "k": {"required": 20, "achieved": 24},
            "t": {
                "occupation": {
                    "distance": "equal",
                    "required": 0.2,
                    "required_exact": "1/5",
                    "achieved": 0.143607,
                    "achieved_exact": "123/856",
                },
                "income": {
                    "distance": "ordered",
                    "required": 0.25,
                    "required_exact": "1/4",
                    "achieved": 0.05,
                    "achieved_exact": "1/20",
                },
            },
            "l": {
                "occupation": {
                    "distinct": {"required": 3, "achieved": 9},
                    "entropy": {"required": 2.5, "achieved": 7.123456, "holds": True},
                    "recursive": {"required": {"c": "3", "l": 2}, "holds": True},
                },
            },
        },
        "utility": {
            "ncp": 0.3551234,
            "average_class_size": 20.00132,
            "discernibility": 603360,
            "smallest_class": 24,
            "largest_class": 1044,
            "ncp_by_quasi_identifier": {"age": 0.3101, "sex": 0.4},
        },
        "unprotected": {},
        "attributes": {
            "sensitive": {
                "occupation": {"homogeneous": {"classes": 0, "rows": 0}},
                "income": {"homogeneous": {"classes": 579, "rows": 8404}},
            },
        },
        "counts": COUNTS,
        "warnings": [],
        "evidence": {"expectations_evaluated": 12, "labels_checked": 30162},
        "allow_unique": [],
    }


def page_of(
    certificate: dict[str, Any],
    extremes: dict[str, list[dict[str, Any]]] = EXTREMES,
) -> Page:
    return Page(render_report(certificate_with(certificate), figures_with(extremes=extremes)))


def without_limit(certificate: dict[str, Any], attribute: str) -> None:
    certificate["guarantees"]["t"][attribute].update(required=None, required_exact=None)


def near(certificate: dict[str, Any], **changed: Any) -> None:
    """(n, t)-closeness of occupation: nothing is required of the distance from the whole table."""
    for attribute in ("occupation", "income"):
        without_limit(certificate, attribute)
    by = {"whole_table": 8, "itself": 500, "superset": 1000}
    entry = {
        "n": 1000,
        "distance": "equal",
        "required": 0.1,
        "required_exact": "1/10",
        "achieved": 0.09,
        "classes": by,
    }
    certificate["guarantees"]["nt"] = {"occupation": {**entry, **changed}}


def test_near_to_supersets_is_reported_as_what_is_promised(certificate):
    near(certificate)
    page = page_of(certificate)
    line = page.only("tr", "(n, t)-closeness of occupation", "at most 0.1", "0.09", "met")
    assert (
        "natural superset of 1,000 rows or more: 8 classes are near to the whole table, 500 have "
        "as many" in line
    )
    assert "1,000 are near to another" in line
    page.only("tr", "t-closeness of occupation", "nothing", "only measured")
    page.only(
        "li",
        "(n, t)-closeness.",
        "within 0.09 (required: 0.1; n = 1,000)",
        "a group of at least n rows",
    )
    assert "Verdict: holds" in page.text


@pytest.mark.parametrize(
    "changed",
    [{"achieved": 0.11}, {"classes": {"whole_table": 8, "itself": 500, "superset": 999}}],
)
def test_near_to_supersets_that_its_own_figures_speak_against_is_not_shown_as_met(
    certificate,
    changed,
):
    near(certificate, **changed)
    assert "Verdict: holds" not in page_of(certificate).text


def test_the_title_and_a_clear_verdict(certificate):
    page = page_of(certificate)
    assert page.only("h1") == "adult"
    assert page.only("title") == "adult: privacy report"
    assert page.only("strong") == "Verdict: holds"


def test_what_was_asked_and_what_is_reached(certificate):
    page = page_of(certificate)
    assert page.only("tr", "k-anonymity").endswith("at least 20 24 met")
    assert page.only("tr", "t-closeness of occupation").endswith(
        "at most 0.2 1/5 0.1436 123/856 met",
    )
    assert page.only("tr", "t-closeness of income").endswith("at most 0.25 1/4 0.05 1/20 met")
    assert page.only("tr", "Distinct l-diversity of occupation").endswith("at least 3 9 met")
    assert page.only("tr", "Entropy l-diversity of occupation").endswith("at least 2.5 7.1235 met")
    assert page.only("tr", "Recursive l-diversity of occupation").endswith(
        "c = 3, l = 2 in every class met",
    )


def test_combinations_of_several_attributes_are_reported(certificate):
    assert "0.4123" in page_of(certificate).only("p", "Their combinations are farther apart")
    certificate["information"] = {}
    assert not [text for _, text in page_of(certificate).blocks if "combinations" in text]


def test_each_distance_is_explained(certificate):
    page = page_of(certificate)
    assert "any two values are equally far apart" in page.only("tr", "t-closeness of occupation")
    assert "their places in the order" in page.only("tr", "t-closeness of income")


def test_what_was_released(certificate):
    page = page_of(certificate)
    tiles = [text for tag, text in page.blocks if tag == "li" and re.match(r"[0-9]", text)]
    assert [re.split(r" (?=rows|classes)", text)[0] for text in tiles] == [
        "30,162",
        "1,508",
        "20.0013",
        "24 to 1,044",
    ]
    assert page.after("Rows of the input") == "30,170, version 7 of the table"
    assert page.after("Generalized columns") == "age and sex"
    assert page.after("Sensitive columns").startswith("occupation and income")
    assert page.after("Insensitive columns").startswith("wave")
    assert page.after("Method") == "stack_and_deal stack_order: value deal: local class_size: auto"
    assert page.after("Fingerprint").startswith("75d2-9a1f-04be")
    assert page.after("Checked").startswith(
        "12 expectations on the 1,508 classes; the labels of 30,162 rows",
    )
    assert "Issued 2026-11-21, 01:02 UTC by tclose_spark 0.1.0" in page.text


def test_the_moment_of_issue_is_in_utc(certificate):
    certificate["issued"] = "2026-11-20T23:02:03Z"
    assert "Issued 2026-11-20, 23:02 UTC" in page_of(certificate).text


def test_an_input_without_a_version_all_of_which_is_released(certificate):
    certificate["input"] = {"rows": 30162, "version": None}
    assert page_of(certificate).after("Rows of the input") == "30,162; all of them are released"


def test_a_quasi_identifier_published_as_two_bounds_is_generalized(certificate):
    certificate["release"]["columns"] = ["age_min", "age_max", "sex", "occupation", "income"]
    page = page_of(certificate)
    assert page.after("Generalized columns") == "age_min, age_max and sex"
    assert "Insensitive columns" not in page.text


def test_information_loss_by_column_and_on_average(certificate):
    page = page_of(certificate)
    assert page.only("tr", "age", "0.3101")
    assert page.only("tr", "sex", "0.4")
    assert page.only("tr", "Mean") == "Mean 0.3551"
    assert page.bars("fill")[-3:] == ["31.01", "40.0", "35.51"]
    assert "is 603,360." in page.only(
        "p",
        "How to read it: 0 means",
        "1 that all were replaced by *",
    )


def test_guarantee_bars_show_reached_against_asked(certificate):
    bars = page_of(certificate).bars("fill")[:5]
    assert bars == ["120.0", "71.8", "20.0", "150", "150"], (
        "k, two t, distinct, entropy; the mark is at 100, the end at 150"
    )


@pytest.mark.parametrize(
    ("achieved", "text"),
    [
        ("590239/2951214", "0.199999"),
        ("1/5", "0.2"),
        ("2000001/10000000", "0.2000001"),
        ("13/100", "0.13"),
    ],
)
def test_a_figure_that_differs_from_its_limit_is_never_shown_as_the_limit(
    certificate,
    achieved,
    text,
):
    figure = float(Fraction(achieved))
    certificate["guarantees"]["t"]["occupation"].update(achieved=figure, achieved_exact=achieved)
    extremes = {
        key: [{**one, "emd": {"occupation": figure}} for one in EXTREMES[key]] for key in EXTREMES
    }
    page = page_of(certificate, extremes)
    page.only("tr", "t-closeness of occupation", f"at most 0.2 1/5 {text} {achieved}")
    assert [row for tag, row in page.blocks if tag == "tr"][-1] == f"20 [28, 31] Female {text}"
    if page.only("strong") == "Verdict: holds":
        page.only(
            "li",
            "t-closeness. In every class",
            f"occupation is within {text} (required: 0.2)",
        )


def test_a_limit_without_an_end_has_the_digits_that_show_on_which_side_a_figure_is(certificate):
    certificate["guarantees"]["t"]["occupation"].update(
        required=1 / 3,
        required_exact="1/3",
        achieved=0.333333,
        achieved_exact="333333/1000000",
    )
    page_of(certificate).only(
        "tr",
        "t-closeness of occupation",
        "at most 0.3333333 1/3 0.333333 333333/1000000 met",
    )


def test_other_figures_beside_their_limits_differ_from_them_too(certificate):
    near(certificate, achieved=0.0999999)
    page = page_of({**certificate, "suppressed": {**SUPPRESSED, "share": 0.0099999}})
    page.only("tr", "(n, t)-closeness of occupation", "at most 0.1 1/10 0.0999999 met")
    page.only("li", "(n, t)-closeness.", "within 0.0999999 (required: 0.1;")
    assert "0.0099999 of the input; at most 0.01 is allowed" in page.after("Suppressed rows")
    certificate["guarantees"]["l"]["occupation"]["entropy"].update(achieved=2.50001)
    page_of(certificate).only("tr", "Entropy l-diversity of occupation", "at least 2.5 2.50001 met")


def test_the_largest_and_the_smallest_classes(certificate):
    page = page_of(certificate)
    rows = [text for tag, text in page.blocks if tag == "tr"]
    assert rows[-4] == "Rows age sex distance, occupation"
    assert rows[-3] == "1,044 [17, 42] * 0.0912"
    assert rows[-1] == "20 [28, 31] Female 0.1436"


def test_labels_and_names_are_data_not_markup(certificate):
    extremes = copy.deepcopy(EXTREMES)
    extremes["largest"][0]["labels"] = {'"><b>age': "<b>old</b>", "sex": '"&amp;'}
    certificate["release"]["name"] = "<i>adult"
    certificate["allow_unique"] = ["<u>wave"]
    page = page_of(certificate, extremes)
    assert "&lt;b&gt;old&lt;/b&gt;" in page.source
    assert "<b>old" not in page.source
    assert "<b>age" not in page.source
    assert page.only("tr", "<b>old</b>") == '1,044 <b>old</b> "&amp; 0.0912'
    assert page.only("h1") == "<i>adult"
    assert "<u>wave" not in page.source


def test_a_missing_label_differs_from_a_text(certificate):
    extremes = copy.deepcopy(EXTREMES)
    extremes["smallest"][0]["labels"] = {"age": None, "sex": "None"}
    assert page_of(certificate, extremes).only("tr", "(missing)") == "20 (missing) None 0.1436"


def test_no_l_is_asked(certificate):
    certificate["guarantees"]["l"] = {}
    page = page_of(certificate)
    assert "l-diversity" not in page.text
    assert page.only("strong") == "Verdict: holds"


def test_a_t_that_is_only_measured_is_no_promise(certificate):
    without_limit(certificate, "income")
    page = page_of(certificate)
    assert page.only("tr", "t-closeness of income").endswith("nothing 0.05 1/20 only measured")
    assert len(page.bars("mark")) == 4, "k, one t, distinct and entropy"
    promise = page.only("li", "t-closeness.")
    assert "occupation is within 0.1436 (required: 0.2)" in promise
    assert "income" not in promise


def test_no_t_at_all_is_no_promise(certificate):
    without_limit(certificate, "occupation")
    without_limit(certificate, "income")
    assert "none is promised" in page_of(certificate).only("li", "t-closeness.")


def test_an_attribute_that_nothing_limits_makes_the_verdict_amber(certificate):
    assert [
        attributes
        for _, attributes in page_of(certificate).tags
        if attributes.get("class") == "verdict holds"
    ]
    without_limit(certificate, "income")
    certificate["unprotected"] = {"income": {"classes": 579, "rows": 8404}}
    page = page_of(certificate)
    assert page.only("strong") == "Verdict: holds, with an attribute unprotected"
    assert "no requirement limits what a class reveals about income" in page.only("p", "But")
    assert [
        attributes["class"]
        for tag, attributes in page.tags
        if "verdict" in (attributes.get("class") or "")
    ] == ["verdict qualified"]
    assert page.only("li", "Nothing is promised about income")
    first = next(text for tag, text in page.blocks if tag == "li")
    assert first == "income is certain for 8,404 rows, in 579 classes with only one value."


def test_several_unprotected_attributes_are_all_named(certificate):
    certificate["unprotected"] = {
        "income": {"classes": 1, "rows": 9},
        "occupation": {"classes": 0, "rows": 0},
    }
    page = page_of(certificate)
    assert page.only("strong") == "Verdict: holds, with 2 attributes unprotected"
    assert [text for tag, text in page.blocks if tag == "li"][:2] == [
        "income is certain for 9 rows, in 1 class with only one value.",
        "occupation is certain for no row, because no class has only one value.",
    ]
    certificate["guarantees"]["k"]["achieved"] = 19
    assert page_of(certificate).only("strong") == "Verdict: does not hold"


def test_of_whom_a_value_is_certain_is_reported_where_t_holds_too(certificate):
    page = page_of(certificate)
    assert page.only("li", "income is certain for 8,404 rows, in 579 classes")
    assert page.only("li", "occupation is certain for no row")


def test_warnings_are_shown(certificate):
    assert "review" not in page_of(certificate).text
    certificate["warnings"] = ["sex: the published value is * in all rows", "<b>income</b>: one"]
    page = page_of(certificate)
    assert page.only("li", "sex: the published value is * in all rows")
    assert "<b>income" not in page.source


def test_promises_are_in_numbers_of_the_release(certificate):
    page = page_of(certificate)
    promise = page.only("li", "k-anonymity.", "age and sex")
    assert "at least 23 other rows" in promise
    assert "fewer than 24 rows (20 were required)" in promise
    promise = page.only("li", "t-closeness.")
    assert (
        "occupation is within 0.1436 (required: 0.2) and that of income is within 0.05 (required: "
        "0.25)" in promise
    )


def test_what_is_not_promised(certificate):
    page = page_of(certificate)
    assert page.only("li", "do not hide that a person is in the table")
    assert page.only("li", COUNTS)
    assert page.only(
        "li",
        "do not protect against an adversary who knows the whole table but one record",
    )
    assert page.only("li", "insensitive columns, which are published unchanged", "wave")


def test_nearly_unique_columns_that_were_allowed_are_named(certificate):
    assert "Nearly unique" not in page_of(certificate).text
    certificate["allow_unique"] = ["wave"]
    assert "wave may hold a different value in almost every row" in page_of(certificate).text


@pytest.mark.parametrize("verdict", ["fails", "", "Holds", None])
def test_no_certificate_has_another_verdict(certificate, verdict):
    with pytest.raises(ValueError, match="verdict"):
        certificate_with({**certificate, "verdict": verdict})


def assert_promises_nothing(page: Page) -> None:
    assert page.only("strong") == "Verdict: does not hold"
    assert page.only("p", "Do not publish the table")
    assert page.only("p", "Nothing: the required guarantees do not hold.")
    assert "Every requirement was checked" not in page.text
    assert not [text for tag, text in page.blocks if tag == "li" and "k-anonymity." in text]


OCCUPATION_T = {"achieved": 0.2, "achieved_exact": "200000001/1000000000"}


@pytest.mark.parametrize(
    ("path", "found", "line"),
    [
        (("k",), {"achieved": 19}, "k-anonymity"),
        (("t", "occupation"), OCCUPATION_T, "t-closeness of occupation"),
        (("l", "occupation", "distinct"), {"achieved": 2}, "Distinct"),
        (("l", "occupation", "entropy"), {"achieved": 2.4999}, "Entropy"),
        (("l", "occupation", "entropy"), {"achieved": 2.5, "holds": False}, "Entropy"),
        (("l", "occupation", "recursive"), {"holds": False}, "Recursive"),
    ],
)
def test_a_figure_that_falls_short_is_not_met_whatever_the_verdict(certificate, path, found, line):
    section = certificate["guarantees"]
    for step in path:
        section = section[step]
    section.update(found)
    page = page_of(certificate)
    assert [
        text.endswith("not met") for tag, text in page.blocks if tag == "tr" and line in text
    ] == [True]
    assert sum(text.endswith("not met") for _, text in page.blocks) == 1
    red = [
        attributes
        for tag, attributes in page.tags
        if tag == "svg" and attributes["class"] == "bar unmet"
    ]
    assert len(red) == (line != "Recursive"), "which has no bar"
    assert_promises_nothing(page)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (("k",), {"achieved": 20}),
        (("t", "occupation"), {"achieved": 0.2, "achieved_exact": "1/5"}),
        (("l", "occupation", "distinct"), {"achieved": 3}),
        (("l", "occupation", "entropy"), {"achieved": 2.5 - 1e-12}),
        (("l", "occupation", "entropy"), {"required": 0.0}),
    ],
)
def test_a_figure_that_is_just_reached_is_met(certificate, path, found):
    section = certificate["guarantees"]
    for step in path:
        section = section[step]
    section.update(found)
    assert page_of(certificate).only("strong") == "Verdict: holds"


def test_the_page_needs_nothing_from_anywhere(certificate):
    page = page_of(certificate)
    names = {name for _, attributes in page.tags for name in attributes}
    assert not names & {
        "src",
        "href",
        "srcset",
        "data",
        "action",
        "poster",
        "background",
        "xlink:href",
    }
    assert not {tag for tag, _ in page.tags} & {
        "script",
        "link",
        "iframe",
        "object",
        "embed",
        "img",
        "base",
        "form",
    }
    assert not [name for name in names if name.startswith("on")]
    css = page.only("style") + " ".join(
        attributes.get("style") or "" for _, attributes in page.tags
    )
    assert "url(" not in css
    assert "@import" not in css
    assert "@font-face" not in css
    assert "http" not in page.source
    assert not page.open, "every tag is closed"


def test_the_page_is_a_document_in_utf8_for_any_screen_and_for_paper(certificate):
    page = page_of(certificate)
    assert page.source.startswith("<!DOCTYPE html>")
    assert ("meta", {"charset": "utf-8"}) in page.tags
    assert (
        "meta",
        {"name": "viewport", "content": "width=device-width, initial-scale=1"},
    ) in page.tags
    assert "@media print" in page.only("style")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.0, "0"),
        (1.0, "1"),
        (0.143607, "0.1436"),
        (0.00004, "< 0.0001"),
        (0.00006, "0.0001"),
        (20.0, "20"),
        (1234567.5, "1,234,567.5"),
        (2**63 + 1, "9,223,372,036,854,775,809"),
    ],
)
def test_numbers_are_rounded_but_never_to_nothing(value, text):
    assert number(value) == text


# --- rows that are left out


SUPPRESSED = {
    "rows": 8,
    "share": 8 / 30170,
    "limit": 0.01,
    "limit_exact": "1/100",
    "of": "released",
}


def test_a_release_that_may_leave_out_nobody_does_not_speak_of_it(certificate):
    assert "uppressed" not in page_of(certificate).text
    page = page_of({**certificate, "suppressed": {**SUPPRESSED, "rows": 0, "share": 0.0}})
    assert page.after("Suppressed rows").startswith("0, 0 of the input; at most 0.01 is allowed")
    assert "rows of the input are suppressed" not in page.text


def test_of_the_released_rows_nothing_is_reported_of_those_left_out(certificate):
    page = page_of({**certificate, "suppressed": SUPPRESSED})
    assert page.after("Suppressed rows").startswith(
        "8, 0.0003 of the input; at most 0.01 is allowed",
    )
    page.only("p", "8 rows of the input are suppressed", "is not published")
    page.only(
        "tr",
        "t-closeness of occupation",
        "distance of a class from the whole released table",
    )
    page.only(
        "p",
        "A suppressed row counts as 1 in every column",
        "plus the rows of the input for each suppressed row",
    )
    page.only("li", "They do not hide who was suppressed")


def test_suppressed_rows_that_are_a_class_are_shown_as_one(certificate):
    reached = copy.deepcopy(certificate["guarantees"])
    reached["k"]["achieved"] = 31
    apart = {**SUPPRESSED, "rows": 31, "of": "input", "guarantees": reached, "certain": ["income"]}
    page = page_of({**certificate, "suppressed": apart})
    assert "Verdict: holds" in page.text
    page.only("p", "31 rows of the input are suppressed", "They are therefore treated as a class")
    page.only("tr", "k-anonymity", "at least 20", "31")
    page.only("p", "All suppressed rows have one value of income")
    page.only(
        "tr",
        "t-closeness of occupation",
        "from the whole input table, suppressed rows included",
    )
    reached["k"]["achieved"] = 19
    page = page_of({**certificate, "suppressed": apart})
    assert "Verdict: does not hold" in page.text
    page.only("tr", "k-anonymity", "19", "not met")


def test_the_three_questions_have_the_figures_of_the_certificate(certificate):
    line = page_of(certificate).only("dd", "smallest class")
    assert "the smallest class has 24 rows (k: 20)" in line
    linked = page_of(certificate).only("dd", "to pick")
    assert "0.0417 at most, 0.05 on average" in linked
    assert "the population (privacy.population)" in linked
    inferred = page_of(certificate).only("dd", "certain for")
    assert (
        "income: classes are at most 0.05 from the table (t: 0.25); certain for 8,404 rows"
        in inferred
    )


def test_what_singles_out_and_links_is_named_in_the_three_questions(certificate):
    certificate["allow_unique"] = ["wave"]
    certificate["pseudonyms"] = {"patient": "own secret"}
    without_limit(certificate, "income")
    page = page_of(certificate)
    assert "yes, by nearly unique columns: wave" in page.only("dd", "smallest class")
    assert "yes, rows of a person by pseudonyms: patient" in page.only("dd", "to pick")
    assert "(no limit)" in page.only("dd", "certain for")
