"""The published table: labels that follow from classes, in an order that follows from what is
published.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import CITIES, Problem, drawn, make_problem, people

from tclose_spark.stages.generalize import Generalizer
from tclose_spark.table.dictionaries import decoded
from tclose_spark.table.rows import Rows

DISEASE = {"disease": {}}
SENSITIVE = st.sampled_from([DISEASE, {"grade": {"distance": "ordered"}}])
QUASI = st.sampled_from(
    [
        {"age": {"type": "numeric"}, "sex": {}, "city": {"hierarchy": "cities.csv"}},
        {"city": {"hierarchy": "cities.csv"}},
        {"age": {"type": "numeric", "round_to": 10}},
        {"city": {"generalization": "set"}, "sex": {"generalization": "set"}},
        {"sex": {}},
    ],
)


def publish(problem: Problem, rows: Rows, classes: Any, ties: Any = None) -> list[tuple[Any, ...]]:
    """The published rows in order: their labels, then the sensitive cell, then the tie."""
    generalizer = Generalizer.of(problem.attributes.quasi_identifiers)
    keys = [] if ties is None else [np.asarray(ties)]
    order, columns = generalizer.publish(rows, np.asarray(classes, dtype=np.int64), keys)
    assert [
        (name, decoded(column).type)
        for (name, _), column in zip(generalizer.schema(), columns, strict=True)
    ] == generalizer.schema()
    for dictionary in (c.dictionary.to_pylist() for c in columns if pa.types.is_dictionary(c.type)):
        assert len(set(dictionary)) == len(dictionary)  # rows are told apart by their places in it
    return list(
        zip(
            *[c.to_pylist() for c in columns],
            rows.cell[order].tolist(),
            *[key[order].tolist() for key in keys],
            strict=True,
        ),
    )


def test_a_class_publishes_one_label_in_each_column():
    records = [
        {"age": 30, "sex": "f", "city": "Pisa", "disease": "flu"},
        {"age": 30, "sex": "m", "city": "Siena", "disease": "gout"},
        {"age": 45, "sex": "f", "city": "Bari", "disease": "flu"},
        {"age": 52, "sex": "f", "city": None, "disease": "gout"},
        {"age": None, "sex": None, "city": "Nice", "disease": "flu"},
        {"age": None, "sex": None, "city": "Nice", "disease": "gout"},
    ]
    problem, rows = make_problem(records, DISEASE)
    assert publish(problem, rows, [0, 0, 1, 1, 2, 2]) == [
        (None, None, "Nice", 0),
        (None, None, "Nice", 1),
        ("30", "*", "Tuscany", 0),
        ("30", "*", "Tuscany", 1),
        ("[45, 52]", "f", "*", 0),
        ("[45, 52]", "f", "*", 1),
    ]


def test_rows_come_in_any_order_and_classes_have_any_numbers():
    records = [{"sex": sex, "disease": "flu"} for sex in ("f", "m", "f", "m", "x")]
    problem, rows = make_problem(records, DISEASE, {"sex": {}})
    assert publish(problem, rows, [7, 900, 7, 900, 12]) == [
        ("f", 0),
        ("f", 0),
        ("m", 0),
        ("m", 0),
        ("x", 0),
    ]


def classes_of(data: st.DataObject, n: int) -> np.ndarray:
    return np.array(data.draw(st.lists(st.integers(0, n // 2), min_size=n, max_size=n)))


@drawn(80)
@given(people(), SENSITIVE, QUASI, st.data())
def test_the_order_of_rows_and_the_numbers_of_classes_leave_no_trace(
    records,
    sensitive,
    quasi,
    data,
):
    problem, rows = make_problem(records, sensitive, quasi)
    n = len(rows)
    classes, ties = (
        classes_of(data, n),
        np.array(data.draw(st.lists(st.integers(-3, 3), min_size=n, max_size=n))),
    )
    published = publish(problem, rows, classes, ties)
    order = np.array(data.draw(st.permutations(range(n))))
    assert publish(problem, rows.take(order), classes[order], ties[order]) == published
    numbers = np.array(data.draw(st.permutations(range(n))))
    assert publish(problem, rows, numbers[classes], ties) == published


@drawn(80)
@given(people(), SENSITIVE, QUASI, st.data())
def test_rows_with_equal_labels_are_in_the_order_of_what_else_is_published(
    records,
    sensitive,
    quasi,
    data,
):
    problem, rows = make_problem(records, sensitive, quasi)
    n = len(rows)
    ties = np.array(data.draw(st.lists(st.integers(-3, 3), min_size=n, max_size=n)))
    published = publish(problem, rows, classes_of(data, n), ties)
    groups: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for row in published:
        groups.setdefault(row[:-2], []).append(row)
    assert published == [
        row for group in groups.values() for row in sorted(group, key=lambda row: row[-2:])
    ]


@pytest.mark.parametrize(
    ("quasi", "values", "label"),
    [
        ({"x": {}}, ["a", "b", "b", "c"], ["*"]),
        ({"x": {"hierarchy": "x.csv"}}, ["Pisa", "Bari", "Siena", "Bari"], ["Italy"]),
        ({"x": {"type": "numeric", "round_to": 10}}, [31, 36, 32, 37], ["[30, 40]"]),
        ({"x": {"type": "numeric"}}, [None, 1, None, 2], ["*"]),
        (
            {"x": {"type": "numeric", "round_to": 10, "numeric_output": "bounds"}},
            [31, 36, 32, 37],
            [30, 40],
        ),
        ({"x": {"generalization": "set"}}, ["a", None, "b", None], ["*"]),
    ],
    ids=["suppressed", "hierarchy", "rounded", "missing", "rounded bounds", "set"],
)
def test_two_classes_with_equal_labels_are_interleaved(quasi, values, label):
    # The first class is all gout and the second all flu; a reader must not see which rows were
    # together.
    records = [
        {"x": value, "disease": disease}
        for value, disease in zip(values, ["gout", "gout", "flu", "flu"], strict=True)
    ]
    problem, rows = make_problem(
        records,
        DISEASE,
        quasi,
        {"x": CITIES} if "hierarchy" in quasi["x"] else {},
    )
    assert publish(problem, rows, [0, 0, 1, 1]) == [(*label, cell) for cell in (0, 0, 1, 1)]


def test_bounds_are_two_numbers():
    records = [
        {"age": age, "weight": weight, "disease": "flu"}
        for age, weight in [(31, 60.5), (36, 70.25), (50, 80.0), (50, 80.0)]
    ]
    bounds = {"type": "numeric", "numeric_output": "bounds"}
    problem, rows = make_problem(records, DISEASE, {"age": bounds, "weight": bounds})
    generalizer = Generalizer.of(problem.attributes.quasi_identifiers)
    assert generalizer.schema() == [
        ("age_min", pa.int64()),
        ("age_max", pa.int64()),
        ("weight_min", pa.float64()),
        ("weight_max", pa.float64()),
    ]
    assert (
        publish(problem, rows, [1, 1, 0, 0])
        == [(31, 36, 60.5, 70.25, 0)] * 2 + [(50, 50, 80.0, 80.0, 0)] * 2
    )


def test_bounds_are_rounded_outward():
    records = [{"age": age, "disease": "flu"} for age in (31, 36, 40, 40)]
    problem, rows = make_problem(
        records,
        DISEASE,
        {"age": {"type": "numeric", "numeric_output": "bounds", "round_to": 5}},
    )
    assert publish(problem, rows, [0, 0, 1, 1]) == [(30, 40, 0)] * 2 + [(40, 40, 0)] * 2


def test_bounds_of_missing_numbers_are_null():
    records = [{"age": age, "disease": "flu"} for age in (None, None, 5, 7)]
    problem, rows = make_problem(
        records,
        DISEASE,
        {"age": {"type": "numeric", "numeric_output": "bounds"}},
    )
    assert publish(problem, rows, [0, 0, 1, 1]) == [(None, None, 0)] * 2 + [(5, 7, 0)] * 2
    with pytest.raises(ValueError, match="bounds cannot express"):
        publish(problem, rows, [0, 1, 0, 1])
