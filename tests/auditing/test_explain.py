"""One class explained: which one, for which attribute, and a plan that costs the distance."""

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from strategies import CITIES

from tclose_spark.auditing.explain import explain_class
from tclose_spark.auditing.inputs import judged_attributes
from tclose_spark.auditing.question import AuditQuestion, question_from_columns
from tclose_spark.auditing.result import ClassExplanation
from tclose_spark.checks.classes.class_table import JudgedQuasi, class_table
from tclose_spark.checks.classes.tallies import count_values, tally_classes
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect
from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.measures.loss.information_loss import LabelLoss

ROWS = [
    ("[20, 29]", "f", "flu", 1, "Pisa"),
    ("[20, 29]", "f", "flu", 2, "Siena"),
    ("[20, 29]", "f", "flu", 3, "Lyon"),
    ("[30, 39]", "m", "gout", 2, "Bari"),
    ("[30, 39]", "m", "flu", 3, "Nice"),
    ("[30, 39]", None, "gout", 1, "Pisa"),
    ("[30, 39]", None, "gout", 1, "Siena"),
]


KINDS = {"age": "string", "sex": "string", "disease": "string", "pay": "int32", "city": "string"}


@pytest.fixture
def table(table_of: Callable[..., Table]) -> Table:
    """Seven records in three classes."""
    return table_of(ROWS, **KINDS)


def question(**t: Any) -> AuditQuestion:
    """Of all three attributes, with these bounds."""
    settings = {
        "disease": {},
        "pay": {"distance": "ordered"},
        "city": {"distance": "hierarchical", "hierarchy": "cities.csv"},
    }
    return question_from_columns(
        ["age", "sex"],
        {name: {**of, **({"t": t[name]} if name in t else {})} for name, of in settings.items()},
    )


def explained(table: Table, asked: AuditQuestion, *args: Any, **more: Any) -> ClassExplanation:
    return explain_class(table, asked, *args, hierarchies={"city": CITIES}, **more)


def test_the_farthest_class_of_an_attribute(table: Table):
    """Pay is 1, 2, 3 for 3, 2, 2 of seven; both records with no sex have 1."""
    found = explained(table, question(), "pay")
    assert found.labels == {"age": "[30, 39]", "sex": None}
    assert (found.attribute.name, found.attribute.values) == ("pay", ("1", "2", "3"))
    assert (found.part.tolist(), found.whole.tolist()) == ([2, 0, 0], [3, 2, 2])
    # two sevenths of the mass move one step of two, two sevenths move both
    assert found.emd == Fraction(2, 7) * Fraction(1, 2) + Fraction(2, 7)
    assert [(move.source, move.target, move.mass, move.distance) for move in found.plan.moves] == [
        (0, 1, Fraction(2, 7), Fraction(1, 2)),
        (0, 2, Fraction(2, 7), Fraction(1)),
    ]


def test_the_farthest_attribute_is_the_one_that_uses_most_of_its_t(table: Table):
    """Of gout 4/7 are lacking in the class without a sex, and pay is 3/7 away: without a t disease
    is the farthest.
    """
    free = explained(table, question(city=1, pay=1, disease=1))
    assert (free.attribute.name, free.labels["sex"], free.emd) == ("disease", None, Fraction(4, 7))
    asked = explained(table, question(pay="0.6", disease="0.9"))
    assert (asked.attribute.name, asked.labels["sex"], asked.emd) == ("pay", None, Fraction(3, 7))
    # 4/7 of 1, which stands for no t, is more than 3/7 of 0.9
    assert explained(table, question(pay="0.9")).attribute.name == "disease"


@pytest.mark.parametrize("attribute", ["pay", "city"])
def test_the_plan_costs_the_distance_of_the_class_table(table: Table, attribute: str):
    asked = question()
    found = explained(table, asked, attribute, {"age": "[20, 29]"})
    tallies = tally_classes(table, ["age", "sex"], ["disease", "pay", "city"])
    attributes = judged_attributes(
        table,
        count_values(tallies, ["disease", "pay", "city"])[0],
        asked,
        {"city": CITIES},
        None,
    )
    quasi = [JudgedQuasi(name, (name,), LabelLoss(numeric=False)) for name in ("age", "sex")]
    emds = {
        tuple(row["quasi_identifiers"].values()): row[f"emd_{attribute}"]
        for row in collect(class_table(tallies, quasi, attributes)).to_pylist()
    }
    assert found.labels == {"age": "[20, 29]", "sex": "f"}
    assert (
        float(found.emd)
        == pytest.approx(emds["[20, 29]", "f"])
        == pytest.approx(float(sum(m.mass * m.distance for m in found.plan.moves)))
    )
    # what the moves leave is the table's distribution
    left = [Fraction(int(c), 3) for c in found.part]
    for move in found.plan.moves:
        left[move.source] -= move.mass
        left[move.target] += move.mass
    assert left == [Fraction(int(c), 7) for c in found.whole]


def test_a_class_by_its_labels_of_which_one_is_missing(table: Table):
    found = explained(table, question(), "disease", {"sex": None})
    assert found.labels == {"age": "[30, 39]", "sex": None}
    assert dict(zip(found.attribute.values, found.part.tolist(), strict=True)) == {
        "flu": 0,
        "gout": 2,
    }


def test_labels_are_compared_and_reported_as_text(table_of: Callable[..., Table]):
    table = table_of(
        [(39, 1.5, "a"), (40, 2.5, "b")],
        age="int32",
        weight="double",
        disease="string",
    )
    found = explain_class(
        table,
        question_from_columns(["age", "weight"], {"disease": {}}),
        labels={"age": "39"},
    )
    assert (found.labels, found.part.tolist()) == ({"age": "39", "weight": "1.5"}, [1, 0])


def test_against_the_distribution_of_a_reference(table_of: Callable[..., Table], table: Table):
    """Where one of four has gout, and one mumps, which nobody in the table has."""
    reference = table_of([("flu",), ("flu",), ("gout",), ("mumps",)], disease="string")
    found = explain_class(
        table,
        question_from_columns(["age", "sex"], {"disease": {}}),
        labels={"sex": "m"},
        reference=reference,
    )
    assert found.attribute.values == ("flu", "gout", "mumps")
    assert (found.part.tolist(), found.whole.tolist()) == ([1, 1, 0], [2, 1, 1])
    assert found.emd == Fraction(1, 4)


def test_against_the_distribution_of_a_reference_in_a_hierarchy(
    table_of: Callable[..., Table],
    table: Table,
):
    """Pisa is as far from Bari, in the same country, as Lyon from Nice: two of three levels."""
    asked = question_from_columns(
        ["age", "sex"],
        {"city": {"distance": "hierarchical", "hierarchy": "cities.csv"}},
    )
    found = explained(
        table,
        asked,
        labels={"sex": "m"},
        reference=table_of([("Pisa",), ("Lyon",)], city="string"),
    )
    assert found.attribute.values == CITIES.leaves
    assert found.emd == Fraction(2, 3)


def test_as_json(table: Table):
    told = explained(table, question(pay="0.25"), "pay", {"sex": None}).to_json()
    assert json.loads(json.dumps(told)) == {
        "class": {"age": "[30, 39]", "sex": None},
        "attribute": "pay",
        "distance": "ordered",
        "emd": 3 / 7,
        "emd_exact": "3/7",
        "asked": 0.25,
        "records": 2,
        "values": [
            {"value": "1", "class": 2, "table": 3},
            {"value": "2", "class": 0, "table": 2},
            {"value": "3", "class": 0, "table": 2},
        ],
        "moves": [
            {"from": "1", "to": "2", "mass": "2/7", "distance": "1/2", "cost": "1/7"},
            {"from": "1", "to": "3", "mass": "2/7", "distance": "1", "cost": "2/7"},
        ],
    }


@pytest.mark.parametrize(
    ("attribute", "labels", "error", "message"),
    [
        (
            "wage",
            None,
            ConfigurationError,
            r"--attribute: 'wage' is not among the sensitive attributes \(disease, pay, city\)",
        ),
        (
            None,
            {"zip": "1"},
            ConfigurationError,
            r"--class zip: expected quasi-identifiers \(age, sex\)",
        ),
        (
            None,
            {"disease": "flu"},
            ConfigurationError,
            r"--class disease: expected quasi-identifiers \(age, sex\)",
        ),
        (
            None,
            {"age": "[20,29]"},
            InputError,
            r"--class: the table has no class with age='\[20,29\]'; .* including spaces",
        ),
        (
            None,
            {"age": "[30, 39]"},
            InputError,
            "--class: the table has several classes with .*; give the other quasi-identifiers too",
        ),
    ],
)
def test_what_cannot_be_explained_is_named(
    table: Table,
    attribute: str | None,
    labels: Any,
    error: type[Exception],
    message: str,
):
    with pytest.raises(error, match=message):
        explained(table, question(), attribute, labels)


def test_without_sensitive_attributes_there_is_nothing_to_explain(table: Table):
    with pytest.raises(
        ConfigurationError,
        match="no sensitive attribute to explain; give --sensitive",
    ):
        explained(table, question_from_columns(["age"]))


def test_a_column_that_is_not_there_is_named(table: Table):
    with pytest.raises(
        InputError,
        match="quasi-identifier 'zip' is not in the table; it has age, sex",
    ):
        explained(table, question_from_columns(["age", "zip"], {"pay": {}}))
    with pytest.raises(InputError, match="sensitive attribute 'wage' is not in the table"):
        explained(table, question_from_columns(["age"], {"wage": {}}))


def test_a_table_without_rows(table_of: Callable[..., Table]):
    with pytest.raises(InputError, match="the table has no rows"):
        explained(table_of([], **KINDS), question())


def test_the_tallies_of_a_question(table: Table):
    """What both commands start from: each row once."""
    tallies = tally_classes(table, ["sex"], ["pay"])
    assert {row["l0"]: sum(row["n"]) for row in collect(tallies).to_pylist()} == {
        "f": 3,
        "m": 2,
        None: 2,
    }
