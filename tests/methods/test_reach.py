"""Which values may share a label within `coarsest`, beside the labels themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from strategies import CITIES, make_problem, town

from tclose_spark.methods.widths import reach_of
from tclose_spark.table.arrays import ranked

LIMITED: list[dict[str, Any]] = [
    {"type": "numeric", "coarsest": "10"},
    {"type": "numeric", "coarsest": "0"},
    {"type": "numeric", "coarsest": "12", "round_to": "5"},
    *({"hierarchy": "cities.csv", "coarsest": str(level)} for level in range(CITIES.height + 1)),
    *({"generalization": "set", "coarsest": str(members)} for members in (1, 2, 4, 5, 9)),
    {"coarsest": "0"},
    {},
]


@pytest.mark.parametrize("limited", LIMITED, ids=str)
@pytest.mark.parametrize("missing", [False, True])
def test_it_is_the_last_value_that_a_label_within_the_limit_covers(
    limited: dict[str, Any],
    missing: bool,
) -> None:
    column = "age" if limited.get("type") == "numeric" else "city"
    records = [{**row, "age": row["age"] / 2} for row in town(60)]
    if missing:
        records[3][column] = None
    trees = {"city": CITIES} if "hierarchy" in limited else {}
    problem, rows = make_problem(
        records,
        {"disease": {"t": "1"}},
        quasi={column: limited},
        hierarchies=trees,
    )
    (quasi,) = problem.attributes.quasi_identifiers
    codes = ranked(rows.quasi[0])[0]
    reach = reach_of(quasi, codes)
    for low in range(len(codes)):
        for high in range(low, len(codes)):
            _, (text,) = quasi.labeller.cover(codes[[low]], codes[[high]])
            allowed = low == high or quasi.coarsest is None or not quasi.coarsest.broken_by(text)
            assert allowed == (high <= reach[low]), (low, high, text)
    assert reach.dtype == np.int64
