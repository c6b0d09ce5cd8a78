"""Whole runs on values at the edges of their types: 32-bit floats, integers of all 64 bits, years
of any sign and length, and missing values of a hierarchical sensitive attribute.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import deltalake
import numpy as np
import pyarrow as pa
import pytest
from strategies import CITIES

from tclose_spark import pipeline
from tclose_spark.io.run import Run
from tclose_spark.measures.loss.information_loss import interval_ends

ROWS = 60
DRAW = np.random.default_rng(7)
DAYS = {
    "-0044-03-15": -735525,
    "0999-12-31": -354286,
    "2024-02-29": 19782,
    "9999-12-31": 2932896,
    "+10000-01-01": 2932897,
}
LARGEST = 2**63 - 1
SITES = [None, *CITIES.leaves]
PEOPLE = pa.table(
    {
        "id": range(ROWS),
        "weight": pa.array([round(0.1 * (i % 12), 1) for i in range(ROWS)], pa.float32()),
        "account": pa.array(
            [-LARGEST, LARGEST, *(int(DRAW.integers(-LARGEST, LARGEST)) for _ in range(ROWS - 2))],
            pa.int64(),
        ),
        "number": pa.array([2**53 + 1 + 3 * i for i in range(ROWS - 1)] + [LARGEST], pa.int64()),
        "site": [SITES[i % 6] for i in range(ROWS)],
        "day": pa.array([list(DAYS.values())[i % 5] for i in range(ROWS)], pa.int32()).cast(
            pa.date32(),
        ),
    },
)


@pytest.mark.parametrize(
    "method",
    [
        {"name": "closeness_tree", "effort": "fast"},
        {"name": "stack_and_deal"},
        {"name": "fragmentation"},
        {"name": "microaggregation", "algorithm": 1},
        {"name": "t_mondrian"},
        {"name": "t_incognito"},
    ],
    ids=lambda m: str(m["name"]),
)
def test_values_at_the_edges_are_released_as_they_are(
    method: dict[str, Any],
    make_run: Callable[..., Run],
) -> None:
    run = make_run(
        PEOPLE,
        quasi={
            "weight": {"type": "numeric"},
            "account": {"type": "numeric"},
            "number": {"type": "numeric", "numeric_output": "bounds", "round_to": "2.5"},
        },
        sensitive={
            "site": {
                "distance": "hierarchical",
                "hierarchy": "cities.csv",
                "missing": "leaf",
                "t": "0.4",
            },
            "day": {"distance": "ordered", "t": "0.4"},
        },
        insensitive_attributes=["id"],
        allow_unique=["id"],
        k=4,
        method=method,
    )
    certificate = pipeline.release(run)
    domains = json.loads(Path(run.internal.path("profile.json")).read_text())["sensitive"]
    assert domains[0]["values"] == [*CITIES.leaves, None]
    assert domains[1]["values"] == list(DAYS)

    released = deltalake.DeltaTable(run.public.path("release")).to_pyarrow_table()
    rows = released.set_column(
        released.column_names.index("day"),
        "day",
        released["day"].cast(pa.int32()),
    ).to_pylist()
    raw = PEOPLE.set_column(5, "day", PEOPLE["day"].cast(pa.int32())).to_pylist()
    for row in rows:
        person = raw[row["id"]]
        assert (row["site"], row["day"]) == (person["site"], person["day"])
        assert row["number_min"] <= person["number"] <= row["number_max"]
        low, high = interval_ends(row["account"])
        assert low <= person["account"] <= high
        ends = interval_ends(row["weight"])
        assert ends[0] <= Fraction(round(person["weight"], 1)).limit_denominator(10) <= ends[1]
        assert all((10 * end).denominator == 1 for end in ends), "0.3 is written 0.3"

    whole = Counter(row["site"] for row in rows)
    classes: dict[tuple[Any, ...], Counter[str | None]] = {}
    for row in rows:
        classes.setdefault(
            (row["weight"], row["account"], row["number_min"], row["number_max"]),
            Counter(),
        )[row["site"]] += 1
    assert Fraction(certificate["guarantees"]["t"]["site"]["achieved_exact"]) == max(
        distance(part, whole) for part in classes.values()
    )


def distance(part: Counter[str | None], whole: Counter[str | None]) -> Fraction:
    """Li et al. 2007, 5.2, with missing values a leaf under the root: what the children of a node
    exchange costs its height.
    """
    paths: dict[str | None, tuple[Any, ...]] = {path[0]: path for path in CITIES.paths}
    paths[None] = (None, "none", "nowhere", "*")
    cost = Fraction(0)
    for level in (1, 2, 3):
        extra: Counter[tuple[Any, Any]] = Counter()
        for value, path in paths.items():
            extra[path[level], path[level - 1]] += (
                part[value] * whole.total() - whole[value] * part.total()
            )
        for node in {above for above, _ in extra}:
            gains = [x for (above, _), x in extra.items() if above == node]
            cost += Fraction(level, 3) * min(
                sum(x for x in gains if x > 0),
                -sum(x for x in gains if x < 0),
            )
    return cost / (part.total() * whole.total())
