"""Descriptions of columns: of a dictionary in each format, and the labels of files; their words
count like names.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyreadstat
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import tclose_spark as tc
from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.suggesting.dictionary import Description, Dictionary, read_dictionary
from tclose_spark.table.column_names.descriptions import telling_phrase
from tclose_spark.table.column_names.hints import hint_of

Command = Callable[..., tuple[int, str, str]]
ROWS = 400
DESCRIBED = {
    "v1": "Patient identifier",
    "v2": "Age of the patient at admission, in years",
    "v3": "Sex (f = female, m = male)",
    "v4": "Region of residence",
    "v5": "Main diagnosis at discharge",
}
ROLES = {
    "v1": "direct identifier",
    "v2": "quasi-identifier",
    "v3": "quasi-identifier",
    "v4": "quasi-identifier",
    "v5": "sensitive attribute",
}


def people(seed: int = 1) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "v1": [f"{number:06d}" for number in draw.permutation(ROWS)],
            "v2": draw.integers(18, 90, ROWS),
            "v3": draw.choice(["f", "m"], ROWS),
            "v4": draw.choice(list("ABCDE"), ROWS),
            "v5": draw.choice(["flu", "gout", "ulcer"], ROWS),
        },
    )


def suggest(table: Any, dictionary: Any = None, **more: Any) -> tc.Suggestion:
    return tc.suggest(
        table,
        dictionary=dictionary,
        engine="local",
        trial=False,
        log=lambda line: None,
        **more,
    )


def entries_of(path: Path, table: str = "people.csv") -> Mapping[str, Description]:
    return read_dictionary(path, table).of_columns


# --- formats

SCHEMA = {
    "fields": [
        {"name": name, "type": "string", "description": text} for name, text in DESCRIBED.items()
    ],
}
OTHER = {"fields": [{"name": name, "description": "Salary"} for name in DESCRIBED]}
PROPERTIES = [
    {"name": name, "logicalType": "string", "description": text} for name, text in DESCRIBED.items()
]
OTHERS = [{"name": name, "description": "Salary"} for name in DESCRIBED]


def package(*resources: Mapping[str, Any]) -> str:
    return json.dumps({"name": "study", "resources": [*resources]})


def contract(**tables: Any) -> str:
    schema = [
        {"name": name, "logicalType": "object", "properties": columns}
        for name, columns in tables.items()
    ]
    return yaml.safe_dump({"apiVersion": "v3.1.0", "kind": "DataContract", "schema": schema})


def table(headers: str, separator: str = ",", before: str = "") -> str:
    lines = [f'{name}{separator}{before}"{text}"' for name, text in DESCRIBED.items()]
    return "\n".join([headers, *lines, ""])


FILES = {
    "name and description.csv": table("name,description"),
    "other words.csv": table("Variable Name,DEFINITION"),
    "between others.csv": table("Field,type,Label", before="text,"),
    "semicolons.csv": table("Spalte;Beschreibung", ";"),
    "tabs.tsv": table("column\tmeaning", "\t"),
    "upper case.csv": table("NAME,LABEL").replace("v", "V"),
    "the only resource.json": package({"name": "x", "path": "x.csv", "schema": SCHEMA}),
    "by its path.json": package(
        {"path": "a.csv", "schema": OTHER},
        {"path": "data/People.csv", "schema": SCHEMA},
    ),
    "by its name.json": package(
        {"name": "a", "schema": OTHER},
        {"name": "people", "schema": SCHEMA},
    ),
    "by its parts.json": package(
        {"path": "a.csv", "schema": OTHER},
        {"path": ["b", "people.gz"], "schema": SCHEMA},
    ),
    "table schema.json": json.dumps(SCHEMA),
    "resource.json": json.dumps({"path": "x.csv", "schema": SCHEMA}),
    "the only table.yaml": contract(x=PROPERTIES),
    "by name.yml": contract(a=OTHERS, people=PROPERTIES),
}


@pytest.mark.parametrize("name", FILES)
def test_a_dictionary_of_each_form_is_read(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_text(FILES[name])
    read = entries_of(file)
    assert {column: read[column].text for column in DESCRIBED} == {
        column: text.replace("v", "V") if name.startswith("upper") else text
        for column, text in DESCRIBED.items()
    }


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_a_dictionary_is_read_in_the_encodings_of_office_programs(
    tmp_path: Path,
    encoding: str,
) -> None:
    (tmp_path / "d.csv").write_bytes(
        'name,label\nv2,"Lebensalter\nin vollen Jahren, über 18"\n'.encode(encoding),
    )
    assert entries_of(tmp_path / "d.csv") == {
        "v2": Description("Lebensalter\nin vollen Jahren, über 18"),
    }


def test_a_label_is_before_a_longer_text(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("name,description,label\nv2,as written,Age\n")
    assert entries_of(tmp_path / "d.csv")["v2"].text == "Age. as written"
    field = {"name": "v2", "description": "as written", "title": "Age"}
    (tmp_path / "d.json").write_text(json.dumps({"fields": [field]}))
    assert entries_of(tmp_path / "d.json")["v2"].text == "Age. as written"
    (tmp_path / "d.yaml").write_text(
        contract(x=[{"name": "v2", "description": "as written", "businessName": "Age"}]),
    )
    assert entries_of(tmp_path / "d.yaml")["v2"].text == "Age. as written"


REDCAP = (
    '"Variable / Field Name","Form Name","Section Header","Field Type","Field Label","Choices, '
    'Calculations, OR Slider Labels","Field Note","Text Validation Type OR Show Slider '
    'Number",Identifier?'
)
REDCAP_API = (
    "field_name,form_name,section_header,field_type,field_label,select_choices_or_calculations,field_note,"
    "text_validation_type_or_show_slider_number,identifier"
)


@pytest.mark.parametrize("headers", [REDCAP, REDCAP_API])
def test_a_dictionary_of_redcap_is_read(tmp_path: Path, headers: str) -> None:
    rows = [
        'v2,intake,,text,"<div class=""rich-text""><p>Age</p></div>",,,integer,',
        "v4,intake,,text,Where do you live?,,,,y",
        "v9,intake,,text,How do we reach you?,,,email,",
        'signs,intake,,checkbox,Signs,"1, Fever | -2, Cough",,,',
        "hello,intake,,descriptive,Welcome,,,,",
    ]
    (tmp_path / "d.csv").write_text("\n".join([headers, *rows]))
    read = entries_of(tmp_path / "d.csv")
    assert [*read] == ["v2", "v4", "v9", "signs___1", "signs____2"]
    assert read["v2"].text.split() == ["Age"]
    assert hint_of(telling_phrase("v9", read["v9"].text)).concept.name == "contact"  # type: ignore[union-attr]
    assert (read["v2"].is_identifier, read["v4"].is_identifier) == (False, True)
    assert read["signs____2"].text == "Signs: Cough"


def test_a_column_that_is_marked_as_an_identifier_is_never_published(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(f"{REDCAP_API}\nv4,f,,radio,Answer,,,,Y\nv2,f,,text,Age,,,,\n")
    made = suggest(people(), tmp_path / "d.csv")
    assert made.roles["v4"] == "direct identifier"
    assert "# its description: marked as an identifier; 5 values" in made.yaml
    (tmp_path / "d.yaml").write_text(
        contract(x=[{"name": "V4", "classification": "Direct identifier"}]),
    )
    assert suggest(people(), tmp_path / "d.yaml", k=5).roles["v4"] == "direct identifier"


# --- errors


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("d.csv", None, "the file cannot be read (No such file or directory)"),
        ("d.xlsx", "x", "expected a file called .csv, .json or .yaml"),
        ("d.csv", b"\x00\x01name,label", "the file is no text"),
        ("d.csv", "", "its first line has no header of names"),
        ("d.csv", "name,salary\nJones,5000\n", "its first line has no header of names"),
        ("d.csv", "name,label\n", "it describes no column"),
        (
            "d.csv",
            "name,label\nv1,a\nV1 ,b\nv2,c\nv2,d\nv3,e\n",
            "2 of its 5 names repeat another one",
        ),
        (
            "d.csv",
            "name,label\na,Age\nb,Sex\n",
            "none of its 2 names is one of the table's 5 columns",
        ),
        ("d.json", "{\n,", "line 2 is not valid JSON"),
        (
            "d.json",
            "[1]",
            "expected a data package (resources), a table schema (fields) or a data contract",
        ),
        (
            "d.json",
            package({"path": "a.csv", "schema": "a.json"}),
            "the schema is in another file, a.json",
        ),
        (
            "d.json",
            package({"name": "a"}, {"name": "b"}),
            "none of its 2 tables (a, b) is called people",
        ),
        (
            "d.json",
            package({"name": "people"}, {"name": "People"}),
            "2 of its 2 tables (people, People) are called people",
        ),
        ("d.json", package({"name": "a"}), "it describes no column"),
        (
            "d.json",
            package(*({"name": name} for name in "abcdefg")),
            "none of its 7 tables (a, b, c, d, e and 2 more) is called people",
        ),
        ("d.json", f'{{"fields": {"1" * 5000}}}', "it describes no column"),
        ("d.json", "[" * 100_000, "it is not valid JSON"),
        ("d.yaml", "a: [\n", "is not valid YAML"),
        ("d.yaml", "released: 2020-13-45\n", "expected a data package (resources)"),
        ("d.yaml", "name: my run\n", "expected a data package (resources)"),
        ("d.yaml", contract(a=OTHERS, b=OTHERS), "none of its 2 tables (a, b) is called people"),
    ],
)
def test_a_dictionary_that_is_wrong_is_refused(
    tclose: Command,
    tmp_path: Path,
    name: str,
    content: str | bytes | None,
    says: str,
) -> None:
    people().to_csv(tmp_path / "people.csv", index=False)
    if content is not None:
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    given = ["--dictionary", tmp_path / name, "--output", tmp_path / "my.yaml"]
    code, _, err = tclose("suggest", tmp_path / "people.csv", *given)
    message = err.replace("\n", " ")
    assert (code, f"--dictionary {tmp_path / name}: " in message, says in message) == (
        2,
        True,
        True,
    ), err
    assert "Jones" not in err
    assert not (tmp_path / "my.yaml").exists()


@pytest.mark.parametrize("name", ["no", "2020", "1e3", "2020-01-02", "null", "~"])
def test_names_that_yaml_takes_for_something_else_are_names(tmp_path: Path, name: str) -> None:
    columns = f"[{{name: {name}, description: Age}}]"
    (tmp_path / "d.yaml").write_text(f"schema: [{{name: people, properties: {columns}}}]\n")
    assert entries_of(tmp_path / "d.yaml") == {name: Description("Age")}


@pytest.mark.parametrize("given", [5, {"v1": 5}, {5: "Age"}, {"v1": None}])
def test_a_dictionary_of_another_type_is_refused(given: Any) -> None:
    with pytest.raises(ConfigurationError, match="dictionary is of type"):
        suggest(people(), given)


def test_names_that_are_no_columns_are_counted_in_a_note(tclose: Command, tmp_path: Path) -> None:
    people().to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "d.csv").write_text(table("name,label") + "w1,Salary\nw2,Height\n")
    given = ["--dictionary", tmp_path / "d.csv", "--output", tmp_path / "my.yaml", "--no-trial"]
    code, _, err = tclose("suggest", tmp_path / "people.csv", *given)
    assert code == 0, err
    assert "2 of its 7 names are not columns of the table" in " ".join(err.split())
    assert "its description: age" in (tmp_path / "my.yaml").read_text()


# --- labels of files


@pytest.mark.parametrize("ending", ["dta", "sav", "xpt"])
def test_the_labels_of_a_file_count(tmp_path: Path, ending: str) -> None:
    write = {
        "dta": pyreadstat.write_dta,
        "sav": pyreadstat.write_sav,
        "xpt": pyreadstat.write_xport,
    }[ending]
    file = tmp_path / f"people.{ending}"
    write(people(), str(file), column_labels=[*DESCRIBED.values()])
    assert suggest(str(file)).roles == ROLES


def test_a_dictionary_wins_over_the_labels_of_a_file(tmp_path: Path) -> None:
    file = str(tmp_path / "people.sav")
    pyreadstat.write_sav(people(), file, column_labels=[*DESCRIBED.values()])
    made = suggest(file, {"v4": "Political party", "v2": "Colour", "v3": ""})
    assert made.roles == {**ROLES, "v4": "sensitive attribute", "v2": "left out"}
    why = {one.name: one.why for one in made.columns}
    assert (why["v4"], why["v3"]) == ("its description: belief", "its description: sex")


def test_a_file_without_labels_is_judged_by_names(tmp_path: Path) -> None:
    file = str(tmp_path / "people.dta")
    pyreadstat.write_dta(people().rename(columns={"v2": "age", "v5": "disease"}), file)
    assert {one.why for one in suggest(file).columns if one.name in ("age", "disease")} == {
        "its name: age",
        "its name: health",
    }


# --- what words count


@pytest.mark.parametrize(
    ("name", "description", "about"),
    [
        ("v1", "Number of days the patient was in hospital", None),
        ("v1", "Number of patient visits in the last year", "health"),
        ("v1", "Age at the time of the telephone interview", "age"),
        ("v1", "Respondent's sex", "sex"),
        ("v1", "Is the person married?", "marital status"),
        ("v1", "=1 if black", "ethnicity"),
        ("v1", "Employment status", "work"),
        ("v1", "Average credit card balance", "finances"),
        ("v1", "Geschlecht des Befragten", "sex"),
        ("v1", "Revenu annuel de la personne", "money"),
        ("v1", "Fecha de nacimiento", "age"),
        ("v1", "Name of the hospital", None),
        ("v1", "Name of the patient", "person's name"),
        ("v1", "Sampling weight", "survey weight"),
        (
            "v1",
            "Unique identifier for the patient",
            None,
        ),  # a number, of which the patient is another phrase
        ("v1", "Patient identification number", "person number"),
        ("v1", "", None),
        ("age", "Income of the respondent", "age"),  # the name counts where it has a sense
        ("region", "Patient identifier", "person number"),  # but for identifiers
        ("region", "Region of the telephone prefix", "place"),
        ("year", "Year of birth", "age"),
        ("id", "Respondent ID", "person number"),
    ],
)
def test_the_first_phrase_with_a_sense_counts(
    name: str,
    description: str,
    about: str | None,
) -> None:
    concept = hint_of(telling_phrase(name, description) or name).concept
    assert (concept and concept.name) == about


@pytest.mark.parametrize(
    "text",
    [
        "Unique identifier for the case",
        "Identification",
        "ID of the record",
        "Case number",
        "Identifier for each birth",
    ],
)
def test_a_description_calls_a_column_a_number(text: str) -> None:
    assert hint_of(telling_phrase("v1", text)).numbers


@pytest.mark.parametrize(
    "text",
    ["Number of rooms", "Lifetime number of visits", "Total number of items", "Income"],
)
def test_a_description_of_a_count_calls_it_no_number(text: str) -> None:
    assert not hint_of(telling_phrase("v1", text) or "v1").numbers


@pytest.mark.parametrize(
    ("text", "role"),
    [("Survey wave", "insensitive attribute"), ("Survey: what is hidden", "left out")],
)
def test_only_a_description_of_the_table_alone_makes_a_column_insensitive(
    text: str,
    role: str,
) -> None:
    table = people().assign(v6=["a", "b"] * (ROWS // 2))
    assert suggest(table, {**DESCRIBED, "v6": text}).roles["v6"] == role


def test_descriptions_show_code_systems() -> None:
    codes = [
        f"{letter}{number:02d}.{digit}"
        for letter in "IJK"
        for number in range(10, 40)
        for digit in range(5)
    ]
    table = people().assign(v5=[codes[place % len(codes)] for place in range(ROWS)])
    made = suggest(table, {**DESCRIBED, "v5": "ICD code of the main diagnosis"})
    assert "ICD-10, by its description and the form of its values" in made.yaml
    assert "hierarchy" in made.spec["attributes"]["sensitive_attributes"]["v5"]


def test_a_repeating_identifier_of_persons_by_its_description_counts_people() -> None:
    table = people().assign(v1=[place % (ROWS // 2) for place in range(ROWS)])
    assert suggest(table, DESCRIBED).roles["v1"] == "person"


def test_a_number_of_a_thing_is_no_person() -> None:
    """Without columns about people, an identifier of persons is called a number, and not that of a
    thing.
    """
    draw = np.random.default_rng(1)
    groups = np.repeat(np.arange(80), 5)
    constant = {
        "v1": groups,
        "v2": draw.integers(0, 9, 80)[groups],
        "v3": draw.integers(0, 5, 80)[groups],
    }
    table = pd.DataFrame(
        {**constant, "v4": draw.choice([5, 6, 7], 400), "v5": draw.choice(["a", "b", "c"], 400)},
    )
    made = {text: suggest(table, {"v1": text, "v5": "Region"}) for text in ("Number", "Class ID")}
    assert {text: one.roles["v1"] for text, one in made.items()} == {
        "Number": "person",
        "Class ID": "direct identifier",
    }
    found = {
        text: [entity.columns for entity in one.subjects.entities] for text, one in made.items()
    }
    assert found == {"Number": [("v1",)], "Class ID": []}


def test_descriptions_count_in_a_table_with_codes_for_missing_values() -> None:
    table = people().assign(v5=["Unknown"] * 30 + ["flu", "gout"] * ((ROWS - 30) // 2))
    made = suggest(table, DESCRIBED)
    assert made.roles == ROLES
    assert made.spec["attributes"]["sensitive_attributes"]["v5"]["missing_values"] == ["Unknown"]


def test_weights_of_persons_are_before_those_of_households_by_their_descriptions() -> None:
    weights = np.random.default_rng(2).uniform(0.2, 9, (2, ROWS)).round(3)
    table = people().assign(v6=weights[0], v7=weights[1])
    described = {**DESCRIBED, "v6": "Household weight", "v7": "Person weight"}
    assert suggest(table, described).roles["v7"] == "survey weight"


def test_a_table_of_counts_is_refused_by_its_descriptions() -> None:
    draw = np.random.default_rng(3)
    cells = np.arange(2000)
    sizes = {"v1": 10, "v2": 10, "v3": 2, "v4": 10}
    table = pd.DataFrame({"v5": draw.poisson(40, 2000)})
    for name, size in sizes.items():
        table[name] = ["abcdefghij"[cell % size] * 2 for cell in cells]
        cells = cells // size
    described = {"v1": "Region", "v2": "Age group", "v3": "Sex", "v4": "Occupation"}
    with pytest.raises(InputError, match="a table of counts"):
        suggest(table, {**described, "v5": "Number of deaths"})
    assert (
        suggest(table, {**described, "v5": "Blood pressure"}).roles["v5"] == "sensitive attribute"
    )


def test_no_part_of_a_description_is_in_the_run_file(tmp_path: Path) -> None:
    described = {name: f"{text}; CANARY-7f3" for name, text in DESCRIBED.items()}
    made = suggest(people(), described)
    assert made.roles == ROLES
    assert "CANARY" not in made.yaml + repr(made)
    assert "from the names and descriptions of its columns" in made.yaml
    assert (
        "from the names of its columns"
        in suggest(people().rename(columns={"v2": "age", "v5": "disease"})).yaml
    )


SENSES = {
    "patient_id": ("Patient identifier", lambda draw: draw.permutation(ROWS)),
    "age": ("Age in years", lambda draw: draw.integers(18, 90, ROWS)),
    "sex": ("Sex of the respondent", lambda draw: draw.choice(["f", "m"], ROWS)),
    "marital_status": (
        "Marital status",
        lambda draw: draw.choice(["single", "married", "widowed"], ROWS),
    ),
    "occupation": (
        "Occupation of the person",
        lambda draw: draw.choice(["cook", "clerk", "baker", "smith"], ROWS),
    ),
    "region": ("Region of residence", lambda draw: draw.choice(list("ABCDEF"), ROWS)),
    "hospital_visits": (
        "Hospital visits in the last year",
        lambda draw: draw.integers(0, 15, ROWS),
    ),
    "income": ("Monthly income, in EUR", lambda draw: draw.integers(1000, 9000, ROWS)),
    "diagnosis": (
        "Diagnosis at admission",
        lambda draw: draw.choice(["flu", "gout", "ulcer"], ROWS),
    ),
    "sampling_weight": (
        "Sampling weight (of persons)",
        lambda draw: draw.uniform(0.2, 9, ROWS).round(3),
    ),
    "survey_wave": ("Survey wave", lambda draw: draw.choice([1, 2], ROWS)),
    "record_number": ("Record number", lambda draw: draw.integers(0, ROWS, ROWS)),
    "colour": ("Colour", lambda draw: draw.choice(["red", "blue"], ROWS)),
}


@given(names=st.permutations([*SENSES]).map(lambda names: names[:8]), seed=st.integers(0, 2**31))
@settings(max_examples=8)
def test_descriptions_give_the_roles_that_names_would(names: list[str], seed: int) -> None:
    """A table of v1, v2.. with a dictionary has the roles of the same table with names that say as
    much.
    """
    kept = [*dict.fromkeys(["age", "diagnosis", *names])]
    draw = np.random.default_rng(seed)
    named = pd.DataFrame({name: SENSES[name][1](draw) for name in kept})
    numbered = named.set_axis([f"v{place}" for place in range(len(kept))], axis=1)
    by_names = suggest(named).roles
    by_descriptions = suggest(
        numbered,
        {f"v{place}": SENSES[name][0] for place, name in enumerate(kept)},
    ).roles
    assert [*by_descriptions.values()] == [*by_names.values()], dict(
        zip(kept, by_descriptions.values(), strict=True),
    )


def test_a_dictionary_is_for_the_columns_of_any_case() -> None:
    told = Dictionary("d", {"age": Description("Age")}).of_table(
        ["AGE ", "x"],
        {"X": "Sex", "age": "Salary"},
    )
    assert (told.of("Age").text, told.of("x").text, told.of("y").text) == ("Age", "Sex", "")
    other = Dictionary("d", {"age": Description("Age")})
    with pytest.raises(InputError, match="none of its 1 names"):
        other.of_table(["x"], {"x": "Sex"})
