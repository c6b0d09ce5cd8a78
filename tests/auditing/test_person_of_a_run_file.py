"""`tclose audit --config` judges over the people of the run file, where the table has their
column.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import tclose_spark as tc

ATTRIBUTES = {
    "quasi_identifiers": {"age": {"type": "numeric"}},
    "sensitive_attributes": {"disease": {"t": "0.9"}},
    "person": "patient",
}
SPEC: dict[str, Any] = {"attributes": ATTRIBUTES, "privacy": {"k": 2}}
RENAMED = {**SPEC, "input": {"path": "-", "columns": {"pat": "patient"}}}
TABLE = pa.table(
    {"patient": [1, 1, 2, 3], "age": [30, 30, 40, 40], "disease": ["flu", "gout", "flu", "gout"]},
)


@pytest.mark.parametrize(
    ("table", "spec"),
    [(TABLE, SPEC), (TABLE.rename_columns(["pat", "age", "disease"]), RENAMED)],
    ids=["its name", "an old name"],
)
def test_people_are_counted_if_the_table_has_their_column(
    table: pa.Table,
    spec: dict[str, Any],
) -> None:
    """One class has two rows of one person: k = 2 holds over rows only."""
    found = tc.audit(table, spec=spec, engine="local")
    assert not found.holds
    assert found.question.persons == ["patient"]
    assert not any("judged over rows only" in note for note in found.notes)


@pytest.mark.parametrize(
    ("table", "asked"),
    [(TABLE.drop_columns("patient"), {}), (TABLE, {"n": 3})],
    ids=["a release", "n"],
)
def test_rows_are_counted_otherwise_and_a_note_says_so(
    table: pa.Table,
    asked: dict[str, int],
) -> None:
    found = tc.audit(table, spec=SPEC, engine="local", **asked)
    assert found.question.persons == []
    assert sum("judged over rows only" in note for note in found.notes) == 1
