"""Releases that count people are one release on both engines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession
from stays import QUASI, SENSITIVE, stays
from test_one_release import outcome

from tclose_spark.io.local_session import LocalSession

METHODS: list[dict[str, Any]] = [
    {"name": "closeness_tree", "effort": "fast"},
    {"name": "closeness_tree", "effort": "fast", "overlap": "none"},
    {"name": "t_mondrian"},
    {"name": "t_incognito"},
]
QUICK = 2


@pytest.mark.parametrize(
    "seed",
    [pytest.param(i, marks=[] if i < QUICK else pytest.mark.slow) for i in range(40)],
)
def test_both_engines_count_the_same_people(
    seed: int,
    spark: SparkSession,
    write_run: Callable[..., Path],
    tmp_path: Path,
) -> None:
    draw = np.random.default_rng(seed)
    rows = ["together", "apart"][seed % 2]
    method = METHODS[draw.integers(len(METHODS))] if rows == "apart" else METHODS[0]
    names = [[*SENSITIVE][i] for i in draw.permutation(3)[: draw.integers(1, 4)]]
    path = write_run(
        tmp_path,
        stays(seed, people=int(draw.integers(40, 300)), varying=bool(draw.integers(2))),
        quasi=QUASI,
        sensitive={name: SENSITIVE[name][0] for name in names},
        k=int(draw.integers(2, 8)),
        person={"column": "patient", "rows": rows},
        method=method,
        privacy=[{}, {"suppression_limit": "0.2"}, {"suppression_limit": "0.2", "of": "released"}][
            draw.integers(3)
        ],
        drop_others=True,
    )
    local = outcome(path, LocalSession())
    assert local == outcome(path, spark)
    assert isinstance(local, tuple) or local["people"]["people"] > 0
