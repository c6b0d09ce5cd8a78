"""Great Expectations over class tables: fail-closed, and only what was asked counts as
evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import great_expectations as gx
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from tclose_spark.checks import validation
from tclose_spark.checks.validation import Validation
from tclose_spark.errors import GuaranteeError
from tclose_spark.requirements.expectation import (
    Expectation,
    expect_at_least,
    expect_at_most,
    expect_present,
    expect_rows,
)

SUITE = [
    expect_rows(2),
    expect_present("size"),
    expect_at_least("size", 4, "k-anonymity"),
    expect_present("margin"),
    expect_at_least("margin", 0, "t-closeness"),
]


@pytest.fixture(autouse=True, params=["pandas", "spark"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A class table is judged the same in this process and, where it is large, by Spark."""
    if request.param == "spark":
        monkeypatch.setattr(validation, "MOST_LOCAL", -1)


KINDS = {
    "emd": pa.float64(),
    "size": pa.int64(),
    "margin": pa.decimal128(38, 0),
    "age": pa.string(),
}


def classes(
    spark: SparkSession,
    *rows: tuple[Any, ...],
    columns: Sequence[str] = ("size", "margin"),
) -> DataFrame:
    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    return spark.createDataFrame(
        pa.table(
            {
                name: pa.array(column, KINDS[name])
                for name, column in zip(columns, values, strict=True)
            },
        ),
    )


def validate(table: DataFrame, name: str, suite: Sequence[Expectation]) -> Validation:
    return validation.validate(table, name, suite, table.count())


def failed(found: Validation) -> list[str]:
    return [
        each["expectation_config"]["type"]
        for each in found.results.to_json_dict()["results"]
        if not each["success"]
    ]


def test_all_hold(spark: SparkSession) -> None:
    found = validate(classes(spark, (4, 0), (5, 7)), "classes", SUITE)
    assert found.passed
    assert failed(found) == list(found.failures) == []
    assert len(found.results.results) == len(SUITE)


@pytest.mark.parametrize(
    ("rows", "expected", "failure"),
    [
        (
            [(4, 0), (3, 7)],
            "expect_column_values_to_be_between",
            "k-anonymity: 1 class breaks it",
        ),  # a class of 3
        ([(2, 0), (3, 7)], "expect_column_values_to_be_between", "k-anonymity: 2 classes break it"),
        (
            [(4, 0), (5, -1)],
            "expect_column_values_to_be_between",
            "t-closeness: 1 class breaks it",
        ),  # over t, by the least there is
        (
            [(4, 0)],
            "expect_table_row_count_to_equal",
            "2 classes were found in the release: there are 1",
        ),
        (
            [(4, 0), (None, 7)],
            "expect_column_values_to_not_be_null",
            "every class has size: 1 class breaks it",
        ),
        (
            [(4, 0), (5, None)],
            "expect_column_values_to_not_be_null",
            "every class has margin: 1 class breaks it",
        ),  # not measured
    ],
)
def test_a_violation_fails(
    spark: SparkSession,
    rows: Sequence[tuple[Any, ...]],
    expected: str,
    failure: str,
) -> None:
    found = validate(classes(spark, *rows), "classes", SUITE)
    assert not found.passed
    assert failed(found) == [expected]
    assert found.failures == (failure,)


def test_an_empty_class_table_fails(spark: SparkSession) -> None:
    found = validate(classes(spark), "classes", SUITE)
    assert not found.passed
    assert "expect_table_row_count_to_equal" in failed(found)


def test_margins_beyond_64_bits_are_compared(spark: SparkSession) -> None:
    huge = Decimal(10) ** 37
    assert validate(classes(spark, (4, huge), (4, huge)), "classes", SUITE).passed
    assert not validate(classes(spark, (4, huge), (4, -huge)), "classes", SUITE).passed


def test_a_strict_bound_is_strict(spark: SparkSession) -> None:
    suite = [expect_at_least("margin", 0, "recursive l-diversity", strict=True)]
    assert validate(classes(spark, (4, 1)), "classes", suite).passed
    assert not validate(classes(spark, (4, 0)), "classes", suite).passed


@pytest.mark.parametrize(
    "expectation",
    [expect_present("margin"), expect_at_least("margin", 0, "t-closeness")],
)
def test_a_missing_column_fails(spark: SparkSession, expectation: Expectation) -> None:
    assert not validate(
        classes(spark, (4,), columns=("size",)),
        "classes",
        [expect_rows(1), expectation],
    ).passed


def test_what_was_evaluated_must_be_what_was_asked(
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Forgetful(gx.ExpectationSuite):
        """Loses the last expectation, as a suite from a file may."""

        def __init__(self, *, expectations: Sequence[Any], **others: Any) -> None:
            super().__init__(expectations=expectations[:-1], **others)

    monkeypatch.setattr(gx, "ExpectationSuite", Forgetful)
    with pytest.raises(
        GuaranteeError,
        match=r"2 expectations on the classes are required, but others \(1\) were evaluated",
    ):
        validate(
            classes(spark, (4, 0)),
            "classes",
            [expect_present("size"), expect_at_least("margin", 0, "t-closeness")],
        )


def test_a_bound_that_changed_is_noticed(
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lenient = type("Lenient", (gx.expectations.ExpectColumnValuesToBeBetween,), {})
    monkeypatch.setattr(
        gx.expectations,
        "ExpectColumnValuesToBeBetween",
        lambda **arguments: lenient(**{**arguments, "min_value": 1}),
    )
    with pytest.raises(GuaranteeError):
        validate(classes(spark, (2, 0)), "classes", [expect_at_least("size", 4, "k-anonymity")])


def test_what_is_kept_holds_no_values_of_the_table(spark: SparkSession) -> None:
    table = classes(
        spark,
        (4, 0, "[21, 29]"),
        (3, -987654, "[32, 38]"),
        columns=("size", "margin", "age"),
    )
    suite = [*SUITE, expect_at_least("age", 1, "of text"), expect_present("no such column")]
    for name, text in validate(table, "classes", suite).files().items():
        assert not re.search(r"\[21|\[32|987654", text), name


def test_a_tie_of_doubles_is_no_violation_and_is_judged_by_the_margin(spark: SparkSession) -> None:
    third = Fraction(1, 3)
    suite = [
        expect_at_most("emd", float(third), "in doubles"),
        expect_at_least("margin", 0, "in integers"),
    ]
    tie = Fraction(10**17, 3 * 10**17)
    above = Fraction(10**17 + 1, 3 * 10**17)
    columns = ("emd", "margin")
    assert (
        validate(classes(spark, (float(tie), 0), columns=columns), "classes", suite).failures == ()
    )
    assert float(above) == float(third)
    assert validate(
        classes(spark, (float(above), -3), columns=columns),
        "classes",
        suite,
    ).failures == ("in integers: 1 class breaks it",)
    assert (
        len(validate(classes(spark, (0.34, -1), columns=columns), "classes", suite).failures) == 2
    )


def test_data_docs_load_nothing_from_elsewhere(spark: SparkSession) -> None:
    odd = "pay <script>alert(1)</script> $x & 'y'"
    found = validate(classes(spark, (4, 0), (3, 7)), odd, [*SUITE, expect_present(odd)])
    pages = {name: text for name, text in found.files().items() if name.endswith(".html")}
    assert set(pages) == {"data_docs/index.html", "data_docs/suite.html"}
    for page in pages.values():
        assert not re.search(r"<script|<img|<link|url\(|onclick=|@import", page)
    assert "1 unexpected values found. 50% of 2 total rows" in pages["data_docs/index.html"]
    assert 'href="suite.html"' in pages["data_docs/index.html"]


def test_keys_do_not_depend_on_how_a_bound_is_written() -> None:
    assert expect_at_least("size", 3, "one").key == expect_at_least("size", 3.0, "other").key
    assert expect_at_least("size", 3, "").key != expect_at_least("size", 4, "").key
    assert (
        Expectation("a", (("column", "x"), ("value", 1)), "").key
        == Expectation("a", (("value", 1), ("column", "x")), "").key
    )
