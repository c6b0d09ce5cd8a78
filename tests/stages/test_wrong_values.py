"""The wrong values of a column: all are counted, and few come to the driver, on both engines."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tclose_spark import pipeline
from tclose_spark.engine.protocol import Session, Table
from tclose_spark.engine.tables import collect, of_arrow
from tclose_spark.errors import MOST_LISTED, InputError
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.run import Run
from tclose_spark.stages.staging import checking as wrong_values

PARTITIONS = 2  # of the tests' session
MANY = (2 * PARTITIONS + 1) * MOST_LISTED
"""Different wrong values: more than MOST_LISTED in each partition. The first ten have two rows."""
TEXTS = pa.array([f"x{i}" for i in range(MANY)] + [f"x{i}" for i in range(10)] + ["41", None] * 5)

Texts = Callable[[pa.Array], pa.Array]


@pytest.fixture(params=["local", "spark"])
def session(request: pytest.FixtureRequest) -> Session:
    """A session of each engine."""
    return LocalSession() if request.param == "local" else request.getfixturevalue("spark")


@pytest.fixture
def brought(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows came to the driver."""
    rows: list[int] = []

    def collected(table: Table) -> pa.Table:
        found = collect(table)
        rows.append(found.num_rows)
        return found

    monkeypatch.setattr(wrong_values, "collect", collected)
    return rows


@pytest.fixture
def words() -> Texts:
    """Not a number. A function in a function, since workers do not find this file."""
    return lambda column: column.filter(pc.starts_with(column, "x").fill_null(False))


def test_all_are_counted_and_the_most_frequent_are_listed(
    session: Session,
    brought: list[int],
    words: Texts,
) -> None:
    table = of_arrow(session, pa.table({"age": TEXTS}))
    found = wrong_values.wrong_values(table, "age", "no number", words)
    assert (found.values, found.rows) == (MANY, MANY + 10)
    assert sum(brought) <= PARTITIONS * (MOST_LISTED + 1) < MANY
    listed: list[dict[str, Any]] = found.listed.as_json()["values"]
    assert len(listed) == MOST_LISTED
    assert [each for each in listed if each["rows"] > 1] == [
        {"value": f"x{i}", "rows": 2} for i in range(10)
    ]


def test_a_column_without_any(session: Session, words: Texts) -> None:
    found = wrong_values.wrong_values(
        of_arrow(session, pa.table({"age": ["1", "2"]})),
        "age",
        "no number",
        words,
    )
    assert (found.values, found.rows, found.listed.as_json()["values"]) == (0, 0, [])


@pytest.mark.parametrize(
    ("quasi", "values", "message"),
    [
        ({"type": "numeric"}, TEXTS, f"{MANY + 10} of {MANY + 20} rows hold no finite number"),
        (
            {"type": "numeric", "range": [0, 9]},
            pa.array(range(MANY)),
            f"{MANY - 10} values in {MANY - 10} rows are out",
        ),
    ],
)
def test_a_run_counts_them_and_writes_some_down(
    open_run: Callable[..., Run],
    run_file: Callable[..., Path],
    quasi: dict[str, Any],
    values: pa.Array,
    message: str,
) -> None:
    table = pa.table({"age": values, "disease": ["flu"] * len(values)})
    run = open_run(run_file(table, quasi={"age": quasi}))
    with pytest.raises(InputError, match=message):
        pipeline.profile(run)
    assert len(json.loads(run.internal.read("problems.json"))["values"]) == MOST_LISTED
