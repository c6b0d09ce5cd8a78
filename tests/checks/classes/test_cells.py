"""Cells of several releases, counted once more in plain Python from the tables' rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from strategies import drawn

from tclose_spark.api.audit import audit
from tclose_spark.checks.classes.cells import CellFigures, join_people
from tclose_spark.engine.tables import collect, of_arrow
from tclose_spark.io.local_session import LocalSession
from tclose_spark.table.people import PERSON

GRADES = ["1", "2", "3"]
SENSITIVE: Mapping[str, Any] = {
    "disease": {"t": "0.3", "l": {"distinct": 2}},
    "grade": {"t": "0.2", "distance": "ordered", "order": GRADES},
}


class Row(NamedTuple):
    person: int
    age: str | None
    sex: str
    disease: str
    grade: str


def table_of(rows: Sequence[Row]) -> pa.Table:
    kinds = [pa.int64(), *[pa.string()] * 4]
    return pa.table(
        [pa.array(x, kind) for x, kind in zip(zip(*rows, strict=True), kinds, strict=True)],
        Row._fields,
    )


ROWS = st.builds(
    Row,
    st.integers(0, 9),
    st.sampled_from(["[20, 29]", "*", None]),
    st.sampled_from("fm"),
    st.sampled_from(["flu", "gout"]),
    st.sampled_from(GRADES),
)
SEVERAL = st.lists(ROWS, min_size=1, max_size=14)
ONE_EACH = st.lists(ROWS, min_size=1, max_size=14, unique_by=lambda row: row.person)


def cells_of(tables: Sequence[Sequence[Row]]) -> dict[Any, set[int]]:
    """The people of each cell, by the classes that they are in, in each table."""
    cells = defaultdict(set)
    for person in {row.person for table in tables for row in table}:
        classes = [
            frozenset((row.age, row.sex) for row in table if row.person == person)
            for table in tables
        ]
        cells[tuple(classes)].add(person)
    return dict(cells)


def shares(rows: Sequence[Row], column: str, values: Sequence[str]) -> list[Fraction]:
    """The share of each value, of people who weigh one each, spread over their rows."""
    weights: dict[str, Fraction] = defaultdict(Fraction)
    for row in rows:
        weights[getattr(row, column)] += Fraction(
            1,
            sum(other.person == row.person for other in rows),
        )
    total = sum(weights.values())
    return [weights[value] / total for value in values]


def distance(column: str, part: Sequence[Row], whole: Sequence[Row]) -> Fraction:
    values = GRADES if column == "grade" else ["flu", "gout"]
    apart = [
        p - q
        for p, q in zip(*(shares(rows, column, values) for rows in (part, whole)), strict=True)
    ]
    if column == "disease":
        return sum((max(x, Fraction(0)) for x in apart), Fraction(0))
    return sum((abs(sum(apart[: i + 1])) for i in range(len(GRADES) - 1)), Fraction(0)) / (
        len(GRADES) - 1
    )


def expected(tables: Sequence[Sequence[Row]], k: int) -> dict[str, Any]:
    """What `found` has of the same tables."""
    cells = cells_of(tables)
    below = [people for people in cells.values() if len(people) < k]
    figures: dict[str, Any] = {
        "cells": len(cells),
        "people": sum(map(len, cells.values())),
        "alone": sum(len(people) == 1 for people in cells.values()),
        "stayed": sum(len(people) for key, people in cells.items() if key[-1] and any(key[:-1])),
        "arrived": sum(
            len(people) for key, people in cells.items() if key[-1] and not any(key[:-1])
        ),
        "left": sum(len(people) for key, people in cells.items() if not key[-1]),
        "k": (min(map(len, cells.values())), len(below), sum(map(len, below))),
    }
    of_cell = []
    for key, people in cells.items():
        first = min(i for i, classes in enumerate(key) if classes)
        of_cell.append(
            (people, [row for row in tables[first] if row.person in people], tables[first]),
        )
    for column, t in (("disease", Fraction(3, 10)), ("grade", Fraction(1, 5))):
        distances = [(distance(column, part, whole), people) for people, part, whole in of_cell]
        far = [people for d, people in distances if d > t]
        figures[column] = (max(d for d, _ in distances), len(far), sum(map(len, far)))
    firsts = [
        {
            min((row.disease, row.grade) for row in part if row.person == person)[0]
            for person in people
        }
        for people, part, _ in of_cell
    ]
    few = [
        people for values, (people, _, _) in zip(firsts, of_cell, strict=True) if len(values) < 2
    ]
    figures["l"] = (min(map(len, firsts)), len(few), sum(map(len, few)))
    return figures


def found(cells: CellFigures) -> dict[str, Any]:
    of = {(g.measure, g.attribute): (g.achieved, g.classes, g.rows) for g in cells.guarantees}
    counts = {
        name: getattr(cells, name)
        for name in ("cells", "people", "alone", "stayed", "arrived", "left")
    }
    return {
        **counts,
        "k": of["k-anonymity over people in cells", None],
        "disease": of["t-closeness over people in cells", "disease"],
        "grade": of["t-closeness over people in cells", "grade"],
        "l": of["distinct l-diversity over people in cells", "disease"],
    }


def judged(tables: Sequence[Sequence[Row]], k: int, engine: str = "local") -> CellFigures:
    *earlier, latest = map(table_of, tables)
    asked: dict[str, Any] = {
        "k": k,
        "person": "person",
        "earlier": earlier,
        "attacks": False,
        "engine": engine,
    }
    cells = audit(latest, ["age", "sex"], SENSITIVE, **asked).together
    assert isinstance(cells, CellFigures)
    return cells


def share_people(tables: Sequence[Sequence[Row]]) -> bool:
    """Whether each table has a person who is in another one."""
    people = [{row.person for row in table} for table in tables]
    return all(own & set().union(*people[:i], *people[i + 1 :]) for i, own in enumerate(people))


@drawn(25)
@given(
    st.lists(ONE_EACH, min_size=2, max_size=3) | st.lists(SEVERAL, min_size=2, max_size=3),
    st.integers(1, 4),
)
def test_cells_are_those_of_plain_python(tables: list[list[Row]], k: int) -> None:
    assume(share_people(tables))
    assert found(judged(tables, k)) == expected(tables, k)


def random_tables(seed: int) -> list[list[Row]]:
    """Three tables of some 150 people each, of whom some have several rows."""
    draw = np.random.default_rng(seed)
    tables = []
    for _ in range(3):
        who = np.repeat(np.arange(200), draw.integers(0, 2 + seed, 200))
        picked = [
            draw.choice(np.array(values), len(who))
            for values in (["1", "2", "*"], ["f", "m"], ["flu", "gout"])
        ]
        grades = draw.choice(np.array(GRADES), len(who))
        tables.append(
            [Row(int(p), *map(str, rest)) for p, *rest in zip(who, *picked, grades, strict=True)],
        )
    return tables


@pytest.mark.parametrize("seed", range(2))
def test_cells_of_both_engines_are_the_same(seed: int, spark: SparkSession) -> None:
    tables = random_tables(seed)
    local = judged(tables, 3)
    assert found(local) == expected(tables, 3)
    assert judged(tables, 3, "spark") == local


@pytest.mark.parametrize("on", ["local", "spark"])
def test_people_are_joined(on: str, spark: SparkSession) -> None:
    """A person in two classes has a list of labels in each column; one without rows in a release
    has none.
    """
    old = {
        "zip": ["2", "1", "3", None],
        "sick": ["yes", "no", "no", "yes"],
        PERSON: pa.array([7, 7, 8, 9], pa.int64()),
    }
    new = {
        "age": [30, 40],
        "zip": ["1", "4"],
        "sick": ["no", "yes"],
        PERSON: pa.array([7, 9], pa.int64()),
    }
    session: Any = LocalSession() if on == "local" else spark
    releases = [
        (of_arrow(session, pa.table(old)), ["zip"]),
        (of_arrow(session, pa.table(new)), ["age", "zip"]),
    ]
    rows = [list(row.values()) for row in collect(join_people(releases, ["sick"])).to_pylist()]
    assert sorted(rows, key=lambda row: (row[-2], row[-3])) == [
        [0, "2", '["1", "2"]', "1", "30", "1", "no", 7, False],
        [0, "2", '["1", "2"]', "1", "30", "1", "yes", 7, False],
        [0, "1", "3", "0", None, None, "no", 8, False],
        [0, "1", None, "1", "40", "4", "yes", 9, False],
    ]


def test_the_worst_cell_is_named_by_its_labels() -> None:
    tables = [
        [
            Row(1, "*", "f", "flu", "1"),
            Row(1, "[20, 29]", "f", "flu", "1"),
            Row(2, None, "m", "gout", "2"),
            Row(4, None, "m", "gout", "2"),
        ],
        [
            Row(2, None, "m", "gout", "2"),
            Row(4, None, "m", "gout", "2"),
            Row(3, None, "m", "gout", "2"),
            Row(3, None, "m", "flu", "2"),
        ],
    ]
    cells = judged(tables, 2)
    smallest = cells.guarantees[0]
    assert (smallest.achieved, smallest.size) == (1, 1)
    assert smallest.worst == {"earlier 1": None, "the table": {"age": None, "sex": "m"}}
    far = next(g for g in cells.guarantees if g.measure == "t-closeness over people in cells")
    assert far.worst == {
        "earlier 1": {"age": ["*", "[20, 29]"], "sex": ["f", "f"]},
        "the table": None,
    }
    assert not any(g.worst for g in cells.without_labels().guarantees)
