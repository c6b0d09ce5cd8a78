"""Codes for missing values are read as missing, whatever the type of a column, and on both engines
alike.
"""

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from strategies import drawn

from tclose_spark.engine.sources import RunColumns, frame_table, open_table, read_table
from tclose_spark.engine.tables import collect, map_batches, read_as_missing, schema_of
from tclose_spark.io.local_session import LocalSession
from tclose_spark.runfile.columns import NUMBER, code_of
from tclose_spark.runfile.spec import Input

COLUMNS: dict[str, tuple[pa.Array, list[Any], list[Any]]] = {
    "whole": (pa.array([5, 98, -9]), ["98", "-9"], [5, None, None]),
    "short": (pa.array([5, 98, 99], pa.int8()), ["98.0", "999"], [5, None, 99]),
    "double": (pa.array([99.0, 99.5, 99999999.0]), ["99", "99999999"], [None, 99.5, None]),
    "float": (pa.array([99.5, 1e9, 1.0], pa.float32()), ["99.50", "1000000000"], [None, None, 1.0]),
    "decimal": (
        pa.array(list(map(Decimal, ("99.00", "9.90", "1.00"))), pa.decimal128(6, 2)),
        ["99", "9.9"],
        [None, None, Decimal("1.00")],
    ),
    "number_as_text": (pa.array(["99", "99.0", "099"]), [Decimal(99)], [None, None, "099"]),
    "number_in_quotes": (pa.array(["99", "99.0", "099"]), ["99"], [None, "99.0", "099"]),
    "text": (
        pa.array(["Unknown", "unknown", "a.b|c"]),
        ["Unknown", "a.b|c", "."],
        [None, "unknown", None],
    ),
    "truth": (pa.array([True, False, None]), ["true"], [None, False, None]),
    "day": (
        pa.array([date(2020, 1, 1), date(9999, 12, 31), None]),
        ["9999-12-31"],
        [date(2020, 1, 1), None, None],
    ),
    "time": (
        pa.array([datetime(1900, 1, 1), datetime(1900, 1, 1, 1), None], pa.timestamp("us")),
        ["1900-01-01"],
        [None, datetime(1900, 1, 1, 1), None],
    ),
    "others": (pa.array([98, 99, 999]), [], [98, 99, 999]),
}
TABLE = pa.table({name: column for name, (column, _, _) in COLUMNS.items()})
CODES = {name: codes for name, (_, codes, _) in COLUMNS.items()}
EXPECTED = {name: expected for name, (_, _, expected) in COLUMNS.items()}


def session_of(on: str, request: pytest.FixtureRequest) -> Any:
    return LocalSession() if on == "local" else request.getfixturevalue("spark")


def test_codes_of_each_type_are_read_as_missing() -> None:
    read = read_as_missing(frame_table(LocalSession(), TABLE), CODES)
    assert collect(read).to_pydict() == EXPECTED
    assert schema_of(read) == TABLE.schema


@pytest.mark.parametrize("kind", ["parquet", "csv", "frame"])
def test_both_engines_read_the_same_codes_as_missing(
    kind: str,
    tmp_path: Path,
    spark: SparkSession,
) -> None:
    path = str(tmp_path / f"table.{kind}")
    pq.write_table(TABLE, path) if kind == "parquet" else pcsv.write_csv(TABLE, path)
    found = []
    for session in (LocalSession(), spark):
        opened = open_table(
            session,
            TABLE if kind == "frame" else path,
            TABLE.column_names,
            None,
            {},
            RunColumns(codes=CODES),
        )
        passed = map_batches(
            opened.table,
            lambda batches: batches,
            schema_of(opened.table),
            may_be_coded=True,
        )
        found.append([collect(opened.table).to_pydict(), collect(passed).to_pydict()])
    assert found[0] == found[1]
    if kind != "csv":  # whose values are texts
        assert found[0] == [EXPECTED, EXPECTED]
    assert found[0][0]["number_as_text"] == [None, None, "099"]
    assert found[0][0]["number_in_quotes"] == [None, "99.0", "099"]


@pytest.mark.parametrize("on", ["local", pytest.param("spark", marks=pytest.mark.on_spark)])
def test_codes_are_written_as_the_numbers_of_their_file(
    on: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:
    (tmp_path / "a.csv").write_text("wage;sex\n1.000;f\n99,0;m\n1000;f\n2.000;m\n1,5;f\n")
    options = {"sep": ";", "decimal": ",", "thousands": "."}
    for codes, expected in {
        ("1.000",): [None, "99.0", None, "2000", "1.5"],
        ("99,0",): ["1000", None, "1000", "2000", "1.5"],
        (Decimal(2000), Decimal("1.5")): ["1000", "99.0", "1000", None, None],
    }.items():
        given = {"wage": codes}
        read = open_table(
            session_of(on, request),
            str(tmp_path / "a.csv"),
            ["wage"],
            None,
            options,
            RunColumns(codes=given),
        )
        assert collect(read.table)["wage"].to_pylist() == expected


CODE = st.sampled_from(["99", "99.0", "099", "-9", "1e3", "a", "Unknown", "99.", ".9", "1.000"])


@drawn(60, quick=15)
@given(
    texts=st.lists(CODE, min_size=1, max_size=5),
    codes=st.lists(CODE, min_size=1, max_size=3),
    quoted=st.booleans(),
)
def test_texts_are_codes_as_they_are_written_and_numbers_by_their_value(
    texts: list[str],
    codes: list[str],
    quoted: bool,
) -> None:
    given: list[Any] = codes if quoted else [*map(code_of, codes)]
    read = read_as_missing(frame_table(LocalSession(), pa.table({"x": texts})), {"x": given})
    plain = [text for text in texts if NUMBER.fullmatch(text)]
    numbers = {Decimal(text) for text in given if isinstance(text, Decimal)}
    expected = [None if t in codes or (t in plain and Decimal(t) in numbers) else t for t in texts]
    assert collect(read)["x"].to_pylist() == expected


def test_columns_that_are_opened_alone_have_no_codes(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "t.parquet", use_dictionary=True)
    source = Input(path=str(tmp_path / "t.parquet"), columns={"text": "word"})
    read: Any = read_table(LocalSession(), source, codes={"word": ["Unknown"], "whole": ["98"]})
    alone = read.reopened(["word", "whole"], True).collect()
    assert alone["word"].cast(pa.string()).to_pylist() == [None, "unknown", "a.b|c"]
    assert alone["whole"].to_pylist() == [5, None, -9]
