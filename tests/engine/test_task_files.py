"""Inputs whose files tasks of Spark open themselves: the same staged rows as when Spark reads them,
on every kind of input, and what is left to Spark.
"""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import draw_people
from deltalake import write_deltalake
from pyspark.sql import SparkSession
from staged import stage

from tclose_spark.engine import sources
from tclose_spark.engine.local import parquet_files
from tclose_spark.engine.local.parquet_files import ParquetFile, open_parquet
from tclose_spark.engine.protocol import OpenedTable
from tclose_spark.engine.spark import task_files
from tclose_spark.engine.spark.task_files import TaskFiles, frame_of
from tclose_spark.engine.tables import collect, map_batches, schema_of, select, send_to_tasks
from tclose_spark.errors import InputError
from tclose_spark.io.run import Run
from tclose_spark.runfile.spec import Input
from tclose_spark.table.arrays import Mapper
from tclose_spark.table.dictionaries import decoded

pytestmark = pytest.mark.on_spark

Settings = Callable[[Mapping[str, str]], Any]
ROWS, SECRET = 90, "a secret of tests, long enough"


def of_arrow(table: pa.Table, path: Path, spark: SparkSession) -> None:
    pq.write_table(table, path, row_group_size=20)


def of_int96(table: pa.Table, path: Path, spark: SparkSession) -> None:
    pq.write_table(table, path, use_deprecated_int96_timestamps=True, use_dictionary=False)


def of_two_writers(table: pa.Table, path: Path, spark: SparkSession) -> None:
    path.mkdir()
    pq.write_table(table.slice(0, 40), path / "a.parquet", version="1.0", compression="gzip")
    pq.write_table(table.slice(40), path / "b.parquet", data_page_version="2.0", row_group_size=9)
    pq.write_table(table.slice(0, 0), path / "c.parquet")


def of_spark(table: pa.Table, path: Path, spark: SparkSession) -> None:
    spark.createDataFrame(table).repartition(3).write.parquet(str(path))


def delta_of_spark(table: pa.Table, path: Path, spark: SparkSession) -> None:
    frame = spark.createDataFrame(table)
    frame.where("id < 30").write.format("delta").partitionBy("site", "grade").save(str(path))
    frame.where("id >= 30").write.format("delta").mode("append").save(str(path))


def delta_of_rust(table: pa.Table, path: Path, spark: SparkSession) -> None:
    write_deltalake(str(path), table, partition_by=["city"])


KINDS = {
    "a file of Arrow": of_arrow,
    "a file with times of 96 bits": of_int96,
    "files of several forms": of_two_writers,
    "a folder of Spark": of_spark,
    "Delta of Spark": delta_of_spark,
    "Delta of another library": delta_of_rust,
}
ROLES: dict[str, dict[str, Any]] = {
    "rows": {
        "quasi": {
            "age": {"type": "numeric"},
            "weight": {"type": "numeric"},
            "hours": {"type": "numeric"},
            "sex": {"text": {"case": "fold"}},
            "city": {"hierarchy": "cities.csv"},
            "at": {"type": "timestamp"},
        },
        "sensitive": {"disease": {}, "grade": {"distance": "ordered"}},
        "insensitive_attributes": ["site", "note", "score"],
        "pseudonyms": ["id"],
    },
    "people of several rows": {
        "quasi": {
            "age": {"type": "numeric"},
            "city": {"missing": "any", "hierarchy": "cities.csv"},
        },
        "sensitive": {"disease": {"text": {"strip": True, "case": "fold"}}, "score": {}},
        "insensitive_attributes": ["note"],
        "person": "hours",
        "method": {"name": "closeness_tree"},
        "drop_others": True,
    },
    "weights": {
        "quasi": {"sex": {}, "site": {"generalization": "set"}},
        "sensitive": {"grade": {"distance": "ordered"}},
        "weight": {"column": "hours", "publish": True, "round_to": 1},
        "insensitive_attributes": [],
        "drop_others": True,
    },
}


@pytest.fixture
def make_kind(
    write_run: Callable[..., Path],
    open_run: Callable[..., Run],
    spark: SparkSession,
    tmp_path: Path,
) -> Any:
    """`make_kind(kind, roles, table)`: the run of a table that is written as one of KINDS."""

    def made(kind: str, roles: str, table: pa.Table) -> Run:
        KINDS[kind](table, tmp_path / "people", spark)
        source = {"path": "people", "format": "delta" if "Delta" in kind else "parquet"}
        return open_run(write_run(tmp_path, None, source=source, k=2, **ROLES[roles]))

    return made


@pytest.mark.parametrize("roles", ROLES)
@pytest.mark.parametrize("kind", KINDS)
def test_tasks_stage_the_rows_that_spark_reads(
    make_kind: Callable[..., Run],
    kind: str,
    roles: str,
) -> None:
    people = draw_people(len(kind) + len(roles), ROWS)
    for name in ("sex", "disease"):  # which text options make equal
        texts = [
            text.upper() if text and row % 2 else text
            for row, text in enumerate(people[name].to_pylist())
        ]
        people = people.set_column(people.column_names.index(name), name, pa.array(texts))
    if roles != "rows":
        numbers = pa.array([str(1 + row % 31) for row in range(ROWS)])
        people = people.set_column(people.column_names.index("hours"), "hours", numbers)
    run = make_kind(kind, roles, people)
    table = read(run)
    assert isinstance(table, TaskFiles)
    by_tasks, by_spark = (stage(run, one, SECRET) for one in (table, frame_of(table)))
    assert by_tasks.profile == by_spark.profile
    assert by_tasks.profile.rows == ROWS
    assert rows_of(by_tasks.batches) == rows_of(by_spark.batches)


def test_errors_while_rows_are_staged(make_kind: Callable[..., Run], tmp_path: Path) -> None:
    people = draw_people(1, ROWS)
    texts = pa.array([b"r\xe9" if row < 3 else b"f" for row in range(ROWS)]).view(pa.string())
    damaged = people.set_column(people.column_names.index("sex"), "sex", texts)
    run = make_kind("a file of Arrow", "rows", damaged)
    with pytest.raises(InputError, match=r"^column 'sex' \(3 rows\): text is not in UTF-8"):
        stage(run, read(run), SECRET)
    pq.write_table(people, tmp_path / "people")
    table = read(run)
    pq.write_table(people.slice(1), tmp_path / "people")
    with pytest.raises(
        InputError,
        match=r"^input.path: people has changed since the table was looked at; run again$",
    ):
        stage(run, table, SECRET)


def read(run: Run) -> Any:
    commit = sources.commit_of(run.session, run.spec.input)
    version = None if commit is None else commit.version
    return sources.read_table(run.session, run.spec.input, version, run.spec.attributes.inputs)


def test_tasks_send_the_staged_rows_that_spark_reads(make_kind: Callable[..., Run]) -> None:
    run = make_kind("a file of Arrow", "rows", draw_people(5, ROWS))
    staged = stage(run, read(run), SECRET).batches
    assert isinstance(staged, TaskFiles)
    schema = pa.schema([("task", pa.int32()), ("batch", pa.binary())])

    def numbered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_arrays(
                [pa.array([1] * len(batch), pa.int32()), batch["batch"]],
                schema=schema,
            )

    by_tasks, by_spark = (
        send_to_tasks(select(table, ["batch"]), numbered, schema, 3)
        for table in (staged, frame_of(staged))
    )
    assert rows_of(by_tasks) == rows_of(by_spark)


def test_a_batch_of_long_rows_has_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_files, "BATCH_BYTES", 50_000)
    table = pa.table({"long": [f"{row:05}" * 200 for row in range(300)], "short": list(range(300))})
    pq.write_table(table, tmp_path / "file.parquet", row_group_size=100, use_dictionary=False)
    file = open_parquet(tmp_path / "file.parquet")
    for schema, most in ((table.schema, 50), (table.schema.remove(0), 200)):
        batches = list(file.batches([0, 2], schema, Counter()))
        assert max(map(len, batches)) in range(most // 2, most + 1)
        read = pa.Table.from_batches(batches)
        assert read == pa.concat_tables([table.slice(0, 100), table.slice(200)]).select(
            schema.names,
        ).cast(read.schema)


def rows_of(staged: Any) -> list[str]:
    """The staged rows with their hashes, in an order of their own."""
    values = collect(staged)["batch"].drop_null().to_pylist()
    batches = [pa.ipc.open_stream(value).read_all() for value in values]
    rows = [str(row) for batch in batches for row in batch.to_pylist()]
    assert len(rows) == ROWS
    return sorted(rows)


# --- what is left to Spark


@pytest.fixture
def people(tmp_path: Path) -> Input:
    """A file of people that tasks open."""
    pq.write_table(draw_people(3, ROWS), tmp_path / "people.parquet", row_group_size=30)
    return Input(path=str(tmp_path / "people.parquet"), format="parquet")


def is_left(spark: SparkSession, source: Input, version: int | None = None) -> bool:
    return not isinstance(sources.read_table(spark, source, version), TaskFiles)


@pytest.mark.parametrize(
    "key",
    ["files.ignoreCorruptFiles", "files.ignoreMissingFiles", "parquet.int96TimestampConversion"],
)
def test_settings_that_change_what_spark_reads(
    spark: SparkSession,
    people: Input,
    settings: Settings,
    key: str,
) -> None:
    assert not is_left(spark, people)
    with settings({f"spark.sql.{key}": "true"}):
        assert is_left(spark, people)


@pytest.mark.parametrize("mode", ["LEGACY", "EXCEPTION"])
def test_dates_of_another_calendar(
    spark: SparkSession,
    people: Input,
    settings: Settings,
    mode: str,
) -> None:
    with settings({"spark.sql.parquet.datetimeRebaseModeInRead": mode}):
        assert is_left(spark, people)
    legacy = f"{people.path}.legacy"
    with settings({"spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY"}):
        spark.sql("SELECT date'1500-01-01' AS day").write.parquet(legacy)
    source = Input(path=legacy, format="parquet")
    assert is_left(spark, source)
    assert rows_read(spark, source) == [{"day": dt.date(1500, 1, 1)}]


@pytest.mark.parametrize("key", ["SPARK_REMOTE", "DATABRICKS_RUNTIME_VERSION"])
def test_platforms_that_provide_the_session(
    spark: SparkSession,
    people: Input,
    key: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(key, "17")
    assert is_left(spark, people)


def test_sessions_without_a_jvm_of_their_own(
    spark: SparkSession,
    people: Input,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(task_files, "java_of", lambda _: None)
    assert is_left(spark, people)


def test_folders_of_partitions_options_and_many_files(
    spark: SparkSession,
    people: Input,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spark.sql("SELECT 'a' AS sex, 1 AS age").write.partitionBy("sex").parquet(f"{tmp_path}/parts")
    assert is_left(spark, Input(path=f"{tmp_path}/parts", format="parquet"))
    assert is_left(spark, people.model_copy(update={"options": {"mergeSchema": "true"}}))
    assert is_left(spark, people.model_copy(update={"path": f"{tmp_path}/*.parquet"}))
    spark.range(9).repartition(3).write.parquet(f"{tmp_path}/three")
    three = Input(path=f"{tmp_path}/three", format="parquet")
    assert not is_left(spark, three)
    monkeypatch.setattr(task_files, "MOST_FILES", 2)
    assert is_left(spark, three)


def test_delta_tables_whose_files_hold_other_rows(spark: SparkSession, tmp_path: Path) -> None:
    plain, deleted = f"{tmp_path}/plain", f"{tmp_path}/deleted"
    spark.range(9).write.format("delta").save(plain)
    spark.range(9).coalesce(1).write.format("delta").option(
        "delta.enableDeletionVectors",
        "true",
    ).save(deleted)
    another = spark.newSession()  # in which nothing was observed: Delta would serialize it
    another.sql(f"DELETE FROM delta.`{deleted}` WHERE id = 3")
    assert not is_left(spark, Input(path=plain, format="delta"), 0)
    assert is_left(spark, Input(path=plain, format="delta"))  # another commit may come between
    assert is_left(spark, Input(path=deleted, format="delta"), 1)
    assert len(rows_read(spark, Input(path=deleted, format="delta"), 1)) == 8


def test_columns_that_no_release_can_have(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2], "many": [[1], None]}), tmp_path / "people.parquet")
    source = Input(path=str(tmp_path / "people.parquet"), format="parquet")
    assert rows_read(spark, source, kinds=pa.schema({"many": pa.list_(pa.int64())})) == [
        {"many": [1]},
        {"many": None},
    ]
    assert rows_read(spark, source, kinds=pa.schema({"a": pa.int64()})) == [{"a": 1}, {"a": 2}]


def rows_read(
    spark: SparkSession,
    source: Input,
    version: int | None = None,
    columns: Sequence[str] | None = None,
    kinds: pa.Schema | None = None,
) -> list[dict[str, Any]]:
    """The rows that tasks get, of the columns in `kinds`. columns: those in use."""
    table = sources.read_table(spark, source, version, columns)
    return rows_of_table(table, source, kinds or schema_of(table), columns)


def rows_of_table(
    table: Any,
    source: Input,
    kinds: pa.Schema,
    columns: Sequence[str] | None = None,
) -> list[dict[str, Any]]:
    with sources.errors_translated(OpenedTable(table, source, columns or kinds.names)):
        read = map_batches(select(table, kinds.names), decoding(), kinds, may_be_coded=True)
        return collect(read).to_pylist()


def decoding() -> Mapper:
    """Decodes dictionaries. A function of its own, so that tasks need not import this module."""

    def decode(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_arrays(
                [*map(decoded, batch.columns)],
                names=batch.schema.names,
            )

    return decode


# --- damage and changes


def test_a_file_that_changes_after_it_was_planned(spark: SparkSession, tmp_path: Path) -> None:
    file, kinds = tmp_path / "people.parquet", pa.schema({"age": pa.int64()})
    pq.write_table(pa.table({"age": [1, 2]}), file)
    source = Input(path=str(file), format="parquet")
    table = sources.read_table(spark, source)
    assert rows_of_table(table, source, kinds) == [{"age": 1}, {"age": 2}]
    pq.write_table(pa.table({"age": [1, 2, 3]}), file)
    with pytest.raises(
        InputError,
        match=r"^input.path: people.parquet has changed since the table was looked at",
    ):
        rows_of_table(table, source, kinds)
    file.unlink()
    with pytest.raises(
        InputError,
        match=r"^input.path: people.parquet is gone since the table was looked at",
    ):
        rows_of_table(table, source, kinds)


def test_a_page_that_does_not_have_its_checksum(spark: SparkSession, tmp_path: Path) -> None:
    """A changed number is no error of Parquet. Spark writes checksums of pages, which tasks
    check.
    """
    folder = tmp_path / "people"
    spark.range(1000, 1100, 1, 1).write.option("compression", "none").option(
        "parquet.enable.dictionary",
        "false",
    ).parquet(str(folder))
    (file,) = folder.glob("*.parquet")
    content = bytearray(file.read_bytes())
    place = content.index((1050).to_bytes(8, "little"))
    content[place] += 1
    file.write_bytes(content)
    (folder / f".{file.name}.crc").unlink()
    source = Input(path=str(folder), format="parquet")
    assert frame_of(sources.read_table(spark, source)).where("id = 1051").count() == 2
    with pytest.raises(InputError, match="it is damaged"):
        rows_read(spark, source)


@pytest.mark.parametrize("value", [b"r\xe9", b"f\0u"])
@pytest.mark.parametrize("column", ["name", "sex"])
def test_damaged_text_counts_in_columns_in_use_only(
    spark: SparkSession,
    tmp_path: Path,
    column: str,
    value: bytes,
) -> None:
    texts = {"name": [b"Ann", b"Bob", b"Cy"], "sex": [b"f", b"m", b"f"]}
    texts[column][1] = value
    table = pa.table({name: pa.array(values).view(pa.string()) for name, values in texts.items()})
    pq.write_table(table, tmp_path / "people.parquet")
    source = Input(path=str(tmp_path / "people.parquet"), format="parquet", columns={"name": "who"})
    used, other = ("who", "sex") if column == "name" else ("sex", "who")
    found = rows_read(spark, source, columns=[other])
    assert [row[used] for row in found] == [text.decode(errors="replace") for text in texts[column]]
    with pytest.raises(
        InputError,
        match=rf"column '{used}' \(1 rows\): text (is not in UTF-8|holds NUL)",
    ):
        rows_read(spark, source, columns=[used])


# --- dictionaries, and the work of a task


def coded_columns(file: ParquetFile) -> set[str]:
    """The columns that are dictionaries in the first batch of a file."""
    batch = next(file.batches(range(len(file.rows)), file.schema, Counter(), may_be_coded=True))
    return {field.name for field in batch.schema if pa.types.is_dictionary(field.type)}


def test_columns_of_few_values_are_dictionaries(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few, n = [None, "flu", "gout"], 3000
    columns = {
        "age": range(n),
        "disease": few * (n // 3),
        "name": [f"person {i}" for i in range(n)],
    }
    table, path = (
        pa.table({name: list(values) for name, values in columns.items()}),
        tmp_path / "people.parquet",
    )
    pq.write_table(table, path)
    assert coded_columns(open_parquet(path)) == {"disease"}
    for how in (
        {"use_dictionary": False},
        {"use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY"},
    ):
        pq.write_table(table.select(["disease"]), path, **how)
        assert coded_columns(open_parquet(path)) == set()
    pq.write_table(table, path)
    monkeypatch.setattr(
        parquet_files,
        "WRITERS",
        ("parquet-other ",),
    )  # whose dictionaries may have a value twice
    assert coded_columns(open_parquet(path)) == set()


def test_dictionaries_hold_the_values_of_their_rows_only(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parquet_files, "BATCH", 4)
    texts = ["a", "b", "a", None, "c", "c", "b", "c", "a"]
    pq.write_table(pa.table({"text": texts}), tmp_path / "people.parquet")
    file = open_parquet(tmp_path / "people.parquet")
    batches = [
        batch["text"] for batch in file.batches([0], file.schema, Counter(), may_be_coded=True)
    ]
    assert [batch.dictionary.to_pylist() for batch in batches] == [["a", "b"], ["c", "b"], ["a"]]
    assert [value for batch in batches for value in batch.to_pylist()] == texts


@pytest.mark.parametrize("seed", range(5))
def test_tasks_divide_row_groups_by_their_bytes(seed: int) -> None:
    draw = random.Random(seed)
    files = [
        ParquetFile(
            Path(str(i)),
            pa.schema({}),
            [draw.choice([0, 10, 1000]) for _ in range(draw.randrange(9))],
            draw.randrange(1 << 30),
        )
        for i in range(20)
    ]
    pieces = task_files._pieces(files, cores=2)
    listed = [(file.path, group) for piece in pieces for file, groups in piece for group in groups]
    assert listed == [(file.path, group) for file in files for group in range(len(file.rows))]
    for piece in pieces:
        groups = [(file, group) for file, groups in piece for group in groups]
        size = sum(file.size * file.rows[group] // max(1, sum(file.rows)) for file, group in groups)
        assert len(groups) == 1 or size <= task_files.TASK_BYTES


def test_small_files_share_tasks() -> None:
    files = [ParquetFile(Path(str(i)), pa.schema({}), [100], 1 << 20) for i in range(100)]
    assert [len(piece) for piece in task_files._pieces(files, cores=4)] == [25, 25, 25, 25]
    large = [ParquetFile(Path("a"), pa.schema({}), [1000] * 16, 1 << 30)]
    assert [len(groups) for ((_, groups),) in task_files._pieces(large, cores=2)] == [1] + [
        2,
    ] * 7 + [1]
