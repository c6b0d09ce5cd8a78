"""Few rows that stretch a numeric range are warned of, without a value; codes that the run file
names are not.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tclose_spark import pipeline
from tclose_spark.io.run import Run
from tclose_spark.io.run_state import ProfileRecord
from tclose_spark.table.far_numbers import count_ends, ends, far_numbers

AGES = dict.fromkeys(range(20, 80), 5)


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        (AGES, None),
        (AGES | {138: 1}, None),  # less than twice
        (AGES | {139: 1}, (1, 2)),
        (AGES | {998: 3, 999: 9}, (12, 10)),
        (AGES | {-99: 4}, (4, 3)),
        (AGES | {-99: 4, 999: 9}, (13, 10)),
        (AGES | {999: 40}, None),  # not few
        ({1: 150, 999: 1}, None),  # no range is left
        ({1: 40, 2: 40, 999: 1}, None),  # of few rows, each is many
        ({0.5: 90, 1.0: 90, 99.9: 4}, (4, 100)),
        ({}, None),
    ],
)
def test_few_rows_that_more_than_double_a_range(
    rows: dict[float, int],
    found: tuple[int, int] | None,
) -> None:
    far = far_numbers("age", ends(rows), sum(rows.values()))
    assert (far and (far.rows, far.times)) == found


def test_tasks_count_the_same_ends_in_any_batches() -> None:
    numbers = np.random.default_rng(2).integers(0, 400, 3_000)
    parts = dict[float, int]()
    for part in np.array_split(numbers, 37):
        parts = count_ends(parts, pa.array(part))
    values, n = np.unique(numbers, return_counts=True)
    assert (
        count_ends({}, pa.array(numbers))
        == parts
        == ends(dict(zip(values.tolist(), n.tolist(), strict=True)))
    )


def survey(make_run: Callable[..., Run], few: int, **settings: Any) -> Run:
    """A run on 200 people, some of whom have the age 999 in place of their own."""
    age = [999 if i < few else 20 + i % 60 for i in range(200)]
    table = pa.table({"age": age, "disease": ["flu", "gout"] * 100})
    return make_run(
        table,
        quasi={"age": {"type": "numeric", **settings}},
        sensitive={"disease": {"t": "0.5"}},
        k=5,
    )


def test_the_certificate_warns(make_run: Callable[..., Run]) -> None:
    run = survey(make_run, 6)
    pipeline.release(run)
    certificate = json.loads(Path(run.spec.output.public_path, "certificate.json").read_text())
    (said,) = [warning for warning in certificate["warnings"] if "far from all others" in warning]
    assert said.startswith(
        "age: 3.0% of rows have numbers far from all others, without which its range is at least "
        "10 ",
    )
    loss, instead = map(float, re.search(r"its loss is (\S+) instead of (\S+); ", said).groups())
    assert 2 * instead < loss <= 10 * instead
    assert "999" not in said


@pytest.mark.parametrize(
    ("few", "settings", "says"),
    [
        (6, {}, "quasi-identifier 'age': 3.0% of rows have numbers far from all others"),
        (6, {"missing_values": [999]}, ""),
        (6, {"range": [0, 1000]}, ""),
        (4, {}, "fewer than 5 rows have numbers far"),
    ],
)
def test_the_profile_warns_and_names_no_number(
    make_run: Callable[..., Run],
    few: int,
    settings: dict[str, Any],
    says: str,
) -> None:
    run = survey(make_run, few, **settings)
    pipeline.profile(run)
    found = [one for one in run.state.of(ProfileRecord).warnings if "far from all others" in one]
    assert [says in one for one in found] == [True] * bool(says)
    assert "999" not in "".join(found)
