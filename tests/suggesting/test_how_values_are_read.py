"""How values and names of columns are recognized: top codes, refusals, percentages, months, nested
columns, counts.
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from columns import facts, gathered
from pyspark.sql import SparkSession

import tclose_spark as tc
from tclose_spark.errors import InputError
from tclose_spark.suggesting.codes import codes_of_column
from tclose_spark.suggesting.judging import suggest_role
from tclose_spark.suggesting.settings import quasi_identifier_settings, sensitive_settings
from tclose_spark.suggesting.suggestion import Suggestion, require_people
from tclose_spark.table.column_names.hints import hint_of
from tclose_spark.table.columns.patterns import count_dates, forms_of
from tclose_spark.table.ranges import interval_or_none

DRAW = np.random.default_rng(5)
ROWS = 600


def drawn(*values: Any, rows: int = ROWS) -> list[Any]:
    return DRAW.choice(values, rows).tolist()


def ages(*labels: str, rows: int = ROWS) -> list[str]:
    """Ages as text, a tenth of which are labels."""
    numbers = DRAW.integers(18, 90, rows).astype(str).tolist()
    return [
        labels[i // 10 % len(labels)] if labels and i % 10 == 0 else number
        for i, number in enumerate(numbers)
    ]


def people(**columns: list[Any]) -> pa.Table:
    return pa.table({**columns, "sex": drawn("m", "f"), "diagnosis": drawn("flu", "gout", "cold")})


def suggested(table: pa.Table) -> Suggestion:
    return tc.suggest(table, name="people", engine="local", log=None, trial=False)


# --- top and bottom codes

TOP = [
    "90+",
    "> 89",
    "≥90",
    "over 89",
    "90 and over",
    "90 or older",
    "90 years and over",
    "ab 90",
    "über 89",
]
TOP += [
    "90 und älter",
    "plus de 89",
    "90 ans et plus",
    "más de 89",
    "90 y más",
    "oltre 89",
    "90 e più",
    "at least 90",
]
BOTTOM = [
    "<18",
    "under 5",
    "≤17",
    "below 18",
    "unter 18",
    "moins de 18",
    "menos de 18",
    "meno di 18",
    "up to 17",
]


@pytest.mark.parametrize("label", [*TOP, *BOTTOM])
def test_an_open_range_among_numbers_is_a_value(label: str) -> None:
    values = pc.value_counts(pa.array(ages(label)))
    found = codes_of_column(values.field(0), values.field(1), 10)
    assert (found.rows, list(found.labels)) == ({}, [label])
    one = suggest_role(facts("Age", ages(label)))
    assert quasi_identifier_settings(one).settings == {
        "type": "categorical",
        "hierarchy": {"order": 2},
    }


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_nobody_over_the_top_code_is_published_with_another_age(
    spark: SparkSession,
    tmp_path: Path,
    engine: str,
) -> None:
    table = people(Age=ages("90+", "<18", "Prefer not to say"))
    suggestion = suggested(table)
    made = tc.release(table, suggestion.spec, tmp_path / "out", engine=engine, log=None)
    assert made.certificate["verdict"] == "holds"
    labels = made.to_arrow()["Age"].to_pylist()
    top = [label for label in labels if "90+" in label]
    assert top
    for label in filter(None, labels):
        if label.startswith("["):
            interval = interval_or_none(label)
            assert interval is not None
            assert interval.high < 90  # ends at a number that somebody has


def test_income_with_a_top_code_is_hierarchical() -> None:
    incomes = [*map(str, DRAW.integers(100, 900, ROWS).tolist()), *["1000 and over"] * 40]
    one = suggest_role(facts("income", incomes))
    assert one.role == "sensitive"
    assert sensitive_settings(one, "0.2").settings["distance"] == "hierarchical"


# --- refusals

REFUSALS = [
    "Prefer not to say",
    "refused",
    "Declined to answer",
    "Prefers not to answer",
    "REFUSED",
    "Refusal",
]
REFUSALS += [
    "I prefer not to say",
    "Rather not say",
    "verweigert",
    "Antwort verweigert",
    "möchte nicht antworten",
]
REFUSALS += [
    "refus de répondre",
    "ne souhaite pas répondre",
    "préfère ne pas dire",
    "preferisco non rispondere",
]
REFUSALS += [
    "prefiero no decirlo",
    "prefiere no contestar",
    "no desea responder",
    "wil niet zeggen",
    "geweigerd",
]


@pytest.mark.parametrize("word", REFUSALS)
def test_a_refusal_is_a_value_with_a_question(word: str) -> None:
    for others in (["Female", "Male"], [*map(str, range(20, 70))]):
        one = suggest_role(facts("gender", drawn(*others, word)))
        assert one.facts.codes.rows == {}
        line = quasi_identifier_settings(one)
        assert "missing_values" not in line.settings
        assert any(said.startswith("? may mean that it is missing") for said in line.said)


@pytest.mark.parametrize("word", ["keine Angabe", "Unknown", "not stated", "ns/nc", "sans réponse"])
def test_words_that_are_no_refusals_are_missing(word: str) -> None:
    assert list(facts("gender", drawn("Female", "Male", word)).codes.rows) == [word]


@pytest.mark.parametrize(
    "text",
    ["declined the aspirin of Dr Miller", "refused by Anna", "preferred not to meet Bob"],
)
def test_a_text_with_other_words_is_not_shown(text: str) -> None:
    one = suggest_role(facts("note", drawn("a", "b", text)))
    assert text.lower() not in str(one.facts.placeholders)


# --- numbers that look like identifiers


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("int_rate", "{:.2f}%"),
        ("revol_util", "{:.1f} %"),
        ("price", "{:011.2f}"),
        ("amount", "{:014.3f}"),
        ("rate", "{:.3f}"),
        ("fee", "${:.2f}"),
        ("betrag", "{:.2f} €"),
        ("x", "{:09.2f}"),
    ],
)
def test_amounts_and_percentages_are_no_identifiers(name: str, form: str) -> None:
    values = [form.format(number) for number in DRAW.uniform(1, 90_000, ROWS)]
    one = suggest_role(facts(name, values))
    assert (one.role == "direct", one.facts.identifying) == (False, {}), one.why


def test_numbers_that_are_padded_are_numbers_and_codes_stay_codes() -> None:
    assert facts("price", ["00000127.42", "00093127.40", "00000001.00"]).is_number
    assert not facts("code", ["003.1", "040.22", "250"]).is_number
    assert suggest_role(facts("x", [f"0171 55{i:05d}" for i in range(ROWS)])).role == "direct"


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_percentages_of_a_file_are_numbers(
    spark: SparkSession,
    tmp_path: Path,
    engine: str,
) -> None:
    lines = [f"{i % 70 + 18},{'mf'[i % 2]},{i % 97 / 4:.2f}%,{'abc'[i % 3]}" for i in range(ROWS)]
    (tmp_path / "loans.csv").write_text("\n".join(["age,sex,int_rate,diagnosis", *lines, ""]))
    suggestion = tc.suggest(str(tmp_path / "loans.csv"), engine=engine, log=None, trial=False)
    found = {one.name: one.facts for one in suggestion.columns}
    assert found["int_rate"].is_number
    assert suggestion.spec["input"]["options"]["currency"] == "%"


# --- names


@pytest.mark.parametrize(
    ("concept", "names"),
    [
        (
            "place",
            "addr_state address_city home_address_country ip_country mail_zip addr_region "
            "adresse_ville",
        ),
        (
            "contact",
            "address addr_street street_address city_address state_address house_number email",
        ),
        ("health", "drug_name drugName disease_name treatment_name"),
        (
            None,
            "course_name project_name item_name class_name hospital_name product_name event_names "
            "name_of_course",
        ),
        (
            "person's name",
            "customerName first_name name school_teacher_name company_contact_name "
            "project_manager_name",
        ),
        (
            "person's name",
            "family_name child_name product_user_name job_applicant_name test_taker_name",
        ),
    ],
)
def test_names_of_things_and_parts_of_addresses(concept: str | None, names: str) -> None:
    for name in names.split():
        found = hint_of(name).concept
        assert (name, found and found.name) == (name, concept)


# --- dates

DATES = {
    "%b-%Y": ["Jan-2012", "feb-2013"],
    "%b %Y": ["Jan 2012", "Dec 1999"],
    "%Y-%b": ["2012-Jan", "1999-Dec"],
    "%m/%Y": ["1/2012", "12/1999"],
    "%m.%Y": ["01.2012", "12.1999"],
    "%m-%Y": ["01-2012", "12-1999"],
    "%Y-%m": ["2012-01", "1999-12"],
    "%d/%b/%Y": ["1/Mar/2024", "31/Jan/2024"],
    "%d/%b/%Y:%H:%M:%S %z": ["01/Mar/2024:13:49:22 +0000", "2/Apr/2024:03:09:02 -0130"],
    "%d/%b/%Y:%H:%M:%S": ["01/Mar/2024:13:49:22", "2/Apr/2024:03:09:02"],
    "%d.%m.%Y %H:%M": ["29.02.2024 13:05", "1.2.2024 9:05"],
    "%d.%m.%Y %H:%M:%S": ["29.02.2024 13:05:59", "01.02.2024 00:05:00"],
    "%m/%d/%Y %H:%M": ["02/29/2024 13:05", "12/31/2024 00:00"],
    "%Y/%m/%d %H:%M:%S": ["2024/02/29 13:05:59", "2024/12/31 00:00:00"],
    "%d-%b-%Y %H:%M:%S": ["29-Feb-2024 13:05:59", "1-FEB-2024 13:05:59"],
    "%Y/%m/%dT%H:%M:%S%z": ["2024/02/29T13:05:59+01:00", "2024/12/31T00:00:00Z"],
}


@pytest.mark.parametrize("form", DATES)
def test_forms_of_dates_are_found_and_read(form: str) -> None:
    values = pa.array(DATES[form])
    assert forms_of(count_dates(values, pa.array([3, 4])), 7) == (form,)
    settings = quasi_identifier_settings(suggest_role(facts("x", DATES[form] * 50))).settings
    expected = "timestamp" if "%H" in form else "date"
    assert settings == {"type": expected, "date_format": form}
    from tclose_spark.runfile.attributes import QuasiIdentifier
    from tclose_spark.table.columns.preparing import not_of_type

    assert not not_of_type(values, QuasiIdentifier.model_validate(settings)).any()


@pytest.mark.parametrize(
    "texts",
    [["2009/10", "2010/11"], ["Jan-2012", "01.01.2012"], ["1.2.2024", "1.2.2024 9:05"]],
)
def test_texts_of_several_forms_have_none(texts: list[str]) -> None:
    assert forms_of(count_dates(pa.array(texts), pa.array([1] * len(texts))), len(texts)) == ()


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_months_and_times_of_logs_are_released(
    spark: SparkSession,
    tmp_path: Path,
    engine: str,
) -> None:
    months = [
        f"{month}-{year}" for month, year in product(["Jan", "May", "Dec"], range(2010, 2016))
    ]
    times = [f"{day:02d}/Mar/2024:13:49:22 +0000" for day in range(1, 29)]
    table = people(issued=drawn(*months), time=drawn(*times))
    made = tc.release(table, suggested(table).spec, tmp_path / "out", engine=engine, log=None)
    released = made.to_arrow()
    assert all(label == "*" or label[:1] in "[2" for label in released["time"].to_pylist())
    assert any("2010-" in label for label in released["issued"].to_pylist())


# --- nested columns


@pytest.mark.parametrize(
    ("value", "word"),
    [({"city": "Rome"}, "json_normalize"), ([1, 2], "explode")],
)
@pytest.mark.parametrize("name", ["details", "address", "tags"])
def test_a_nested_column_is_named_with_the_way_to_flatten_it(
    name: str,
    value: Any,
    word: str,
) -> None:
    suggestion = suggested(people(**{name: [value] * ROWS}))
    text = " ".join(suggestion.yaml.replace("#", "").split())
    assert word in text
    assert "it is empty" not in text


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_a_release_names_a_nested_column(spark: SparkSession, tmp_path: Path, engine: str) -> None:
    rows = people(age=DRAW.integers(20, 60, ROWS).tolist()).to_pylist()
    path = tmp_path / "people.jsonl"
    path.write_text("".join(json.dumps({**row, "home": {"city": "Rome"}}) + "\n" for row in rows))
    attributes = {
        "quasi_identifiers": {"home": {}},
        "sensitive_attributes": {"diagnosis": {"t": 0.2}},
    }
    spec = {
        "name": "people",
        "attributes": {**attributes, "drop_others": True},
        "privacy": {"k": 5},
    }
    with pytest.raises(InputError, match=r"'home' is of type struct<city:string>.*json_normalize"):
        tc.release(str(path), spec, tmp_path / "out", engine=engine, log=None)


# --- tables of counts


def cells(count: str, **dimensions: list[Any]) -> pa.Table:
    rows = [*product(*dimensions.values())]
    columns = dict(zip(dimensions, map(list, zip(*rows, strict=True)), strict=True))
    return pa.table(
        {**columns, count: DRAW.integers(0, 90, len(rows)), "rate": DRAW.random(len(rows))},
    )


REGIONS, BANDS, YEARS = ["N", "S", "E", "W"], ["0-19", "20-64", "65+"], [2018, 2019, 2020, 2021]
COUNTS = {
    "deaths": cells(
        "deaths",
        region=REGIONS,
        age_group=BANDS,
        sex=["m", "f"],
        year=YEARS,
        cause=["a", "b", "c"],
    ),
    "admissions": cells(
        "n",
        ward=[*"abcdef"],
        month=[*range(1, 13)],
        sex=["m", "f"],
        urgent=["y", "n"],
    ),
    "census": cells("population", state=[*"abcdefgh"], race=[*"rstu"], sex=["m", "f"], age=BANDS),
    "faelle": cells(
        "Anzahl",
        Kreis=[*"abcdefghij"],
        Jahr=YEARS,
        Geschlecht=["m", "w"],
        Delikt=[*"xyz"],
    ),
}


@pytest.mark.parametrize("name", COUNTS)
def test_a_table_of_counts_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"a table of counts .* not of people"):
        suggested(COUNTS[name])


def test_some_empty_cells_and_nested_dimensions_change_nothing() -> None:
    table = COUNTS["deaths"].filter(pa.array(DRAW.random(COUNTS["deaths"].num_rows) < 0.7))
    country = pa.array([f"land of {region}" for region in table["region"].to_pylist()])
    with pytest.raises(InputError, match="a table of counts"):
        suggested(table.append_column("country", country))


PEOPLE = {
    "visits": people(age=drawn(*range(18, 90)), visits=drawn(*range(9))),
    "children": people(
        age=drawn(*range(18, 90)),
        region=drawn(*"abcdef"),
        children=drawn(*range(5)),
    ),
    "all unique": people(
        age=[*range(ROWS)],
        zip=[f"{i:05d}" for i in range(ROWS)],
        visits=drawn(*range(9)),
    ),
    "claims": people(
        year=drawn(*YEARS),
        region=drawn(*REGIONS),
        claims=drawn(*range(9)),
        age=drawn(*BANDS),
    ),
    "number": people(number=drawn(*range(1, 7)), group=drawn(*"ab"), school=drawn(*"abcdefgh")),
    "few": people(n=drawn(*range(9))),
    "panel": people(
        year=[2000 + i % 6 for i in range(ROWS)],
        worker=[i // 6 for i in range(ROWS)],
        n=drawn(*range(5)),
    ),
    "wide": people(**{f"q{i}": drawn(*range(5)) for i in range(14)}, cases=drawn(*range(30))),
    "population": people(
        city=drawn(*"abcdefgh"),
        population=drawn(*range(1000, 1008)),
        age=drawn(*range(18, 90)),
    ),
    "total": people(
        total=DRAW.integers(0, 40, ROWS).tolist(),
        wave=drawn(1, 2, 3),
        region=drawn(*REGIONS),
    ),
}


@pytest.mark.parametrize("name", PEOPLE)
def test_people_with_counts_are_no_table_of_counts(name: str) -> None:
    require_people(gathered(PEOPLE[name]))
