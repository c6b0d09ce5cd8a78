"""Two algorithms of Liang and Yuan against the exact method: 2-diversity by matching (section 6),
and the m-approximation of k-anonymity (section 5). A cost is the number of suppressed cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from exact_tables import DIGITS, TABLE_1, given, problem_of
from hypothesis import given as drawn_from
from hypothesis import strategies as st
from papers.test_liang_yuan import CELLS, DISEASE
from scipy.optimize import Bounds, LinearConstraint, milp
from strategies import drawn

from tclose_spark.methods.exact.plan import plan_exact

Cells = Sequence[Sequence[str]]


def cost(group: Cells) -> int:
    """Of one group: its rows times the columns in which they differ."""
    return len(group) * sum(len(set(column)) > 1 for column in zip(*group, strict=True))


def least_2_diverse(cells: Cells, values: Sequence[str]) -> int | None:
    """Lemma 2: groups of 2 or 3 rows with different sensitive values suffice. Each row is in one: a
    matching.
    """
    rows = range(len(cells))
    edges = [e for n in (2, 3) for e in combinations(rows, n) if len({values[i] for i in e}) == n]
    if not edges:
        return None
    within = np.array([[row in edge for edge in edges] for row in rows], dtype=float)
    costs = np.array([cost([cells[i] for i in edge]) for edge in edges], dtype=float)
    found = milp(
        costs,
        integrality=np.ones(len(edges)),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(within, 1, 1),
    )
    return None if found.x is None else round(found.fun)


def approximately_k_anonymous(cells: Cells, k: int) -> list[list[Sequence[str]]]:
    """Theorem 10: groups of at least k rows that cost at most m times the least, for m columns."""
    alike: dict[tuple[str, ...], list[Sequence[str]]] = {}
    for row in cells:
        alike.setdefault(tuple(row), []).append(row)
    classes = sorted(alike.values(), key=len)
    small, large = [c for c in classes if len(c) < k], [list(c) for c in classes if len(c) >= k]
    together = [row for c in small for row in c]
    if not together:
        return large
    if (
        len(together) + sum(len(c) - k for c in large) >= k
    ):  # cases 1 and 2: larger classes give what they can spare
        for c in large:
            while len(together) < k and len(c) > k:
                together.append(c.pop())
        return [together, *large]
    return [together + large[0], *large[1:]]  # case 3: and the smallest of the larger ones


def least_cost(cells: Cells, values: Sequence[str], asked: dict[str, Any], k: int) -> int | None:
    """By the exact method."""
    columns: dict[str, dict[str, Any]] = {f"c{i}": {} for i in range(len(cells[0]))}
    records = [
        {**dict(zip(columns, row, strict=True)), "d": v}
        for row, v in zip(cells, values, strict=True)
    ]
    problem, rows = problem_of(records, {"d": asked}, k, quasi=columns, hierarchies={})
    return round(plan_exact(given(problem, rows)).loss * len(cells) * len(columns), 6)


TWO_DIVERSE = {
    "l": {"recursive": {"c": "1.01", "l": 2}},
}  # no value in more than half of a class of at most 100 rows
TABLES = st.lists(st.lists(st.sampled_from("abc"), min_size=3, max_size=3), min_size=4, max_size=9)


def test_table_1() -> None:
    assert least_2_diverse(CELLS, DISEASE) == 50
    groups = approximately_k_anonymous(CELLS, 3)
    assert sum(map(cost, groups)) == 70
    problem, rows = problem_of(TABLE_1, {"disease": {}}, 3, quasi=DIGITS)
    assert 80 * plan_exact(given(problem, rows)).loss == pytest.approx(54)
    assert round(70 / 54, 2) == 1.3


@drawn(40)
@drawn_from(TABLES, st.data())
def test_2_diversity_by_matching_is_the_optimum(cells: Cells, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.sampled_from("xyz"), min_size=len(cells), max_size=len(cells)))
    if 2 * max(map(values.count, values)) > len(values):
        assert least_2_diverse(cells, values) is None
        return
    assert least_2_diverse(cells, values) == least_cost(cells, values, TWO_DIVERSE, 2)


@drawn(40)
@drawn_from(TABLES, st.integers(2, 4))
def test_the_m_approximation_is_within_m_of_the_optimum(cells: Cells, k: int) -> None:
    groups = approximately_k_anonymous(cells, k)
    assert sorted(map(tuple, cells)) == sorted(tuple(row) for group in groups for row in group)
    assert min(map(len, groups)) >= k
    least = least_cost(cells, ["x", *"y" * (len(cells) - 1)], {}, k)
    assert least is not None
    assert least <= sum(map(cost, groups)) <= len(cells[0]) * least
