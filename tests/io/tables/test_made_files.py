"""Tables of files that tasks make: the same rows whichever way they are written, and no byte of
anything else.
"""

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from tclose_spark import pipeline
from tclose_spark.errors import ConfigurationError
from tclose_spark.io.run import Run
from tclose_spark.io.spark.cluster import map_batches
from tclose_spark.io.storage.folders import Folder, open_folder
from tclose_spark.io.storage.hadoop import HadoopFolder
from tclose_spark.io.tables import delta as made_files
from tclose_spark.io.tables.delta import rows_of, write_tables
from tclose_spark.io.tables.delta_log import require_plain_table
from tclose_spark.runfile.loading import load_spec
from tclose_spark.table.columns import parquet
from tclose_spark.table.columns.parquet import FILE, TABLE, ChangedFileError, parquet_files

Settings = Callable[[Mapping[str, str]], AbstractContextManager[None]]

SCHEMA = T.StructType(
    [
        T.StructField("label", T.StringType()),
        T.StructField("byte", T.ByteType()),
        T.StructField("short", T.ShortType()),
        T.StructField("int", T.IntegerType()),
        T.StructField("long", T.LongType()),
        T.StructField("float", T.FloatType()),
        T.StructField("double", T.DoubleType()),
        T.StructField("decimal", T.DecimalType(5, 2)),
        T.StructField("wide", T.DecimalType(38, 3)),
        T.StructField("flag", T.BooleanType()),
        T.StructField("day", T.DateType()),
        T.StructField("at", T.TimestampType()),
        T.StructField("local", T.TimestampNTZType()),
        T.StructField("bytes", T.BinaryType()),
    ],
)
ROWS: list[tuple[Any, ...]] = [
    ("ä*", 1, 2, 3, 2**62, 0.5, 0.1, Decimal("1.25"), Decimal(10**30) / 8, True, date(1, 1, 1),
     datetime(1, 1, 2, tzinfo=UTC), datetime(1066, 10, 14, 9, 0, 0, 1), b"\xff\n1"),
    ("", -1, -2, -3, -(2**63), -1e30, 1e300, Decimal("-999.99"), Decimal("0.001"), False, date(9999, 12, 31),
     datetime(9999, 12, 30, tzinfo=UTC), datetime(2024, 2, 29), b""),
    (None,) * 14,
]  # fmt: skip


def arrow(rows: list[tuple[Any, ...]], schema: T.StructType = SCHEMA) -> pa.Table:
    kinds = to_arrow_schema(schema)
    columns = [
        pa.array(column, field.type)
        for column, field in zip(zip(*rows, strict=True), kinds, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=kinds)


def files_of(spark: SparkSession, tables: dict[str, pa.Table], copies: int = 3) -> DataFrame:
    """Files of tables, in two tasks: each table so often; a row without a file in each."""

    def make(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for _ in range(batch.num_rows):
                yield pa.record_batch(
                    [pa.array([None], pa.string()), pa.array([None], pa.binary())],
                    [TABLE, FILE],
                )
                for name, table in tables.items():
                    columns = [
                        column.combine_chunks().dictionary_encode()
                        if pa.types.is_string(column.type)
                        else column.combine_chunks()
                        for column in table.columns
                    ]
                    for file in parquet_files(columns, table.schema):
                        yield pa.record_batch(
                            [pa.array([name]), pa.array([file], pa.binary())],
                            [TABLE, FILE],
                        )

    return map_batches(spark.range(0, copies, 1, 2), make, f"`{TABLE}` string, `{FILE}` binary")


@pytest.fixture(params=["a path", "a URI", "a file system that moves no folders", "no JVM"])
def folder(
    request: pytest.FixtureRequest,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: Any,
) -> Folder:
    if request.param == "no JVM":
        monkeypatch.setattr(made_files, "java_of", lambda spark: None)
    if request.param.startswith("a file system"):
        monkeypatch.setattr(HadoopFolder, "moves_at_once", False)
    folder = open_folder(
        str(tmp_path) if request.param == "a path" else f"file://{tmp_path}",
        spark,
    )
    folder.create()
    return folder


def shown(rows: Iterable[Any]) -> list[str]:
    return sorted(repr(tuple(row)) for row in rows)


def test_what_is_read_is_what_was_made(
    spark: SparkSession,
    folder: Folder,
    settings: Settings,
) -> None:
    other = T.StructType(
        [T.StructField("a.b", T.StringType()), T.StructField("table", T.LongType())],
    )
    tables = {"release": arrow(ROWS), "linked": arrow([("x", 1), (None, None)], other)}
    folder.write("release/left.txt", "of a run that broke off")
    write_tables(files_of(spark, tables), {"release": SCHEMA, "linked": other}, folder)
    expected = {
        "release": spark.createDataFrame(ROWS * 3, SCHEMA),
        "linked": [("x", 1), (None, None)] * 3,
    }
    for name, schema in (("release", SCHEMA), ("linked", other)):
        read = spark.read.format("delta").load(folder.path(name))
        assert read.schema == schema
        rows = expected[name]
        with settings(
            {"spark.sql.parquet.datetimeRebaseModeInRead": "LEGACY"},
        ):  # of files by nobody knows whom
            found = read.collect()
        assert shown(found) == shown(rows.collect() if isinstance(rows, DataFrame) else rows)
        require_plain_table(folder, name)
    assert sorted(folder.names()) == ["linked", "release"]


def test_rows_lie_in_their_order_in_every_file(spark: SparkSession, folder: Folder) -> None:
    schema = T.StructType(
        [T.StructField("age", T.StringType()), T.StructField("sick", T.StringType())],
    )
    table = arrow([(None, "b"), ("20", None), ("20", "a"), ("31", "a")], schema)
    write_tables(files_of(spark, {"release": table}, copies=6), {"release": schema}, folder)
    files = [name for name in folder.names("release") if name.endswith(".parquet")]
    rows = 0
    for name in files:
        read = pq.read_table(folder.path(f"release/{name}").removeprefix("file://")).to_pylist()
        keys = [[(value is not None, value or "") for value in row.values()] for row in read]
        assert keys == sorted(keys)
        rows += len(keys)
    assert rows == 24


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("columnMapping.mode", "name"),
        ("enableRowTracking", "true"),
        ("enableDeletionVectors", "true"),
    ],
)
def test_tables_have_no_settings_that_a_cluster_gives_every_table(
    spark: SparkSession,
    folder: Folder,
    key: str,
    value: str,
) -> None:
    setting = f"spark.databricks.delta.properties.defaults.{key}"
    spark.conf.set(setting, value)
    try:
        write_tables(
            files_of(spark, {"release": arrow(ROWS)}, copies=1),
            {"release": SCHEMA},
            folder,
        )
        assert spark.conf.get(setting) == value
    finally:
        spark.conf.unset(setting)
    read = spark.read.format("delta").load(folder.path("release"))
    assert shown(read.collect()) == shown(spark.createDataFrame(ROWS, SCHEMA).collect())
    assert key not in folder.read("release/_delta_log/00000000000000000000.json")


def test_files_are_found_however_a_cluster_names_them(spark: SparkSession, tmp_path: Path) -> None:
    schema = T.StructType([T.StructField("age", T.StringType())])
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    folder, files = (
        open_folder(str(tmp_path), spark),
        files_of(spark, {"release": arrow([("20",)], schema)}, copies=1),
    )
    hadoop.set("mapreduce.output.basename", "data")
    try:
        write_tables(files, {"release": schema}, folder)
    finally:
        hadoop.unset("mapreduce.output.basename")
    assert [
        row.age for row in spark.read.format("delta").load(folder.path("release")).collect()
    ] == ["20"]


def test_the_log_says_nothing_of_who_wrote_what(spark: SparkSession, folder: Folder) -> None:
    schema = T.StructType([T.StructField("age", T.StringType())])
    write_tables(
        files_of(spark, {"release": arrow([("[20, 30]",)], schema)}),
        {"release": schema},
        folder,
    )
    (log,) = folder.names(
        "release/_delta_log",
    )  # and no checksum, which would tell of the table as it was before
    actions = [json.loads(line) for line in folder.read(f"release/_delta_log/{log}").splitlines()]
    assert sorted({kind for action in actions for kind in action}) == [
        "add",
        "metaData",
        "protocol",
    ]
    assert all("stats" not in action["add"] for action in actions if "add" in action)
    assert [action["metaData"]["configuration"] for action in actions if "metaData" in action] == [
        {"delta.dataSkippingNumIndexedCols": "0", "delta.enableChangeDataFeed": "false"},
    ]


def test_a_table_may_have_no_files(spark: SparkSession, folder: Folder) -> None:
    schema = T.StructType([T.StructField("age", T.StringType())])
    write_tables(files_of(spark, {}), {"release": schema}, folder)
    assert spark.read.format("delta").load(folder.path("release")).collect() == []


def test_files_are_not_written_over_where_their_folder_cannot_be_removed(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    schema = T.StructType([T.StructField("age", T.StringType())])
    folder, files = (
        open_folder(str(tmp_path), spark),
        files_of(spark, {"release": arrow([("20",)], schema)}),
    )
    write_tables(files, {"release": schema}, folder)
    monkeypatch.setattr(type(folder), "remove", lambda self, name="": None)
    with pytest.raises(ConfigurationError, match="holds a table already"):
        write_tables(files, {"release": schema}, folder)


def test_files_stay_as_they_are_where_a_cluster_compresses_what_is_written(
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    schema = T.StructType([T.StructField("age", T.StringType())])
    folder, files = (
        open_folder(str(tmp_path), spark),
        files_of(spark, {"release": arrow([("20",)], schema)}, copies=1),
    )
    hadoop.set("mapreduce.output.fileoutputformat.compress", "true")
    try:
        write_tables(files, {"release": schema}, folder)
    finally:
        hadoop.unset("mapreduce.output.fileoutputformat.compress")
    (file,) = (tmp_path / "release").glob("*.parquet")
    assert pq.read_table(file).to_pylist() == [{"age": "20"}]


@pytest.mark.parametrize(
    "changed",
    [{"lineSep": "2"}, {"compression": "gzip"}, {"maxRecordsPerFile": "0"}],
)
def test_a_text_writer_that_changes_bytes_is_noticed(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    changed: dict[str, str],
) -> None:
    monkeypatch.setattr(made_files, "TEXT_OPTIONS", made_files.TEXT_OPTIONS | changed)
    schema = T.StructType([T.StructField("age", T.StringType())])
    files = files_of(spark, {"release": arrow([("20",)], schema)}).coalesce(
        1,
    )  # so that a file may get several values
    folder = open_folder(str(tmp_path), spark)
    with pytest.raises(ChangedFileError):
        write_tables(files, {"release": schema}, folder)
    write_tables(files, {"release": schema}, folder, trusts_text_writer=False)
    assert [
        row.age for row in spark.read.format("delta").load(folder.path("release")).collect()
    ] == ["20"] * 3
    assert folder.names() == ["release"]


def test_a_release_is_the_same_if_the_text_writer_changes_bytes(
    spark: SparkSession,
    run_file: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    people = pa.table(
        {"age": [30 + i % 7 for i in range(40)], "disease": ["flu", "flu", "gout", "ulcer"] * 10},
    )
    path, notes = (
        run_file(people, quasi={"age": {"type": "numeric"}}, sensitive={"disease": {"t": "0.3"}}),
        list[str](),
    )
    monkeypatch.setenv("TCLOSE_SECRET", "the same for both")
    expected = pipeline.release(Run(load_spec(path), spark, notes.append))["release"]
    assert not [note for note in notes if "text writer" in note]
    monkeypatch.setattr(
        made_files,
        "TEXT_OPTIONS",
        made_files.TEXT_OPTIONS | {"compression": "gzip"},
    )
    assert (
        pipeline.release(Run(load_spec(path), spark, notes.append, overwrite=True))["release"]
        == expected
    )
    assert [note for note in notes if "text writer" in note] == [
        "note: Spark's text writer changes files on this platform; Delta writes them instead, "
        "more slowly",
    ]


def test_rows_of_one_table(spark: SparkSession) -> None:
    schema = T.StructType([T.StructField("age", T.StringType())])
    files = files_of(
        spark,
        {"one": arrow([("1",)], schema), "other": arrow([("2",)], schema)},
        copies=1,
    )
    assert [row.age for row in rows_of(files, "other", schema).collect()] == ["2"]


def test_a_file_holds_no_value_that_its_rows_have_not() -> None:
    column = pa.DictionaryArray.from_arrays(
        [3, 1, 1, 3, 4],
        ["secret", "b", "another secret", "a", None],
    )
    (file,) = parquet_files([column], pa.schema([("label", pa.string())]))
    assert b"secret" not in file
    read = pq.read_table(io.BytesIO(file), read_dictionary=["label"])["label"]
    assert read.to_pylist() == ["a", "b", "b", "a", None]
    assert read.chunk(0).dictionary.to_pylist() == ["a", "b"], "in the order in which they appear"


def test_much_becomes_several_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "FILE_BYTES", 1000)
    column = pa.array([f"{i:0100}" for i in range(95)])
    files = list(parquet_files([column], pa.schema([("text", pa.string())])))
    assert len(files) > 5
    assert pa.concat_tables([pq.read_table(io.BytesIO(file)) for file in files])[
        "text"
    ].to_pylist() == (column.to_pylist())
    assert all(file.endswith(b"PAR" + made_files.END) for file in files)


def test_a_few_long_values_are_files_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "FILE_BYTES", 10_000)
    column = pa.array(["few"] * 910).dictionary_encode()
    long = pa.array([""] * 900 + [f"{i}" * 4000 for i in range(10)])
    files = list(
        parquet_files([column, long], pa.schema([("text", pa.string()), ("long", pa.string())])),
    )
    assert all(pq.read_table(io.BytesIO(file))["long"].nbytes <= 10_000 for file in files)
    assert sum(pq.read_metadata(io.BytesIO(file)).num_rows for file in files) == 910


def test_a_file_tells_no_minima_and_maxima() -> None:
    (file,) = parquet_files([pa.array([1, 2])], pa.schema([("age", pa.int64())]))
    assert not pq.read_metadata(io.BytesIO(file)).row_group(0).column(0).is_stats_set


@pytest.mark.parametrize("coded", [False, True])
def test_large_text_is_text(coded: bool) -> None:
    column = pa.array(["a", None, "a"], pa.large_string())
    (file,) = parquet_files(
        [column.dictionary_encode() if coded else column],
        pa.schema([("text", pa.string())]),
    )
    assert pq.read_table(io.BytesIO(file))["text"].to_pylist() == ["a", None, "a"]


def test_no_rows_are_no_file() -> None:
    assert not list(parquet_files([pa.array([], pa.string())], pa.schema([("text", pa.string())])))


@pytest.mark.parametrize("column", [pa.array([1]), pa.array([1]).dictionary_encode()])
def test_a_column_of_another_type_is_refused(column: pa.Array) -> None:
    with pytest.raises(TypeError, match="a column of string is made of int64"):
        list(parquet_files([column], pa.schema([("text", pa.string())])))
