"""Great Expectations over class tables: fail-closed, and only what was asked counts as evaluated."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import great_expectations as gx
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from tclose_spark.checks.expectations import Expectation, expect_at_least, expect_present, expect_rows, validate
from tclose_spark.errors import GuaranteeError

SUITE = [
    expect_rows(2),
    expect_present("size"),
    expect_at_least("size", 4, "k-anonymity"),
    expect_present("margin"),
    expect_at_least("margin", 0, "t-closeness"),
]


KINDS = {"size": pa.int64(), "margin": pa.decimal128(38, 0), "age": pa.string()}


def classes(spark: SparkSession, *rows: tuple[Any, ...], columns: Sequence[str] = ("size", "margin")) -> DataFrame:
    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    return spark.createDataFrame(pa.table({name: pa.array(column, KINDS[name]) for name, column in zip(columns, values, strict=True)}))


def failed(results: str) -> list[str]:
    return [each["expectation_config"]["type"] for each in json.loads(results)["results"] if not each["success"]]


def test_all_hold(spark: SparkSession) -> None:
    holds, results = validate(classes(spark, (4, 0), (5, 7)), "classes", SUITE)
    assert holds
    assert failed(results) == []
    assert len(json.loads(results)["results"]) == len(SUITE)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([(4, 0), (3, 7)], ["expect_column_min_to_be_between"]),  # a class of 3
        ([(4, 0), (5, -1)], ["expect_column_min_to_be_between"]),  # a class over t, by the least there is
        ([(4, 0)], ["expect_table_row_count_to_equal"]),  # a class less than were found
        ([(4, 0), (None, 7)], ["expect_column_values_to_not_be_null"]),  # a class without a size
        ([(4, 0), (5, None)], ["expect_column_values_to_not_be_null"]),  # a class that was not measured
    ],
)
def test_a_violation_fails(spark: SparkSession, rows: Sequence[tuple[Any, ...]], expected: list[str]) -> None:
    holds, results = validate(classes(spark, *rows), "classes", SUITE)
    assert not holds
    assert failed(results) == expected


def test_an_empty_class_table_fails(spark: SparkSession) -> None:
    holds, results = validate(classes(spark), "classes", SUITE)
    assert not holds
    assert "expect_table_row_count_to_equal" in failed(results)


def test_margins_beyond_64_bits_are_compared(spark: SparkSession) -> None:
    huge = Decimal(10) ** 37
    assert validate(classes(spark, (4, huge), (4, huge)), "classes", SUITE)[0]
    assert not validate(classes(spark, (4, huge), (4, -huge)), "classes", SUITE)[0]


def test_a_strict_bound_is_strict(spark: SparkSession) -> None:
    suite = [expect_at_least("margin", 0, "recursive l-diversity", strict=True)]
    assert validate(classes(spark, (4, 1)), "classes", suite)[0]
    assert not validate(classes(spark, (4, 0)), "classes", suite)[0]


@pytest.mark.parametrize("expectation", [expect_present("margin"), expect_at_least("margin", 0, "t-closeness")])
def test_a_missing_column_fails(spark: SparkSession, expectation: Expectation) -> None:
    assert not validate(classes(spark, (4,), columns=("size",)), "classes", [expect_rows(1), expectation])[0]


def test_what_was_evaluated_must_be_what_was_asked(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    class Forgetful(gx.ExpectationSuite):
        """Loses the last expectation, as a suite from a file may."""

        def add_expectation(self, expectation: Any) -> Any:
            return expectation if expectation.column == "margin" else super().add_expectation(expectation)

    monkeypatch.setattr(gx, "ExpectationSuite", Forgetful)
    with pytest.raises(GuaranteeError, match=r"2 expectations were asked of the classes, and others \(1\) were evaluated"):
        validate(classes(spark, (4, 0)), "classes", [expect_present("size"), expect_at_least("margin", 0, "t-closeness")])


def test_a_bound_that_changed_is_noticed(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    lenient = type("Lenient", (gx.expectations.ExpectColumnMinToBeBetween,), {})
    monkeypatch.setattr(gx.expectations, "ExpectColumnMinToBeBetween", lambda **arguments: lenient(**{**arguments, "min_value": 1}))
    with pytest.raises(GuaranteeError):
        validate(classes(spark, (2, 0)), "classes", [expect_at_least("size", 4, "k-anonymity")])


def test_results_hold_no_values_of_the_table(spark: SparkSession) -> None:
    table = classes(spark, (4, 0, "[21, 29]"), (3, 0, "[32, 38]"), columns=("size", "margin", "age"))
    assert "[21" not in validate(table, "classes", SUITE)[1]


def test_keys_do_not_depend_on_how_a_bound_is_written() -> None:
    assert expect_at_least("size", 3, "one").key == expect_at_least("size", 3.0, "other").key
    assert expect_at_least("size", 3, "").key != expect_at_least("size", 4, "").key
    assert Expectation("a", (("column", "x"), ("value", 1)), "").key == Expectation("a", (("value", 1), ("column", "x")), "").key
