"""docs/population.md: published weights. More of them: tests/releases/test_survey_weights.py."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from people import PEOPLE, ROLES
from promise_page import promises

WEIGHTS = [10, 35, 44, 45]


@promises(
    "A published weight of a survey is that of the input, or its nearest multiple of `round_to`.",
    "A weight may be rounded.",
)
@pytest.mark.parametrize(("step", "published"), [(None, [10, 35, 44, 45]), (10, [10, 40, 40, 40])])
def test_published_weights_are_those_of_the_input_or_rounded(
    step: int | None,
    published: list[int],
    run_file: Callable[..., Path],
    tclose: Callable[..., Any],
) -> None:
    table = PEOPLE.append_column("w", pa.array([WEIGHTS[i % 4] for i in range(PEOPLE.num_rows)]))
    weight = {"column": "w", "publish": True, **({} if step is None else {"round_to": step})}
    path = run_file(table, **ROLES, weight=weight)
    code, _, errors = tclose("release", path)
    assert code == 0, errors
    rows = DeltaTable(str(path.parent / "out/public/release")).to_pyarrow_table()["w"].to_pylist()
    assert Counter(rows) == Counter(published[i % 4] for i in range(PEOPLE.num_rows))
