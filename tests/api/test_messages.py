"""No message holds a raw value: canaries in every role and in every kind of mistake, and where they
are found instead.
"""

import json
import re
import runpy
import stat
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tclose_spark.io.output_folders import PROBLEMS

Command = Callable[..., tuple[int, str, str]]

CANARY = "CANARY-7f3"
NUMERIC = {"age": {"type": "numeric"}}
CITY = {"age": {"type": "numeric"}, "city": {"hierarchy": "cities.csv"}}
PEOPLE: dict[str, list[Any]] = {
    "name": [f"{CANARY}-{i}" for i in range(12)],
    "age": [20 + i for i in range(12)],
    "sex": [CANARY, "m"] * 6,
    "city": ["Pisa", "Lyon"] * 6,
    "disease": ["flu", CANARY] * 6,
    "note": [CANARY, "a", "b"] * 4,
}
ROLES: dict[str, Any] = {
    "quasi": {**NUMERIC, "sex": {}},
    "sensitive": {"disease": {"t": "0.5"}},
    "direct_identifiers": ["name"],
    "insensitive_attributes": ["note"],
    "drop_others": True,
}


def beside(value: Any, others: list[Any]) -> list[Any]:
    """A column of twelve values: one of this value, the rest of others."""
    return [value, *(others[i % len(others)] for i in range(11))]


# what is wrong: (columns that differ, settings that differ, exit code, whether problems.json holds
# the canary)
MISTAKES: dict[str, tuple[Mapping[str, Any], Mapping[str, Any], int, bool]] = {
    "not in the hierarchy": ({"city": beside(CANARY, ["Pisa"])}, {"quasi": CITY}, 2, True),
    "a sensitive value not in its hierarchy": (
        {"disease": beside(CANARY, ["Pisa"])},
        {
            "sensitive": {
                "disease": {"distance": "hierarchical", "hierarchy": "cities.csv", "t": "0.5"},
            },
        },
        2,
        True,
    ),
    "lost from an order": (
        {},
        {"sensitive": {"disease": {"distance": "ordered", "order": ["flu"], "t": "0.5"}}},
        2,
        True,
    ),
    "text without an order": (
        {"disease": beside(CANARY, ["1", "2"])},
        {"sensitive": {"disease": {"distance": "ordered", "t": "0.5"}}},
        2,
        True,
    ),
    "texts that are one number": (
        {"disease": beside("730173", ["730173.0", "1"])},
        {"sensitive": {"disease": {"distance": "ordered", "t": "0.5"}}},
        2,
        False,
    ),
    "infinite": (
        {"disease": beside(float("inf"), [730173.5])},
        {"sensitive": {"disease": {"distance": "ordered", "t": "0.5"}}},
        2,
        False,
    ),
    "missing in an order": (
        {"disease": beside(None, [CANARY])},
        {"sensitive": {"disease": {"distance": "ordered", "order": [CANARY], "t": "0.5"}}},
        2,
        False,
    ),
    "a star": ({"sex": beside("*", [CANARY])}, {}, 2, False),
    "braces": (
        {"sex": beside(f"{{{CANARY}}}", ["m"])},
        {"quasi": {**NUMERIC, "sex": {"generalization": "set"}}},
        2,
        True,
    ),
    "no number": ({"age": beside(CANARY, ["20", "30"])}, {}, 2, True),
    "a number of too many digits": (
        {"age": beside("73017301730173017301", ["20", "30"])},
        {},
        2,
        False,
    ),
    "a number that bounds cannot say": (
        {"age": beside(None, [730173])},
        {"quasi": {"age": {"type": "numeric", "numeric_output": "bounds"}}},
        2,
        False,
    ),
    "nearly unique": ({}, {"direct_identifiers": [], "insensitive_attributes": ["name"]}, 2, False),
    "a column that is not there": ({}, {"insensitive_attributes": ["size"]}, 2, False),
    "a column without a role": ({}, {"drop_others": False}, 2, False),
    "k above the table": ({}, {"k": 50}, 3, False),
    "out of reach": (
        {"disease": beside(CANARY, ["flu", "gout"])},
        {"sensitive": {"disease": {"t": "0.01"}}, "k": 5, "method": {"class_size": "k"}},
        3,
        False,
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_reported_without_a_value(
    run_file: Callable[..., Path],
    tclose: Command,
    tmp_path: Path,
    name: str,
) -> None:
    columns, settings, expected, kept = MISTAKES[name]
    code, out, err = tclose("release", run_file({**PEOPLE, **columns}, **{**ROLES, **settings}))
    assert code == expected, err
    assert "error: " in err
    for canary in (CANARY, "730173"):
        assert canary not in out + err
    problems = tmp_path / "out" / "internal" / PROBLEMS
    assert problems.exists() == (str(problems) in err)
    if kept:
        assert CANARY in problems.read_text()
    if problems.exists():
        assert stat.S_IMODE(problems.stat().st_mode) == 0o600
        assert stat.S_IMODE(problems.parent.stat().st_mode) == 0o700


def test_a_malformed_record_is_counted(
    run_file: Callable[..., Path],
    tclose: Command,
    tmp_path: Path,
) -> None:
    (tmp_path / "people.csv").write_text(
        "age,sex,disease\n" + "20,m,flu\n" * 11 + f"21,f,{CANARY},{CANARY}\n",
    )
    source = {"path": "people.csv", "format": "csv", "options": {"header": True}}
    code, out, err = tclose(
        "profile",
        run_file(
            None,
            source=source,
            quasi={**NUMERIC, "sex": {}},
            sensitive={"disease": {"t": "0.5"}},
        ),
    )
    assert (code, "1 of 12 rows are malformed" in err) == (2, True)
    assert CANARY not in out + err


def test_what_is_wrong_is_written_with_its_rows_until_it_is_mended(
    run_file: Callable[..., Path],
    tclose: Command,
    tmp_path: Path,
) -> None:
    people = {**PEOPLE, "city": beside("Oslo", ["Pisa", "Lyon"])}
    path = run_file(people, **{**ROLES, "quasi": CITY})
    code, _, err = tclose("profile", path)
    file = tmp_path / "out" / "internal" / PROBLEMS
    assert (code, f"The values, and how many rows hold each, are in {file}" in err) == (2, True)
    assert json.loads(file.read_text()) == {
        "error": "quasi-identifier 'city': its hierarchy lacks 1 value in 1 rows; add a row for each",
        "column": "city",
        "problem": "missing from its hierarchy",
        "values": [{"value": "Oslo", "rows": 1}],
    }
    assert tclose("profile", run_file(PEOPLE, **{**ROLES, "quasi": CITY}))[0] == 0
    assert not file.exists()


@pytest.mark.parametrize(
    ("method", "stages"),
    [("stack_and_deal", ["release"]), ("fragmentation", ["profile", "plan"])],
)
def test_a_run_that_goes_well_shows_no_value(
    run_file: Callable[..., Path],
    tclose: Command,
    method: str,
    stages: list[str],
) -> None:
    path = run_file(PEOPLE, **ROLES, method={"name": method})
    for stage in stages:
        code, out, err = tclose(stage, path)
        assert code == 0, err
        assert CANARY not in out + err


# what is audited: columns that differ, arguments
AUDITED: dict[str, tuple[Mapping[str, Any], list[str]]] = {
    "a label that is no node": (
        {"city": beside(CANARY, ["Pisa"])},
        ["-q", "city", "--hierarchy", "city={cities}", "--k", "2"],
    ),
    "a sensitive value that is no leaf": (
        {},
        ["-q", "city", "-s", "disease:hierarchical:t=0.2,hierarchy={cities}"],
    ),
    "lost from an order": ({}, ["-q", "city", "-s", "disease:ordered:t=0.2,order=flu|gout"]),
    "text without an order": ({}, ["-q", "city", "-s", "disease:ordered:t=0.2"]),
}


@pytest.mark.parametrize("name", AUDITED)
def test_an_audit_tells_a_mistake_without_a_value(
    run_file: Callable[..., Path],
    tclose: Command,
    tmp_path: Path,
    name: str,
) -> None:
    columns, arguments = AUDITED[name]
    run_file({**PEOPLE, **columns})
    code, out, err = tclose(
        "audit",
        tmp_path / "people.parquet",
        *[a.format(cities=tmp_path / "cities.csv") for a in arguments],
    )
    assert (code, "error: " in err) == (2, True)
    assert CANARY not in out + err


# what an audit prints without labels: columns, of which CANARY and 730173 are nowhere but in
# values; arguments
PATHS = "".join(
    f"{place};{CANARY} {place[:2]};{CANARY} land;*\n" for place in ("Pisa", "Siena", "Lyon")
)
PRINTED: dict[str, tuple[Mapping[str, Any], list[str]]] = {
    "a raw table": (
        {
            "age": [730173 + i for i in range(12)],
            "sex": ["f", "m"] * 6,
            "disease": ["flu ", "flu", "gout"] * 4,
        },
        [
            "-q",
            "age,sex,city",
            "-s",
            "disease:equal:t=0.5,l=2,entropy=1.5,recursive=3:2",
            "--k",
            "2",
            "--background",
            "{people}",
        ],
    ),
    "ranges, two attributes and a reference": (
        {
            "disease": [730173, 730173, 730175] * 4,
            "sex": [f"{CANARY}*", f"{CANARY.lower()}*", "m", "m"] * 3,
        },
        [
            "-q",
            "sex,city",
            "-s",
            "disease:ordered",
            "-s",
            "note:equal",
            "--reference",
            "{people}",
            "--gain",
            "0",
        ],
    ),
    "natural supersets, nodes, and tuples": (
        {
            "city": [f"{CANARY} Pi"] * 2 + ["Siena", "Lyon"] * 5,
            "note": ["Pisa"] * 3 + ["Siena", "Lyon", "Lyon"] * 3,
            "disease": ["flu", CANARY] * 6,
        },
        [
            *[
                "-q",
                "city",
                "--hierarchy",
                "city={paths}",
                "-s",
                "note:hierarchical:t=0.2,hierarchy={paths}",
            ],
            *["-s", "disease:equal:t=0.2", "--n", "6", "--gain", "0"],
        ],
    ),
}


@pytest.mark.parametrize("name", PRINTED)
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["tables", "json"])
def test_an_audit_without_labels_prints_no_value(
    run_file: Callable[..., Path],
    tclose: Command,
    tmp_path: Path,
    name: str,
    form: list[str],
) -> None:
    columns, arguments = PRINTED[name]
    run_file({**PEOPLE, **columns})
    (tmp_path / "paths.csv").write_text(PATHS)
    files = {"people": tmp_path / "people.parquet", "paths": tmp_path / "paths.csv"}
    asked = ["audit", files["people"], *[a.format(**files) for a in arguments], *form]
    code, out, err = tclose(*asked)
    assert code in (0, 1), err
    for canary in (CANARY, "730173"):
        assert (canary in out) == (canary in str(columns)), canary  # by default it is shown
    without, bare, said = tclose(*asked, "--no-labels")
    assert (without, said) == (code, err)
    for canary in (CANARY, CANARY.lower(), "730173", "730175", "Pisa", "Siena", "Lyon", "flu"):
        assert canary not in bare + said
    assert ('"size": ' in bare) if form else (" records " in bare)
    if form:
        shown, left = json.loads(out), json.loads(bare)
        assert left == {
            **shown,
            **{part: left[part] for part in ("guarantees", "attacks", "notes")},
        }
        assert len(left["notes"]) == len(shown["notes"])
        for of, mine in zip(
            shown["guarantees"] + shown["attacks"],
            left["guarantees"] + left["attacks"],
            strict=True,
        ):
            known = of["worst"] is None  # another attribute, by its name
            assert mine == {
                **of,
                **({} if known else {"worst": {}, **({"about": None} if "about" in of else {})}),
            }
            assert known == (mine["size"] is None)


def test_the_job_takes_the_options_of_an_audit(
    run_file: Callable[..., Path],
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    run_file(PEOPLE)
    assert spark
    job, table = (
        Path(__file__).resolve().parents[2] / "jobs/audit.py",
        str(tmp_path / "people.parquet"),
    )
    monkeypatch.setattr("sys.path", list(sys.path))
    monkeypatch.setattr(
        "sys.argv",
        ["jobs/audit.py", table, "-q", "sex", "-s", "disease:equal", "--k", "7", "--no-labels"],
    )
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(job), run_name="__main__")
    out, err = capfd.readouterr()
    assert (ended.value.code, "6 records" in out) == (1, True)
    assert CANARY not in out + err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"t: 0.6": "t: 0,2"},
            "attributes.sensitive_attributes.disease.2: found the key 2; expected a text (write "
            "0.2",
        ),
        (
            {"t: 0.6": "t: '0,2'"},
            "found '0,2'; expected a number such as 0.2, with a point in place of the comma",
        ),
        (
            {"  quasi": "\tquasi"},
            "line 5: not valid YAML: found a tab where a line begins or a value is expected; use "
            "blanks",
        ),
        (
            {"k: 2": "\tk: 2"},
            "line 7: not valid YAML: found a tab where a line begins or a value is expected",
        ),
        (
            {"name: stack_and_deal": "name: stack_and_del"},
            "found 'stack_and_del'; expected .*; did you mean 'stack_and_deal'?",
        ),
        ({"distance: equal": "distance: eqal"}, "found 'eqal'; expected .*; did you mean 'equal'?"),
        (
            {"path: people.csv": "path: peple.csv"},
            "peple.csv does not exist; did you mean 'people.csv'?",
        ),
        ({"path: people.csv": "path: folder/x.csv"}, "x.csv does not exist$"),
    ],
)
def test_a_slip_is_answered_by_what_was_meant(
    change: dict[str, str],
    message: str,
    tmp_path: Path,
    tclose: Callable[..., tuple[int, str, str]],
) -> None:
    (tmp_path / "people.csv").write_text(
        "age,disease\n" + "".join(f"{30 + i},{['flu', 'gout'][i % 2]}\n" for i in range(8)),
    )
    text = """name: people
input: {path: people.csv, options: {header: true}}
output: {path: out}
attributes:
  quasi_identifiers: {age: {type: numeric}}
  sensitive_attributes: {disease: {distance: equal, t: 0.6}}
privacy: {k: 2}
method: {name: stack_and_deal}
"""
    for old, new in change.items():
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "run.yaml").write_text(text)
    code, _, error = tclose("release", str(tmp_path / "run.yaml"))
    assert code == 2
    assert re.search(message.replace("(", r"\(").replace("?", r"\?"), error, re.MULTILINE), error


def test_a_run_file_that_is_missing_may_have_another_name(
    tmp_path: Path,
    tclose: Callable[..., tuple[int, str, str]],
) -> None:
    (tmp_path / "people.yaml").write_text("")
    code, _, error = tclose("release", str(tmp_path / "peple.yaml"))
    assert (code, "did you mean 'people.yaml'?" in error) == (2, True)
