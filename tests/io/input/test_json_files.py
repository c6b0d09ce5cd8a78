"""JSON objects, in an array or in lines: the same table, with the values that were written."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import drawn

from tclose_spark.engine.sources import read_table
from tclose_spark.engine.tables import collect
from tclose_spark.errors import InputError
from tclose_spark.io.input.problems import told
from tclose_spark.io.local_session import LocalSession
from tclose_spark.runfile.spec import Input

DATES = st.sampled_from(
    ["2020-01-01", "2020-01-01T00:30:00+02:00", "2020-01-01 12:00:00", "12:30", "1", "true", ""],
)
KINDS: dict[str, st.SearchStrategy[Any]] = {
    "text": DATES
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4),
    "whole": st.integers(-(10**20), 10**20)
    | st.integers(2**53 - 2, 2**53 + 3)
    | st.integers(2**63 - 2, 2**63 + 1),
    "number": st.floats(allow_nan=False, allow_infinity=False) | st.integers(-100, 100),
    "truth": st.booleans(),
    "nothing": st.none(),
}
ROWS = st.lists(
    st.fixed_dictionaries({}, optional={n: st.none() | kind for n, kind in KINDS.items()}),
    min_size=1,
)


def read(path: Path, content: str) -> tuple[list[dict[str, Any]], list[str]]:
    """(the rows, the notes about them)."""
    path.write_text(content, encoding="utf-8")
    lines: list[str] = []
    token = told.set(lines.append)
    try:
        return collect(read_table(LocalSession(), Input(path=str(path)))).to_pylist(), lines
    finally:
        told.reset(token)


@drawn(150, quick=30)
@given(rows=ROWS.filter(any))
def test_an_array_and_lines_have_the_values_that_were_written(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[dict[str, Any]],
) -> None:
    folder = tmp_path_factory.mktemp("json")
    array, notes = read(folder / "a.json", json.dumps(rows))
    indented = "\ufeff" + "\n\n".join(json.dumps(row, indent=1) for row in rows)
    for name, content in {"a.jsonl": "\n".join(map(json.dumps, rows)), "b.json": indented}.items():
        found, others = read(folder / name, content)
        assert found == array
        assert len(others) == len(notes)
    names = dict.fromkeys(name for row in rows for name in row)
    assert [*array[0]] == [*names]
    assert array == [{name: row.get(name) for name in names} for row in rows]


def test_columns_that_the_first_object_lacks_are_there(tmp_path: Path) -> None:
    assert read(tmp_path / "a.json", '[{"a": 1}, {"b": "x"}]')[0] == [
        {"a": 1, "b": None},
        {"a": None, "b": "x"},
    ]


def test_whole_numbers_keep_their_digits(tmp_path: Path) -> None:
    numbers = [2**53, 2**53 + 1, 10**20]
    rows, _ = read(tmp_path / "a.jsonl", "\n".join(f'{{"a": {number}}}' for number in numbers))
    assert [row["a"] for row in rows] == [*map(Decimal, numbers)]
    with pytest.raises(
        InputError,
        match=r"column 'a' of a.jsonl has whole numbers of more digits than its type holds",
    ):
        read(tmp_path / "a.jsonl", f'{{"a": 1.5}}\n{{"a": {2**53 + 1}}}')


def test_times_of_a_zone_stay_texts_and_are_noted(tmp_path: Path) -> None:
    rows, notes = read(tmp_path / "a.jsonl", '{"at": "2020-01-01T00:30:00+02:00"}')
    assert rows == [{"at": "2020-01-01T00:30:00+02:00"}]
    assert notes == [
        "note: a.jsonl has times with a zone, which a release shows in UTC and without a zone",
    ]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (
            '{"a": 1}\n{"a": "SECRET"}',
            "column 'a' of a.json has values of several types, number and text",
        ),
        ('[{"a": true}, {"a": 1}]', "several types, number and true or false"),
        ('{"a": "SECRET", "a": 2}', "a.json has an object with a name twice"),
        ("[1]", "a.json has values that are no objects"),
        ('"SECRET"', "a.json has values that are no objects"),
        ("[]", "a.json has no rows"),
        (" ", "a.json has no rows"),
        ('{"a": "SECRET"', r"cannot be read as jsonl \(JSONDecodeError\)"),
    ],
)
def test_what_is_no_table_is_refused_without_its_content(
    tmp_path: Path,
    content: str,
    why: str,
) -> None:
    with pytest.raises(InputError, match=why) as found:
        read(tmp_path / "a.json", content)
    assert "SECRET" not in str(found.value)
