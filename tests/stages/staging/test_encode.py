"""Raw rows as codes: they decode to what was read, and neither sample nor counts depend on
partitions or batches.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from spark_casts import prepare
from staged import stage

from tclose_spark.engine.tables import map_batches
from tclose_spark.io.input.reading import read_table
from tclose_spark.io.run import Run
from tclose_spark.stages.staging import encode
from tclose_spark.stages.staging.batches import HASH, read_batches, write_batch
from tclose_spark.stages.staging.encode import ROWS
from tclose_spark.table.rows import Codec, Rows, UnknownValueError
from tclose_spark.table.tally import LocalRows, Tally, TooManyKeysError

pytestmark = pytest.mark.on_spark

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


@pytest.fixture(autouse=True)
def several_tasks_join(monkeypatch: pytest.MonkeyPatch) -> None:
    """What they join of these small tables, as they do of large ones."""
    for name in ("ROWS_A_PART", "ROWS_OF_A_TASK", "ROWS_HELD"):
        monkeypatch.setattr(encode, name, 30)


@pytest.fixture
def run(make_run: MakeRun, drawn_people: Callable[..., pa.Table]) -> Run:
    """A run with quasi-identifiers of all kinds."""
    return make_run(drawn_people(5), **ROLES)


@pytest.fixture
def table(run: Run) -> DataFrame:
    """Its input."""
    return read_table(run.spark, run.spec.input)


def test_codes_decode_to_the_prepared_rows(run: Run, table: DataFrame) -> None:
    staged = stage(run, table.coalesce(1))
    codec = staged.encoder.codec
    packed = codec.unpack(codec.pack(staged.rows()).tobytes())
    decoded = [
        column.to_pylist() for column in (*codec.decode(packed), *codec.sensitive_texts(packed))
    ]
    expected = prepare(table, run.spec).collect()
    assert list(zip(*decoded, strict=True)) == [(*row[:6], str(row[6])) for row in expected]


def test_rows_that_are_alike_have_equal_hashes_and_others_have_not(
    run: Run,
    table: DataFrame,
) -> None:
    rows = stage(run, table).rows()
    assert len(set(rows.hash.tolist())) == len(set(contents(rows))) < len(rows)


def test_hashes_are_keyed_with_the_secret(run: Run, table: DataFrame) -> None:
    one, other = (
        set(stage(run, table, secret).rows().hash.tolist()) for secret in ("one", "other")
    )
    assert not one & other


def test_insensitive_columns_count_in_the_hash(
    make_run: MakeRun,
    drawn_people: Callable[..., pa.Table],
) -> None:
    run = make_run(
        drawn_people(5),
        quasi={"sex": {}},
        sensitive={"site": {}},
        insensitive_attributes=["note", "at"],
        drop_others=True,
    )
    table = read_table(run.spark, run.spec.input)
    rows = stage(run, table).rows()
    assert (
        len(set(rows.hash.tolist())) == table.select("sex", "site", "note", "at").distinct().count()
    )


def test_a_value_that_the_profile_does_not_have_is_an_error(run: Run, table: DataFrame) -> None:
    encoder = stage(run, table.where("disease != 'flu'")).encoder
    with pytest.raises(UnknownValueError):
        stage(run, table).rows(encoder)


def test_many_sensitive_attributes_of_many_values_have_their_codes() -> None:
    """The tuples of four attributes of 70,000 values are more than 64 bits can number."""
    values = tuple(f"{i:05}" for i in range(70_000))
    codes = np.stack([np.arange(70_000) * step % 70_000 for step in (1, 3, 9, 11)], axis=1)
    columns = [pa.array(values).take(pa.array(column)) for column in codes.T]
    rows = Codec((), (values,) * 4, codes).encode([], columns, np.zeros(70_000, dtype=np.uint64))
    assert np.array_equal(rows.cell, np.arange(70_000))


def contents(rows: Rows) -> list[tuple[int, ...]]:
    return list(zip(*[codes.tolist() for codes in (*rows.quasi, rows.cell)], strict=True))


HERE_AND_THERE = pytest.mark.parametrize("most_local", [0, 1000], ids=["by Spark", "by the driver"])


@HERE_AND_THERE
def test_the_sample_of_a_small_table_is_all_of_it(
    run: Run,
    table: DataFrame,
    most_local: int,
) -> None:
    staged = stage(run, table)
    assert Counter(contents(staged.encoded(most_local).sample(20_000))) == Counter(
        contents(staged.rows()),
    )


@HERE_AND_THERE
@pytest.mark.parametrize("wanted", [20, 1000])
def test_the_sample_is_the_same_for_any_order_and_partitions(
    run: Run,
    table: DataFrame,
    wanted: int,
    most_local: int,
) -> None:
    samples = [
        contents(stage(run, each).encoded(place).sample(wanted))
        for each, place in (
            (table, most_local),
            (table.orderBy("id"), most_local),
            (table.repartition(7), 0),
        )
    ]
    assert samples[0] == samples[1] == samples[2]
    assert 5 < len(samples[0]) < 60 if wanted == 20 else len(samples[0]) == 90


@HERE_AND_THERE
def test_many_rows_alike_leave_a_sample(run: Run, table: DataFrame, most_local: int) -> None:
    """Three contents, thousands of rows each: all three are drawn, not all their rows."""
    few = table.orderBy("id").limit(3)
    crowd = few.crossJoin(table.sparkSession.range(5000).select(F.col("id").alias("_copy"))).drop(
        "_copy",
    )
    staged = stage(run, crowd)
    sample = staged.encoded(20_000 * most_local).sample(300)
    assert set(contents(sample)) == set(contents(stage(run, few).rows(staged.encoder)))
    assert len(sample) <= 303


@HERE_AND_THERE
def test_rows_that_are_frequent_in_the_table_are_sampled_wherever_they_are(
    run: Run,
    table: DataFrame,
    most_local: int,
) -> None:
    """One content has a third of the rows, spread over all partitions."""
    one = table.orderBy("id").limit(1)
    more = one.crossJoin(table.sparkSession.range(45).select(F.col("id").alias("_copy")))
    crowd = table.unionByName(more.drop("_copy"))
    samples = [
        contents(stage(run, each).encoded(place).sample(30))
        for each, place in (
            (crowd, 1000 * most_local),
            (crowd.orderBy("disease"), 1000 * most_local),
            (crowd.repartition(7), 0),
        )
    ]
    assert samples[0] == samples[1] == samples[2]
    ((often, rows), *_) = Counter(contents(stage(run, crowd).rows())).most_common()
    assert Counter(samples[0])[often] / len(samples[0]) == pytest.approx(rows / 135, abs=0.13)


@pytest.mark.parametrize("wanted", [20, 30, 45])
def test_tasks_add_up_the_copies_of_a_row(run: Run, table: DataFrame, wanted: int) -> None:
    """Each of 30 rows has three copies, in different partitions. A sample of 30 rows has one."""
    thirty = table.orderBy("id").limit(30)
    staged = stage(run, thirty.unionByName(thirty).unionByName(thirty))
    sample = contents(staged.encoded().sample(wanted))
    assert sample == contents(LocalRows(staged.rows()).sample(wanted))
    if wanted == 30:
        assert Counter(sample) == Counter(contents(stage(run, thirty).rows(staged.encoder)))
    assert 10 < len(sample) < 60


@pytest.mark.parametrize("wanted", [40, 1000])
def test_rows_with_one_hash_are_different_if_their_codes_are(
    run: Run,
    table: DataFrame,
    wanted: int,
) -> None:
    """A person's rows have one hash, and may have different sensitive values."""

    def alike(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in read_batches(batch.column(0) for batch in batches):
            place = batch.schema.get_field_index(HASH)
            few = pa.array(batch.column(HASH).to_numpy() % np.uint64(7), batch.schema.types[place])
            changed = batch.set_column(place, batch.schema.field(place), few)
            yield pa.RecordBatch.from_arrays([pa.array([write_batch(changed)])], schema=ROWS)

    staged = stage(run, table)
    changed = replace(staged, batches=map_batches(staged.batches, alike, ROWS))
    sample = contents(changed.encoded().sample(wanted))
    assert sample == contents(LocalRows(changed.rows()).sample(wanted))
    assert len(set(sample)) > 7


@HERE_AND_THERE
def test_groups_are_counted_as_in_memory(
    run: Run,
    table: DataFrame,
    settings: Callable[..., Any],
    most_local: int,
) -> None:
    def group_of(rows: Rows) -> Any:
        return rows.cell * 2 + (rows.quasi[0] > 35)

    with settings({"spark.sql.execution.arrow.maxRecordsPerBatch": "7"}):
        staged = stage(run, table.repartition(5))
        groups = 2 * len(staged.encoder.codec.cells) + 3  # the last three are empty
        found = staged.encoded(most_local).counts(group_of, groups)
    assert found.tolist() == np.bincount(group_of(staged.rows()), minlength=groups).tolist()


@HERE_AND_THERE
def test_keys_are_counted_as_in_memory(
    run: Run,
    table: DataFrame,
    settings: Callable[..., Any],
    most_local: int,
) -> None:
    """Whatever keys there are; of more than are asked for, none."""

    def tally_of(rows: Rows) -> Tally:
        return Tally.of(np.stack([rows.quasi[0], rows.cell]))

    with settings({"spark.sql.execution.arrow.maxRecordsPerBatch": "7"}):
        staged = stage(run, table.repartition(5))
        encoded, expected = staged.encoded(most_local), tally_of(staged.rows())
        found = encoded.frequencies(tally_of, len(expected))
        assert (found.keys.tolist(), found.rows.tolist()) == (
            expected.keys.tolist(),
            expected.rows.tolist(),
        )
        assert found.rows.sum() == 90
        for most in (len(expected) - 1, 3):  # told by the driver, and by a task
            with pytest.raises(TooManyKeysError):
                encoded.frequencies(tally_of, most)
