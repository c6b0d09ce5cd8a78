"""A suggestion that is tried: the expected figures, the changes that help, and no value of a
person.
"""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import yaml
from columns import gathered
from hypothesis import given
from hypothesis import strategies as st
from strategies import drawn

from tclose_spark.api.suggest import suggest
from tclose_spark.measures.loss.information_loss import loses_most
from tclose_spark.stages.warnings import query_error_notes
from tclose_spark.suggesting import trial as trying
from tclose_spark.suggesting.suggestion import Suggestion
from tclose_spark.suggesting.trial import changes, rows_to_try, try_suggestion
from tclose_spark.suggesting.views import summary_lines

Command = Callable[..., tuple[int, str, str]]
HEAD = re.compile(
    r"Expected, from a trial on (.+): NCP ([01]\.\d\d), median query error (\d+\.\d\d), ([\d,]+) class(?:es)?",
)


def people(rows: int = 1_000, seed: int = 3) -> pa.Table:
    """Ages and sexes, an income that follows the age, and a disease."""
    draw = np.random.default_rng(seed)
    age = draw.integers(20, 80, rows)
    return pa.table(
        {
            "age": age,
            "sex": draw.choice(["f", "m"], rows),
            "income": 20_001 + 137 * (age + draw.integers(0, 400, rows)),
            "disease": draw.choice(["flu", "gout", "cold"], rows),
        },
    )


def suggested(table: pa.Table, **options: object) -> Suggestion:
    return suggest(table, name="people", engine="local", log=None, **options)


def as_equal(suggestion: Suggestion) -> dict:
    tree = suggestion.spec
    tree["attributes"]["sensitive_attributes"]["income"] = {"distance": "equal", "t": 0.2}
    return tree


def test_a_table_on_which_nothing_is_bad_has_figures_and_no_changes() -> None:
    suggestion = suggested(people())
    (line,) = suggestion.tried
    assert suggested(people()).tried == (line,)
    rows, loss, error, classes = HEAD.fullmatch(line).groups()
    assert rows == "all 1,000 rows"
    assert 0 < float(loss) < 0.5
    assert float(error) < 0.5
    assert 10 < int(classes) <= 100
    assert (
        " ".join("".join(f"{part} " for part in summary_lines(suggestion)).split()).count(line) == 1
    )
    comments = " ".join(re.findall(r"^# *(.*)$", suggestion.yaml, re.MULTILINE))
    assert line in comments
    assert yaml.safe_load(suggestion.yaml) == suggested(people(), trial=False).spec


def test_an_income_as_equal_would_be_better_ordered(tmp_path: Path) -> None:
    suggestion = suggested(people(), trial=False)
    assert suggestion.tried == ()
    head, *helpful, last = try_suggestion(
        suggestion,
        as_equal(suggestion),
        gathered(people()),
        str(tmp_path / "work"),
    )
    loss = HEAD.fullmatch(head)[2]
    assert float(loss) > 0.5
    assert re.fullmatch(rf"income as ordered: NCP 0\.[0-4]\d instead of {loss}", helpful[0])
    reached = [float(re.search(r"(?:NCP|error) (\d\.\d+)", line)[1]) for line in helpful]
    assert reached == sorted(reached)
    assert len(helpful) <= trying.MOST_CHANGES
    assert last.endswith("as it is would be nearly useless. Decide which of these changes to make")


def test_the_changes_that_are_tried() -> None:
    suggestion = suggested(people(), trial=False)
    tree = as_equal(suggestion)
    tree["attributes"]["quasi_identifiers"]["sex"] = {
        "type": "categorical",
        "hierarchy": {"order": 4},
    }
    tree["attributes"]["sensitive_attributes"]["disease"]["t"] = "measure"
    found = dict(changes(suggestion, tree, {}))
    assert list(found) == ["income as ordered", "sex as sets", "t = 0.4, which protects less"]
    ordered = found["income as ordered"]["attributes"]["sensitive_attributes"]
    assert ordered["income"] == {"distance": "ordered", "t": 0.2}
    assert found["sex as sets"]["attributes"]["quasi_identifiers"]["sex"] == {
        "type": "categorical",
        "generalization": "set",
    }
    wider = found["t = 0.4, which protects less"]["attributes"]["sensitive_attributes"]
    assert {name: one["t"] for name, one in wider.items()} == {"income": 0.4, "disease": "measure"}
    assert tree["attributes"]["sensitive_attributes"]["income"]["t"] == 0.2


@cache
def many_quasi() -> Suggestion:
    """A suggestion with five quasi-identifiers."""
    table = people()
    draw = np.random.default_rng(4)
    for i, name in enumerate(("race", "education", "marital_status")):
        table = table.append_column(
            name,
            pa.array(draw.choice([f"{name}{j}" for j in range(4 + i)], table.num_rows)),
        )
    return suggested(table, trial=False)


def test_fewer_quasi_identifiers_are_tried_if_there_are_more_than_two() -> None:
    suggestion = many_quasi()
    assert len(suggestion.choice.quasi) == 5
    every = {one.name for one in suggestion.choice.quasi}
    for losses, worst in (({}, "age"), ({"age": 0.3, "race": 0.6, "education": 0.5}, "race")):
        tried = [tree for _, tree in changes(suggestion, suggestion.spec, losses)]
        names = [set(tree["attributes"]["quasi_identifiers"]) for tree in tried]
        assert every - {worst} in names
        assert {one.name for one in suggestion.choice.quasi[:2]} in names


@drawn(20)
@given(
    st.dictionaries(
        st.sampled_from(["age", "race", "education", "sex"]),
        st.floats(0, 1),
        min_size=1,
    ),
)
def test_a_release_and_a_suggestion_advise_to_leave_out_the_same_column(
    losses: dict[str, float],
) -> None:
    raw = {"worth": {"query_error": 0.9}}
    (note,) = query_error_notes(raw, losses)
    worst = loses_most(losses)
    assert f"; {worst} loses most" in note or max(losses.values()) <= 0.1
    suggestion = many_quasi()
    quasi = suggestion.spec["attributes"]["quasi_identifiers"]
    (without,) = [
        change
        for change, _ in changes(suggestion, suggestion.spec, losses)
        if change.startswith("Without")
    ]
    assert without == f"Without {worst} as quasi-identifier"
    assert worst in quasi


def test_a_sample_is_named_and_has_whole_people(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trying, "TRIAL_ROWS", 400)
    assert (
        "on a sample of 400 rows (a small sample overstates loss)" in suggested(people()).tried[0]
    )
    table = people(900).append_column("patient_id", pa.array([i // 3 for i in range(900)]))
    suggestion = suggested(table, trial=False)
    assert suggestion.person is not None
    rows = rows_to_try(suggestion, gathered(table), 400)
    assert 350 < rows.num_rows < 450
    assert set(np.bincount(rows["patient_id"].to_numpy())) == {0, 3}


def test_a_trial_that_fails_is_reported_and_the_suggestion_stands(tmp_path: Path) -> None:
    suggestion = suggested(people(), trial=False)
    tree = suggestion.spec
    tree["privacy"]["k"] = 5_000
    (line, *_) = try_suggestion(suggestion, tree, gathered(people()), str(tmp_path / "work"))
    assert line.startswith(
        "Expected, from a trial on all 1,000 rows: no release; privacy.k is 5000",
    )
    tree["attributes"]["quasi_identifiers"]["age"] = {"type": "date"}
    (line,) = try_suggestion(suggestion, tree, gathered(people()), str(tmp_path / "work"))
    assert line.startswith("The trial on 1,000 rows failed: ")
    assert "age" in line


def test_neither_file_nor_terminal_shows_a_value_and_no_trial_skips_it(
    tclose: Command,
    tmp_path: Path,
) -> None:
    lines = ["name;age;zip;income_code;disease"]
    lines += [
        f"CANARY{i};{20 + i % 61};9{i % 23:02d}7;40{i * 7 % 397}3;SECRET{i % 5}"
        for i in range(1_200)
    ]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    asked = [
        "suggest",
        tmp_path / "people.csv",
        "--output",
        tmp_path / "my.yaml",
        "--engine",
        "local",
        "--t",
        0.1,
    ]
    code, out, err = tclose(*asked)
    assert code == 0, err
    file = (tmp_path / "my.yaml").read_text()
    assert "Expected, from a trial on all 1,200 rows" in out
    assert "# Expected, from a trial on all 1,200 rows" in file
    assert max(map(len, out.splitlines())) <= 80
    assert not re.search(r"CANARY|SECRET|\b9\d\d7\b|\b40\d{1,3}3\b", out + err + file)
    assert "income_code as ordered: NCP" in out
    code, out, err = tclose(*asked, "--overwrite", "--no-trial")
    assert code == 0, err
    assert "Expected" not in out + (tmp_path / "my.yaml").read_text()
