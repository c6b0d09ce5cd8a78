"""Names of columns that are the first record of a file without a header, and names that only look
like one.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import tclose_spark as tc
from tclose_spark.errors import InputError
from tclose_spark.table.column_names.names import names_like_values, require_names

DRAW = random.Random(7)
Draw = Callable[[], str]
Row = list[str]
ROWS = 120


def one_of(*values: str) -> Draw:
    return lambda: DRAW.choice(values)


def whole(least: int, most: int) -> Draw:
    return lambda: str(DRAW.randint(least, most))


def written(form: str) -> Draw:
    """Texts of this form, whose # are digits."""
    return lambda: "".join(str(DRAW.randrange(10)) if sign == "#" else sign for sign in form)


def amount(form: str = "{:.2f}") -> Draw:
    return lambda: form.format(DRAW.uniform(0, 900))


def sometimes(mark: str, otherwise: str = "") -> Draw:
    return one_of(mark, otherwise)


NAMES, STATES = one_of("Jones", "Smith", "Weber", "Klein", "Brown"), one_of("NC", "VA", "TX")
SEX, AGE, DAY = one_of("M", "F"), whole(18, 90), written("20##-0#-1#")

RECORDS: dict[str, list[Draw]] = {
    "issue": [NAMES, one_of("Dmitri", "Anna", "Bob"), AGE, STATES],
    "keys": [written("P####"), SEX, written("#####"), one_of("flu", "gout")],
    "mail": [written("user####@example.org"), written("Street ##"), AGE],
    "phone": [written("+49 30 ######"), written("Name###x"), AGE, STATES],
    "days": [DAY, written("1#/0#/2021"), amount(), one_of("a", "b", "c")],
    "times": [
        written("2024-01-1# 1#:2#:3#"),
        written("10.0.#.1##"),
        one_of("GET", "POST"),
        whole(200, 404),
    ],
    "log": [written("0#/Mar/2024:1#:2#:3# +0000"), one_of("ok", "failed"), whole(0, 99999)],
    "german": [
        one_of("m", "w"),
        written("#.###,0#"),
        written("1#.0#.19##"),
        one_of("Wien", "Graz"),
    ],
    "percent": [written("1#.##%"), written("$###.##"), one_of("Paris", "Lyon")],
    "months": [one_of("Jan-2012", "Feb-2012", "Mar-2013"), one_of("A", "B"), whole(1, 9)],
    "numbers": [whole(100, 999), whole(0, 9), amount(), whole(20, 60)],
    "bands": [one_of("18-29", "30-44", "45-64"), SEX, STATES, one_of("employed", "retired")],
    "icd": [one_of("J18.9", "I10", "E11.9"), AGE, SEX, whole(1, 30)],
    "zip": [written("#####"), written("##/##/19##"), one_of("single", "married"), amount()],
    "booleans": [one_of("true", "false"), AGE, one_of("yes", "no"), one_of("red", "blue")],
    "wide": [AGE, SEX, *[whole(1, 5)] * 12],
    "one column": [AGE],
    "two columns": [NAMES, AGE],
    "free text": [written("Remark ## on #### by nobody"), DAY, STATES, one_of("open", "closed")],
    "coordinates": [written("52.#####"), written("13.#####"), DAY, one_of("bike", "bus")],
    "missing": [lambda: "", AGE, one_of("", "flu", "gout"), STATES],
    "uuid": [written("########-####-4###-8###-############"), whole(1, 5), one_of("web", "app")],
}

HEADERS: dict[str, tuple[Row, list[Draw]]] = {
    "years": (["region", "2019", "2020", "2021"], [STATES, *[whole(1900, 2100)] * 3]),
    "census years": (["country", "1990", "2000", "2005"], [NAMES, *[whole(0, 5000)] * 3]),
    "one year": (["country", "2020"], [NAMES, whole(0, 1000)]),
    "days": (["country", "1/22/20", "1/23/20", "1/24/20"], [NAMES, *[whole(0, 99)] * 3]),
    "survey codes": (
        ["V1", "V2", "V3", "sex"],
        [whole(1, 5), one_of("A1", "A2"), whole(1, 9), SEX],
    ),
    "question codes": (["Q1", "Q2", "Q3"], [one_of("A1", "A2"), one_of("A1", "A3"), whole(1, 5)]),
    "one-hot": (["Male", "Female", "Other", "age"], [*[one_of("0", "1")] * 3, AGE]),
    "check boxes": (
        ["Apple", "Pear", "Plum", "Fig"],
        [sometimes(name) for name in ("Apple", "Pear", "Plum", "Fig")],
    ),
    "boxes with no": (
        ["Apple", "Pear", "age"],
        [sometimes("Apple", "No"), sometimes("Pear", "Not selected"), AGE],
    ),
    "one coincidence": (
        ["sex", "state", "other", "age"],
        [SEX, STATES, one_of("other", "none", "some"), AGE],
    ),
    "pixels": (["label", *map(str, range(20))], [whole(0, 9), *[whole(0, 255)] * 20]),
    "no names": (["0", "1", "2", "3"], [AGE, SEX, STATES, whole(0, 9)]),
    "doses": (["patient", "0", "10", "50", "100", "500"], [NAMES, *[whole(0, 600)] * 5]),
    "waves": (["400.5", "401.5", "402.5"], [amount()] * 3),
    "age bands": (["region", "0-4", "5-9", "10-14"], [STATES, *[whole(1, 900)] * 3]),
    "people as columns": (["item", "S001", "S002"], [NAMES, amount(), amount()]),
    "plain": (["surname", "first name", "age", "state"], [NAMES, NAMES, AGE, STATES]),
    "numbered": (["income1", "income2", "class 3"], [amount(), amount(), whole(1, 4)]),
    "long questions": (
        ["How old are you?", "In which year (e.g. 1999) were you born?"],
        [AGE, written("19##")],
    ),
    "platz": (["platz1", "weg 2", "rue"], [whole(1, 9), whole(1, 9), STATES]),
    "units": (["weight_kg", "dose 5mg", "t90"], [amount(), one_of("yes", "no"), amount()]),
}


def records(columns: list[Draw]) -> list[Row]:
    return [[draw() for draw in columns] for _ in range(ROWS)]


@pytest.mark.parametrize("table", RECORDS)
def test_a_record_in_place_of_names_is_refused_and_not_shown(table: str) -> None:
    rows = records(RECORDS[table])
    with pytest.raises(
        InputError,
        match=rf"of {len([*filter(None, rows[0])])} names are values",
    ) as refused:
        require_names(rows[0], rows[1:], "the first line", "name the columns")
    assert not [text for text in rows[0] if len(text) > 2 and text in str(refused.value)]


@pytest.mark.parametrize("table", HEADERS)
def test_names_are_names(table: str) -> None:
    names, columns = HEADERS[table]
    rows = records(columns)
    require_names(names, rows, "the first line", "name the columns")
    require_names(
        names,
        [*rows, names, names],
        "the first line",
        "name the columns",
    )  # the header is there again


def test_names_that_a_reader_made_of_values_that_stand_twice() -> None:
    rows = [[DRAW.choice("ab"), *DRAW.choices(["NC", "VA"], k=2)] for _ in range(ROWS)]
    assert names_like_values(["x", "NC", "NC.1"], rows) == [1, 2]


def test_a_stray_value_is_no_evidence() -> None:
    """A name that is far rarer than the values of its column is there by mistake."""
    rows = [*records([SEX, STATES]), *[["sex", "NC"]], *records([SEX, STATES])]
    assert names_like_values(["sex", "state"], rows) == []


def suggest(path: Path, first: str) -> object:
    return tc.suggest(str(path), log=None)


def audit(path: Path, first: str) -> object:
    return tc.audit(str(path), quasi_identifiers=[first])


def release(path: Path, first: str) -> object:
    source = {"path": str(path), "format": "csv", "options": {"header": True}}
    sensitive = {"NC": {"t": 0.2}}
    attributes = {
        "quasi_identifiers": {first: {}},
        "sensitive_attributes": sensitive,
        "drop_others": True,
    }
    spec = {"name": "people", "input": source, "attributes": attributes, "privacy": {"k": 2}}
    return tc.release(None, spec, path.with_name("out"), log=None)


@pytest.mark.parametrize("verb", [suggest, audit, release])
def test_every_verb_refuses_a_file_without_a_header(
    tmp_path: Path,
    verb: Callable[[Path, str], object],
) -> None:
    path = tmp_path / "people.csv"
    path.write_text("".join(",".join(row) + "\n" for row in records(RECORDS["issue"])))
    first = path.read_text().split(",")[0]
    with pytest.raises(InputError, match=r"the first line of people\.csv may be a record"):
        verb(path, first)


def test_new_names_in_the_run_file_make_odd_names_known(tmp_path: Path) -> None:
    from tclose_spark.io.input.sniffing import completed
    from tclose_spark.runfile.spec import Input

    path = tmp_path / "people.csv"
    rows = records(RECORDS["issue"])
    path.write_text("".join(",".join(row) + "\n" for row in rows))
    source = Input(path=str(path), format="csv", options={"header": "true"})
    with pytest.raises(InputError, match="header: false"):
        completed(source)
    known = dict(zip(rows[0], ["surname", "name", "age", "state"], strict=True))
    assert completed(source.model_copy(update={"columns": known})).options == {"header": "true"}
    assert completed(source.model_copy(update={"options": {"header": "false"}})).options == {
        "header": "false",
    }


def test_a_table_in_memory_with_a_record_as_names_is_refused() -> None:
    first, *rows = records(RECORDS["issue"])
    table = pa.table([[row[place] for row in rows] for place in range(4)], names=first)
    with pytest.raises(InputError, match="names of the columns may be a record"):
        tc.suggest(table, name="people", log=None)
