"""Reading and writing tables: missing values, malformed rows, fingerprints, what a written release
carries.
"""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from spark_casts import prepare

from tclose_spark.errors import ConfigurationError, GuaranteeError, InputError
from tclose_spark.io.input.reading import commit_of, read_table
from tclose_spark.io.run import Run
from tclose_spark.io.storage.folders import open_folder
from tclose_spark.io.tables.columns import MALFORMED, quoted
from tclose_spark.io.tables.delta import write_and_read, write_delta
from tclose_spark.io.tables.delta_log import require_plain_table, scrub_table
from tclose_spark.runfile.spec import Input

RunFile = Callable[..., Path]
OpenRun = Callable[..., Run]

PEOPLE = "name,age,sex,disease\nAnn,31,f,flu\nBob,,m,\nEve,40,,gout\n"
ROLES: dict[str, Any] = {
    "direct_identifiers": ["name"],
    "quasi": {"age": {"type": "numeric"}, "sex": {}},
    "sensitive": {"disease": {}},
    "source": {"path": "people.csv", "format": "csv", "options": {"header": True}},
    "k": 2,
}


def rows(table: DataFrame) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in table.collect()]


def read_csv(spark: SparkSession, folder: Path, text: str, **options: str) -> DataFrame:
    (folder / "people.csv").write_text(text)
    return read_table(
        spark,
        Input(path=str(folder / "people.csv"), format="csv", options={"header": "true", **options}),
    )


def malformed(table: DataFrame) -> int:
    return sum(row[MALFORMED] for row in table.collect())


# --- reading and preparing


def test_empty_csv_fields_are_missing_and_direct_identifiers_end_here(
    spark: SparkSession,
    tmp_path: Path,
    run_file: RunFile,
    open_run: OpenRun,
):
    spec = open_run(run_file(None, **ROLES)).spec
    assert rows(prepare(read_csv(spark, tmp_path, PEOPLE), spec)) == [
        # age, sex, disease
        (31.0, "f", "flu"),
        (None, "m", None),
        (40.0, None, "gout"),
    ]


def test_quoted_empty_csv_fields_are_missing_too(spark: SparkSession, tmp_path: Path) -> None:
    assert rows(read_csv(spark, tmp_path, 'age,sex\n"",m\n31,""\n')) == [
        (None, "m", False),
        ("31", None, False),
    ]


def test_empty_csv_fields_are_missing_where_another_text_means_missing_too(
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    assert rows(read_csv(spark, tmp_path, 'age,sex\n,m\nNA,""\n', nullValue="NA")) == [
        (None, "m", False),
        (None, None, False),
    ]


def test_quotes_are_doubled_inside_quotes_and_commas_stand_in_them(
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    assert rows(read_csv(spark, tmp_path, 'age,sex\n1,"a ""b"", c"\n')) == [
        ("1", 'a "b", c', False),
    ]


def test_nan_is_missing_and_negative_zero_is_zero(
    spark: SparkSession,
    run_file: RunFile,
    open_run: OpenRun,
) -> None:
    path = run_file(
        {
            "age": [0.0, -0.0, math.nan, None],
            "sex": ["f"] * 4,
            "disease": [-0.0, 0.0, math.nan, None],
        },
        quasi=ROLES["quasi"],
    )
    run = open_run(path)
    found = rows(prepare(read_table(spark, run.spec.input), run.spec))
    assert found == [(0.0, "f", 0.0), (0.0, "f", 0.0), (None, "f", None), (None, "f", None)]
    assert {
        math.copysign(1, value) for row in found for value in row if isinstance(value, float)
    } == {1.0}


def test_integers_stay_integers_and_categories_become_text(
    spark: SparkSession,
    run_file: RunFile,
    open_run: OpenRun,
) -> None:
    run = open_run(
        run_file(
            {"age": [30, 31], "sex": [True, False], "disease": [1, 2], "note": [1.5, None]},
            insensitive_attributes=["note"],
        ),
    )
    prepared = prepare(read_table(spark, run.spec.input), run.spec)
    assert prepared.dtypes == [
        ("c0", "bigint"),
        ("c1", "string"),
        ("c2", "bigint"),
        ("c3", "double"),
    ]
    assert rows(prepared) == [(30, "true", 1, 1.5), (31, "false", 2, None)]


@pytest.mark.parametrize("row", ["31", "31,f,flu,more", '31,"f,flu'])
def test_malformed_csv_rows_are_marked(spark: SparkSession, tmp_path: Path, row: str) -> None:
    table = read_csv(spark, tmp_path, f"age,sex,disease\n30,f,flu\n{row}\n32,m,gout\n")
    assert malformed(table) == 1


def test_malformed_rows_are_marked_whichever_columns_are_read(
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    table = read_csv(spark, tmp_path, "age,sex,disease\n30,f\n31,m,gout\n")
    assert table.select("age", MALFORMED).collect() == [("30", True), ("31", False)]


def test_blank_lines_are_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    table = read_csv(spark, tmp_path, "age,sex\n\n30,f\n\n")
    assert rows(table) == [("30", "f", False)]


def test_types_are_inferred_on_request_only(spark: SparkSession, tmp_path: Path) -> None:
    assert read_csv(spark, tmp_path, "age\n30\n").dtypes[0] == ("age", "string")
    assert read_csv(spark, tmp_path, "age\n30\n", inferSchema="true").dtypes[0] == ("age", "int")


@pytest.mark.parametrize("kind", ["csv", "parquet", "delta", "table"])
def test_a_missing_table_is_named(spark: SparkSession, kind: str) -> None:
    with pytest.raises(InputError, match=r"input\.path: (/nowhere/)?people does not exist"):
        read_table(
            spark,
            Input(path="people" if kind == "table" else "/nowhere/people", format=kind),
        )


def test_a_file_of_another_format_is_named(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "people.parquet").write_text("age,sex\n")
    with pytest.raises(InputError, match=r"people.parquet cannot be read as parquet"):
        read_table(spark, Input(path=str(tmp_path / "people.parquet")))


# --- Delta inputs


@pytest.fixture
def delta_input(spark: SparkSession, tmp_path: Path) -> Input:
    """A Delta table: version 0 holds 1 and 2, version 1 also 3."""
    path = str(tmp_path / "delta")
    spark.createDataFrame([(1,), (2,)], "age int").write.format("delta").save(path)
    spark.createDataFrame([(3,)], "age int").write.format("delta").mode("append").save(path)
    return Input(path=path, format="delta")


def test_a_delta_input_is_read_at_the_version_that_is_given(
    spark: SparkSession,
    delta_input: Input,
) -> None:
    assert commit_of(spark, delta_input).version == 1
    assert sorted(rows(read_table(spark, delta_input, 1))) == [(1,), (2,), (3,)]
    assert sorted(rows(read_table(spark, delta_input, 0))) == [(1,), (2,)]


@pytest.mark.parametrize("travel", ["versionAsOf", "timestampAsOf"])
def test_the_version_of_a_delta_input_is_the_one_that_is_read(
    spark: SparkSession,
    delta_input: Input,
    travel: str,
) -> None:
    first = (
        spark.sql(f"DESCRIBE HISTORY delta.`{delta_input.path}`")
        .where("version = 0")
        .select(F.col("timestamp").cast("string"))
        .head()
    )
    assert first is not None
    source = Input(
        path=delta_input.path,
        format="delta",
        options={travel: "0" if travel == "versionAsOf" else first[0]},
    )
    assert sorted(rows(read_table(spark, source))) == [(1,), (2,)]
    assert commit_of(spark, source).version == 0


def test_other_inputs_have_no_version(spark: SparkSession) -> None:
    assert commit_of(spark, Input(path="people.csv", format="csv")) is None


# --- what is written


@pytest.fixture
def written(spark: SparkSession, tmp_path: Path) -> Path:
    """A release of a table with comments, scrubbed as a run does it."""
    schema = T.StructType(
        [
            T.StructField("age", T.LongType(), metadata={"comment": "outer secret"}),
            T.StructField("note", T.StringType(), metadata={"owner": "outer secret"}),
        ],
    )
    write_delta(
        spark.createDataFrame([(31, "x"), (40, "y")], schema).coalesce(1),
        str(tmp_path / "release"),
    )
    scrub_table(open_folder(str(tmp_path), spark), "release")
    return tmp_path / "release"


def actions(release: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for log in sorted((release / "_delta_log").glob("*.json"))
        for line in log.read_text().splitlines()
    ]


def test_a_release_is_one_delta_commit_that_reads_back(spark: SparkSession, written: Path) -> None:
    assert [sorted(action) for action in actions(written)] == [["metaData"], ["protocol"], ["add"]]
    assert sorted(rows(spark.read.format("delta").load(str(written)))) == [(31, "x"), (40, "y")]


def test_a_release_has_no_statistics_in_its_log(written: Path) -> None:
    added = [action["add"] for action in actions(written) if "add" in action]
    assert added
    assert not any(add.get("stats") for add in added)


def test_a_release_has_no_statistics_in_its_files(written: Path) -> None:
    files = [pq.read_metadata(file) for file in written.glob("*.parquet")]
    columns = [
        file.row_group(g).column(c)
        for file in files
        for g in range(file.num_row_groups)
        for c in range(2)
    ]
    assert columns
    assert not any(column.is_stats_set for column in columns)


def test_a_release_has_no_comments_and_nobody_s_name(written: Path) -> None:
    texts = [
        file.read_text()
        for file in (written / "_delta_log").glob("*0.*")
        if not file.name.startswith(".")
    ]
    assert texts
    assert not any("outer secret" in text or "commitInfo" in text for text in texts)
    for file in written.glob("*.parquet"):
        assert b"outer secret" not in pq.read_metadata(file).metadata.get(
            b"org.apache.spark.sql.parquet.row.metadata",
            b"",
        )


def test_a_release_has_no_change_feed(written: Path) -> None:
    (metadata,) = [action["metaData"] for action in actions(written) if "metaData" in action]
    assert metadata["configuration"].get("delta.enableChangeDataFeed") == "false"
    assert metadata["partitionColumns"] == []


def test_a_release_is_not_written_over_a_table(spark: SparkSession, written: Path) -> None:
    with pytest.raises(ConfigurationError, match="holds a table already"):
        write_delta(spark.range(1), str(written))


def test_names_with_dots_and_backticks_are_columns(spark: SparkSession) -> None:
    table = spark.createDataFrame([(1, 2)], ["a.b", "c`d"])
    assert rows(table.select(quoted("c`d"), quoted("a.b"))) == [(2, 1)]


def test_a_file_that_is_cut_short_or_gone_is_lost(spark: SparkSession, written: Path) -> None:
    folder = open_folder(str(written.parent), spark)
    require_plain_table(folder, "release")
    (part,) = written.glob("*.parquet")
    part.write_bytes(part.read_bytes()[:-1])
    with pytest.raises(GuaranteeError, match=f"{part.name} is not there, or not as long"):
        require_plain_table(folder, "release")
    part.unlink()
    with pytest.raises(GuaranteeError, match=f"{part.name} is not there, or not as long"):
        require_plain_table(folder, "release")


def test_a_table_that_is_read_as_it_was_written_has_no_leftovers(
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    table = spark.createDataFrame([(31, "x"), (None, "y")], "age bigint, note string")
    read = write_and_read(table, str(tmp_path / "classes"))
    assert sorted(rows(read), key=str) == [(31, "x"), (None, "y")]
    assert read.schema == table.schema
    require_plain_table(open_folder(str(tmp_path), spark), "classes")
    assert spark.read.format("delta").load(str(tmp_path / "classes")).count() == 2
