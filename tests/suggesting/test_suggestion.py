"""The run file that is suggested: it loads as it is, says what is asked, and holds no value of a
person.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq
import pytest
import yaml
from columns import facts, gathered
from hypothesis import given, settings
from hypothesis import strategies as st

from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.runfile.attributes import QuasiIdentifier
from tclose_spark.runfile.loading import load_spec
from tclose_spark.runfile.spec import Input
from tclose_spark.suggesting.choosing import Size, choose_roles
from tclose_spark.suggesting.judging import suggest_role
from tclose_spark.suggesting.settings import quasi_identifier_settings, sensitive_settings
from tclose_spark.suggesting.suggestion import Suggestion, suggestion_from_facts
from tclose_spark.suggesting.unique_share import unique_share
from tclose_spark.suggesting.views import HEADING, column_line, summary_lines
from tclose_spark.suggesting.writing import flow

CANARY = "CANARY-7f3"
ROOT = Path(__file__).resolve().parents[2]


def people(rows: int = 600, seed: int = 1) -> pa.Table:
    draw = np.random.default_rng(seed)
    return pa.table(
        {
            "patient no": [f"{i:07d}" for i in range(rows)],
            "e_mail": [f"{CANARY}{i}@example.org" if i % 3 else None for i in range(rows)],
            "age": draw.integers(20, 90, rows),
            "sex": draw.choice(["f", "m"], rows),
            "city": draw.choice(["Pisa", "pisa ", "Lyon", CANARY], rows),
            "diagnosis": draw.choice(["flu", "gout", "?"], rows),
            "year": draw.choice([2019, 2020], rows),
            "x: {}": draw.choice(["a", "b"], rows),
            "chol": [None if v < 130 else int(v) for v in draw.integers(120, 300, rows)],
        },
    )


def uncommented(text: str) -> str:
    """A file's words, without the marks of its comments."""
    return " ".join(word for word in text.split() if word != "#")


def suggest_for(
    table: pa.Table,
    folder: Path,
    file: str = "my.yaml",
    form: str = "parquet",
) -> Suggestion:
    source = Input(path=str(folder / f"people.{form}"), format=form)
    return suggestion_from_facts(gathered(table), source, folder / file)


def test_the_run_file_loads_as_it_is_and_says_what_each_column_is(tmp_path):
    suggestion = suggest_for(people(), tmp_path)
    assert suggestion.roles == {
        "patient no": "direct identifier",
        "e_mail": "direct identifier",
        "age": "quasi-identifier",
        "sex": "quasi-identifier",
        "city": "quasi-identifier",
        "diagnosis": "sensitive attribute",
        "year": "insensitive attribute",
        "x: {}": "left out",
        "chol": "sensitive attribute",
    }
    spec = load_spec(suggestion.write(tmp_path / "my.yaml"))
    assert spec.input.path == str(tmp_path / "people.parquet")
    attributes = spec.attributes
    assert (attributes.direct_identifiers, attributes.insensitive_attributes) == (
        ("patient no", "e_mail"),
        ("year",),
    )
    assert attributes.quasi_identifiers["age"].is_numeric
    assert attributes.quasi_identifiers["city"].text.of(" PISA") == "pisa"
    assert attributes.sensitive_attributes["diagnosis"].distance == "equal"
    assert (attributes.drop_others, spec.privacy.k) == (True, 10)


def test_the_run_file_asks_and_holds_no_value_of_a_person(tmp_path):
    suggestion = suggest_for(people(), tmp_path)
    text = suggestion.yaml
    assert CANARY not in text
    for value in ("Pisa", "pisa", "gout", "example.org"):
        assert value not in text
    for asked in ("its name: contact", "'?' in ", "other spellings"):
        assert asked in text
    assert "\n    chol: {distance: ordered, t: 0.2, missing: lowest}" in text
    assert max(map(len, text.splitlines())) <= 120


def test_the_terminal_has_80_characters_and_shows_no_value(tmp_path):
    suggestion = suggest_for(people(), tmp_path)
    lines = [HEADING, *map(column_line, suggestion.columns), *summary_lines(suggestion)]
    assert max(map(len, lines)) <= 80
    assert not any(value in line for line in lines for value in (CANARY, "Pisa", "gout"))


@given(name=st.text(min_size=1, max_size=70), rows=st.integers(1, 10**9))
@settings(max_examples=60)
def test_no_line_of_the_terminal_is_longer_whatever_a_column_is_called(name, rows):
    assert len(column_line(suggest_role(facts(name, ["a", None, "b"])))) <= 80


@given(names=st.lists(st.text(min_size=1, max_size=30), min_size=3, max_size=6, unique=True))
@settings(max_examples=60)
def test_whatever_columns_are_called_the_run_file_is_yaml_and_names_them(names, tmp_path_factory):
    columns = {"age": list(range(20, 60)) * 5, "disease": ["flu", "gout"] * 100}
    columns |= {name: ["a", "b"] * 100 for name in names if name not in columns}
    suggestion = suggest_for(pa.table(columns), tmp_path_factory.getbasetemp())
    attributes = yaml.safe_load(suggestion.yaml)["attributes"]
    named = {
        *(attributes["direct_identifiers"] or ()),
        *attributes["quasi_identifiers"],
        *attributes["sensitive_attributes"],
        *(attributes["insensitive_attributes"] or ()),
    }
    assert named == {name for name, role in suggestion.roles.items() if role != "left out"}


@pytest.mark.parametrize(
    ("name", "values", "wanted"),
    [
        ("age", list(range(20, 60)) * 5, {"type": "numeric"}),
        (
            "zip",
            [f"{i % 90:05d}" for i in range(200)],
            {"type": "categorical", "hierarchy": {"prefix": 1}},
        ),
        (
            "birth date",
            [f"19{i % 90 + 10}-{i % 12 + 1:02d}-{i % 27 + 1:02d}" for i in range(200)],
            {"type": "date"},
        ),
        (
            "admitted at",
            [f"2020-01-{i % 28 + 1:02d} 10:{i % 60:02d}:00" for i in range(200)],
            {"type": "timestamp"},
        ),
        (
            "diag_2",
            [*map(str, range(140, 330)), *["V57"] * 5, *["?"] * 5],
            {
                "type": "categorical",
                "hierarchy": {"ranges": "icd9", "other": "no ICD-9 code"},
                "missing_values": ["?"],
            },
        ),
        (
            "nuts3",
            [f"DE{i % 90}" for i in range(10, 210)],
            {"type": "categorical", "hierarchy": {"prefix": 1}},
        ),
        (
            "nace",
            [f"{i % 90:02d}.1" for i in range(200)],
            {"type": "categorical", "hierarchy": {"prefix": [4, 2, 1]}},
        ),
        (
            "city",
            [f"c{i % 101}" for i in range(300)],
            {"type": "categorical", "hierarchy": {"order": 4}},
        ),
        ("sex", ["f", "m"] * 100, {"type": "categorical", "generalization": "set"}),
        ("sex", [1, 2] * 100, {"type": "categorical", "generalization": "set"}),
        (
            "region",
            [f"r{i % 40}" for i in range(200)],
            {"type": "categorical", "generalization": "set"},
        ),
        ("region", [i % 16 for i in range(200)], {"type": "categorical", "generalization": "set"}),
        ("hours of work", [i % 40 for i in range(200)], {"type": "numeric"}),
        (
            "region code",
            [i % 40 for i in range(200)],
            {"type": "categorical", "generalization": "set"},
        ),
        (
            "city",
            ["Pisa", "pisa"] * 100,
            {"type": "categorical", "generalization": "set", "text": {"case": "fold"}},
        ),
    ],
)
def test_a_quasi_identifier_has_settings_that_fit_its_values(name, values, wanted):
    line = quasi_identifier_settings(suggest_role(facts(name, values)))
    assert yaml.safe_load(flow(line.settings)) == wanted
    assert QuasiIdentifier.model_validate(yaml.safe_load(flow(line.settings)) | {"weight": 1})


@pytest.mark.parametrize(
    ("name", "values", "wanted"),
    [
        ("disease", ["flu", "gout"] * 100, {"distance": "equal", "t": 0.2}),
        ("income", list(range(100)) * 2, {"distance": "ordered", "t": 0.2}),
        (
            "income",
            [*list(range(100)) * 2, None],
            {"distance": "ordered", "t": 0.2, "missing": "lowest"},
        ),
        (
            "income",
            [*map(str, range(100)), "none"],
            {"distance": "equal", "t": 0.2, "missing_values": ["none"]},
        ),
        (
            "income",
            [f"{i % 90:05d}" for i in range(200)],
            {"distance": "ordered", "t": 0.2},
        ),  # zeros in front
        ("income", [1, 2, 3, 4, 5] * 50, {"distance": "ordered", "t": 0.2}),
        (
            "icd10",
            [f"C{i % 90 + 10}.1" for i in range(200)] + [None],
            {
                "distance": "hierarchical",
                "t": 0.2,
                "hierarchy": {"prefix": [3, 1]},
                "missing": "leaf",
            },
        ),
        ("income class", [1, 2, 3] * 50, {"distance": "equal", "t": 0.2}),
        ("disease code", list(range(50)) * 4, {"distance": "equal", "t": 0.2}),
        (
            "income",
            ["1", "1.0", *map(str, range(2, 50))],
            {"distance": "equal", "t": 0.2},
        ),  # one number, two texts
    ],
)
def test_a_sensitive_attribute_is_ordered_where_its_values_measure(name, values, wanted):
    assert (
        yaml.safe_load(flow(sensitive_settings(suggest_role(facts(name, values)), "0.2").settings))
        == wanted
    )


@pytest.mark.parametrize(
    ("rare", "t", "warned"),
    [(10, "0.2", True), (21, "0.2", False), (10, "0.05", False), (1, "measure", False)],
)
def test_a_value_that_a_class_may_hold_alone_is_warned_of(rare, t, warned):
    line = sensitive_settings(
        suggest_role(facts("disease", ["flu"] * (100 - rare) + ["gout"] * rare)),
        t,
    )
    assert any("this t allows a class with this value only" in said for said in line.said) is warned


def test_an_existing_file_is_kept(tmp_path):
    suggestion = suggest_for(people(), tmp_path)
    suggestion.write(tmp_path / "my.yaml")
    with pytest.raises(ConfigurationError, match="exists already"):
        suggestion.write(tmp_path / "my.yaml")
    suggestion.write(tmp_path / "my.yaml", overwrite=True)


@pytest.mark.parametrize(
    ("columns", "quasi", "sensitive"),
    [
        ({"age": 30, "sex": 2, "disease": 3}, ["age", "sex"], ["disease"]),
        ({"age": 30, "income": 90, "religion": 5}, ["age"], ["income", "religion"]),
        ({"age": 30, "glucose": 80, "income": 90}, ["age"], ["income", "glucose"]),
        (
            {"age": 30, "sex": 2, "occupation": 9},
            ["age", "sex"],
            ["occupation"],
        ),  # either; nothing else is sensitive
        ({"age": 30, "a": 3, "b": 9}, ["age"], []),  # nothing unknown is published unchanged
        ({"age": 30, "sex": 2}, ["age", "sex"], []),
        ({"disease": 3, "a": 3, "b": 9, "c": 2}, ["a", "b", "c"], ["disease"]),
        ({"a": 3, "b": 9}, ["a", "b"], []),
    ],
)
def test_known_columns_are_chosen_and_of_unknown_ones_only_quasi_identifiers(
    columns,
    quasi,
    sensitive,
):
    table = {
        name: [f"v{i * 7919 % values}" for i in range(1000)] for name, values in columns.items()
    }
    choice = choose_roles([suggest_role(facts(name, values)) for name, values in table.items()])
    assert ([one.name for one in choice.quasi], [one.name for one in choice.sensitive]) == (
        quasi,
        sensitive,
    )


@pytest.mark.parametrize("names", [["name"], ["name", "ssn"], ["disease"], ["disease", "income"]])
def test_a_table_without_a_possible_quasi_identifier_is_refused(names):
    with pytest.raises(InputError, match="can be a quasi-identifier beside a sensitive attribute"):
        choose_roles([suggest_role(facts(name, ["a", "b"] * 50)) for name in names])


def test_of_many_quasi_identifiers_one_of_each_kind_comes_first_and_the_rest_is_asked_about():
    names = [
        "zip",
        "city",
        "region",
        "mother's education",
        "age",
        "birth year",
        "sex",
        "race",
        "job",
        "children",
        "date",
    ]
    size = Size(quasi=8, sensitive=2)
    choice = choose_roles(
        [suggest_role(facts(name, ["a", "b"] * 50)) for name in [*names, "disease"]],
        size,
    )
    first = {one.name for one in choice.quasi}
    assert len(first) == size.quasi
    assert {"zip", "age", "sex", "race", "job"} <= first
    assert "mother's education" in {one.name for one in choice.more_quasi}


def test_an_insensitive_column_that_tells_a_quasi_identifier_is_left_out(tmp_path):
    rows = 2000
    age = [20 + i * 7919 % 60 for i in range(rows)]
    table = {
        "age": age,
        "sex": [i % 2 for i in range(rows)],
        "wave": [(a - 20) // 20 for a in age],  # three groups of ages
        "year": [2019 + i // 1000 for i in range(rows)],
        "disease": [f"d{i % 3}" for i in range(rows)],
    }
    suggestion = suggest_for(pa.table(table), tmp_path)
    assert (suggestion.roles["wave"], suggestion.roles["year"]) == (
        "left out",
        "insensitive attribute",
    )
    assert "it reveals" in suggestion.yaml


def test_shares_alone_are_those_of_tuples():
    a, b = np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 0, 0])
    assert (unique_share([a]), unique_share([b]), unique_share([a, b])) == (0.2, 0.2, 0.6)
    assert unique_share([a.repeat(2), b.repeat(2)]) == 0


FOUND = {
    # example run: (roles found of those that it has, columns in another role, columns left out)
    "adult": (7, {"occupation": "quasi-identifier"}, set()),
    "census_income": (7, {}, {"detailed_occupation_recode"}),
    "heart": (3, {}, {"cp", "thalach"}),
}
TABLES = {
    "adult": lambda data: pv.read_csv(
        data / "adult/adult.csv",
        parse_options=pv.ParseOptions(delimiter=";"),
    ),
    "census_income": lambda data: pq.read_table(
        data / "kdd_census_income/census_income.parquet",
    ).slice(0, 20_000),
    "heart": lambda data: pv.read_csv(data / "heart/heart_1025.csv"),
}


@pytest.mark.parametrize("name", FOUND)
def test_how_many_roles_of_the_example_runs_are_found(name, data, tmp_path):
    """As docs/suggest.md has it."""
    roles = suggest_for(TABLES[name](data), tmp_path).roles
    attributes = yaml.safe_load((ROOT / f"conf/{name}.yaml").read_text())["attributes"]
    wanted = dict.fromkeys(attributes["quasi_identifiers"], "quasi-identifier")
    wanted |= dict.fromkeys(attributes["sensitive_attributes"], "sensitive attribute")
    found, other, lost = FOUND[name]
    assert sum(roles[column] == role for column, role in wanted.items()) == found
    assert {
        c: roles[c] for c, role in wanted.items() if roles[c] not in (role, "left out")
    } == other
    assert {column for column in wanted if roles[column] == "left out"} == lost
    assert not any(roles[column] == "direct identifier" for column in wanted)


def of_people_with_rows(column, rows):
    """The table with a column in which each value has so many rows."""
    table = people().append_column(
        "who",
        pa.array([f"P{i // rows:04d}@example.org" for i in range(600)]),
    )
    return table.drop_columns(["patient no", "e_mail"]).rename_columns({"who": column})


@pytest.mark.parametrize(("column", "person"), [("patient id", True), ("e_mail", False)])
def test_people_with_several_rows_are_counted(tmp_path, column, person):
    """By a number of people with fewer values than rows; not by a household's mail."""
    suggestion = suggest_for(of_people_with_rows(column, 3), tmp_path)
    shown = " ".join(" ".join(summary_lines(suggestion)).split())
    assert (
        "1 person: patient id" in shown,
        "200 values in 600 rows" in uncommented(suggestion.yaml),
    ) == (
        person,
        person,
    )
    attributes = suggestion.spec["attributes"]
    assert (
        attributes.get("person") == {"column": column, "rows": "apart"}
    ) == person  # their ages change
    assert attributes.get("person") not in attributes["direct_identifiers"]
    assert (
        "at least this many people" in suggestion.yaml
        if person
        else "at least this many rows" in suggestion.yaml
    )
    assert "counts are rows" not in shown
    once = suggest_for(people(), tmp_path)
    assert (once.repeated, once.person, "counts are rows" in once.yaml) == ((), None, False)


def test_an_identifier_with_many_rows_each_is_reported_and_does_not_stand_for_people(tmp_path):
    """Thirty rows a value, as doctors have: a person would be in the way of k."""
    suggestion = suggest_for(of_people_with_rows("patient id", 30), tmp_path)
    shown = " ".join(" ".join(summary_lines(suggestion)).split())
    warning = (
        "'patient id' looks like an identifier of a person and repeats: 600 rows, about 20 "
        "values; counts are rows"
    )
    assert (warning in shown, warning in uncommented(suggestion.yaml), suggestion.person) == (
        True,
        True,
        None,
    )


def test_rows_of_a_person_stay_together_if_quasi_identifiers_do_not_change(tmp_path):
    rows = pa.table(
        {
            "patient_id": [f"P{i // 3:03d}" for i in range(600)],
            "age": [20 + i // 3 % 60 for i in range(600)],
            "diagnosis": [f"d{i % 4}" for i in range(600)],
        },
    )
    suggestion = suggest_for(rows, tmp_path)
    assert (suggestion.spec["attributes"]["person"], suggestion.apart) == ("patient_id", False)


def test_survey_weights_are_a_role_of_their_own(tmp_path):
    """Of several, that of the person; not beside people who are counted."""
    weighted = (
        people()
        .append_column("hhwt", pa.array(range(600)))
        .append_column("pwgtp", pa.array(range(600)))
    )
    suggestion = suggest_for(weighted, tmp_path)
    assert suggestion.spec["attributes"]["weight"] == "pwgtp"
    assert (suggestion.roles["pwgtp"], suggestion.roles["hhwt"]) == ("survey weight", "left out")
    assert load_spec(suggestion.write(tmp_path / "my.yaml")).attributes.weight.column == "pwgtp"
    of_people = of_people_with_rows("patient id", 3).append_column("pwgtp", pa.array(range(600)))
    counted = suggest_for(of_people, tmp_path)
    assert ("weight" in counted.spec["attributes"], counted.roles["pwgtp"]) == (False, "left out")
