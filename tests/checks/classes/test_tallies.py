"""The tallies of the classes: what a group-by in pandas counts, however partitions and batches cut
the classes.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from strategies import drawn

from tclose_spark.checks.classes import tallies as tallying
from tclose_spark.checks.classes.tallies import count_values, tally_classes
from tclose_spark.engine.tables import keep
from tclose_spark.errors import InputError
from tclose_spark.table.dictionaries import group_equal

NAN = float("nan")
Key = tuple[Any, ...]
SCHEMA = "age double, sex string, born date, disease string, score double, grade int"
LABELS, SENSITIVE = ["age", "sex", "born"], ["disease", "score", "grade"]


def tallied(
    table: DataFrame,
    labels: Sequence[str],
    sensitive: Sequence[str],
    at_once: int = 5,
) -> dict[Key, Counter[Key]]:
    """The tally of each class: {labels: {values: records}}. No class and no tuple of a class stands
    twice.
    """
    return read(tally_classes(table, labels, sensitive, at_once), len(labels))


def read(tallies: DataFrame, labels: int) -> dict[Key, Counter[Key]]:
    found: dict[Key, Counter[Key]] = {}
    for row in tallies.collect():
        *values, counts = row[labels:]
        tuples = list(zip(*values, strict=True)) if values else [()]
        assert len(set(tuples)) == len(tuples) == len(counts)
        assert tuple(row[:labels]) not in found
        found[tuple(row[:labels])] = Counter(dict(zip(tuples, counts, strict=True)))
    return found


# --- worked examples


def test_two_classes(spark: SparkSession):
    table = spark.createDataFrame(
        [
            ("[20, 29]", "f", "flu", 3),
            ("[20, 29]", "f", "gout", 3),
            ("[20, 29]", None, "flu", 5),
            ("[20, 29]", "f", "flu", 3),
            ("[20, 29]", None, None, None),
        ],
        "age string, sex string, disease string, pay int",
    )
    assert tallied(table, ["age", "sex"], ["disease", "pay"]) == {
        ("[20, 29]", "f"): {("flu", "3"): 2, ("gout", "3"): 1},
        ("[20, 29]", None): {("flu", "5"): 1, (None, None): 1},  # labels that are missing are equal
    }
    assert tallied(table, ["age"], ["disease"]) == {
        ("[20, 29]",): {("flu",): 3, ("gout",): 1, (None,): 1},
    }
    assert tallied(table, ["sex"], []) == {
        ("f",): {(): 3},
        (None,): {(): 2},
    }  # without sensitive attributes a class has its size


def test_nan_is_missing_and_the_sign_of_zero_is_none(spark: SparkSession):
    table = spark.createDataFrame(
        [(NAN, -0.0), (None, 0.0), (0.0, NAN), (-0.0, None), (0.0, -0.0)],
        "age double, score double",
    )
    assert tallied(table, ["age"], ["score"]) == {
        (None,): {("0.0",): 2},
        ("0.0",): {(None,): 2, ("0.0",): 1},
    }


def test_labels_and_values_are_text(spark: SparkSession):
    table = spark.sql(
        "SELECT 7 AS age, date'2001-02-03' AS born, 1.50BD AS cost, true AS smokes, "
        "date'2004-05-06' AS seen, 2.50BD AS pay",
    )
    tallies = tally_classes(table, ["age", "born", "cost", "smokes"], ["seen", "pay"])
    assert [field.dataType.simpleString() for field in tallies.schema] == [
        *["string"] * 4,
        *["array<string>", "array<string>", "array<bigint>"],
    ]
    assert read(tallies, 4) == {("7", "2001-02-03", "1.50", "true"): {("2004-05-06", "2.50"): 1}}


def test_names_with_dots_and_backticks(spark: SparkSession):
    table = spark.createDataFrame([("1", "a")], "`a.b` string, `c``d` string")
    assert tallied(table, ["a.b"], ["c`d"]) == {("1",): {("a",): 1}}


# --- against pandas


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    """500 records in some 50 classes of uneven sizes, with missing labels and values, NaN and
    -0.0.
    """
    draw = np.random.default_rng(41)
    days = pd.to_datetime(["2001-02-03", "2004-05-06"]).date

    def pick(values: Sequence[Any]) -> pd.Series:
        weights = np.arange(1, len(values) + 1) ** 2.0
        return pd.Series(
            [values[i] for i in draw.choice(len(values), 500, p=weights / weights.sum())],
            dtype=object,
        )

    return pd.DataFrame(
        {
            "age": pick([None, NAN, -0.0, 0.0, 20.0, 30.0, 1e7]),
            "sex": pick([None, "", "f", "m"]),
            "born": pick([None, *days]),
            "disease": pick([None, "flu", "gout", "a, b"]),
            "score": pick([NAN, None, -0.0, 0.0, 1.5]),
            "grade": pick([None, 1, 2, 3]),
        },
    )


def in_one_form(x: Any) -> Any:
    return None if x is None or x != x else x + 0.0 if isinstance(x, float) else x


def as_text(x: Any) -> str | None:
    """As Spark casts it."""
    x = in_one_form(x)
    return None if x is None else "1.0E7" if x == 1e7 else str(x)


def expected_tallies(people: pd.DataFrame) -> dict[Key, Counter[Key]]:
    """By a group-by over labels and values as text."""
    plain = pd.DataFrame({column: people[column].map(as_text) for column in [*LABELS, *SENSITIVE]})
    counts = (
        plain.astype(object)
        .where(plain.notna(), None)
        .groupby([*LABELS, *SENSITIVE], dropna=False)
        .size()
    )
    found: dict[Key, Counter[Key]] = {}
    for key, count in counts.items():
        parts = tuple(None if pd.isna(part) else part for part in key)
        found.setdefault(parts[:3], Counter())[parts[3:]] += count
    return found


@pytest.fixture(scope="module")
def table(spark: SparkSession, people: pd.DataFrame) -> DataFrame:
    return spark.createDataFrame([tuple(row) for row in people.to_numpy()], SCHEMA)


BATCH, TASKS = "spark.sql.execution.arrow.maxRecordsPerBatch", "spark.sql.shuffle.partitions"
LAYOUTS: dict[str, tuple[Mapping[str, str], Callable[[DataFrame], DataFrame]]] = {
    "one file": ({}, lambda table: table.coalesce(1)),
    "classes in several files, batches of 7": ({BATCH: "7"}, lambda table: table.repartition(4)),
    "batches of one row, three tasks": (
        {BATCH: "1", TASKS: "3"},
        lambda table: table.repartition(2),
    ),
}


@pytest.mark.parametrize(
    ("layout", "at_once"),
    [
        ("one file", 1 << 20),
        ("classes in several files, batches of 7", 1),
        ("classes in several files, batches of 7", 100),
        ("batches of one row, three tasks", 3),
        ("batches of one row, three tasks", 1 << 20),
    ],
)
def test_the_tallies_are_what_grouping_gives(
    spark: SparkSession,
    settings: Any,
    people: pd.DataFrame,
    table: DataFrame,
    layout: str,
    at_once: int,
):
    values, lay = LAYOUTS[layout]
    expected = expected_tallies(people)
    assert len(expected) > 40
    assert sum(sum(tuples.values()) for tuples in expected.values()) == 500
    with settings(values):
        assert tallied(lay(table), LABELS, SENSITIVE, at_once) == expected


def test_what_is_asked_of_tallies_is_what_counting_the_rows_gives(
    settings: Any,
    people: pd.DataFrame,
    table: DataFrame,
    monkeypatch: pytest.MonkeyPatch,
):
    texts = {name: [as_text(x) for x in people[name]] for name in SENSITIVE}
    with (
        settings({BATCH: "7"}),
        keep(tally_classes(table.repartition(3), ["sex"], SENSITIVE, 40)) as tallies,
    ):
        assert tallies.storageLevel.useDisk
        assert read(tallies, 1) == read(tallies, 1)  # what is kept does not change
        assert sum(sum(tuples.values()) for tuples in read(tallies, 1).values()) == 500
        marginals, tuples = count_values(tallies, SENSITIVE)
        assert marginals == [Counter(texts[name]) for name in SENSITIVE]
        assert tuples == Counter(zip(*texts.values(), strict=True))
        monkeypatch.setattr(tallying, "MOST_VALUES", 10)  # more tuples than that, no more values
        assert count_values(tallies, SENSITIVE) == (marginals, None)
    assert not tallies.storageLevel.useDisk  # and is let go


def test_where_nothing_can_be_kept_the_table_is_computed(
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
):
    table = spark.range(3)

    def refuse(*_: Any) -> DataFrame:
        raise PySparkException("no cache here")

    monkeypatch.setattr(type(table), "persist", refuse)
    with keep(table) as held:
        assert held is table


def test_a_driver_holds_no_more_values_than_it_can(
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
):
    tallies = tally_classes(
        spark.createDataFrame(
            [("1", "a", "x"), ("1", "b", "y"), ("2", "b", "x")],
            "q string, s string, u string",
        ),
        "q",
        "su",
    )
    values = [{"a": 1, "b": 2}, {"x": 2, "y": 1}]
    assert count_values(tallies, ["s", "u"]) == (
        values,
        {("a", "x"): 1, ("b", "y"): 1, ("b", "x"): 1},
    )
    monkeypatch.setattr(tallying, "MOST_VALUES", 2)
    assert count_values(tallies, ["s", "u"]) == (values, None)
    monkeypatch.setattr(tallying, "MOST_VALUES", 1)
    with pytest.raises(InputError, match="sensitive attribute 's' has more than 1 distinct values"):
        count_values(tallies, ["s", "u"])


def test_no_rows_are_no_classes(spark: SparkSession):
    tallies = tally_classes(spark.createDataFrame([], "q string, s string"), ["q"], ["s"])
    assert tallies.collect() == []
    assert count_values(tallies, ["s"]) == ([{}], {})


def test_without_sensitive_attributes_there_is_nothing_to_count(spark: SparkSession):
    assert count_values(
        tally_classes(spark.createDataFrame([("1",)], "q string"), ["q"], []),
        [],
    ) == ([], None)


# --- rows that are equal, pure


def check_groups(columns: Sequence[Sequence[Any]]) -> None:
    group, first = group_equal([pa.array(column) for column in columns])
    rows = list(zip(*columns, strict=True))
    assert len(first) == len(set(rows)) == len(set(group.tolist()))
    assert [
        rows[first[g]] for g in group.tolist()
    ] == rows  # each row is in the group of a row that is equal


@drawn(100)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", "", None]),
            st.sampled_from([1, 2, None]),
            st.booleans(),
        ),
        min_size=1,
        max_size=20,
    ),
)
def test_rows_are_in_one_group_where_they_are_equal(rows: list[tuple[Any, ...]]):
    check_groups(list(zip(*rows, strict=True)))


@pytest.mark.parametrize(
    "columns",
    [2, 3, 9],
    ids=["numbered", "sorted", "more groups than 62 bits could number"],
)
def test_many_columns_of_many_values(columns: int):
    draw = np.random.default_rng(columns)
    values = draw.integers(0, 400, (1000, columns))
    check_groups(np.concatenate([values, values[draw.integers(0, 1000, 500)]]).T.tolist())
