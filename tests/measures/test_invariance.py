"""No figure depends on where numbers and dates begin, or on their unit: of drawn tables, moved and
stretched.

What counts whole numbers within a label, such as the query error, depends on the unit of whole
numbers by its definition, so these are only moved.
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import date, timedelta
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import drawn, make_problem

from tclose_spark.api.audit import audit
from tclose_spark.in_memory.release import PublishedClasses, apply_plan, measure
from tclose_spark.methods.method import ClassAssignment
from tclose_spark.options.linked.maker import LinkedRows
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.rows import Rows
from tclose_spark.table.tally import LocalRows
from tclose_spark.usefulness.queries import spread_labels
from tclose_spark.usefulness.raw_versus_released import measure_raw_versus_released

SHIFTS = st.sampled_from([-(10**6), -1000, -998, -50, -9, 0, 7, 10**9])
FACTORS = st.sampled_from([1, 2, 10, 1000])
DAY = date(1970, 1, 1)
AS_WRITTEN = {"worst", "size", "about", "before", "after", "labels"}
"""Keys of values and labels, which move with the table, and of figures of one class among several
that are as bad.
"""


def written(number: int, kind: str) -> str:
    """A number as a number, or as a date."""
    return str(number) if kind == "number" else (DAY + timedelta(days=number)).isoformat()


def label(ends: tuple[int, int] | str | None, move: Any, kind: str) -> str | None:
    if ends is None or isinstance(ends, str):
        return ends
    low, high = (written(move(end), kind) for end in ends)
    return low if low == high else f"[{low}, {high}]"


def figures(tree: Any) -> Any:
    """The figures in a tree: without values, real numbers to nine digits."""
    if isinstance(tree, dict):
        found = {key: figures(part) for key, part in tree.items() if key not in AS_WRITTEN}
        return (
            found
            if "after" not in tree
            else {**found, "gain": figures(tree["after"] - tree["before"])}
        )
    if isinstance(tree, (list, tuple)):
        return [figures(part) for part in tree]
    return float(f"{tree:.9g}") if isinstance(tree, float) else tree


rows = st.tuples(
    st.integers(0, 30),
    st.integers(0, 9),
    st.sampled_from("ab"),
    st.integers(0, 6),
    st.none() | st.integers(0, 30),
)


@st.composite
def published(draw: st.DrawFn) -> tuple[list[Any], list[Any]]:
    """(raw rows, the label of each of two numbers): rows in classes of at least two, a class with
    one `*` or NULL.
    """
    raw = draw(st.lists(rows, min_size=4, max_size=9))
    owner = [i // 2 for i in range(len(raw) - len(raw) % 2)] + [0] * (len(raw) % 2)
    labels: list[Any] = []
    for i in range(len(raw)):
        mine = [raw[j] for j in range(len(raw)) if owner[j] == owner[i]]
        labels.append([(min(row[q] for row in mine), max(row[q] for row in mine)) for q in (0, 1)])
    if draw(st.booleans()):
        for i, ends in enumerate(labels):
            ends[1] = "*" if owner[i] == 0 else ends[1]
    return raw, labels


@pytest.mark.parametrize("kind", ["number", "date"])
@drawn(25, quick=6)
@given(published(), SHIFTS, FACTORS, st.booleans())
def test_audits(
    kind: str,
    table: tuple[list[Any], list[Any]],
    shift: int,
    factor: int,
    bounds: bool,
) -> None:
    raw, labels = table
    if kind == "date":
        shift = max(shift, -50_000) if shift < 0 else min(shift, 50_000)

    def audited(move: Any) -> Any:
        texts = [[label(ends, move, kind) for ends in pair] for pair in labels]
        ages: dict[str, Any] = {"age": [pair[0] for pair in texts]}
        asked: Any = ["age", "way"]
        if bounds:
            low = [written(move(pair[0][0]), kind) for pair in labels]
            high = [written(move(pair[0][1]), kind) for pair in labels]
            ages = {"age_min": low, "age_max": high}
            asked = {"age": {"type": kind_of[kind], "numeric_output": "bounds"}, "way": {}}
        pay = [written(move(row[3]), kind) for row in raw]
        rest = {"job": [row[2] for row in raw], "pay": pay}
        released = pa.table({**ages, "way": [pair[1] for pair in texts], **rest})
        known = pa.table(
            {
                name: [written(move(row[i]), kind) for row in raw]
                for i, name in enumerate(["age", "way"])
            },
        )
        for name, values in rest.items():
            known = known.append_column(name, pa.array(values))
        made = audit(
            released,
            asked,
            {"job": "equal", "pay": "ordered"},
            raw=known,
            background=known,
            special_uniques=2,
            cells=2,
            population="0.1",
            engine="local",
        )
        return figures(made.to_json())

    assert audited(lambda x: x) == audited(lambda x: factor * x + shift)


kind_of = {"number": "numeric", "date": "date"}


class Fixed:
    """A plan with given classes, by hash."""

    tasks = 1
    figures: ClassVar[dict[str, int]] = {}

    def __init__(self, owner: IntArray) -> None:
        self.owner = owner

    def route(self, rows: Rows) -> tuple[IntArray, IntArray]:
        return np.arange(len(rows)), np.zeros(len(rows), dtype=np.int64)

    def describe(self, figures: Any) -> Any:
        return figures

    def assign_classes(self, rows: Rows, task: int) -> ClassAssignment:
        nobody = np.zeros(0, dtype=np.int64)
        return ClassAssignment(
            here=np.arange(len(rows)),
            classes=self.owner[rows.hash.astype(np.int64)],
            suppressed=nobody,
        )


people = st.tuples(
    st.none() | st.integers(0, 30),
    st.integers(0, 30),
    st.sampled_from("ab"),
    st.integers(0, 6),
)


@drawn(40, quick=8)
@given(st.lists(people, min_size=6, max_size=20), SHIFTS, FACTORS, st.integers(2, 4))
def test_figures_of_releases(raw: list[Any], shift: int, factor: int, size: int) -> None:
    """Of real numbers, moved and stretched, and of whole numbers, moved."""

    raw = [(3, *raw[0][1:]), *raw[1:]]  # no column is missing in all rows

    def measured(move: Any, unit: type) -> Any:
        def moved(number: int | None) -> float | None:
            return None if number is None else unit(move(number))

        records = [
            {"age": moved(age), "way": moved(way), "job": job, "pay": unit(move(pay)), "row": place}
            for place, (age, way, job, pay) in enumerate(raw)
        ]
        numeric = {"type": "numeric"}
        quasi: Any = {"age": numeric, "way": {**numeric, "numeric_output": "bounds"}, "job": {}}
        problem, rows = make_problem(records, {"pay": {"distance": "ordered"}}, quasi, {}, k=2)
        rows = Rows(rows.quasi, rows.cell, np.arange(len(raw), dtype=np.uint64))
        plan: Any = Fixed(np.arange(len(raw)) // size)
        made = apply_plan(plan, problem.attributes, rows, problem.spec)
        nobody = rows.take(np.zeros(0, dtype=np.int64))
        order = np.argsort(
            made.rows.hash,
        )  # queries are drawn from rows in their order, which is that of label texts
        labels = [column.take(pa.array(order)) for column in made.labels]
        linked = LinkedRows(
            rows=made.rows.take(order),
            labels=labels,
            suppressed=nobody,
            whole=len(raw),
        )
        frequencies = LocalRows(rows).frequencies
        found = measure_raw_versus_released(
            linked,
            problem.profile,
            problem.attributes,
            problem.spec,
            frequencies,
        )
        classes = PublishedClasses.of(made, problem.spec)
        public = measure(made, classes, problem.attributes, problem.spec, {})
        tables = [(one.raw_v, one.released_v, one.moved) for one in found.tables]
        of_sample = asdict(found) | {"means": (), "tables": tables}
        return figures({**of_sample, "public": asdict(public)})

    assert measured(lambda x: x, float) == measured(lambda x: factor * x + shift, float)
    assert measured(lambda x: x, int) == measured(lambda x: x + shift, int)


def test_a_column_that_is_suppressed_in_all_rows_is_spread_over_its_domain() -> None:
    """Its query error is that of the domain, wherever that lies."""
    for shift in (0, 1000):
        records = [{"age": shift + i % 4, "job": "a", "row": i, "pay": "x"} for i in range(8)]
        problem, _ = make_problem(
            records,
            {"pay": {}},
            {"age": {"type": "numeric"}, "job": {}},
            {},
            k=2,
        )
        spread, _ = spread_labels(problem.attributes.quasi_identifiers[0], [pa.array(["*", "*"])])
        assert spread.shares(shift, shift + 1).tolist() == [0.5]
