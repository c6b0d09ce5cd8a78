"""The codebook: an entry for each column of a written release, which agrees with its rows."""

from __future__ import annotations

import os
import random
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tclose_spark as tc
from tclose_spark.report.page import percent

ROWS = 240
DRAWN = random.Random(7)


def column(*values: Any) -> list[Any]:
    """Values drawn for all rows."""
    return DRAWN.choices(values, k=ROWS)


PEOPLE = pa.table(
    {
        "age": column(*range(20, 80)),
        "height": column(150.0, 160.5, 171.0, 180.0),
        "born": column(
            None,
            *(f"19{year}-0{month}-11" for year in range(50, 60) for month in range(1, 10)),
        ),
        "zip": [str(zipped) for zipped in column(*range(10000, 10900, 37))],
        "town": column("a", "b", "c"),
        "sex": column("f", "m"),
        "illness": column(None, "flu", "Flu ", "gout"),
        "pay": column(*range(12)),
        "wave": column(None, 1, 2),
        "weight": column(1.0, 2.2),
        "patient": [f"p{i}" for i in range(ROWS)],
    },
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
    return tc.release(
        PEOPLE,
        SPEC,
        output=tmp_path_factory.mktemp("codebook"),
        engine="local",
        log=None,
    )


@pytest.fixture(scope="module")
def entries(made: tc.Release) -> dict[str, dict[str, str]]:
    return {entry["column"]: entry for entry in made.codebook}


def test_every_column_has_its_role_in_order(
    made: tc.Release,
    entries: dict[str, dict[str, str]],
) -> None:
    assert list(entries) == list(made.certificate["release"]["columns"])
    expected = dict.fromkeys(
        ("age", "height_min", "height_max", "born", "zip", "town", "sex"),
        QUASI,
    )
    expected |= {
        "illness": "sensitive attribute",
        "pay": "sensitive attribute",
        "wave": "insensitive attribute",
    }
    expected |= {"weight": "weight", "person": "pseudonym"}
    assert {column: entry[ROLE] for column, entry in entries.items()} == expected


def test_missing_values_are_those_of_the_written_rows(
    made: tc.Release,
    entries: dict[str, dict[str, str]],
) -> None:
    table = made.to_arrow()
    assert {name: int(entry["missing"]) for name, entry in entries.items()} == {
        name: table[name].null_count for name in table.column_names
    }
    assert int(entries["illness"]["missing"]) == PEOPLE["illness"].null_count > 0


@pytest.mark.parametrize(
    ("column", "key", "text"),
    [
        ("age", "form", "a number, an interval of numbers [lowest, highest], or * (any value)"),
        ("height_min", "form", "the lowest number of an interval"),
        ("town", "form", "a value, a set of values {a, b}, or * (any value)"),
        ("sex", "form", "a value, or * (any value)"),
        ("age", "type", "string"),
        ("height_max", "type", "double"),
        (
            "illness",
            "treatment",
            "spellings were merged; in each class at most 0.5 from its distribution in the table",
        ),
        ("pay", "treatment", "published unchanged; no limit on its distance"),
        ("weight", "treatment", "rounded to multiples of 1"),
        ("person", "treatment", "replaces a direct identifier"),
        ("wave", "treatment", "published unchanged; no guarantee covers it"),
    ],
)
def test_words(entries: dict[str, dict[str, str]], column: str, key: str, text: str) -> None:
    assert entries[column][key].startswith(text)


def test_levels_have_the_names_of_the_run_file(
    made: tc.Release,
    entries: dict[str, dict[str, str]],
) -> None:
    """The precision counts the labels that the release has."""
    kinds = {
        "born": {"the value": r"\d{4}-\d\d-\d\d", "month": r"\d{4}-\d\d", "year": r"\d{4}"},
        "zip": {
            "the value": r"\d{5}",
            "the first 3 characters": r"\d{3}\*+",
            "the first character": r"\d\*+",
        },
    }
    named = set()
    for name, words in kinds.items():
        labels = made.to_arrow()[name].to_pylist()
        for word, pattern in words.items():
            rows = sum(
                label is not None and re.fullmatch(pattern, label) is not None for label in labels
            )
            entry = f"{word}: {percent(rows / ROWS)} of rows"
            assert (entry in entries[name]["precision"]) == (rows > 0), (name, word)
            named |= {word} if rows else set()
    assert len(named) > 2


def test_the_report_has_the_same_table(
    made: tc.Release,
    entries: dict[str, dict[str, str]],
) -> None:
    for entry in entries.values():
        assert f"<td>{entry['treatment']}</td>" in made.report.html.replace("&#39;", "'")


def test_a_missing_value_that_could_be_any_is_not_said_to_be_covered_by_itself(
    tmp_path: Path,
) -> None:
    quasi = {"born": {"hierarchy": {"dates": ["month", "year"]}, "missing": "any"}, "sex": {}}
    spec = {
        **SPEC,
        "attributes": {"quasi_identifiers": quasi, "sensitive_attributes": {"pay": {"t": "0.9"}}},
    }
    made = tc.release(
        PEOPLE.select(["born", "sex", "pay"]),
        spec,
        output=tmp_path,
        engine="local",
        log=None,
    )
    born, sex, _ = (entry["treatment"] for entry in made.codebook)
    assert (
        born == "generalized to a label that covers all known values of its class; a missing value "
        "could be any"
    )
    assert sex == "generalized to a label that covers all values of its class"


def test_times_name_their_zone(tmp_path: Path) -> None:
    times = [datetime(2024, 1, day, 12, tzinfo=UTC) for day in range(1, 21)]
    people = pa.table(
        {
            "sent": pa.array(times),
            "seen": pa.array(times[:2] * 10),
            "said": pa.array(times[:2] * 10, pa.timestamp("us")),
        },
    )
    sensitive = {name: {"t": 1} for name in ("seen", "said")}
    spec = {
        "attributes": {
            "quasi_identifiers": {"sent": {"type": "timestamp"}},
            "sensitive_attributes": sensitive,
        },
        "privacy": {"k": 4},
    }
    codebook = tc.release(people, spec, output=tmp_path, engine="local", log=None).codebook
    forms = {entry["column"]: entry["form"] for entry in codebook}
    assert forms["sent"].endswith("; in UTC, if the input has a zone")
    assert forms["seen"] == "a value of the input, in UTC"
    assert forms["said"] == "a value of the input"


def test_both_engines_make_the_same(made: tc.Release, spark: object, tmp_path: Path) -> None:
    again = tc.release(PEOPLE, SPEC, output=tmp_path / "out", engine="spark", log=None)

    def keys(one: tc.Release) -> object:
        return [{**entry, "precision": ""} for entry in one.codebook]

    assert keys(again) == keys(made)
