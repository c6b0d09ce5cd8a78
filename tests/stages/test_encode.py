"""Raw rows as codes: they decode to what was read, and neither sample nor counts depend on partitions or batches."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tclose_spark.io.reading import read_table
from tclose_spark.io.run import Run
from tclose_spark.io.tables import prepare
from tclose_spark.stages.encode import Encoder, code_table, count_groups, draw_sample
from tclose_spark.stages.profile import profile_table
from tclose_spark.table.domains import Profile
from tclose_spark.table.rows import Codec, Rows, UnknownValueError

MakeRun = Callable[..., Run]

ROLES: dict[str, Any] = {
    "quasi": {
        "age": {"type": "numeric"},
        "weight": {"type": "numeric"},
        "hours": {"type": "numeric"},
        "sex": {},
        "city": {"hierarchy": "cities.csv"},
    },
    "sensitive": {"disease": {}, "grade": {"distance": "ordered"}},
    "drop_others": True,
}


@pytest.fixture
def run(make_run: MakeRun, drawn_people: Callable[..., pa.Table]) -> Run:
    """A run with quasi-identifiers of all kinds."""
    return make_run(drawn_people(5), **ROLES)


@pytest.fixture
def table(run: Run) -> DataFrame:
    """Its input."""
    return read_table(run.spark, run.spec.input)


def profile_of(run: Run, table: DataFrame) -> Profile:
    return profile_table(table, run.spec, run.hierarchies)


def encoder_of(run: Run, table: DataFrame) -> Encoder:
    return Encoder.of(run.spec, profile_of(run, table), run.secret)


def rows_of(run: Run, table: DataFrame, encoder: Encoder) -> Rows:
    """All rows of a table in memory, in its order (it must have one partition)."""
    (batch,) = code_table(table, run.spec).toArrow().combine_chunks().to_batches()
    return encoder.rows(batch)


def sample_of(run: Run, table: DataFrame, profile: Profile, most: int) -> Rows:
    return draw_sample(table, run.spec, Encoder.of(run.spec, profile, run.secret), profile.distinct_rows, most)


def test_codes_decode_to_the_prepared_rows(run: Run, table: DataFrame) -> None:
    encoder = encoder_of(run, table)
    codec = encoder.codec
    packed = codec.unpack(codec.pack(rows_of(run, table.coalesce(1), encoder)))
    decoded = [column.to_pylist() for column in (*codec.decode(packed), *codec.sensitive_texts(packed))]
    expected = prepare(table, run.spec).collect()
    assert list(zip(*decoded, strict=True)) == [(*row[:6], str(row[6])) for row in expected]


def test_rows_that_are_alike_have_equal_hashes_and_others_have_not(run: Run, table: DataFrame) -> None:
    rows = rows_of(run, table.coalesce(1), encoder_of(run, table))
    assert len(set(rows.hash.tolist())) == len(set(contents(rows))) < len(rows)


def test_hashes_are_keyed_with_the_secret(run: Run, table: DataFrame) -> None:
    profile = profile_of(run, table)
    one, other = (
        set(rows_of(run, table.coalesce(1), Encoder.of(run.spec, profile, secret)).hash.tolist())
        for secret in ("one", "other")
    )
    assert not one & other


def test_insensitive_columns_count_in_the_hash(make_run: MakeRun, drawn_people: Callable[..., pa.Table]) -> None:
    run = make_run(
        drawn_people(5),
        quasi={"sex": {}},
        sensitive={"site": {}},
        insensitive_attributes=["note", "at"],
        drop_others=True,
    )
    table = read_table(run.spark, run.spec.input)
    rows = rows_of(run, table.coalesce(1), encoder_of(run, table))
    assert len(set(rows.hash.tolist())) == table.select("sex", "site", "note", "at").distinct().count()


def test_a_value_that_the_profile_does_not_have_is_an_error(run: Run, table: DataFrame) -> None:
    encoder = encoder_of(run, table.where("disease != 'flu'"))
    with pytest.raises(UnknownValueError):
        rows_of(run, table.coalesce(1), encoder)


def test_many_sensitive_attributes_of_many_values_have_their_codes() -> None:
    """The tuples of four attributes of 70,000 values are more than 64 bits can number."""
    values = tuple(f"{i:05}" for i in range(70_000))
    codes = np.stack([np.arange(70_000) * step % 70_000 for step in (1, 3, 9, 11)], axis=1)
    columns = [pa.array(values).take(pa.array(column)) for column in codes.T]
    rows = Codec((), (values,) * 4, codes).encode([], columns, np.zeros(70_000, dtype=np.uint64))
    assert np.array_equal(rows.cell, np.arange(70_000))


def contents(rows: Rows) -> list[tuple[int, ...]]:
    return list(zip(*[codes.tolist() for codes in (*rows.quasi, rows.cell)], strict=True))


def test_the_sample_of_a_small_table_is_all_of_it(run: Run, table: DataFrame) -> None:
    sample = sample_of(run, table, profile_of(run, table), 20_000)
    assert Counter(contents(sample)) == Counter(contents(rows_of(run, table.coalesce(1), encoder_of(run, table))))


@pytest.mark.parametrize("wanted", [20, 1000])
def test_the_sample_is_the_same_for_any_order_and_partitions(run: Run, table: DataFrame, wanted: int) -> None:
    profile = profile_of(run, table)
    samples = [
        contents(sample_of(run, each, profile, wanted)) for each in (table, table.orderBy("id"), table.repartition(7))
    ]
    assert samples[0] == samples[1] == samples[2]
    assert 5 < len(samples[0]) < 60 if wanted == 20 else len(samples[0]) == 90


def test_many_rows_alike_leave_a_sample(run: Run, table: DataFrame) -> None:
    """Three contents, thousands of rows each: all three are drawn, not all their rows."""
    few = table.orderBy("id").limit(3)
    crowd = few.crossJoin(table.sparkSession.range(5000).select(F.col("id").alias("_copy"))).drop("_copy")
    sample = sample_of(run, crowd, profile_of(run, crowd), 300)
    assert set(contents(sample)) == set(contents(rows_of(run, few.coalesce(1), encoder_of(run, crowd))))
    assert len(sample) <= 303


def test_groups_are_counted_as_in_memory(run: Run, table: DataFrame, settings: Callable[..., Any]) -> None:
    encoder = encoder_of(run, table)

    def group_of(rows: Rows) -> Any:
        return rows.cell * 2 + (rows.quasi[0] > 35)

    groups = 2 * len(encoder.codec.cells) + 3  # the last three are empty
    expected = np.bincount(group_of(rows_of(run, table.coalesce(1), encoder)), minlength=groups)
    with settings({"spark.sql.execution.arrow.maxRecordsPerBatch": "7"}):
        found = count_groups(table.repartition(5), run.spec, encoder, group_of, groups)
    assert found.tolist() == expected.tolist()
