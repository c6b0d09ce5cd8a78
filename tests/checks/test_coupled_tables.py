"""Classes whose values are in several tables: their tallies, put together for the verifier."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from tclose_spark.checks.classes.tallies import tally_schema
from tclose_spark.checks.layout import couple
from tclose_spark.checks.released import DamagedFileError
from tclose_spark.engine.tables import collect, of_arrow
from tclose_spark.io.local_session import LocalSession

Part = dict[str | None, tuple[list[list[str | None]], list[int]]]
"""By class the values of each attribute, and the rows of each tuple."""

ROWS: Part = {"a": ([], [4]), "b": ([], [3]), None: ([], [5])}
DISEASE: Part = {
    None: ([["flu", "gout"]], [2, 3]),
    "a": ([["flu", None]], [1, 3]),
    "b": ([["ulcer", "flu"]], [1, 2]),
}
PAY: Part = {
    "b": ([["low", "high"], ["n", "s"]], [1, 2]),
    "a": ([["low"], ["n"]], [4]),
    None: ([["low", "mid", "high"], ["n", "n", "s"]], [1, 3, 1]),
}


def tallies(part: Part) -> Any:
    sensitive = len(next(iter(part.values()))[0])
    columns = [[*part], *([values[i] for values, _ in part.values()] for i in range(sensitive))]
    columns.append([n for _, n in part.values()])
    schema = tally_schema(1, sensitive)
    return of_arrow(
        LocalSession(),
        pa.table([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema),
    )


def coupled(parts: Sequence[Part], places: Sequence[Sequence[int]]) -> pa.Table:
    return collect(couple([tallies(part) for part in parts], 1, places))


def test_each_class_keeps_the_rows_of_every_value() -> None:
    found = coupled([ROWS, DISEASE, PAY], [[], [2], [0, 1]])
    assert found.column_names == ["l0", "v0", "v1", "v2", "n"]
    wanted = {
        key: [
            *(_counts(values, PAY[key][1]) for values in PAY[key][0]),
            _counts(DISEASE[key][0][0], DISEASE[key][1]),
        ]
        for key in ROWS
    }
    assert {
        row["l0"]: [_counts(row[f"v{i}"], row["n"]) for i in range(3)] for row in found.to_pylist()
    } == wanted


def test_values_of_one_table_stay_together() -> None:
    row = next(
        row
        for row in coupled([ROWS, DISEASE, PAY], [[], [2], [0, 1]]).to_pylist()
        if row["l0"] is None
    )
    pairs = Counter[Any]()
    for pay, region, n in zip(row["v0"], row["v1"], row["n"], strict=True):
        pairs[pay, region] += n
    assert pairs == {("low", "n"): 1, ("mid", "n"): 3, ("high", "s"): 1}


def _counts(values: Sequence[str | None], n: Sequence[int]) -> Counter[str | None]:
    counts = Counter[str | None]()
    for value, rows in zip(values, n, strict=True):
        counts[value] += rows
    return counts


@pytest.mark.parametrize(
    "other",
    [
        {**DISEASE, "a": ([["flu", None]], [1, 4])},
        {key: of for key, of in DISEASE.items() if key != "b"},
        {**DISEASE, "c": ([["flu"]], [1])},
        {"a": ([["flu"]], [4]), "c": ([["flu"]], [3]), None: ([["flu"]], [5])},
    ],
    ids=["more rows", "a class less", "a class more", "another class"],
)
def test_tables_of_different_classes_are_damaged(other: Part) -> None:
    with pytest.raises(DamagedFileError, match="more rows in one table"):
        coupled([ROWS, other], [[], [0]])
