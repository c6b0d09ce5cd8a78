"""What is asked of a table, in Python and on a command line: the settings, and errors that name the
column or the key.
"""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tclose_spark.auditing.question import (
    AuditQuestion,
    question_from_columns,
    question_from_run_file,
)
from tclose_spark.auditing.short_forms import parse_quasi_identifiers, parse_sensitive
from tclose_spark.errors import ConfigurationError
from tclose_spark.runfile.spec import ReleaseSpec

HERE = Path("/data")


def spec(sensitive: dict[str, Any] | None = None) -> ReleaseSpec:
    """A run file's content: age as two bounds, sex, k = 3; by default salary with t = 0.5 and
    disease without a t.
    """
    return ReleaseSpec.model_validate(
        {
            "name": "people",
            "input": {"path": "people.csv"},
            "output": {"path": "build"},
            "attributes": {
                "quasi_identifiers": {
                    "age": {"type": "numeric", "numeric_output": "bounds"},
                    "sex": {},
                },
                "sensitive_attributes": sensitive
                or {"salary": {"distance": "ordered", "t": "0.5"}, "disease": {"t": "measure"}},
            },
            "privacy": {"k": 3},
        },
    )


# --- ask


def test_a_question_in_plain_python():
    question = question_from_columns(
        ["age", "zip"],
        {"salary": {"distance": "ordered", "t": 0.1, "l": {"distinct": 3}}},
        k=5,
        n=100,
    )
    assert list(question.quasi_identifiers) == ["age", "zip"]
    salary = question.sensitive_attributes["salary"]
    assert (salary.distance, salary.t, salary.l.distinct) == ("ordered", Fraction(1, 10), 3)
    assert (question.k, question.n, question.gain) == (5, 100, Fraction(1, 5))


def test_what_is_not_asked_has_no_bound():
    question = question_from_columns(["age"])
    assert (question.sensitive_attributes, question.k, question.n) == ({}, None, None)


def test_t_is_of_the_attributes_that_have_none_of_their_own():
    sensitive: dict[str, dict[str, Any]] = {
        "salary": {"t": "1/3"},
        "disease": {},
        "city": {"t": None},
    }  # None is none
    completed, left = (
        question_from_columns(["age"], sensitive, t="0.25"),
        question_from_columns(["age"], sensitive),
    )
    third, quarter = Fraction(1, 3), Fraction(1, 4)
    assert {name: a.t for name, a in completed.sensitive_attributes.items()} == {
        "salary": third,
        "disease": quarter,
        "city": quarter,
    }
    assert {name: a.t for name, a in left.sensitive_attributes.items()} == {
        "salary": third,
        "disease": None,
        "city": None,
    }


def test_asking_leaves_what_it_was_given_as_it_was():
    sensitive: dict[str, dict[str, Any]] = {"salary": {}}
    question_from_columns(["age"], sensitive, t="0.25")
    assert sensitive == {"salary": {}}


def test_columns_of_bounds_are_two():
    question = question_from_columns(
        {"age": {"type": "numeric", "numeric_output": "bounds"}, "sex": {}},
    )
    assert question.columns == {"age": ("age_min", "age_max"), "sex": ("sex",)}
    assert question.labels == ["age_min", "age_max", "sex"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"quasi_identifiers": []}, "quasi_identifiers: "),
        (
            {"quasi_identifiers": ["age", "zip", "age"]},
            "quasi_identifiers: a column is listed twice",
        ),
        (
            {"quasi_identifiers": {"age": {"typ": "numeric"}}},
            "quasi_identifiers.age.typ: unknown key; did you mean 'type'?",
        ),
        (
            {"sensitive": {"age": {}}},
            "column 'age' is a quasi-identifier and a sensitive attribute; expected one role",
        ),
        (
            {"sensitive": {"pay": {"distance": "far"}}},
            "sensitive_attributes.pay.distance: found 'far'; expected 'equal', ",
        ),
        (
            {"sensitive": {"pay": {"distance": "hierarchical"}}},
            "sensitive_attributes.pay.distance: it needs a hierarchy",
        ),
        (
            {"sensitive": {"pay": {"order": ["low", "high"]}}},
            "sensitive_attributes.pay.order: it is for an ordered distance",
        ),
        (
            {"sensitive": {"pay": {"distance": "ordered", "order": []}}},
            "sensitive_attributes.pay: order is an empty list",
        ),
        (
            {"sensitive": {"pay": {"distance": "ordered", "missing": "last"}}},
            "sensitive_attributes.pay.missing: found 'last'; expected ",
        ),
        (
            {"sensitive": {"pay": {"t": 2}}},
            "sensitive_attributes.pay.t: found 2; expected a number from 0 to 1",
        ),
        (
            {"sensitive": {"pay": {"beta": 0}}},
            "sensitive_attributes.pay.beta: found 0; expected a number above 0",
        ),
        (
            {"sensitive": {"pay": {"l": {"frequency": "0.5"}}}},
            "sensitive_attributes.pay.l.frequency: found '0.5'; expected a number of at least 1",
        ),
        (
            {"sensitive": {"pay": {}}, "t": "little"},
            "sensitive_attributes.pay.t: found 'little'; expected a number such as 0.2",
        ),
        (
            {"sensitive": {"pay": {"l": {"distinct": 0}}}},
            "sensitive_attributes.pay.l.distinct: found 0; expected 1 or more",
        ),
        (
            {"sensitive": {"pay": {"l": {"entropy": "much"}}}},
            "sensitive_attributes.pay.l.entropy: found 'much'; expected a number",
        ),
        (
            {"sensitive": {"pay": {"l": {"recursive": {"c": "3", "l": 1}}}}},
            "sensitive_attributes.pay.l.recursive.l: found 1; expected ",
        ),
        ({"k": 0}, "k: found 0; expected 1 or more"),
        ({"n": 0}, "n: found 0; expected 1 or more"),
        ({"gain": "some"}, "gain: found 'some'; expected a number such as 0.2"),
    ],
)
def test_errors_name_the_column_and_the_key(arguments: dict[str, Any], message: str):
    with pytest.raises(ConfigurationError) as error:
        question_from_columns(**{"quasi_identifiers": ["age"], **arguments})
    assert str(error.value).startswith(message)


# --- ask_as_in: the question of a run file


def test_a_run_file_asks_what_it_asks_of_its_release():
    question = question_from_run_file(spec())
    assert question.labels == ["age_min", "age_max", "sex"]
    assert {name: a.t for name, a in question.sensitive_attributes.items()} == {
        "salary": Fraction(1, 2),
        "disease": None,
    }
    assert (question.k, question.n, question.gain) == (3, None, Fraction(1, 5))


def test_a_run_file_that_asks_for_supersets_asks_its_release_for_them():
    asked = spec().model_dump(mode="json")
    asked["privacy"]["nt"] = {"n": 50}
    of_file = ReleaseSpec.model_validate(asked)
    assert (question_from_run_file(of_file).n, question_from_run_file(of_file, n=9).n) == (50, 9)


def test_k_replaces_that_of_the_run_file_and_t_completes_it():
    question = question_from_run_file(spec(), k=7, t="0.25", n=9, gain="1/3")
    assert {name: a.t for name, a in question.sensitive_attributes.items()} == {
        "salary": Fraction(1, 2),
        "disease": Fraction(1, 4),
    }
    assert (question.k, question.n, question.gain) == (7, 9, Fraction(1, 3))


@pytest.mark.parametrize(
    "wrong",
    [{"k": 0}, {"n": 0}, {"gain": "some"}, {"t": "little"}, {"t": "7"}, {"t": "-1"}],
)
def test_what_completes_a_run_file_is_checked_like_the_rest(wrong: dict[str, Any]):
    (key,) = wrong
    with pytest.raises(ConfigurationError, match=key):
        question_from_run_file(spec(), **wrong)


# --- read_sensitive: COLUMN:DISTANCE:SETTINGS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pay", {"distance": "equal"}),
        ("pay:ordered", {"distance": "ordered"}),
        ("pay::t=0.1", {"distance": "equal", "t": "0.1"}),
        ("pay:ordered:t=0.1,l=3", {"distance": "ordered", "t": "0.1", "l": {"distinct": 3}}),
        (
            "pay:ordered:order=low|mid|high",
            {"distance": "ordered", "order": ["low", "mid", "high"]},
        ),
        (
            "pay:ordered:order=frequency,missing=lowest",
            {"distance": "ordered", "order": "frequency", "missing": "lowest"},
        ),
        ("pay:ordered:order=value", {"distance": "ordered", "order": "value"}),
        (
            "pay:equal:entropy=2.5,recursive=3/2:4,l=2",
            {"l": {"entropy": "2.5", "recursive": {"c": "3/2", "l": 4}, "distinct": 2}},
        ),
        (
            "pay:equal:beta=1/2,frequency=2.5,l=2",
            {"beta": "1/2", "l": {"frequency": "2.5", "distinct": 2}},
        ),
        (
            "pay:hierarchical:hierarchy=trees/pay.csv",
            {"distance": "hierarchical", "hierarchy": "/data/trees/pay.csv"},
        ),
        (
            "pay:hierarchical:hierarchy=s3://bucket/pay.csv",
            {"distance": "hierarchical", "hierarchy": "s3://bucket/pay.csv"},
        ),
    ],
)
def test_settings_of_a_sensitive_attribute_in_one_text(text: str, expected: dict[str, Any]):
    found = parse_sensitive([text], HERE)
    assert found == {"pay": {"distance": "equal", **expected}}
    assert isinstance(
        question_from_columns(["age"], found),
        AuditQuestion,
    )  # it is what a question is made of


def test_several_sensitive_attributes():
    assert parse_sensitive(["pay:ordered", "town"], HERE) == {
        "pay": {"distance": "ordered"},
        "town": {"distance": "equal"},
    }


@pytest.mark.parametrize("column", ["Diagnose: main", "a:b:c", "equal:ity"])
def test_a_sensitive_column_may_have_colons_in_its_name(column: str):
    assert parse_sensitive([f"{column}:ordered:recursive=3:2"], HERE) == {
        column: {"distance": "ordered", "l": {"recursive": {"c": "3", "l": 2}}},
    }


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([":ordered"], "--sensitive :ordered: expected COLUMN:DISTANCE:SETTINGS"),
        (["pay", "pay:ordered"], "--sensitive pay:ordered: column 'pay' is listed twice"),
        (
            ["pay:ordered:t"],
            "--sensitive pay:ordered:t: found 't'; expected settings such as t=0.1",
        ),
        (["pay:ordered:t="], "--sensitive pay:ordered:t=: found 't='; expected settings"),
        (["pay:ordered:t=0.1,"], "--sensitive pay:ordered:t=0.1,: found ''; expected settings"),
        (["pay:equal:k=3"], "--sensitive pay:equal:k=3: unknown setting 'k'; expected t=0.1"),
        (
            ["pay:equal:l=three"],
            "--sensitive pay:equal:l=three: l is 'three'; expected a whole number",
        ),
        (["pay:equal:l=2.5"], "--sensitive pay:equal:l=2.5: l is '2.5'; expected a whole number"),
        (
            ["pay:equal:recursive=3"],
            "--sensitive pay:equal:recursive=3: found recursive=3; expected c and l",
        ),
        (
            ["pay:equal:recursive=3:x"],
            "--sensitive pay:equal:recursive=3:x: recursive is 'x'; expected a whole number",
        ),
    ],
)
def test_a_text_that_is_no_setting_is_named(texts: list[str], message: str):
    with pytest.raises(ConfigurationError) as error:
        parse_sensitive(texts, HERE)
    assert str(error.value).startswith(message)


def test_a_variable_of_a_path_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("TREES", raising=False)
    with pytest.raises(
        ConfigurationError,
        match=r"--sensitive pay:hierarchical:hierarchy=\$\{TREES\}.*TREES is not set",
    ):
        parse_sensitive(["pay:hierarchical:hierarchy=${TREES}"], HERE)


def test_a_setting_that_stands_twice():
    with pytest.raises(ConfigurationError, match="twice"):
        parse_sensitive(["pay:equal:t=0.1,t=0.9"], HERE)


# --- read_quasi: names, and hierarchies beside them


def test_quasi_identifiers_by_commas_or_repeated():
    assert parse_quasi_identifiers(["age,zip", "sex"], ["zip=zip.csv"], HERE) == {
        "age": {},
        "zip": {"hierarchy": "/data/zip.csv"},
        "sex": {},
    }


@pytest.mark.parametrize(
    ("names", "hierarchies", "message"),
    [
        (["age,,zip"], [], "--quasi-identifiers: a name is empty"),
        (["age", "zip,age"], [], "--quasi-identifiers: column 'age' is listed twice"),
        (
            ["age", "zip"],
            ["city=city.csv"],
            r"--hierarchy city=city.csv: expected COLUMN=FILE of a quasi-identifier \(age, zip\)",
        ),
        (["age"], ["age"], "--hierarchy age: expected COLUMN=FILE"),
        (["age"], ["age="], "--hierarchy age=: expected COLUMN=FILE"),
    ],
)
def test_a_name_that_is_no_quasi_identifier_is_named(
    names: list[str],
    hierarchies: list[str],
    message: str,
):
    with pytest.raises(ConfigurationError, match=message):
        parse_quasi_identifiers(names, hierarchies, HERE)
