"""Liang and Yuan: the proven least cost of their Table 1, beside the cost of the partitions that
they print.
"""

from __future__ import annotations

from typing import Any

from exact_tables import DIGITS, TABLE_1, given, problem_of

from benchmarks.papers.figure import Figure, figures
from tclose_spark.methods.exact.plan import plan_exact

PRINTED: list[tuple[str, int, dict[str, Any], int | None]] = [
    ("k = 3 (Table 2)", 3, {}, 54),
    ("2-diverse (Table 3)", 2, {"l": {"frequency": 2}}, 62),
    ("t = .1 (Table 5)", 2, {"t": "0.1"}, 67),
    ("t = .3 (Table 5)", 2, {"t": "0.3"}, 67),
]


def cheap() -> list[Figure]:
    """The least number of suppressed cells of all partitions."""
    found = []
    for what, k, asked, printed in PRINTED:
        problem, rows = problem_of(TABLE_1, {"disease": asked}, k, quasi=DIGITS)
        cells = 80 * plan_exact(given(problem, rows)).loss
        why = "the paper's partition is an example, not an optimum"
        found += figures(
            "Liang and Yuan, least cost",
            {what: cells},
            {what: printed} if printed else None,
            why=why,
        )
    return found
