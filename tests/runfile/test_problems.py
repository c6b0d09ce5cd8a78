"""Errors of a run file: all at once, each with its line and the nearest right name."""

from pathlib import Path

import pyarrow as pa
import pytest

from tclose_spark.errors import ConfigurationError, UnreachableError
from tclose_spark.io.input.files import check_files
from tclose_spark.runfile.loading import lines_in_errors, load_spec, read_tree
from tclose_spark.runfile.problems import Lines

RUN = """\
name: people
input: {path: people.csv, format: csv}
output: {path: build}
attributes:
  quasi_identifiers:
    age:
      typ: numeric
    job.title: {generalisation: set}
  sensitive_attributes:
    disease: {t: 2}
  insensitive_attributes: [7]
privacy:
  kk: 5
"""


def wrong(path: Path, text: str, *overrides: str) -> list[str]:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError) as error:
        load_spec(path, overrides)
    return [line.replace(str(path.parent) + "/", "") for line in str(error.value).split("\n")]


def test_all_that_is_wrong_is_reported_at_once_in_the_order_of_the_file(tmp_path):
    assert wrong(tmp_path / "my.yaml", RUN) == [
        "my.yaml, line 7: attributes.quasi_identifiers.age.typ: unknown key; did you mean 'type'?",
        "my.yaml, line 8: attributes.quasi_identifiers.job.title.generalisation: unknown key; did "
        "you mean 'generalization'?",
        "my.yaml, line 10: attributes.sensitive_attributes.disease.t: found 2; expected a number "
        "from 0 to 1, or measure",
        "my.yaml, line 11: attributes.insensitive_attributes.0: found 7; expected a text "
        "(numbers, dates, true and false are texts in quotes only)",
        "my.yaml, line 12: privacy.k: missing; this key is required",
        "my.yaml, line 13: privacy.kk: unknown key; did you mean 'k'?",
    ]


def test_what_is_set_on_the_command_line_stands_in_no_line(tmp_path):
    told = wrong(
        tmp_path / "my.yaml",
        RUN,
        "privacy={kk: 5}",
        "attributes.sensitive_attributes.disease.t=3",
    )
    assert "privacy.kk: unknown key; did you mean 'k'?" in told
    assert any(
        line.startswith("attributes.sensitive_attributes.disease.t: found 3") for line in told
    )
    assert any(line.startswith("my.yaml, line 7: ") for line in told)


def test_all_variables_that_are_not_set_are_reported(tmp_path, monkeypatch):
    monkeypatch.delenv("NOWHERE", raising=False)
    told = wrong(
        tmp_path / "my.yaml",
        RUN.replace("people.csv", "'${NOWHERE}/a'").replace("build", "'${NOWHERE}'"),
    )
    assert [line.split(": the")[0] for line in told] == [
        "my.yaml, line 2: input.path",
        "my.yaml, line 3: output.path",
    ]


def test_settings_of_a_method_have_their_line(tmp_path):
    text = (
        RUN.replace("typ:", "type:").replace("{generalisation: set}", "").replace("t: 2", "t: 0.2")
    )
    text = (
        text.replace("[7]", "[]").replace("kk", "k")
        + "method:\n  name: stack_and_deal\n  dela: local\n  class_size: 7\n"
    )
    assert wrong(tmp_path / "my.yaml", text) == [
        "my.yaml, line 16: method.dela: unknown key; did you mean 'deal'?",
        "my.yaml, line 17: method.class_size: found 7; expected 'auto' or 'k'",
    ]


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("privacy.k: found 1", 3),
        ("privacy.k is 25, but the table has 24 rows", 3),
        ("privacy.kk: unknown key", 2),  # in the section
        ("privacy.alpha: missing", 2),
        ("a.b.c: found 1", 5),
        ("a.b: found 1", 4),
        ("attributes: no such section", None),
        ("the table is empty", None),
        ("names: not the key name", None),
    ],
)
def test_the_line_is_that_of_the_longest_key_that_a_message_begins_with(message, line):
    lines = Lines.read("name: x\nprivacy:\n  k: 1\na.b:\n  c: 1\n", "my.yaml")
    assert lines.line_of(message) == line


def test_the_longest_key_wins_wherever_it_stands():
    assert Lines("my.yaml", {"privacy.k": 3, "privacy": 2}).line_of("privacy.k: found 1") == 3


def test_errors_of_later_stages_have_lines_too(tmp_path):
    (tmp_path / "my.yaml").write_text(RUN)
    tree = read_tree(tmp_path / "my.yaml")
    with (
        pytest.raises(UnreachableError, match=r"my\.yaml, line 13: privacy\.kk is 25"),
        lines_in_errors(tree),
    ):
        raise UnreachableError("privacy.kk is 25, but the table has 24 rows")


def test_all_files_that_are_not_there_or_no_hierarchies_are_reported_before_spark_starts(tmp_path):
    (tmp_path / "ragged.csv").write_text("a;b;*\nc;*\n")
    (tmp_path / "good.csv").write_text("a;*\nb;*\n")
    (tmp_path / "my.yaml").write_text(
        "name: people\n"
        "input: {path: people.csv, format: csv}\n"
        "output: {path: build}\n"
        "attributes:\n"
        "  quasi_identifiers:\n"
        "    a: {hierarchy: none.csv}\n"
        "    b: {hierarchy: ragged.csv}\n"
        "    c: {hierarchy: good.csv}\n"
        "    d: {hierarchy: 's3://somewhere/d.csv'}\n"
        "  sensitive_attributes:\n"
        "    e: {distance: hierarchical, hierarchy: lost.csv, t: 0.2}\n"
        "privacy: {k: 2}\n",
    )
    tree = load_spec(tmp_path / "my.yaml")
    with pytest.raises(ConfigurationError) as error:
        check_files(tree, reads_input=True)
    lines = str(error.value).split("\n")
    assert [line.split(": ")[0] for line in lines] == [
        "input.path",
        "attributes.quasi_identifiers.a.hierarchy",
        "attributes.quasi_identifiers.b.hierarchy",
        "attributes.sensitive_attributes.e.hierarchy",
    ]
    assert "row 2 of the hierarchy has 2 labels; expected 3" in lines[2]
    with pytest.raises(ConfigurationError) as error:
        check_files(tree, reads_input=False)
    assert "input.path" not in str(error.value)


def test_all_that_is_wrong_with_the_columns_is_reported_at_once(tclose, run_file):
    table = {
        "Age": list(range(12)),
        "sex": ["f", "m"] * 6,
        "disease": ["a", "b"] * 6,
        "tags": [["t"]] * 12,
        "n": [1] * 12,
    }
    path = run_file(
        pa.table(table),
        quasi={"age": {}, "sx": {}, "tags": {}},
        sensitive={"disease": {"t": "0.5"}},
        direct_identifiers=["nobody"],
    )
    code, _, err = tclose("profile", path)
    told = [line.partition("run.yaml, line ")[2] for line in err.splitlines()]
    assert code == 2
    assert [line.partition(": ")[2] for line in told] == [
        "attributes: columns 'Age', 'sex', 'n' of the input are in no list of attributes; give "
        "each a role, or set attributes.drop_others: true to leave such columns out",
        "attributes.quasi_identifiers.age: column 'age' is not in the input; did you mean 'Age'?",
        "attributes.quasi_identifiers.sx: column 'sx' is not in the input; did you mean 'sex'?",
        "attributes.quasi_identifiers.tags: column 'tags' is of type array<string>, which cannot "
        "be released; flatten it to a row or column for each element (pandas, Spark: explode), or "
        "leave it out",
        "attributes.direct_identifiers: column 'nobody' is not in the input; it has Age, sex, "
        "disease, tags, n",
    ]
    assert all(line[:2].strip(":").isdigit() for line in told)
