"""What was changed after `tclose suggest`: every key with both values, and nothing that only looks
different.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

import tclose_spark as tc
from tclose_spark.runfile.loading import load_spec
from tclose_spark.runfile.suggested import NOT_SET, change_notes, changes_of

ROWS = 400
PEOPLE = pa.table(
    {
        "age": [20 + i * 7 % 60 for i in range(ROWS)],
        "sex": ["fm"[i % 2] for i in range(ROWS)],
        "zip": [f"{10000 + i * 37 % 90}" for i in range(ROWS)],
        "disease": [("flu", "gout", "ulcer", "cold")[i * 3 % 7 % 4] for i in range(ROWS)],
    },
)


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    """A suggested run file."""
    pyarrow.csv.write_csv(PEOPLE, tmp_path / "people.csv")
    file = tmp_path / "people.yaml"
    return tc.suggest(str(tmp_path / "people.csv"), file=file, trial=False, engine="local").write(
        file,
    )


def changed(conf: Path, *overrides: str) -> Any:
    return changes_of(load_spec(conf, overrides))


def test_a_suggestion_is_unchanged_until_someone_changes_it(conf: Path):
    assert changed(conf) == []
    assert changed(conf, "privacy.k=5") == [("privacy.k", "10", "5")]
    assert changed(conf, "privacy.suppression_limit=0", "method.effort=balanced") == [], (
        "defaults, written out"
    )
    assert changed(conf, "name=other", "output.path=there", "engine=local") == [], (
        "which decide nothing"
    )


def test_each_key_has_both_values(conf: Path):
    found = changed(
        conf,
        "attributes.sensitive_attributes.disease={distance: equal, t: 0.1, l: {distinct: 2}}",
        "attributes.quasi_identifiers={age: {type: numeric, round_to: 5}, sex: {}}",
        "attributes.insensitive_attributes=[zip]",
        "method={name: t_mondrian}",
    )
    at = {one.key: one[1:] for one in found}
    assert at["attributes.sensitive_attributes.disease.t"] == ("0.2", "0.1")
    assert at["attributes.sensitive_attributes.disease.l"] == (NOT_SET, '{"distinct": 2}')
    assert at["attributes.quasi_identifiers.age.round_to"] == (NOT_SET, "5.0")
    assert at["attributes.quasi_identifiers.zip"][1] == NOT_SET
    assert at["attributes.insensitive_attributes"][1] == '["zip"]'
    assert at["method.name"] == ('"closeness_tree"', '"t_mondrian"')


def test_a_run_file_by_hand_has_no_suggestion(conf: Path):
    spec = load_spec(conf, ["suggested=null"])
    assert changes_of(spec) is None
    assert change_notes(None) == []
    assert spec.fingerprint == load_spec(conf).fingerprint, "the suggestion decides nothing"


@pytest.mark.parametrize("value", ["{attributes: {}}", "{input: {path: x}}", "7", "{}"])
def test_a_broken_suggestion_is_an_error(conf: Path, value: str):
    with pytest.raises(tc.ConfigurationError, match="suggested"):
        load_spec(conf, [f"suggested={value}"])


def test_the_console_and_the_internal_report_list_the_changes(conf: Path):
    said: list[str] = []
    made = tc.release(None, conf, overrides=["privacy.k=7", "engine=local"], log=said.append)
    assert [line for line in said if "suggest" in line] == [
        "note: changed after tclose suggest wrote the run file: privacy.k; both values are in the "
        "internal report",
    ]
    page = (Path(made.internal_path) / "report.html").read_text()
    assert "<code>privacy.k</code></th><td>10</td><td>7</td>" in page
    assert "suggest" not in made.report.html

    tc.release(None, conf, overrides=["engine=local"], log=said.append, overwrite=True)
    assert "note: the run file is as tclose suggest wrote it" in said
    assert (
        "are as <code>tclose suggest</code> wrote them"
        in (Path(made.internal_path) / "report.html").read_text()
    )

    tc.release(None, conf, overrides=["engine=local", "suggested=null"], log=None, overwrite=True)
    assert "suggest" not in (Path(made.internal_path) / "report.html").read_text()
