"""Requirements of drawn tables, and classes judged by the definitions: what tests of methods in
blocks share.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st
from strategies import Problem, content, count_tables, settle_all, trees

from tclose_spark.errors import UnreachableError
from tclose_spark.measures.distances.ground_distances import (
    EqualDistance,
    GroundDistance,
    HierarchicalDistance,
    OrderedDistance,
)
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.methods.blocks.block import Requirement, exact_limits
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.rows import Rows

ROWS_ONLY: dict[str, Any] = {
    "added": np.zeros((0, 0), np.int64),
    "least": np.zeros(0, np.int64),
    "diverse": np.zeros(0, np.bool_),
    "most": np.zeros((0, 0)),
    "shares": np.zeros((0, 0, 0)),
}
"""Of a `Requirement` that counts rows alone."""
UNCAPPED: dict[str, Any] = {"caps": np.zeros((2, 0, 0), np.int64)}
"""Of a `Requirement` without a beta or a frequency l."""


def requirement_of(
    distances: list[GroundDistance],
    ts: list[Fraction | None],
    k: int = 1,
    distinct: int = 1,
) -> Requirement:
    """What classes of a table must hold; every attribute's value is a cell's coordinate."""
    longest, highest = (
        max(len(d.table) for d in distances),
        max(1, *(len(getattr(d, "parents", ())) for d in distances), 1),
    )
    tables = np.zeros((len(distances), longest), dtype=np.int64)
    parents = np.full((len(distances), highest, longest), -1, dtype=np.int32)
    for s, distance in enumerate(distances):
        tables[s, : len(distance.table)] = distance.table
        for height, above in enumerate(getattr(distance, "parents", ())):
            parents[s, height, : len(above)] = above
    cells = np.stack(
        np.meshgrid(*[np.arange(len(d.table)) for d in distances], indexing="ij"),
        axis=-1,
    ).reshape(-1, len(distances))
    rows = int(distances[0].table.sum())
    return Requirement(
        codes=cells.astype(np.int32),
        tables=tables,
        domains=np.array([len(d.table) for d in distances]),
        ordered=np.array([isinstance(d, OrderedDistance) for d in distances]),
        parents=parents,
        heights=np.array([len(getattr(d, "parents", ())) for d in distances]),
        rows=rows,
        k=k,
        distinct=np.full(len(distances), distinct),
        limits=exact_limits(ts, [d.scale for d in distances], rows, rows),
        **UNCAPPED,
        **ROWS_ONLY,
    )


@st.composite
def distances_and_classes(draw: st.DrawFn) -> tuple[GroundDistance, IntArray]:
    """A distance of each kind over a drawn table, and the classes (counts by value) that make up
    the table.
    """
    classes = draw(count_tables())
    table, kind = classes.sum(axis=0), draw(st.sampled_from(["equal", "ordered", "hierarchical"]))
    if kind == "equal":
        return EqualDistance(table), classes
    if kind == "ordered":
        return OrderedDistance(table), classes
    tree = draw(trees())
    counts = st.lists(
        st.integers(0, 5),
        min_size=len(tree.leaves),
        max_size=len(tree.leaves),
    ).filter(any)
    classes = np.array(draw(st.lists(counts, min_size=1, max_size=5)), dtype=np.int64)
    return HierarchicalDistance(classes.sum(axis=0), tuple(tree.parents)), classes


def check_classes(problem: Problem, rows: Rows, classes: IntArray) -> None:
    """Every class has k rows, its distances and its distinct values, by the definitions."""
    _, number = np.unique(classes, return_inverse=True)
    sizes = np.bincount(number)
    assert sizes.min() >= problem.spec.privacy.k
    for i, domain in enumerate(problem.profile.sensitive):
        settings = problem.spec.attributes.sensitive_attributes[domain.name]
        counts = np.zeros((len(sizes), len(domain.values)), dtype=np.int64)
        np.add.at(counts, (number, problem.profile.cell_codes[rows.cell, i]), 1)
        assert (counts > 0).sum(axis=1).min() >= (settings.l.distinct or 1)
        if settings.t is not None:
            distance = problem.attributes.sensitive[i].distance
            numerators = distance.numerators(Histograms.dense(counts))
            unit = distance.scale * len(rows)
            assert (
                max(Fraction(int(x), unit * int(s)) for x, s in zip(numerators, sizes, strict=True))
                <= settings.t
            )


def check_however_rows_come(
    problem: Problem,
    rows: Rows,
    make: Callable[[int], Any],
    read: Callable[[Any], Any],
    per_task: int,
    order: IntArray,
) -> None:
    """Every class holds; the same people are together in one task, in another order of the rows,
    and by the plan that is read back. Where there is no plan, nothing is checked.

    make: the plan with so many rows a task; read: the plan from its JSON.
    """
    try:
        plan = make(per_task)
    except UnreachableError:
        return
    settled = settle_all(plan, rows)
    check_classes(problem, *settled)
    assert content(*settle_all(make(10**6), rows.take(order))) == content(*settled)
    again = read(json.loads(json.dumps(plan.to_json())))
    assert content(*settle_all(again, rows)) == content(*settled)
