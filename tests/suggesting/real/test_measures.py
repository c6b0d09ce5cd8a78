"""`benchmarks/roles.py`: what it counts as right, missed, wrong and harmful."""

import sys
from pathlib import Path

import pandas as pd
import pytest

import tclose_spark as tc

sys.path.insert(0, str(Path(__file__).parents[3]))

from benchmarks.roles import (
    LABELS,
    LabelledColumn,
    LabelledTable,
    judge,
    labels_of,
    proposal_of,
    verdict,
)

TABLE = LabelledTable(
    key="made/table",
    sensitive=("wage",),
    ages=frozenset({"age"}),
    columns={
        "id": LabelledColumn(("person",), "categorical"),
        "age": LabelledColumn(("quasi",), "numeric"),
        "sex": LabelledColumn(("quasi",), "categorical", frozenset({"9"})),
        "wage": LabelledColumn(("sensitive",), "numeric"),
        "logwage": LabelledColumn(("left_out", "sensitive"), "numeric"),
        "kilos": LabelledColumn(("sensitive", "quasi"), "numeric"),
    },
)
VALUES = {"id": 50, "age": 60, "sex": 2, "wage": 90, "logwage": 90, "kilos": 80}
BEST = {
    "person": {"column": "id"},
    "direct_identifiers": [],
    "quasi_identifiers": {"age": {"type": "numeric"}, "sex": {"missing_values": [9]}},
    "sensitive_attributes": {"wage": {"t": "0.2"}, "kilos": {"t": "0.2"}},
    "insensitive_attributes": [],
}


def judged(**changed):
    return judge(TABLE, proposal_of(BEST | changed), VALUES)


@pytest.mark.parametrize(
    ("accepted", "proposed", "expected"),
    [
        (("quasi", "sensitive"), {"sensitive"}, "right"),
        (("quasi",), {"sensitive"}, "wrong"),
        (("quasi",), {"left_out"}, "missed"),
        (("quasi",), {"direct"}, "missed"),
        (("left_out", "quasi"), {"direct"}, "right"),
        (("direct",), {"left_out"}, "right"),
        (("person",), {"direct"}, "missed"),
        (("direct", "left_out"), {"person"}, "wrong"),
        (("direct", "household"), {"direct", "household"}, "right"),
        (("direct", "left_out"), {"direct", "household"}, "wrong"),
    ],
)
def test_a_column_is_right_missed_or_wrong(accepted, proposed, expected):
    assert verdict(LabelledColumn(accepted, "numeric"), frozenset(proposed)) == expected


def test_the_best_proposal_has_every_measure():
    best = judged()
    assert (best.columns, best.right, best.missed, best.wrong) == (6, 6, 0, 0)
    assert (best.quasi, best.quasi_found, best.types_right) == (2, 2, 2)
    assert (best.codes, best.codes_found, best.codes_besides) == (1, 1, 0)
    assert best.sensitive_right
    assert not best.harm
    assert not best.errors


@pytest.mark.parametrize(
    ("changed", "harm"),
    [
        (
            {"person": {"column": "wage"}},
            {("a wrong person", "wage"), ("a person not found", "id")},
        ),
        ({"person": None, "direct_identifiers": ["id"]}, {("a person not found", "id")}),
        ({"household": "kilos"}, {("a wrong person", "kilos")}),
        ({"insensitive_attributes": ["id"]}, {("an identifier published", "id")}),
        ({"weight": "kilos"}, {("a wrong weight", "kilos")}),
        ({"sensitive_attributes": {"age": {}}}, {("an age as sensitive", "age")}),
    ],
)
def test_each_kind_of_harm_is_found(changed, harm):
    assert set(judged(**changed).harm) == harm


def test_only_the_first_sensitive_attribute_counts():
    assert judged(sensitive_attributes={"wage": {}, "sex": {}}).sensitive_right
    assert not judged(sensitive_attributes={"kilos": {}, "wage": {}}).sensitive_right


def test_a_type_is_wrong_unless_the_number_has_few_values():
    as_categories = {"quasi_identifiers": {"age": {}, "sex": {"type": "numeric"}}}
    assert judged(**as_categories).types_right == 0
    assert judge(TABLE, proposal_of(BEST | as_categories), VALUES | {"age": 10}).types_right == 1


def test_a_suggested_run_file_is_read_as_it_is_written():
    visit = range(600)
    frame = pd.DataFrame(
        {
            "patient_id": [row // 3 for row in visit],
            "age": [20 + row // 3 % 50 for row in visit],
            "sex": ["f" if row // 3 % 2 else "m" for row in visit],
            "diagnosis": [f"d{row * 7 % 11}" for row in visit],
        },
    )
    suggestion = tc.suggest(frame, trial=False, engine="local")
    proposal = proposal_of(suggestion.spec["attributes"])
    assert proposal.of("patient_id") >= {"person"}
    assert proposal.of("age") == {"quasi"}
    assert proposal.types["age"] == "numeric"
    assert proposal.sensitive == "diagnosis"


def test_the_labels_are_read():
    tables = labels_of(LABELS)
    affairs = next(table for table in tables if table.key == "AER/Affairs")
    assert affairs.columns["occupation"].roles == ("quasi", "sensitive")
    assert affairs.ages == {"age"}
