"""Each option that a format takes changes what is read, on Spark and in this process, or is left to
Spark.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from tclose_spark.engine import sources
from tclose_spark.engine.local.table import NeedsSparkError
from tclose_spark.engine.protocol import OpenedTable
from tclose_spark.engine.sources import checked, commit_of, read_table
from tclose_spark.engine.tables import collect, schema_of
from tclose_spark.errors import InputError
from tclose_spark.io.local_session import LocalSession
from tclose_spark.runfile.formats import OPTIONS
from tclose_spark.runfile.spec import Input

INFERRED = {"inferSchema": "true", "header": "true"}
YEARS_FROM_NOW = "2999-01-01T00:00:00"
CASES: dict[str, tuple[str, str, dict[str, str]]] = {
    "header": ("true", "a,b\n1,2\n", {}),
    "sep": (";", "a;b\n1;2\n", {}),
    "delimiter": (";", "a;b\n1;2\n", {}),
    "encoding": ("ISO-8859-2", "a,b\n\u00a3,2\n", {}),
    "charset": ("ISO-8859-2", "a,b\n\u00a3,2\n", {}),
    "quote": ("'", "a,b\n'x',2\n", {}),
    "escape": ("\\", 'a,b\n"x\\"y",2\n', {}),
    "charToEscapeQuoteEscaping": ("!", 'a,b\n"x!\\"",2\n', {"escape": "\\"}),
    "unescapedQuoteHandling": ("RAISE_ERROR", 'a,b\n"x"y,2\n', {}),
    "comment": ("#", "a,b\n#1,2\n3,4\n", {}),
    "lineSep": ("|", "a,b|1,2|", {}),
    "multiLine": ("true", 'a,b\n"x\ny",2\n', {}),
    "ignoreLeadingWhiteSpace": ("true", "a,b\n x,2\n", {}),
    "ignoreTrailingWhiteSpace": ("true", "a,b\nx ,2\n", {}),
    "nullValue": ("NA", "a,b\nNA,2\n", {}),
    "emptyValue": ("none", 'a,b\n"",2\n', {}),
    "maxColumns": ("1", "a,b\n1,2\n", {}),
    "maxCharsPerColumn": ("3", "a,b\n1,2\n12345,2\n", {}),
    "inferSchema": ("true", "a,b\n01,2\n", {"header": "true"}),
    "dateFormat": ("dd.MM.yyyy", "a,b\n31.12.2020,2\n", INFERRED),
    "timestampFormat": ("dd.MM.yyyy HH:mm", "a,b\n31.12.2020 10:00,2\n", INFERRED),
    "nanValue": ("none", "a,b\n1.5,2\nnone,3\n", INFERRED),
    "positiveInf": ("much", "a,b\n1.5,2\nmuch,3\n", INFERRED),
    "negativeInf": ("little", "a,b\n1.5,2\nlittle,3\n", INFERRED),
    "preferDate": ("false", "a,b\n2020-01-01,2\n", INFERRED),
    "locale": ("de-DE", "a,b\n31 Dezember 2020,2\n", {**INFERRED, "dateFormat": "dd MMMM yyyy"}),
    "timeZone": ("Asia/Tokyo", "a,b\n2020-01-01 10:00:00,2\n", INFERRED),
    "decimal": (",", "a;b\n1,5;2\n", {"sep": ";"}),
    "thousands": (".", "a;b\n1.000;2\n", {"sep": ";", "decimal": ","}),
    "currency": ("$", "a,b\n$5,2\n", {}),
    "skip_rows": ("1", "x,y\na,b\n1,2\n", {}),
    "skip_footer": ("1", "a,b\n1,2\n3,4\n", {}),
    "modifiedAfter": (YEARS_FROM_NOW, "a,b\n1,2\n", {}),
    "modifiedBefore": ("1999-01-01T00:00:00", "a,b\n1,2\n", {}),
}
OF_FOLDERS = {"pathGlobFilter": "*.csv", "recursiveFileLookup": "true"}
NO_EFFECT_ON_A_SMALL_FILE = {"samplingRatio", "enableDateTimeParsingFallback"}
"""Options of inferred types that Spark documents, whose effect is of chance, or of old forms of
dates.
"""


def what_is_read(session: Any, source: Input) -> Any:
    """The columns and rows; or that there are none."""
    try:
        table = read_table(session, source)
        found = collect(checked(OpenedTable(table, source, schema_of(table).names)).table)
    except InputError as error:
        return type(error).__name__
    return [(field.name, str(field.type)) for field in found.schema], repr(found.to_pylist())


def test_every_option_of_csv_has_a_case() -> None:
    assert {*CASES, *OF_FOLDERS, *NO_EFFECT_ON_A_SMALL_FILE} == {*OPTIONS["csv"]}


@pytest.mark.parametrize("name", CASES)
def test_an_option_of_csv_changes_what_is_read(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    monkeypatch.setattr(
        sources,
        "completed",
        lambda source, *_: source,
    )  # which finds some options without it
    value, content, others = CASES[name]
    (tmp_path / "a.csv").write_text(content, encoding="utf-8")
    plain = Input(path=str(tmp_path / "a.csv"), format="csv", options=others)
    source = Input(path=plain.path, format="csv", options={**others, name: value})
    found = what_is_read(spark, source)
    assert found != what_is_read(spark, plain)
    with suppress(NeedsSparkError):
        assert what_is_read(LocalSession(), source) == found


@pytest.mark.parametrize("name", OF_FOLDERS)
def test_an_option_of_folders_changes_what_is_read(
    spark: SparkSession,
    tmp_path: Path,
    name: str,
) -> None:
    (tmp_path / "below").mkdir()
    for path, rows in {"a.csv": "a\n1\n", "b.txt": "a\n2\n", "below/c.csv": "a\n3\n"}.items():
        (tmp_path / path).write_text(rows)
    with_header = {"header": "true", "sep": ","}
    plain = Input(path=str(tmp_path), format="csv", options=with_header)
    source = Input(
        path=str(tmp_path),
        format="csv",
        options={**with_header, name: OF_FOLDERS[name]},
    )
    assert what_is_read(spark, source) != what_is_read(spark, plain)


def test_options_of_versions_change_what_is_read(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "people")
    for rows in ([1], [2]):
        write_deltalake(path, pa.table({"a": rows}), mode="append")
    for session in (LocalSession(), spark):
        for key in ("versionAsOf", "VERSIONASOF"):
            source = Input(path=path, format="delta", options={key: "0"})
            commit = commit_of(session, source)
            assert commit is not None
            assert commit.version == 0
            assert collect(read_table(session, source, commit.version)).to_pylist() == [{"a": 1}]


def test_options_of_parquet_change_what_is_read(spark: SparkSession, tmp_path: Path) -> None:
    for name, columns in {"a": {"x": [1]}, "b": {"x": [2], "y": [3]}}.items():
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    found = []
    for options in (
        {},
        {"mergeSchema": "true"},
        {"pathGlobFilter": "a*"},
        {"pathGlobFilter": "b*"},
    ):
        source = Input(path=str(tmp_path), format="parquet", options=options)
        found.append(repr(what_is_read(spark, source)))
    assert len({*found}) == len(found)
