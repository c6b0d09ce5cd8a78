"""Tables in memory as Arrow tables of the types that Spark reads from Parquet. Without Spark."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tclose_spark.errors import InputError
from tclose_spark.io.input.arrow_frames import as_arrow, is_frame, readable


def made(table):
    return readable(as_arrow(table))[0]


def test_what_is_a_table_in_memory():
    frame = pd.DataFrame({"a": [1]})
    assert all(
        map(
            is_frame,
            (frame, pl.DataFrame(frame), pl.DataFrame(frame).lazy(), pa.table({"a": [1]})),
        ),
    )
    assert not any(map(is_frame, ("people.csv", {"a": [1]}, None, 3)))


def test_all_kinds_of_tables_become_one():
    frame = pd.DataFrame({"age": [30, 41], "sex": ["f", None], "x": [0.5, np.nan]})
    tables = [
        frame,
        pl.from_pandas(frame),
        pl.from_pandas(frame).lazy(),
        pa.Table.from_pandas(frame),
    ]
    first, *others = [made(table) for table in tables]
    assert first.schema.names == ["age", "sex", "x"]
    assert [str(kind) for kind in first.schema.types] == ["int64", "string", "double"]
    assert all(other.to_pydict() == first.to_pydict() for other in others)
    assert all(other.schema.types == first.schema.types for other in others)


def test_missing_values_of_pandas_are_missing():
    frame = pd.DataFrame(
        {
            "number": pd.array([1, None], dtype="Int64"),
            "float": [1.5, float("nan")],
            "text": pd.Series(["a", None], dtype=object),
            "text_or_nan": pd.Series(["a", np.nan], dtype=object),
            "flag": pd.array([True, None], dtype="boolean"),
            "category": pd.Categorical(["a", None]),
            "at": pd.to_datetime(["2020-01-02", None]),
        },
    )
    assert [column.null_count for column in made(frame).columns] == [1] * 7


def test_categories_become_their_values():
    category = pd.DataFrame(
        {"c": pd.Categorical(["b", "a", "b"], categories=["b", "a", "unused"], ordered=True)},
    )
    numbers = pd.DataFrame({"c": pd.Categorical([3, 1, 3])})
    enum = pl.DataFrame({"c": pl.Series(["b", "a", None], dtype=pl.Enum(["b", "a"]))})
    assert made(category)["c"].to_pylist() == ["b", "a", "b"]
    assert made(numbers)["c"].to_pylist() == [3, 1, 3]
    assert made(enum)["c"].to_pylist() == ["b", "a", None]


def test_a_pandas_index_is_no_column_and_names_are_texts():
    frame = pd.DataFrame({0: [1], "b": [2]}, index=pd.Index(["Ann"], name="name"))
    assert made(frame).column_names == ["0", "b"]


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pa.array([1], pa.uint8()), pa.int16()),
        (pa.array([1], pa.uint32()), pa.int64()),
        (pa.array([2**64 - 1], pa.uint64()), pa.decimal128(20, 0)),
        (pa.array([np.float16(0.5)], pa.float16()), pa.float32()),
        (pa.array([dt.date(2020, 1, 2)], pa.date64()), pa.date32()),
        (pa.array(["a"], pa.large_string()), pa.string()),
        (pa.array(["a"], pa.string_view()), pa.string()),
        (pa.array([dt.datetime(2020, 1, 2)], pa.timestamp("ns")), pa.timestamp("us")),
        (pa.array([dt.datetime(2020, 1, 2)], pa.timestamp("s", "UTC")), pa.timestamp("us", "UTC")),
        (pa.array([Decimal("1.50")], pa.decimal256(40, 2)), pa.decimal128(38, 2)),
    ],
    ids=lambda value: str(getattr(value, "type", value)),
)
def test_types_that_spark_lacks_become_wider_ones_of_the_same_values(column, kind):
    table, lost = readable(pa.table({"x": column}))
    assert table.schema.field("x").type == kind
    assert lost == {}
    assert table["x"].to_pylist() == column.cast(kind).to_pylist()


def test_a_column_that_cannot_be_had_is_empty_and_says_why():
    nanoseconds = pa.array([1], pa.timestamp("ns"))
    table, lost = readable(
        pa.table({"at": nanoseconds, "for": pa.array([5], pa.duration("s")), "age": [30]}),
    )
    assert table.to_pydict() == {"at": [None], "for": [None], "age": [30]}
    assert "nanoseconds" in lost["at"]
    assert "round it to microseconds" in lost["at"]
    assert lost["for"].startswith("of type duration[s], which Spark does not have")


def test_values_of_several_types_are_refused_without_showing_one():
    with pytest.raises(InputError) as found:
        as_arrow(
            pd.DataFrame({"age": [30], "who": [7]})
            .assign(who=pd.Series(["Ann"], dtype=object))
            .pipe(mixed),
        )
    assert "column 'who' of the table holds values of several types" in str(found.value)
    assert "Ann" not in str(found.value)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (pd.Series([2**70 + 7, 1], dtype=object), "integers beyond 64 bits; make them text"),
        (pd.Series(["\ud800Ann", "Bob"], dtype=object), "text that is not Unicode"),
        ([1180591620717411303431j, 2j], "values of a type that no table has"),
    ],
    ids=["integers", "text", "complex"],
)
def test_values_that_no_column_holds_are_refused_without_showing_one(values, why):
    with pytest.raises(InputError) as found:
        as_arrow(pd.DataFrame({"age": [30, 31], "who": values}))
    assert f"column 'who' of the table holds {why}" in str(found.value)
    assert not any(text in str(found.value) for text in ("Ann", "d800", "1180591620717411303431"))


def mixed(frame):
    return pd.concat(
        [frame, pd.DataFrame({"age": [31], "who": pd.Series([7], dtype=object)})],
        ignore_index=True,
    )


def test_a_column_that_stands_twice_is_refused():
    with pytest.raises(
        InputError,
        match="column 'a' of the table has a duplicate: 2 columns of this name",
    ):
        as_arrow(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    for names in (["a", "a"], ["a", "A"]):  # which Spark does not tell apart
        with pytest.raises(
            InputError,
            match="column 'a' of the table has a duplicate: 2 columns of this name but for",
        ):
            as_arrow(pa.table([[1], [2]], names=names))
        with pytest.raises(
            InputError,
            match="column 'a' of the table has a duplicate: 2 columns of this name but for",
        ):
            as_arrow(pd.DataFrame([[1, 2]], columns=names))


def test_intervals_of_pandas_are_texts():
    cut = pd.DataFrame({"age": [1, 5, None], "group": pd.cut(pd.Series([1, 5, None]), [0, 2, 9])})
    made, lost = readable(as_arrow(cut))
    assert made["group"].to_pylist() == ["(0, 2]", "(2, 9]", None]
    assert lost == {}


def test_times_of_a_zone_are_unreadable_but_those_in_utc():
    at = pa.array([dt.datetime(2020, 1, 2)], pa.timestamp("us", "Asia/Tokyo"))
    made, lost = readable(pa.table({"at": at, "utc": at.cast(pa.timestamp("us", "UTC"))}))
    assert "a timestamp of the zone Asia/Tokyo" in lost["at"]
    assert (made["at"].null_count, made["utc"].null_count) == (1, 0)


def test_a_type_that_arrow_has_not_is_refused():
    polars = pytest.importorskip("polars")
    with pytest.raises(
        InputError,
        match="a column of the table is of a type that Arrow does not have",
    ):
        as_arrow(polars.DataFrame({"age": polars.Series([1, 2], dtype=polars.Int128)}))
