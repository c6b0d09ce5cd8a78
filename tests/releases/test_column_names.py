"""Names of columns in messages: shown where they are names, and never where they may be the first
person's record.
"""

import pytest

from tclose_spark.table.column_names.names import are_names, instead_of, instead_of_each, shown

ASKED = ["name", "age", "zip", "sex", "disease"]


def test_a_near_miss_comes_first() -> None:
    assert (
        instead_of("age", ["Age", "zip", "sex"], ["age", "zip"])
        == "did you mean 'Age'? It has Age, zip, sex"
    )


def test_nothing_near() -> None:
    assert instead_of("age", ["zip", "sex"], ["age", "zip"]) == "it has zip, sex"


RECORDS = {
    "text and numbers": ["NAMESECRET0", "48", "99007", "M", "DXcold"],
    "text only": ["NAMESECRET0", "young", "Paris", "M", "DXcold"],
    "a value twice": ["age", "Male", "male"],
    "bytes": ["age", "PAR1\x15\x04"],
    "what was no UTF-8": ["age", "n\ufffd"],
    "mostly numbers": ["age", "48", "99007"],
    "a long text": ["age", "x" * 65],
}


@pytest.mark.parametrize("record", RECORDS)
def test_a_record_is_not_shown(record: str) -> None:
    found = RECORDS[record]
    assert not are_names(found, ASKED)
    assert instead_of("zip", found, ASKED).startswith(f"it has {len(found)} columns")
    assert not any(value in instead_of("zip", found, ASKED) for value in found if value != "age")


def test_many_names_are_counted_and_what_is_near_is_named() -> None:
    found = [*(f"question_{i}" for i in range(400)), "sex", "zip", "Age"]
    assert instead_of("age", found, ASKED) == "did you mean 'Age'? It has 403 columns"


def test_a_header_that_was_not_read_is_suggested() -> None:
    assert "set input.options.header: true" in instead_of("age", ["_c0", "_c1"], ASKED)


def test_a_column_that_is_no_name_is_reported_by_its_place() -> None:
    assert [shown(0, "income"), shown(1, "48"), shown(2, "a\0")] == [
        "column 'income'",
        "column number 2",
        "column number 3",
    ]


def test_of_several_columns_what_the_table_has_is_reported_once():
    told = instead_of_each(
        ["age", "zipp", "job"],
        ["Age", "zip", "sex"],
        ["age", "zipp", "job", "sex", "Age", "zip"],
    )
    assert told == [
        "did you mean 'Age'? It has Age, zip, sex",
        "did you mean 'zip'?",
        "none of its names is near",
    ]


def test_of_several_columns_a_record_in_place_of_names_is_reported_once():
    assert len(instead_of_each(["age", "zip"], ["31", "Zebulon", "7"], ["age", "zip"])) == 1
    assert instead_of_each([], ["a"], ["a"]) == []
