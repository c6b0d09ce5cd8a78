"""The codebook: an entry for each column of a written release, which agrees with its rows."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tclose_spark as tc

ROWS = 240
PEOPLE = pa.table(
    {
        "age": [20 + i * 7 % 60 for i in range(ROWS)],
        "height": [150.0 + i % 40 for i in range(ROWS)],
        "born": [None if i % 60 == 0 else f"19{50 + i % 40}-0{1 + i % 9}-11" for i in range(ROWS)],
        "zip": [f"{10000 + i * 37 % 900}" for i in range(ROWS)],
        "town": ["abc"[i % 3] for i in range(ROWS)],
        "sex": ["fm"[i % 2] for i in range(ROWS)],
        "illness": [None if i % 5 == 0 else ("flu", "Flu ", "gout")[i % 3] for i in range(ROWS)],
        "pay": [i * 31 % 12 for i in range(ROWS)],
        "wave": [None if i % 3 == 0 else i % 4 for i in range(ROWS)],
        "weight": [1.0 + i % 3 for i in range(ROWS)],
        "patient": [f"p{i}" for i in range(ROWS)],
    }
)
SPEC: dict[str, Any] = {
    "attributes": {
        "quasi_identifiers": {
            "age": {"type": "numeric"},
            "height": {"type": "numeric", "numeric_output": "bounds"},
            "born": {"hierarchy": {"dates": ["month", "year"]}},
            "zip": {"hierarchy": {"prefix": [3, 1]}},
            "town": {"generalization": "set"},
            "sex": {},
        },
        "sensitive_attributes": {
            "illness": {"t": "0.5", "text": {"strip": True, "case": "fold"}},
            "pay": {"t": "measure", "distance": "ordered"},
        },
        "insensitive_attributes": ["wave"],
        "weight": {"column": "weight", "publish": True, "round_to": 1},
        "pseudonyms": {"patient": {"as": "person", "secret": "CODEBOOK_SECRET"}},
    },
    "privacy": {"k": 4},
    "method": {"name": "closeness_tree", "effort": "fast"},
}
QUASI, ROLE = "quasi-identifier", "role"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tc.Release:
    os.environ["CODEBOOK_SECRET"] = "a secret of more than sixteen characters"
    return tc.release(PEOPLE, SPEC, output=tmp_path_factory.mktemp("codebook"), engine="local", log=None)


@pytest.fixture(scope="module")
def entries(made: tc.Release) -> dict[str, dict[str, str]]:
    return {entry["column"]: entry for entry in made.codebook}


def test_every_column_has_its_role_in_order(made: tc.Release, entries: dict[str, dict[str, str]]) -> None:
    assert list(entries) == list(made.certificate["release"]["columns"])
    expected = dict.fromkeys(("age", "height_min", "height_max", "born", "zip", "town", "sex"), QUASI)
    expected |= {"illness": "sensitive attribute", "pay": "sensitive attribute", "wave": "insensitive attribute"}
    expected |= {"weight": "weight", "person": "pseudonym"}
    assert {column: entry[ROLE] for column, entry in entries.items()} == expected


def test_missing_values_are_those_of_the_written_rows(made: tc.Release, entries: dict[str, dict[str, str]]) -> None:
    table = made.to_arrow()
    assert {name: int(entry["missing"]) for name, entry in entries.items()} == {
        name: table[name].null_count for name in table.column_names
    }
    assert int(entries["illness"]["missing"]) == ROWS // 5


@pytest.mark.parametrize(
    ("column", "key", "text"),
    [
        ("age", "form", "a number, an interval of numbers [lowest, highest], or * (any value)"),
        ("height_min", "form", "the lowest number of an interval"),
        ("town", "form", "a value, a set of values {a, b}, or * (any value)"),
        ("sex", "form", "a value, or * (any value)"),
        ("age", "type", "string"),
        ("height_max", "type", "double"),
        ("illness", "treatment", "spellings were merged; in each class at most 0.5 from its distribution in the table"),
        ("pay", "treatment", "published unchanged; no limit on its distance"),
        ("weight", "treatment", "rounded to multiples of 1"),
        ("person", "treatment", "replaces a direct identifier"),
        ("wave", "treatment", "published unchanged; no guarantee covers it"),
    ],
)
def test_words(entries: dict[str, dict[str, str]], column: str, key: str, text: str) -> None:
    assert entries[column][key].startswith(text)


def test_levels_have_the_names_of_the_run_file(made: tc.Release, entries: dict[str, dict[str, str]]) -> None:
    """The precision counts the labels that the release has."""
    for column, words in {"born": {7: "month", 4: "year"}, "zip": {3: "the first 3 characters"}}.items():
        labels = [label for label in made.to_arrow()[column].to_pylist() if label is not None]
        for length, word in words.items():
            stars = length if column == "born" else None
            rows = sum(
                len(label) == stars if stars is not None else len(label.rstrip("*")) == length and label != "*"
                for label in labels
            )
            share = f"{100 * rows / ROWS:.1f}".removesuffix(".0")
            assert (f"{word}: {share}% of rows" in entries[column]["precision"]) == bool(rows), (column, labels)


def test_the_report_has_the_same_table(made: tc.Release, entries: dict[str, dict[str, str]]) -> None:
    for entry in entries.values():
        assert f"<td>{entry['treatment']}</td>" in made.report.html.replace("&#39;", "'")


def test_names_are_quoted(tmp_path: Path) -> None:
    odd = 'a "b",\n c'
    table = PEOPLE.select(["age", "sex", "illness"]).rename_columns([odd, "sex", "illness"])
    spec = {
        "attributes": {
            "quasi_identifiers": {odd: {"type": "numeric"}, "sex": {}},
            "sensitive_attributes": {"illness": {"t": "0.5"}},
        },
        "privacy": {"k": 4},
        "method": SPEC["method"],
    }
    made = tc.release(table, spec, output=tmp_path / "out", engine="local", log=None)
    assert [entry["column"] for entry in made.codebook] == [odd, "sex", "illness"]
    assert next(csv.reader(io.StringIO((tmp_path / "out/public/codebook.csv").read_text())))[0] == "column"


def test_both_engines_make_the_same(made: tc.Release, spark: object, tmp_path: Path) -> None:
    again = tc.release(PEOPLE, SPEC, output=tmp_path / "out", engine="spark", log=None)
    keys: Callable[[tc.Release], object] = lambda one: [{**entry, "precision": ""} for entry in one.codebook]  # noqa: E731
    assert keys(again) == keys(made)
