"""Both engines find the same facts of a table, and suggest the same run file."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tclose_spark.api.suggest import suggest
from tclose_spark.io.local_session import LocalSession
from tclose_spark.runfile.spec import Input
from tclose_spark.suggesting.facts import TableFacts
from tclose_spark.suggesting.gathering import gather_facts, open_frame

SOURCE = Input(path="people", format="table")
TEXTS = [
    *[
        "",
        " ",
        "*",
        "{a}",
        "{a",
        "* ",
        "flu",
        "Flu ",
        "?",
        "n/a",
        "007",
        "+5",
        "1e5",
        ".5",
        "1.",
        "1e400",
        "0" * 20,
    ],
    *[
        "1234567890123456",
        "12",
        "12\n",
        "a@b.org",
        "2020-02-29",
        "2021-02-29",
        "2020-12-31\n",
        "1/2/2020",
        "true",
        "é",
    ],
]
VALUES: dict[str, pa.Array] = {
    "text": pa.array(TEXTS),
    "numbers as text": pa.array(["1", "2.5", "3e2", "-4"]),
    "iso": pa.array(["2020-01-31", "1999-12-01"]),
    "age": pa.array([0, -1, 17, 2**62, -(2**63)], pa.int64()),
    "small": pa.array([0, -128, 127], pa.int8()),
    "double": pa.array([0.0, -0.0, 0.1, 1e300, float("nan"), float("inf"), -float("inf")]),
    "float": pa.array([0.1, 1e10, float("nan"), -0.0], pa.float32()),
    "decimal": pa.array([Decimal("1.10"), Decimal("12345678901234567.89")], pa.decimal128(38, 2)),
    "truth": pa.array([True, False]),
    "day": pa.array([date(2020, 2, 29), date(1, 1, 1)]),
    "time": pa.array([0, 10**15 + 1], pa.timestamp("us", "UTC")),
    "clock": pa.array([0, -(10**12)], pa.timestamp("us")),
    "raw": pa.array([b"1", b"\xff"]),
    "tags": pa.array([["a"], []]),
    "nothing": pa.nulls(1),
}


def drawn(rows: int, seed: int) -> pa.Table:
    """Rows with values of each column, or none."""
    generator = np.random.default_rng(seed)

    def column(values: pa.Array) -> pa.Array:
        places = generator.integers(0, len(values), rows)
        return values.take(pa.array(places, mask=generator.random(rows) < 0.1))

    return pa.table({name: column(values) for name, values in VALUES.items()})


def figures(found: TableFacts) -> Any:
    """Facts as they can be compared."""
    return found.rows, found.facts, {name: codes.tolist() for name, codes in found.codes.items()}


@pytest.mark.parametrize(("rows", "seed"), [(1, 0), (40, 1), (300, 2)])
def test_facts_of_drawn_tables(spark: SparkSession, rows: int, seed: int) -> None:
    table = drawn(rows, seed)
    here, there = (
        gather_facts(open_frame(session, table, SOURCE), None)
        for session in (LocalSession(), spark)
    )
    assert figures(here) == figures(there)
    assert {one.name for one in here.facts} >= {"numbers_as_text"}


def test_different_values_of_a_sampled_table_are_estimated_equally(spark: SparkSession) -> None:
    table = pa.table(
        {"id": [f"p{i}" for i in range(30_000)], "age": [i % 90 for i in range(30_000)]},
    )
    here, there = (
        gather_facts(open_frame(session, table, SOURCE), 3000)
        for session in (LocalSession(), spark)
    )
    assert [one.whole for one in here.facts] == [one.whole for one in there.facts]
    assert [
        abs(one.whole.distinct / n - 1) < 0.06
        for one, n in zip(here.facts, (30_000, 90), strict=True)
    ]
    for found in (here, there):
        assert 2500 < found.facts[0].sampled < 3500
        assert found.facts[1].distinct == 90


def test_a_table_that_only_has_columns_without_a_text(spark: SparkSession) -> None:
    table = pa.table({"tags": [["a"], ["b"]]})
    here, there = (
        gather_facts(open_frame(session, table, SOURCE), None)
        for session in (LocalSession(), spark)
    )
    assert figures(here) == figures(there)
    assert here.rows == 2
    assert here.facts[0].unusable.startswith("its type, array, cannot be released; flatten it")


@pytest.mark.parametrize("form", ["csv", "csv with ;", "parquet", "frame"])
def test_the_same_run_file(spark: SparkSession, tmp_path: Path, form: str) -> None:
    people = drawn(200, 3).select(["text", "numbers as text", "iso", "age", "small", "truth"])
    names = ["zip code", "patient id", "birth_date", "age", "sex", "diagnosis"]
    table = pa.table(
        [[str(v).strip("\n") for v in column.to_pylist()] for column in people.columns],
        names,
    )
    given: Any = table
    if form == "parquet":
        given = str(tmp_path / "people.parquet")
        pq.write_table(table, given)
    elif form != "frame":
        sep = ";" if form.endswith(";") else ","
        given = str(tmp_path / "people.csv")
        lines = [names, *zip(*(column.to_pylist() for column in table.columns), strict=True)]
        Path(given).write_text("".join(sep.join(line) + "\n" for line in lines))
    here, there = (
        suggest(given, file=tmp_path / "people.yaml", engine=engine)
        for engine in ("local", "spark")
    )
    assert here.yaml == there.yaml
    assert here.roles == there.roles
    assert here.spec["input"]["columns"] == {"zip code": "zip_code", "patient id": "patient_id"}


def test_a_word_for_missing_numbers_and_other_forms_of_dates(
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    table = {
        "birth_date": [f"{i % 28 + 1:02d}.{i % 12 + 1:02d}.19{i % 90 + 10}" for i in range(400)],
        "age": ["NA" if i % 9 == 0 else str(20 + i % 60) for i in range(400)],
        "city": ["" if i % 5 == 0 else f"c{i % 7}" for i in range(400)],
        "diagnosis": ["flu", "gout", "cold", "flu"] * 100,
    }
    rows = [",".join(table), *map(",".join, zip(*table.values(), strict=True))]
    (tmp_path / "people.csv").write_text("\n".join([*rows, ""]))
    here, there = (
        suggest(tmp_path / "people.csv", engine=engine, log=None) for engine in ("local", "spark")
    )
    assert here.yaml == there.yaml
    assert here.spec["attributes"]["quasi_identifiers"] == {
        "age": {"type": "numeric", "missing_values": ["NA"]},
        "birth_date": {"type": "date", "date_format": "%d.%m.%Y"},
        "city": {"type": "categorical", "generalization": "set"},
    }
    missing = [
        {one.name: one.facts.whole.missing for one in found.columns} for found in (here, there)
    ]
    assert missing == [{"birth_date": 0, "age": 45, "city": 80, "diagnosis": 0}] * 2
