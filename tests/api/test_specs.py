"""What a call from Python is given, as a run file has it. Without Spark."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import yaml

import tclose_spark as tc
from tclose_spark.api.arguments import complete_tree, given_run, tree_of
from tclose_spark.api.audit import _question
from tclose_spark.api.errors import in_python, translate_errors
from tclose_spark.runfile.loading import load_spec, spec_of
from tclose_spark.runfile.spec import FRAME

COLUMNS = {
    "quasi_identifiers": {"age": {"type": "numeric", "round_to": "0.5"}, "sex": None},
    "sensitive_attributes": {
        "disease": {"t": 0.2},
        "pay": {"t": "measure", "distance": "ordered", "order": ["low", "high"]},
    },
}
SPEC = {"attributes": COLUMNS, "privacy": {"k": 5}}
OBJECT = tc.ReleaseSpec(
    attributes=tc.Attributes(
        quasi_identifiers={
            "age": tc.QuasiIdentifier(type="numeric", round_to="0.5"),
            "sex": tc.QuasiIdentifier(),
        },
        sensitive_attributes={
            "disease": tc.SensitiveAttribute(t="0.2"),
            "pay": tc.SensitiveAttribute(t="measure", distance="ordered", order=["low", "high"]),
        },
    ),
    privacy=tc.Privacy(k=5),
)
PEOPLE = pa.table({"age": [30], "sex": ["f"], "disease": ["flu"], "pay": ["low"]})


def complete(table, spec, output="out", overrides=(), **how):
    return spec_of(complete_tree(table, tree_of(spec, overrides), output, **how))


def test_a_dict_an_object_and_a_run_file_say_the_same(tmp_path: Path):
    whole = {
        **SPEC,
        "name": "release",
        "input": {"path": "/p.parquet"},
        "output": {"path": str(tmp_path / "o")},
    }
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(whole))
    loaded = load_spec(tmp_path / "run.yaml")
    assert complete(None, tmp_path / "run.yaml", None) == loaded
    assert complete("/p.parquet", SPEC, tmp_path / "o") == loaded
    assert complete("/p.parquet", OBJECT, tmp_path / "o") == loaded
    assert complete("/p.parquet", str(tmp_path / "run.yaml"), None) == loaded


def test_errors_of_a_run_file_name_its_lines_also_with_another_table_and_output(tmp_path: Path):
    path = tmp_path / "run.yaml"
    path.write_text(yaml.safe_dump({**SPEC, "privacy": {"k": 1}}))
    place = path.read_text().split("\n").index("  k: 1") + 1
    with pytest.raises(tc.ConfigurationError, match=rf"run.yaml, line {place}: privacy.k"):
        given_run(PEOPLE, path, tmp_path / "out")


@pytest.mark.parametrize(
    "changes",
    [
        {"privacy": tc.Privacy(k="auto", alpha="0.3")},
        {"method": tc.Microaggregation(algorithm=2)},
        {"method": tc.ClosenessTree(overlap="none", effort=3)},
        {"output": tc.Output(public="/a", internal="/b", keep_linked=True)},
        {"input": tc.Input(path="/p.csv", format="csv", options={"header": True, "sep": ";"})},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_an_object_says_all_that_it_was_made_with(changes):
    given = {"output": tc.Output(path="/o"), "input": tc.Input(path="/p.parquet"), **changes}
    whole = tc.ReleaseSpec(attributes=OBJECT.attributes, **{"privacy": OBJECT.privacy, **given})
    assert complete(None, whole, None) == whole


def test_sections_of_a_dict_may_be_objects():
    source = tc.Input(path="-", format="csv", options={"sep": ";"}, columns={"a b": "age"})
    made = complete_tree(
        "people.csv",
        tree_of({**SPEC, "input": source, "method": tc.Microaggregation(algorithm=2)}),
        "out",
    )
    assert made["input"]["options"] == {"sep": ";", "header": True}
    assert made["input"]["columns"] == {"a b": "age"}
    assert made["method"] == {"name": "microaggregation", "algorithm": 2}
    assert complete("/p.parquet", {**SPEC, "attributes": OBJECT.attributes}) == complete(
        "/p.parquet",
        SPEC,
    )
    with pytest.raises(tc.ConfigurationError, match="output is of type str"):
        complete_tree("people.csv", tree_of({**SPEC, "output": "build/x"}))


def test_a_hierarchy_that_is_built_is_said_in_a_dict_and_as_an_object():
    builder = {"groups": {"north": ["a", "b"], "south": ["c"]}}
    quasi = {"zip": tc.QuasiIdentifier(hierarchy=tc.HierarchyBuilder(**builder), range=None)}
    sensitive = OBJECT.attributes.sensitive_attributes
    objects = tc.ReleaseSpec(
        attributes=tc.Attributes(quasi_identifiers=quasi, sensitive_attributes=sensitive),
        privacy=OBJECT.privacy,
    )
    tree = {**COLUMNS, "quasi_identifiers": {"zip": {"hierarchy": builder}}}
    assert (
        complete(PEOPLE, objects).attributes
        == complete(PEOPLE, {**SPEC, "attributes": tree}).attributes
    )


def test_relative_paths_are_of_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    tree = {**COLUMNS, "quasi_identifiers": {"zip": {"hierarchy": "zip.csv"}}}
    objects = tc.Attributes(
        quasi_identifiers={"zip": tc.QuasiIdentifier(hierarchy="zip.csv")},
        sensitive_attributes=OBJECT.attributes.sensitive_attributes,
    )
    for spec in (
        {**SPEC, "attributes": tree},
        tc.ReleaseSpec(attributes=objects, privacy=OBJECT.privacy),
    ):
        made = complete("people.csv", spec, "out")
        assert made.input.path == str(tmp_path / "people.csv")
        assert made.output.public_path == str(tmp_path / "out/public")
        assert made.attributes.quasi_identifiers["zip"].hierarchy == str(tmp_path / "zip.csv")


def test_a_path_says_how_a_table_is_read_unless_the_spec_does(tmp_path: Path):
    assert complete("a.csv", SPEC).input.options == {"header": "true"}
    assert complete("a.parquet", SPEC).input.format == "parquet"
    assert complete("census.people", SPEC).input.path == "census.people"
    (tmp_path / "d/_delta_log").mkdir(parents=True)
    assert complete(tmp_path / "d", SPEC).input.format == "delta"
    semicolons = {**SPEC, "input": {"format": "csv", "options": {"sep": ";", "header": False}}}
    assert complete("a.data", semicolons).input.options == {"sep": ";", "header": "false"}


def test_a_table_in_memory_is_a_view_whose_name_decides_nothing():
    one, other = (complete(PEOPLE, SPEC, view=f"{FRAME}_{name}") for name in "ab")
    assert one.input.format == "table"
    assert one.input.path != other.input.path
    assert one.fingerprint == other.fingerprint
    assert complete("people", SPEC).fingerprint != one.fingerprint


def test_what_is_not_said_is_asked_for():
    with pytest.raises(tc.ConfigurationError, match="which table"):
        complete(None, SPEC)
    with pytest.raises(tc.ConfigurationError, match="where does the release go"):
        complete(PEOPLE, SPEC, None)
    with pytest.raises(tc.ConfigurationError, match="where does the release go"):
        complete(PEOPLE, OBJECT, None)
    with pytest.raises(tc.ConfigurationError, match="of type int; expected a DataFrame of Spark"):
        complete(3, SPEC)
    with pytest.raises(tc.ConfigurationError, match="spec is of type list"):
        complete(PEOPLE, [])
    with pytest.raises(tc.ConfigurationError, match="privacy: missing; this key is required"):
        complete(PEOPLE, {"attributes": COLUMNS})


def test_a_run_file_still_has_to_say_what_a_call_may(tmp_path: Path):
    (tmp_path / "run.yaml").write_text(yaml.safe_dump({**SPEC, "privacy": {"k": 1}}))
    with pytest.raises(tc.ConfigurationError) as found:
        load_spec(tmp_path / "run.yaml")
    missing = [f"{key}: missing; this key is required" for key in ("name", "input", "output")]
    assert str(found.value).splitlines()[:3] == missing
    assert "privacy.k: found 1" in str(found.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: tc.QuasiIdentifier(type="int"),
            "QuasiIdentifier.type: found 'int'; expected 'categorical', 'numeric'",
        ),
        (lambda: tc.Privacy(k="5"), "Privacy.k: found '5'; expected 5 without quotes"),
        (lambda: tc.Privacy(k="five"), "Privacy.k: found 'five'; expected a whole number"),
        (lambda: tc.Bins(), "Bins: found {}; expected one of equal_width"),
        (
            lambda: tc.Attributes(
                quasi_identifiers={"a": {}},
                sensitive_attributes={"d": tc.SensitiveAttribute()},
            ),
            "Attributes.sensitive_attributes.d: it has no requirement; expected a t",
        ),
        (
            lambda: tc.Output(path="o", keep_linked="true"),
            "Output.keep_linked: found 'true'; expected true without quotes",
        ),
    ],
)
def test_objects_report_their_problems_like_run_files(make, message):
    with pytest.raises(tc.ConfigurationError) as found:
        make()
    assert str(found.value).startswith(message)
    assert "pydantic" not in str(found.value)


def test_overrides_are_those_of_the_command_line():
    assert complete(PEOPLE, SPEC, overrides=["privacy.k=7"]).privacy.k == 7
    assert complete(PEOPLE, OBJECT, overrides=["privacy.k=7"]).privacy.k == 7
    with pytest.raises(
        tc.ConfigurationError,
        match=r"overrides is a text; expected a list, such as \['privacy.k=7'\]",
    ):
        complete(PEOPLE, SPEC, overrides="privacy.k=7")


def test_numbers_of_numpy_are_numbers():
    assert complete(PEOPLE, {**SPEC, "privacy": {"k": np.int64(7)}}).privacy.k == 7
    assert ask(["age"], {"pay": "equal"}, k=np.int32(3), t=np.float64(0.2)) == ask(
        ["age"],
        {"pay": "equal"},
        k=3,
        t=0.2,
    )


def test_an_audit_without_earlier_tables_may_say_none():
    table = pa.table({"age": [1, 1]})
    assert tc.audit(table, ["age"], None, k=2, earlier=None, engine="local").holds


def test_what_is_given_is_not_changed():
    spec = {"attributes": {**COLUMNS}, "privacy": {"k": 5}}
    complete(PEOPLE, spec, overrides=["privacy.k=7"])
    assert spec == SPEC


def ask(quasi=(), sensitive=(), hierarchies=None, spec=None, **asked):
    options = {
        "quasi_identifiers": quasi,
        "sensitive": sensitive,
        "hierarchies": hierarchies,
        "spec": spec,
    }
    return _question(options, **{"k": None, "t": None, "n": None, "gain": "0.2", **asked})


def test_columns_of_an_audit_are_names_or_settings():
    plain = ask(["age", "zip"], {"pay": {"distance": "ordered"}}, k=5, t="0.2")
    assert plain == ask({"age": {}, "zip": None}, {"pay": "ordered"}, k=5, t=0.2)
    assert plain == ask(
        {"age": tc.QuasiIdentifier(), "zip": {}},
        {"pay": tc.SensitiveAttribute(distance="ordered")},
        k=5,
        t="1/5",
    )
    assert list(ask(["age"], ["pay"]).sensitive_attributes) == ["pay"]
    assert not ask(["age"], None).sensitive_attributes
    assert ask(["zip"], hierarchies={"zip": Path("z.csv")}).quasi_identifiers[
        "zip"
    ].hierarchy == str(Path("z.csv").resolve())


def test_columns_of_an_audit_may_be_those_of_a_spec():
    question = ask(spec=SPEC)
    assert question.k == 5
    assert question == ask(spec=OBJECT)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "which columns are quasi-identifiers"),
        ({"quasi": "age"}, "quasi_identifiers is a text"),
        (
            {"quasi": ["age"], "k": 10**30},
            "k: found 10{30}; expected 999,999,999,999,999,999 or less",
        ),
        (
            {"quasi": ["age"], "sensitive": {"pay": {"l": {"distinct": 10**30}}}},
            "distinct: found 10{30}; expected 999",
        ),
        ({"quasi": 5}, "quasi_identifiers is of type int; expected a list of columns"),
        (
            {"quasi": {"age": 5}},
            "quasi_identifiers.age is of type int; expected a distance, or a dict of settings",
        ),
        ({"quasi": ["age", "age"]}, "a column is listed twice"),
        ({"quasi": ["age"], "spec": SPEC}, "leave out --quasi-identifiers"),
        ({"quasi": ["age"], "hierarchies": {"zip": "z.csv"}}, "'zip' is not a quasi-identifier"),
    ],
)
def test_wrong_columns_of_an_audit_are_reported(given, says):
    with pytest.raises(tc.ConfigurationError, match=says):
        ask(**given)


def test_errors_name_arguments_and_carry_what_the_exit_code_says():
    codes = (
        (tc.GuaranteeError, 1),
        (tc.ConfigurationError, 2),
        (tc.InputError, 2),
        (tc.UnreachableError, 3),
    )
    assert [(kind, kind.exit_code) for kind, _ in codes] == list(codes)
    with (
        pytest.raises(tc.ConfigurationError, match="give overwrite=True to replace") as found,
        translate_errors(),
    ):
        raise tc.ConfigurationError("give --overwrite to replace it")
    assert found.value.exit_code == 2
    assert (
        in_python("run `tclose verify --finished`, a -- b, x--y")
        == "run `tclose verify finished`, a -- b, x--y"
    )


def test_what_is_not_ours_shows_no_value(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(tc.TcloseError) as found, translate_errors():
        raise ValueError("Ann earns 12,345")
    assert (type(found.value), found.value.exit_code) == (tc.TcloseError, 70)
    assert "unexpected ValueError" in str(found.value)
    assert "Ann" not in str(found.value)
    assert found.value.__suppress_context__
    with pytest.raises(tc.ConfigurationError) as found, translate_errors():
        raise tc.ConfigurationError("the disk is full") from RuntimeError("Ann earns 12,345")
    assert found.value.__cause__ is None
    assert found.value.__suppress_context__
    monkeypatch.setenv("TCLOSE_DEBUG", "1")
    with pytest.raises(ValueError, match="Ann"), translate_errors():
        raise ValueError("Ann earns 12,345")
