"""Inputs that both engines read: equal columns, types, values and errors."""

from __future__ import annotations

import bz2
import datetime as dt
import gzip
import io
import random
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from strategies import drawn

from tclose_spark.engine import sources
from tclose_spark.engine.local import csv_files, parquet_files
from tclose_spark.engine.local import csv_parts as parts
from tclose_spark.engine.local.reading import LOCAL_INPUTS, NeedsSparkError
from tclose_spark.engine.local.table import LocalTable, frame_table
from tclose_spark.engine.protocol import OpenedTable
from tclose_spark.engine.spark.task_files import TaskFiles
from tclose_spark.engine.tables import collect, map_batches, schema_of, select
from tclose_spark.errors import InputError
from tclose_spark.io.input import reading as input_state
from tclose_spark.io.input import sniffing
from tclose_spark.io.input.csv_on_spark import (
    SourceTable,
    check_text,
    checked,
    translate_read_errors,
)
from tclose_spark.io.input.reading import as_dataframe, commit_of, read_table
from tclose_spark.io.local_session import LocalSession
from tclose_spark.runfile.spec import Input
from tclose_spark.table.arrays import Mapper
from tclose_spark.table.columns.spark_types import MALFORMED, is_unsupported, why_unreadable
from tclose_spark.table.dictionaries import decoded

Both = Callable[..., pa.Table]


def by_spark(spark: SparkSession, source: Input) -> tuple[pa.Schema, pa.Table]:
    """The columns and the rows that Spark reads, if its rows and text are sound."""
    table = read_table(spark, source)
    opened = SourceTable(table, source, [name for name in table.columns if name != MALFORMED])
    with translate_read_errors(opened):
        made = checked(opened)
        if made is table:  # no CSV file, whose text is checked with its rows
            check_text(opened)
        return rows_of(made)


def rows_of(table: DataFrame) -> tuple[pa.Schema, pa.Table]:
    return schema_of(table), table.toArrow()


def by_tasks(spark: SparkSession, source: Input) -> tuple[pa.Schema, pa.Table]:
    """The rows that tasks of Spark read from the files of Parquet or Delta, of the columns that a
    release can have.
    """
    commit = commit_of(spark, source)
    table = sources.read_table(spark, source, None if commit is None else commit.version)
    assert isinstance(table, TaskFiles)
    schema = schema_of(table)
    held = pa.schema(
        [field for field in schema if not is_unsupported(field.type) and not why_unreadable(field)],
    )
    with sources.errors_translated(OpenedTable(table, source, schema.names)):
        return held, collect(
            map_batches(select(table, held.names), decoding(), held, may_be_coded=True),
        )


def read_on_spark(spark: SparkSession, source: Input) -> None:
    """Reads a table of Parquet or Delta as a stage does on Spark, whether or not tasks open its
    files.
    """
    table = sources.read_table(spark, source)
    opened = OpenedTable(table, source, schema_of(table).names)
    with sources.errors_translated(opened):
        collect(map_batches(table, decoding(), schema_of(table), may_be_coded=True))
    if not isinstance(table, TaskFiles):
        sources.check_text(opened)


def decoding() -> Mapper:
    """Decodes dictionaries, of which each holds the values of its rows once, and no other. A
    function of its own, so that tasks need not import this module.
    """

    def decode(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for column in batch.columns:
                if pa.types.is_dictionary(column.type):
                    values, used = column.dictionary.to_pylist(), {*column.to_pylist()}
                    assert len(values) == len({*values})
                    assert {*values} == used - {None}
            yield pa.RecordBatch.from_arrays(
                [*map(decoded, batch.columns)],
                names=batch.schema.names,
            )

    return decode


def locally(source: Input, columns: list[str] | None = None) -> pa.Table:
    """The table that this process reads."""
    table = LOCAL_INPUTS.read_table(LocalSession(), source, columns=columns)
    found = table.collect()
    assert found.schema.equals(table.schema, check_metadata=True)
    return found


def plain(table: pa.Table, schema: pa.Schema) -> list[dict[str, Any]]:
    """The rows of the columns that a release can have."""
    rows: list[dict[str, Any]] = table.select(
        [field.name for field in schema if not is_unsupported(field.type)],
    ).to_pylist()
    return rows


def require_same(
    found: pa.Table,
    wanted: pa.Schema,
    expected: pa.Table,
    in_order: bool = True,
) -> None:
    assert found.schema.equals(wanted, check_metadata=True), (found.schema, wanted)
    rows = plain(found, wanted), plain(expected, wanted)
    order: Any = (lambda some: some) if in_order else (lambda some: sorted(some, key=repr))
    assert repr(order(rows[0])) == repr(order(rows[1]))  # NaN is NaN


@pytest.fixture
def both(spark: SparkSession, tmp_path: Path) -> Both:
    """`both(content or None, name, format, **options)`: the table that both engines read, after
    they were compared.
    """

    def read(
        content: bytes | str | None,
        name: str = "people.csv",
        kind: Any = "csv",
        in_order: bool = True,
        columns: Mapping[str, str] | None = None,
        **options: str,
    ) -> pa.Table:
        if content is not None:
            (tmp_path / name).write_bytes(
                content if isinstance(content, bytes) else content.encode(),
            )
        source = Input(
            path=str(tmp_path / name),
            format=kind,
            options=options,
            columns=dict(columns or {}),
        )
        found = locally(source)
        require_same(found, *by_spark(spark, source), in_order)
        if kind != "csv":
            schema, rows = by_tasks(spark, source)
            require_same(found.select(schema.names), schema, rows, in_order)
        return found

    return read


@pytest.fixture
def both_refuse(spark: SparkSession, tmp_path: Path) -> Callable[..., str]:
    """As `both`: the error of both engines."""

    def read(
        content: bytes | None,
        name: str = "people.csv",
        kind: Any = "csv",
        **options: str,
    ) -> str:
        if content is not None:
            (tmp_path / name).write_bytes(content)
        source = Input(path=str(tmp_path / name), format=kind, options=options)
        with pytest.raises(InputError) as found:
            locally(source)
        for read_by in (by_spark, by_spark if kind == "csv" else read_on_spark):
            with pytest.raises(InputError) as expected:
                read_by(spark, source)
            assert str(found.value) == str(expected.value)
        return str(found.value)

    return read


@pytest.fixture
def needs_spark(tmp_path: Path) -> Callable[..., str]:
    """As `both`: what needs Spark."""

    def read(
        content: bytes | None,
        name: str = "people.csv",
        kind: Any = "csv",
        **options: str,
    ) -> str:
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(NeedsSparkError) as found:
            locally(Input(path=str(tmp_path / name), format=kind, options=options))
        told = str(found.value)
        assert told.endswith(", which the local engine does not read; try engine: spark")
        assert "\n" not in told
        return told

    return read


# --- CSV

CSV = {
    "plain": b"name,age\nAnn,31\nBob,32\n",
    "quoted": b'name,age\n"Ann, ""A""","31"\n"",32\n"""",\'x\'\n"a\\","\\"\n',
    "CRLF": b'name,age\r\nAnn,31\r\n"Bob",""\r\n\r\n',
    "CR": b"name,age\rAnn,31\r\r'Bob',\"32\"",
    "all ends": b"name,age\r\nAnn,31\rBob,32\n\r\r\nCy,33\r\r\n",
    "mark": b"\xef\xbb\xbfname,age\nAnn,31\n",
    "blanks": b"\n  \nname,age\n\n \t \nAnn ,  31\n , \n,\n\n",
    "no end": b"name,age\nAnn,31",
    "return at the end": b"name,age\r\nAnn,31\r",
    "no rows": b"name,age\n",
    "one column": b'name\n\n""\nAnn\n',
    "text": "näme,age\nÅsa,\ufffd\n\u2028\x85,\x1c\n".encode(),
    "mixed names": b" name ,a.b\nAnn,`\n",
}


@pytest.mark.parametrize("content", CSV.values(), ids=list(CSV))
@pytest.mark.parametrize("header", ["true", "false"])
def test_csv(both: Both, content: bytes, header: str) -> None:
    table = both(content, header=header)
    assert pa.types.is_string(table.schema.field(0).type)


@pytest.mark.parametrize("sep", [";", "\t", "\\t", "|", ":"])
def test_separators(both: Both, sep: str) -> None:
    sign = "\t" if sep == "\\t" else sep
    assert both(
        f"a,b\n1{sign}2\n{sign}\n{sign}x\n".replace(",", sign),
        sep=sep,
        header="TRUE",
    ).column_names == [
        "a",
        "b",
    ]


@pytest.mark.parametrize(
    "options",
    [{"delimiter": ";"}, {"sep": ";", "encoding": "utf8"}, {"SEP": ";", "charset": "UTF-8"}],
)
def test_options(both: Both, options: dict[str, str]) -> None:
    assert both(b"a;b\n1;2\n", header="true", **options).to_pylist() == [{"a": "1", "b": "2"}]


@pytest.mark.parametrize(("compress", "ending"), [(gzip.compress, "gz"), (bz2.compress, "bz2")])
def test_compressed_files(both: Both, compress: Callable[[bytes], bytes], ending: str) -> None:
    packed = compress(b"\xef\xbb\xbfname,age\nAnn,31\n") + compress(b"Bob,32\n")
    assert both(packed, f"people.csv.{ending}", header="true").column_names == ["name", "age"]
    assert both(None, f"people.csv.{ending}", header="true").num_rows == 2


def test_a_folder_of_csv(both: Both, tmp_path: Path) -> None:
    (tmp_path / "people").mkdir()
    for number in range(3):
        (tmp_path / f"people/part-{number}.csv").write_text(f"name,age\nAnn{number},3{number}\n")
    (tmp_path / "people/_SUCCESS").write_text("")
    (tmp_path / "people/empty.csv").write_text("")
    (tmp_path / "people/.hidden").write_text("x")
    assert both(None, "people", in_order=False, header="true").num_rows == 3


def test_small_blocks_and_parts(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    ends = ("\r\n\n", "\r", "\n\n")
    content = "name,age\r" + "".join(f'"Ann, {i}",{i}{ends[i % 3]}' for i in range(99))
    for block, part in ((7, 50), (50, 7), (1, 1), (1000, 100)):
        monkeypatch.setattr(parts, "BLOCK", block)
        monkeypatch.setattr(csv_files, "PART", part)
        assert both(content, header="true").num_rows == 99


def test_renamed_columns(both: Both, spark: SparkSession) -> None:
    assert both(
        b"zip code,age\n1,2\n",
        header="true",
        columns={"zip code": "zip"},
    ).column_names == ["zip", "age"]


def outcome(read: Callable[[], pa.Table]) -> Any:
    """The rows of a table, or its error."""
    try:
        return read().to_pylist()
    except InputError as error:
        return str(error)


def test_random_csv(spark: SparkSession, tmp_path: Path) -> None:
    """Spark reads what is read here equally, whatever the signs."""
    draw, read = random.Random(7), 0
    for number in range(60):
        rows = "".join(draw.choice("aé ,,,\"\n\n\n\r\\\t';x") for _ in range(draw.randrange(3, 25)))
        if draw.random() < 0.7:
            cells = (
                "".join(draw.choice('a, \\é""') for _ in range(3)).replace('"', '""')
                for _ in range(9)
            )
            rows = "\n".join(f'"{cell}",{draw.choice(["", "x", " "])}' for cell in cells)
        source = Input(
            path=str(tmp_path / f"{number}.csv"),
            format="csv",
            options={"header": "true"},
        )
        Path(source.path).write_text("a,b\n" + rows, newline="")
        with suppress(NeedsSparkError):
            found = outcome(partial(locally, source))
            assert found == outcome(lambda: by_spark(spark, source)[1])  # noqa: B023
            read += 1
    assert read > 20


OFFICE = "Straße;Ort\nMüller € 1;Köln\n\n;'x'\n"


@pytest.mark.parametrize(
    "encoding",
    [*sniffing.BYTES, "ISO-8859-15", "UTF-16", "UTF-16LE", "UTF-16BE"],
)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_encodings(both: Both, encoding: str, ends: str) -> None:
    text = OFFICE.replace("\n", ends)
    if encoding == "windows-1251":
        text = text.translate({ord(sign): "ж" for sign in "üöß"})
    text = text.replace("€", "e") if encoding == "IBM850" else text
    table = both(text.encode(encoding), encoding=encoding, sep=";", header="true")
    assert table["Ort"].to_pylist() == [text.splitlines()[1].partition(";")[2], "'x'"]


def test_bytes_that_an_encoding_does_not_have(both_refuse: Callable[..., str]) -> None:
    told = both_refuse(b"a,b\n\xfc\x81,1\n\x81,2\n", header="true", encoding="windows-1252")
    assert told.startswith("column 'a' (2 rows): text is not in windows-1252")
    assert "byte order mark of UTF-16" in both_refuse(
        "a\n1\n".encode("utf-16"),
        encoding="windows-1252",
    )


def test_columns_without_a_name(both: Both) -> None:
    assert both(b",a,\n0,x,y\n", header="true").to_pylist() == [{"_0": "0", "a": "x", "_2": "y"}]


def test_texts_in_small_strokes(both: Both) -> None:
    content = "a,b\n'x, ''y''','1'\n'',\"z\"\n"
    assert both(content, header="true", quote="'").to_pylist() == [
        {"a": "x, 'y'", "b": "1"},
        {"a": None, "b": '"z"'},
    ]


@pytest.mark.parametrize(
    ("decimal", "thousands", "written"),
    [
        (",", ".", "1.234,50|-0,5|+12|1.234.567|"),
        (",", "\u00a0", "1\u00a0234,50|-0,5|+12|1\u00a0234\u00a0567|"),
        (".", "'", "1'234.50|-0.5|+12|1'234'567|"),
    ],
)
def test_marks_in_numbers(both: Both, decimal: str, thousands: str, written: str) -> None:
    texts = [*written.split("|"), "01.234,5", "1.23.45", "x,5", "12.12.2020"]
    content = "a;b\n" + "".join(f"{text};1\n" for text in texts)
    table = both(content, sep=";", header="true", decimal=decimal, thousands=thousands)
    assert table["a"].to_pylist() == ["1234.50", "-0.5", "+12", "1234567", None, *texts[5:]]


@pytest.mark.parametrize("currency", ["$", "\u20ac", "EUR"])
def test_amounts_with_a_currency(both: Both, currency: str) -> None:
    texts = [
        "{}1,234.50",
        "-{} 5",
        "{}-5",
        "7\u00a0{}",
        "+8.5{}",
        "5",
        "{}",
        "{}{}5",
        "5.5.5 {}",
        "x {}",
    ]
    written = [text.format(*[currency] * 2) for text in texts]
    content = "a;b\n" + "".join(f"{text};1\n" for text in written)
    table = both(content, sep=";", header="true", thousands=",", currency=currency)
    assert table["a"].to_pylist() == ["1234.50", "-5", "-5", "7", "+8.5", "5", *written[6:]]


def test_lines_around_a_table_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "people.csv"
    file.write_text(
        "\ufeffTitle\n\nof, more, parts\na,b\n1,2\n3,4\n\nTotal,\nsum,7\n\n",
        encoding="utf-8",
    )
    source = Input(
        path=str(file),
        format="csv",
        options={"skip_rows": "3", "skip_footer": "2", "header": "true"},
    )
    for block in (3, 1 << 20):
        monkeypatch.setattr(parts, "BLOCK", block)
        assert locally(source).to_pylist() == [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}]


# --- types that are inferred from CSV

INFER = {"header": "true", "inferSchema": "true"}
TEXTS = {
    "int": "1|-0|+5|007|2147483647|-2147483648",
    "bigint": "2147483648|-2147483649|9223372036854775807|-9223372036854775808|+09999999999",
    "double": "1.5|-0.0|.5|-.5|00.10|1e-5|1E-05|1.5e-3|1e400|-1e-400|4.9e-324|0.1|123456789.123456789|NaN|Inf|-Inf|"
    "Infinity|-Infinity|+Infinity| 1|1 |\t1.5 |1e5|1.7976931348623159e308|9007199254740993.0|2.5e-0|1.|1e0|0.0e1",
    "decimal": "1.|1e0|1.5e1|99999999999999999999|9223372036854775808|1e00|-.5e1|1.e3|1.0E10",
    "boolean": "true|false|TRUE|fAlSe",
    "date": "2020-01-01|0001-01-01|9999-12-31|1582-10-10|1500-02-28|2020-02-29",
    "timestamp": "2020-01-01 12:30|2020-01-01T12:30:15|2020-01-01 "
    "12:30:15.5|1500-01-01T00:00:00.123456Z|2020-01-01T12:30:15+02:00|2020-01-01 "
    "23:59:59.999999-08:30|0001-01-02 00:00:00|9999-12-31T00:00:00+00:00",
    "odd": "1d|1.5f|0x1p3|-NaN|NaN |Infinity |5d |\u0661\u0662|1\u0661|1e9999999999|2020-01|2020-1-1|10000-01-01|"
    "+10000-01-01|2020-01-01T12|12:30|T5|2020-01-01 | 2020-01-01|2020-01-01T12:30:15.1234567|1:2:3|+2020-01-01|1\0|"
    "2020-01-01 12:30:15+18:00|2020-01-01 12:30:15 UTC|2020-01-01T12:30:15.Z",
    "string": "x|.|+|-|nan|inf|+Inf|1e|1_0|0x1A|t|yes|1L| true|true | "
    "Inf|2020-02-30|1500-02-29|2020-13-01|01/02/2020|2020-01-|2020-01-01T24:00:00|2020-01-01 "
    "12:30:60|--1|1.2.3|1,0|\u00a01|null|3fa8|infinity|1-2-3|\u0661.\u0662",
}


def csv_of(columns: Mapping[str, list[str]]) -> str:
    """A CSV file of these columns, and one more."""
    rows = [*zip(*columns.values(), strict=True)]
    lines = [
        ",".join(f'"{text}"' if "," in text else text for text in (*row, "end"))
        for row in [tuple(columns), *rows]
    ]
    return "\n".join(lines) + "\n"


def drawn_columns(seed: int, number: int) -> Mapping[str, list[str]]:
    """Columns with texts of one kind or of several, by their names."""
    draw = random.Random(seed)
    columns = {
        f"{kind}{i}": [text] * 4
        for kind, texts in TEXTS.items()
        for i, text in enumerate(texts.split("|"))
    }
    for place in range(number):
        kinds = [*draw.sample([*TEXTS], draw.choice([1, 1, 1, 2, 2, 3]))]
        if draw.random() < 0.3:
            kinds = draw.sample(["int", "bigint", "double", "decimal"], 2)
        columns[f"drawn{place}"] = [
            draw.choice(["", *TEXTS[draw.choice(kinds)].split("|")]) for _ in range(4)
        ]
    return columns


@pytest.mark.parametrize("seed", [1, 2])
def test_inferred_types(both: Both, tmp_path: Path, seed: int) -> None:
    """A column that is read here has the type and the values that Spark reads."""
    read = {}
    for name, texts in drawn_columns(seed, 400).items():
        (tmp_path / "one.csv").write_text(csv_of({name: texts}))
        with suppress(NeedsSparkError):
            locally(Input(path=str(tmp_path / "one.csv"), format="csv", options=INFER))
            read[name] = texts
    assert {kind for kind in TEXTS if f"{kind}0" in read} == {*TEXTS} - {"decimal", "odd"}
    table = both(csv_of(read), **INFER)
    assert len({str(kind) for kind in table.schema.types}) == 7
    assert sum(name.startswith("drawn") for name in read) > 200


def test_inferred_types_of_folders(
    both: Both,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "people").mkdir()
    for number, row in enumerate(
        ["1,2020-01-01,x,,1,true", "9999999999,2020-01-01 12:30,1,,1.5,FALSE", '"",,,"",,'],
    ):
        (tmp_path / f"people/{number}.csv").write_text(f"a,b,c,d,e,f\r\n\n{row}\r\n", newline="")
    for part in (1, 1 << 26):
        monkeypatch.setattr(csv_files, "PART", part)
        table = both(None, "people", in_order=False, **INFER)
        assert [str(kind) for kind in table.schema.types] == [
            *("int64", "timestamp[us, tz=UTC]", "string", "string", "double", "bool"),
        ]


def test_inferred_types_without_a_header_or_rows(both: Both) -> None:
    assert both(b"1,x\n2,y\n", inferSchema="TRUE").schema.field("_c0").type == pa.int32()
    assert both(b"a,b\n", **INFER).schema.types == [pa.string()] * 2
    assert both(b"a,b\n1,2\n", header="true", inferschema="false").schema.types == [pa.string()] * 2


def test_malformed_rows_of_inferred_types(both_refuse: Callable[..., str]) -> None:
    assert "3 of 5 rows are malformed" in both_refuse(
        b"a,b\n1,2\n1\n1,2,\n\xff,2,3\n4,5\n",
        **INFER,
    )
    assert "'a' (1 rows): text is not in UTF-8" in both_refuse(b"a,b\n1,2\n\xff,2\n", **INFER)
    assert "'a' (1 rows): text holds NUL" in both_refuse(b"a,b\nx,2\n1\0,2\n", **INFER)


@pytest.mark.parametrize(
    "texts",
    ["1 true", "2020-01-01 2015", "true 2020-01-01", "1e0 2", "2020-01-01 2020-1-1"],
)
def test_inferred_types_that_need_spark(needs_spark: Callable[..., str], texts: str) -> None:
    told = needs_spark("age,z\n{},1\n{},1\n".format(*texts.split()).encode(), **INFER)
    assert "input.options.inferSchema: column 'age' has" in told


def test_headers_that_need_spark_to_infer(needs_spark: Callable[..., str], tmp_path: Path) -> None:
    needs_spark(b"a,b\n1,2\na,b\n", **INFER)
    (tmp_path / "people").mkdir()
    (tmp_path / "people/a.csv").write_text("a,b\n1,2\n")
    (tmp_path / "people/b.csv").write_text('a,"b"\n1,2\n')
    assert "different headers" in needs_spark(None, "people", **INFER)


def test_a_file_that_changes_after_its_types_were_inferred(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age\n31\n")
    table = LOCAL_INPUTS.read_table(
        LocalSession(),
        Input(path=str(tmp_path / "people.csv"), format="csv", options=INFER),
    )
    (tmp_path / "people.csv").write_text("age\nsecret\n")
    with pytest.raises(InputError, match=r"people.csv cannot be read") as error:
        table.collect()
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_an_empty_csv_file(both_refuse: Callable[..., str], content: bytes) -> None:
    assert "is empty" in both_refuse(content)


@pytest.mark.parametrize("kind", ["csv", "parquet", "delta"])
def test_a_path_that_does_not_exist(both_refuse: Callable[..., str], kind: str) -> None:
    assert "does not exist" in both_refuse(None, "nowhere", kind)


@pytest.mark.parametrize("kind", ["csv", "parquet", "delta"])
def test_an_empty_folder(both_refuse: Callable[..., str], tmp_path: Path, kind: str) -> None:
    (tmp_path / "people").mkdir()
    both_refuse(None, "people", kind)


def test_a_name_twice(both_refuse: Callable[..., str]) -> None:
    assert "in columns 2 and 4; rename one" in both_refuse(b"x,a,,A,\n1,2,3,4,5\n", header="true")


def test_malformed_rows(both_refuse: Callable[..., str]) -> None:
    told = both_refuse(b"a,b\n1,2\n1\n1,2,\n\xff,2,3\nx,y\n", header="true")
    assert "3 of 5 rows are malformed" in told


@pytest.mark.parametrize(
    "content",
    [
        b"a,b\nx,\xe9\n\xff,\xef\xbf\xbd\n\xfe,1\n",
        b"a,b\nx,f\0u\n\0,1\n\xff,\0\n",
        b'a,b\n"\xff,",1\n\xe2\x82,\n',
    ],
)
@pytest.mark.parametrize("header", ["true", "false"])
def test_damaged_text(both_refuse: Callable[..., str], content: bytes, header: str) -> None:
    assert "text " in both_refuse(content, header=header)


def test_damaged_text_of_columns_that_are_not_in_use(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_bytes(b"name,disease\nr\xe9,flu\n")
    source = Input(
        path=str(tmp_path / "people.csv"),
        format="csv",
        options={"header": "true"},
        columns={"name": "who"},
    )
    assert locally(source, ["disease"]).to_pylist() == [{"who": "r\ufffd", "disease": "flu"}]
    with pytest.raises(InputError, match=r"column 'who' \(1 rows\): text is not in UTF-8"):
        locally(source, ["who"])


PACKED = gzip.compress(b"a,b\n" + random.Random(1).randbytes(99999).hex().encode())


@pytest.mark.parametrize("content", [PACKED[:-9000], b"a,b\n" + b"1,2\n" * 99])
def test_damaged_gzip(both_refuse: Callable[..., str], content: bytes) -> None:
    told = both_refuse(content, "people.csv.gz", header="true")
    assert "people.csv.gz is truncated" in told or "people.csv.gz cannot be read" in told


def test_parquet_that_is_said_to_be_csv(both_refuse: Callable[..., str]) -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"a": list(range(99))}), sink)
    assert "is a Parquet file; set input.format: parquet" in both_refuse(
        sink.getvalue(),
        header="true",
    )
    assert "UTF-16" in both_refuse("a,b\n1,2\n".encode("utf-16"), header="true")


@pytest.mark.parametrize(
    "content",
    [
        b'a,b\nx"y,1\n',
        b'a,b\n"x"y,1\n',
        b'a,b\n "x",1\n',
        b'a,b\n"x\ny",1\n',
        b"a,_c1\n1,2\n",
        b"a,b\x01\n1,2\n",
        b'a,b\n"x',
        b'a,b\n"x\0",1\n',
    ],
)
def test_csv_that_needs_spark(needs_spark: Callable[..., str], content: bytes) -> None:
    needs_spark(content, header="true")


@pytest.mark.parametrize("infers", ["true", "false"])
@pytest.mark.parametrize("word", ["NA", "-", "n/a", "99", "", "N A"])
def test_a_word_that_means_missing(both: Both, word: str, infers: str) -> None:
    content = f'name,age\nAnn,{word}\n"{word or "Bob"}",32\n,7\n {word},\n{word}x,99\n'
    table = both(content, header="true", nullValue=word, inferSchema=infers)
    assert table["age"].null_count == (2 if word != "99" else 3)


def test_empty_texts_in_quotes_beside_a_word_for_missing_need_spark(
    needs_spark: Callable[..., str],
) -> None:
    assert "empty texts in quotes" in needs_spark(b'a,b\n"",NA\n', header="true", nullValue="NA")
    assert "the name of a column" in needs_spark(b"a,NA\n1,2\n", header="true", nullValue="NA")
    assert "input.options.nullValue" in needs_spark(
        b"a,b\n1,2\n",
        header="true",
        nullValue="\u00fc",
    )


@pytest.mark.parametrize("option", ["inferSchema", "quote", "multiLine", "sep", "header"])
def test_options_that_need_spark(needs_spark: Callable[..., str], option: str) -> None:
    assert "input.options" in needs_spark(b"a,b\n1,2\n", **{option: "windows-1252"})


def test_an_encoding_of_java_alone_needs_spark(needs_spark: Callable[..., str]) -> None:
    assert "input.options.encoding: it is x-MacRoman" in needs_spark(
        b"a,b\n1,2\n",
        encoding="x-MacRoman",
    )


@pytest.mark.parametrize("name", ["people.csv.snappy", "peo[p]le.csv"])
def test_names_that_need_spark(needs_spark: Callable[..., str], name: str) -> None:
    needs_spark(b"a,b\n1,2\n", name)


def test_files_of_different_headers_and_folders_need_spark(
    needs_spark: Callable[..., str],
    tmp_path: Path,
) -> None:
    (tmp_path / "people").mkdir()
    (tmp_path / "people/a.csv").write_text("a,b\n1,2\n")
    (tmp_path / "people/b.csv").write_text("a,B\n1,2\n")
    assert "different headers" in needs_spark(None, "people", header="true")
    (tmp_path / "people/c=1").mkdir()
    assert "folders" in needs_spark(None, "people", header="true")


@pytest.mark.parametrize("path", ["s3a://bucket/people-*.parquet", "hdfs://host/people"])
def test_patterns_and_uris_of_hadoop_need_spark(path: str) -> None:
    with pytest.raises(NeedsSparkError):
        locally(Input(path=path, format="parquet"))
    with pytest.raises(NeedsSparkError):
        locally(Input(path="census.people", format="table"))


# --- Parquet

MOMENT = dt.datetime(2020, 5, 17, 1, 2, 3, 456789)
COLUMNS = {
    "text": ["é", None, "\ufffd"],
    "nothing": pa.nulls(3),
    **{
        f"i{bits}": pa.array([1, None, 3], kind)
        for bits, kind in ((8, pa.int8()), (16, pa.int16()), (32, pa.int32()))
    },
    "u8": pa.array([1, 2, 255], pa.uint8()),
    "u16": pa.array([1, 2, 65535], pa.uint16()),
    "u32": pa.array([1, 2, 2**32 - 1], pa.uint32()),
    "u64": pa.array([1, 2, 2**64 - 1], pa.uint64()),
    "flag": [True, None, False],
    "x": pa.array([1.5, float("nan"), -0.0], pa.float32()),
    "y": [1.5, None, float("inf")],
    "category": pa.array(["a", None, "b"]).dictionary_encode(),
    "large": pa.array(["a", "b", None], pa.large_string()),
    "view": pa.array(["a", "b", None], pa.string_view()),
    "bytes": [b"a", b"\xff", None],
    "fixed": pa.array([b"ab", b"cd", None], pa.binary(2)),
    "json": pa.array(["1", "2", None], pa.json_()),
    "day": [dt.date(1500, 1, 1), None, dt.date(2020, 1, 1)],
    "day64": pa.array([0, 86_400_000, None], pa.date64()),
    "s": pa.array([1, None, -1], pa.timestamp("s")),
    "ms": pa.array([1, None, -1], pa.timestamp("ms", "Europe/Paris")),
    "us": pa.array([MOMENT, None, dt.datetime(1500, 1, 1)], pa.timestamp("us", "UTC")),
    "ns": pa.array([1, None, 3], pa.timestamp("ns")),
    "span": pa.array([1, None, 3], pa.duration("us")),
    **{f"d{p}": pa.array([1, None, -2], pa.decimal128(p, 2)) for p in (5, 15, 38)},
    "list": [[1], None, []],
    "struct": [{"x": 1, "y": ["a"]}, None, {"x": 2, "y": None}],
    "map": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int32())),
    "a.b `c`": [1, 2, 3],
}


@pytest.mark.parametrize("name", COLUMNS)
def test_types_of_parquet(both: Both, tmp_path: Path, name: str) -> None:
    pq.write_table(
        pa.table({"id": [1, 2, 3], name: COLUMNS[name], "last": ["x", "y", "z"]}),
        tmp_path / "people.parquet",
    )
    both(None, "people.parquet", "parquet")


@pytest.mark.parametrize("version", ["1.0", "2.4"])
def test_parquet_of_arrow_in_row_groups(
    both: Both,
    tmp_path: Path,
    version: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    columns = {name: column for name, column in COLUMNS.items() if name != "ns"}
    for name in ("PART_ROWS", "FEW_ROWS"):
        monkeypatch.setattr(parquet_files, name, 2)
    pq.write_table(
        pa.table(columns),
        tmp_path / "people.parquet",
        version=version,
        row_group_size=1,
    )
    both(None, "people.parquet", "parquet")


@pytest.mark.parametrize(
    ("length", "rows"),
    [(1, [[12], [9]]), (1000, [[6, 6], [6, 3]])],
    ids=["short", "long"],
)
def test_small_files_share_partitions_and_batches(
    tmp_path: Path,
    length: int,
    rows: list[list[int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parquet_files, "FEW_ROWS", 10)
    monkeypatch.setattr(parquet_files, "BATCH_BYTES", 16_000)
    texts = [f"{row}" * length for row in range(10, 31)]
    paths = [tmp_path / f"{place}.parquet" for place in range(7)]
    for place, path in enumerate(paths):
        pq.write_table(pa.table({"text": texts[3 * place :][:3]}), path)
    files = [parquet_files.open_parquet(path) for path in paths]
    read = [list(part(Counter())) for part in parquet_files.partitions_of(files, files[0].schema)]
    assert [[batch.num_rows for batch in batches] for batches in read] == rows
    assert [
        text for batches in read for batch in batches for text in batch["text"].to_pylist()
    ] == texts


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_columns_that_are_not_selected_are_not_read(
    tmp_path: Path,
    kind: Literal["parquet", "delta"],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "people"
    table = pa.table({"age": [1, 2], "sex": ["f", "m"], "other": ["a", "b"]})
    if kind == "delta":
        write_deltalake(str(path), table)
    else:
        pq.write_table(table, path)
    opened: list[list[str]] = []
    batches = pq.ParquetFile.iter_batches

    def watched(
        file: pq.ParquetFile,
        *given: Any,
        columns: list[str],
        **more: Any,
    ) -> Iterator[pa.RecordBatch]:
        opened.append(columns)
        return batches(file, *given, columns=columns, **more)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", watched)
    read = LOCAL_INPUTS.read_table(
        LocalSession(),
        Input(path=str(path), format=kind, columns={"sex": "gender"}),
    )
    assert collect(select(read, ["gender", "age"])).to_pydict() == {
        "gender": ["f", "m"],
        "age": [1, 2],
    }
    assert opened == [["sex", "age"]]


def test_parquet_of_int96(both: Both, tmp_path: Path) -> None:
    times = {
        "at": [
            MOMENT,
            dt.datetime(1500, 1, 1),
            dt.datetime(1800, 1, 1, 0, 0, 0, 1),
            dt.datetime(9999, 1, 1),
        ],
    }
    pq.write_table(
        pa.table(times),
        tmp_path / "people.parquet",
        use_deprecated_int96_timestamps=True,
    )
    assert both(None, "people.parquet", "parquet").schema.field("at").type == pa.timestamp(
        "us",
        "UTC",
    )


def test_parquet_of_pandas_and_polars(both: Both, tmp_path: Path) -> None:
    frame = {
        "name": ["Ann", None],
        "age": [31, 32],
        "at": [MOMENT, None],
        "none": [None, None],
        "x": [1.5, None],
    }
    pd.DataFrame(frame, index=[3, 4]).to_parquet(tmp_path / "people.parquet")
    assert both(None, "people.parquet", "parquet").num_columns == 6
    pl.DataFrame({**frame, "none": [[1], []]}).write_parquet(tmp_path / "people.parquet")
    both(None, "people.parquet", "parquet")


def test_parquet_and_delta_of_spark(both: Both, spark: SparkSession, tmp_path: Path) -> None:
    made = spark.sql(
        "SELECT id, CAST(id AS tinyint) AS small, CAST(id AS string) AS text, CAST(id AS "
        "decimal(20, 3)) AS number, date'1500-01-01' AS day, timestamp'2020-01-01 "
        "01:02:03.456789' AS at, timestamp_ntz'2020-01-01' AS local, array(id) AS many, map('a', "
        "id) AS pairs, struct(id, 'x' AS name) AS one, X'00' AS bytes FROM range(9)",
    ).repartition(3)
    made.write.parquet(str(tmp_path / "people"))
    assert both(None, "people", "parquet", in_order=False).num_rows == 9
    made.write.format("delta").partitionBy("text", "small", "day", "number").save(
        str(tmp_path / "delta"),
    )
    assert both(None, "delta", "delta", in_order=False).num_rows == 9


def test_damaged_parquet(both_refuse: Callable[..., str], tmp_path: Path) -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"a": ["x"] * 99, "b": list(range(99))}), sink)
    whole = sink.getvalue()
    assert "is empty (0 bytes)" in both_refuse(b"", "people.parquet", "parquet")
    assert "is truncated" in both_refuse(whole[:-50], "people.parquet", "parquet")
    assert "it is damaged" in both_refuse(
        whole[:4] + bytes(100) + whole[104:],
        "people.parquet",
        "parquet",
    )
    (tmp_path / "many").mkdir()
    (tmp_path / "many/a.parquet").write_bytes(whole)
    assert "b.parquet is empty" in both_refuse(b"", "many/b.parquet", "parquet").replace(
        "people",
        "b",
    )
    with pytest.raises(InputError, match=r"b.parquet is empty"):
        locally(Input(path=str(tmp_path / "many"), format="parquet"))


def test_damaged_text_of_parquet(both_refuse: Callable[..., str], tmp_path: Path) -> None:
    text = pa.array([b"r\xe9", b"ok", b"\xff", None]).view(pa.string())
    pq.write_table(pa.table({"a": text, "b": ["x", "y", "z", "w"]}), tmp_path / "people.parquet")
    assert "column 'a' (2 rows): text is not in UTF-8" in both_refuse(
        None,
        "people.parquet",
        "parquet",
    )
    pq.write_table(pa.table({"a": ["x", "\0"], "b": ["", "\0\0"]}), tmp_path / "people.parquet")
    assert "columns 'a' (1 rows), 'b' (1 rows): text holds NUL" in both_refuse(
        None,
        "people.parquet",
        "parquet",
    )


def test_names_twice_in_parquet(both_refuse: Callable[..., str], tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1], "A": [2]}), tmp_path / "people.parquet")
    assert "has a duplicate" in both_refuse(None, "people.parquet", "parquet")


@pytest.mark.parametrize("column", [pa.array([[1]], pa.list_(pa.uint32())), pa.array([[1]])])
def test_parquet_that_needs_spark(
    needs_spark: Callable[..., str],
    tmp_path: Path,
    column: pa.Array,
) -> None:
    pq.write_table(pa.table({"a": column}), tmp_path / "people.parquet")
    needs_spark(None, "people.parquet", "parquet")


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1], pa.time64("ns")),
        pa.array([1], pa.time64("us")),
        pa.array([1], pa.time32("ms")),
        pa.array([1], pa.decimal256(50, 0)),
        pa.array([1.0], pa.float16()),
        pa.array([b"x" * 16], pa.uuid()),
    ],
)
def test_a_type_that_no_engine_reads(spark: SparkSession, tmp_path: Path, column: pa.Array) -> None:
    """Spark is not advised where it refuses the file, too."""
    pq.write_table(pa.table({"b": [1], "a": column}), tmp_path / "people.parquet")
    source = Input(path=str(tmp_path / "people.parquet"), format="parquet")
    with pytest.raises(InputError) as found:
        locally(source)
    told = (
        f"people.parquet has column 'a' of a type that Spark cannot read, {column.type}; write it "
        "as another"
    )
    assert str(found.value) == f"input.path: {told}"
    with pytest.raises(InputError):
        by_spark(spark, source)


@pytest.mark.parametrize("unit", ["s", "ns"])
def test_durations_of_parquet_are_marked(both: Both, tmp_path: Path, unit: str) -> None:
    """A release has no type for them, and the number alone would say no unit."""
    durations = pa.array([1, None], pa.duration(unit))
    pq.write_table(pa.table({"age": [1, 2], "for": durations}), tmp_path / "people.parquet")
    field = both(None, "people.parquet", "parquet").schema.field("for")
    assert why_unreadable(field) == (
        f"of type duration[{unit}], which Spark does not have; convert it to plain values, or "
        "leave the column out"
    )


def write_files(folder: Path, **tables: dict[str, list[Any]]) -> None:
    folder.mkdir()
    for name, table in tables.items():
        pq.write_table(pa.table(table), folder / f"{name}.parquet")


def test_parquet_of_different_types_needs_spark(
    needs_spark: Callable[..., str],
    tmp_path: Path,
) -> None:
    write_files(tmp_path / "people", a={"a": [1]}, b={"a": ["x"]})
    assert "differ in type" in needs_spark(None, "people", "parquet")
    assert "input.options" in needs_spark(None, "people", "parquet", mergeSchema="true")


@pytest.mark.parametrize("first", ["whole", "less"])
def test_a_column_that_a_parquet_file_lacks(
    both_refuse: Callable[..., str],
    tmp_path: Path,
    first: str,
) -> None:
    """Spark alone would read it as missing, or leave it out, if the first file lacks it."""
    tables = {
        "whole": {"age": [1], "Sex": ["f"], "town": ["Pisa"]},
        "less": {"age": [2]},
        "else": {"AGE": [3]},
    }
    second = "less" if first == "whole" else "whole"
    write_files(tmp_path / "a b", **{f"1 {first}": tables[first], f"2 {second}": tables[second]})
    place = 2 if first == "whole" else 1
    assert both_refuse(None, "a b", "parquet") == (
        f"input.path: {place} less.parquet lacks column 'Sex' and 1 more, which {3 - place} "
        "whole.parquet has; write the files with the same columns, or set "
        "input.options.mergeSchema: true to read it as missing"
    )


def test_a_lacking_column_is_missing_where_schemas_are_merged(
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    write_files(tmp_path / "people", a={"age": [1]}, b={"age": [2], "sex": ["f"]})
    for key in ("mergeSchema", "mergeschema"):
        source = Input(path=str(tmp_path / "people"), format="parquet", options={key: "true"})
        assert sorted(by_spark(spark, source)[1].to_pylist(), key=str) == [
            {"age": 1, "sex": None},
            {"age": 2, "sex": "f"},
        ]


def test_columns_in_another_order_or_case_are_the_same(
    needs_spark: Callable[..., str],
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    write_files(tmp_path / "people", a={"age": [1], "sex": ["m"]}, b={"Sex": ["f"], "AGE": [2]})
    needs_spark(None, "people", "parquet")
    _, table = by_spark(spark, Input(path=str(tmp_path / "people"), format="parquet"))
    assert table.num_rows == 2
    assert not any(column.null_count for column in table.columns)


def test_intervals_of_pandas_are_texts(both: Both, tmp_path: Path) -> None:
    ages = pd.Series([21, 35, None])
    cuts = [pd.cut(ages, [20, 30, 40], right=side) for side in (True, False)]
    frame = pd.DataFrame(
        {f"i{place}": pd.arrays.IntervalArray(cut) for place, cut in enumerate(cuts)},
    )
    frame.assign(name=["a", "b", "b"]).to_parquet(tmp_path / "people.parquet")
    table = both(None, "people.parquet", "parquet")
    assert table["i0"].to_pylist() == ["(20.0, 30.0]", "(30.0, 40.0]", None]
    assert table["i1"].to_pylist() == ["[20.0, 30.0)", "[30.0, 40.0)", None]


def test_times_of_a_zone_are_unreadable(both: Both, tmp_path: Path) -> None:
    at = pa.array([MOMENT], pa.timestamp("us", "Europe/Berlin"))
    pq.write_table(pa.table({"at": at, "age": [1]}), tmp_path / "people.parquet")
    told = why_unreadable(both(None, "people.parquet", "parquet").schema.field("at"))
    assert "a timestamp of the zone Europe/Berlin" in told


def test_spark_takes_from_this_process_what_it_does_not_read(
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    (tmp_path / "a.csv").write_text("Title\nage;sex\n1,5;f\nTotal;9\n")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        made.writestr("a.csv", "age;sex\n1,5;f\n")
    pd.DataFrame({"age": [1.5], "sex": ["f"]}).to_excel(tmp_path / "a.xlsx", index=False)
    how = {"header": "true", "inferSchema": "true"}
    inputs: dict[str, dict[str, Any]] = {
        "a.csv": {"format": "csv", "options": {**how, "skip_rows": "1", "skip_footer": "1"}},
        "a.zip": {"format": "csv", "options": how},
        "a.xlsx": {"format": "excel"},
    }
    for name, about in inputs.items():
        table = sources.read_table(spark, Input(path=str(tmp_path / name), **about))
        assert collect(table).to_pylist() == [{"age": 1.5, "sex": "f"}]


# --- Delta


def test_versions_of_delta(both: Both, spark: SparkSession, tmp_path: Path) -> None:
    path, rows = (
        tmp_path / "people",
        spark.createDataFrame([(1, None), (2, "ä /%:=")], "age int, sex string"),
    )
    rows.write.format("delta").partitionBy("sex").save(str(path))
    rows.selectExpr("age", "sex", "1.5D AS weight").write.format("delta").mode("append").option(
        "mergeSchema",
        "true",
    ).save(str(path))
    assert both(None, "people", "delta", in_order=False).num_rows == 4
    assert both(None, "people", "delta", in_order=False, versionAsOf="0").num_rows == 2
    for options in ({}, {"versionAsOf": "0"}):
        source = Input(path=str(path), format="delta", options=options)
        commit = LOCAL_INPUTS.commit_of(LocalSession(), source)
        assert commit == input_state.commit_of(spark, source)
        assert commit is not None
        assert LOCAL_INPUTS.input_state(LocalSession(), source, commit) == input_state.input_state(
            spark,
            source,
            commit,
        )
        table = LOCAL_INPUTS.read_table(LocalSession(), source, commit.version)
        assert table.collect().num_rows == 4 - 2 * len(options)


@pytest.mark.parametrize(
    "feature",
    ["delta.columnMapping.mode=name", "delta.enableDeletionVectors=true"],
)
def test_features_of_delta_need_spark(
    needs_spark: Callable[..., str],
    spark: SparkSession,
    tmp_path: Path,
    feature: str,
) -> None:
    key, value = feature.split("=")
    spark.sql(
        f"CREATE TABLE delta.`{tmp_path}/people` (age int) USING delta TBLPROPERTIES ('{key}' = "
        f"'{value}')",
    )
    assert "is a Delta table with" in needs_spark(None, "people", "delta")
    assert "input.options" in needs_spark(None, "people", "delta", timestampAsOf="2020-01-01")


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_delta_table_is_read_as_one_only(
    both_refuse: Callable[..., str],
    spark: SparkSession,
    tmp_path: Path,
    kind: str,
) -> None:
    """Its files hold rows that were deleted."""
    spark.range(3).write.format("delta").save(f"{tmp_path}/people")
    assert "is a Delta table, whose files also hold deleted rows" in both_refuse(
        None,
        "people",
        kind,
    )


SIGNS = [
    "",
    " ",
    "  x ",
    "a&b",
    "50%",
    "%41",
    "%2541",
    "a/b",
    "a=b",
    "+",
    "#",
    "?",
    "'",
    '"',
    "\\",
    ":",
    ".",
    "..",
    "~",
]
WORDS = ["a\nb", "é", "\u4e2d", "__HIVE_DEFAULT_PARTITION__", "null", "NULL", "None", "01", "1"]
PARTS = st.sampled_from(SIGNS) | st.sampled_from(WORDS)
PARTS |= st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn"]), max_size=3)


@drawn(12, quick=4)
@given(
    values=st.lists(st.none() | PARTS, min_size=1, max_size=8),
    others=st.lists(st.none() | st.integers(-3, 3), min_size=8, max_size=8),
)
def test_values_of_partitions_are_alike(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    values: list[str | None],
    others: list[int | None],
) -> None:
    """Of a Delta table that another package than Spark wrote: Spark itself writes an empty text as
    missing.
    """
    path = tmp_path_factory.mktemp("delta") / "people"
    columns = {
        "part": pa.array(values, pa.string()),
        "other": pa.array(others[: len(values)], pa.int32()),
    }
    table = pa.table({**columns, "row": range(len(values)), "kept": columns["part"]})
    write_deltalake(str(path), table, partition_by=["part", "other"])
    source = Input(path=str(path), format="delta")
    found = locally(source)
    require_same(found, *by_spark(spark, source), in_order=False)
    schema, rows = by_tasks(spark, source)
    require_same(found.select(schema.names), schema, rows, in_order=False)
    for row in found.to_pylist():
        # By deltalake itself, beside other values.
        may_be_lost = row["kept"] == "__HIVE_DEFAULT_PARTITION__"
        assert row["part"] == row["kept"] or (may_be_lost and row["part"] is None)


def test_a_missing_partition_value_in_a_folder_without_its_name_needs_spark(tmp_path: Path) -> None:
    write_deltalake(
        str(tmp_path / "people"),
        pa.table({"part": ["", "a"], "row": [1, 2]}),
        partition_by=["part"],
    )
    (log,) = (tmp_path / "people/_delta_log").glob("*.json")
    (tmp_path / "people/part=").rename(tmp_path / "people/x")
    log.write_text(log.read_text().replace('"path":"part=/', '"path":"x/'))
    with pytest.raises(NeedsSparkError, match="a partition that is missing or an empty text"):
        locally(Input(path=str(tmp_path / "people"), format="delta"))


@pytest.mark.parametrize(
    ("folders", "lost"),
    [
        (["1", "12"], ""),
        (["01", "1"], "01"),
        (["1.0", "1.00"], "1.00"),
        (["a", "01"], ""),
        (["-0", "1"], "-0"),
    ],
)
def test_partitions_of_parquet_that_numbers_would_change_are_refused(
    spark: SparkSession,
    needs_spark: Callable[..., str],
    tmp_path: Path,
    folders: list[str],
    lost: str,
) -> None:
    for place, folder in enumerate(folders):
        (tmp_path / f"people/zip={folder}").mkdir(parents=True)
        pq.write_table(pa.table({"row": [place]}), tmp_path / f"people/zip={folder}/a.parquet")
    needs_spark(None, "people", "parquet")
    source = Input(path=str(tmp_path / "people"), format="parquet")
    if lost:
        with pytest.raises(
            InputError,
            match="partition column 'zip' has texts that Spark reads as other numbers",
        ):
            read_table(spark, source)
        return
    rows = read_table(spark, source).toArrow().to_pylist()
    assert {row["row"]: str(row["zip"]) for row in rows} == dict(enumerate(folders))


def test_a_column_without_values_is_read_as_its_parquet_file(
    both: Both,
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    frame = pd.DataFrame({"age": [1, 2], "nothing": [None, None]})
    frame.to_parquet(tmp_path / "a.parquet")
    expected = both(None, "a.parquet", "parquet")
    for table in (
        frame,
        pl.DataFrame({"age": [1, 2], "nothing": [None, None]}),
        pa.Table.from_pandas(frame),
    ):
        found = frame_table(LocalSession(), table)
        assert found.schema.field("nothing") == expected.schema.field("nothing")
        require_same(found.collect(), *rows_of(as_dataframe(spark, table)))


# --- tables in memory, and states


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars", "lazy"])
def test_tables_in_memory(spark: SparkSession, kind: str) -> None:
    columns = {
        name: column
        for name, column in COLUMNS.items()
        if kind != "pandas" or name not in ("map", "view")
    }
    if kind in ("polars", "lazy"):
        columns = {
            name: columns[name]
            for name in ("text", "i8", "u32", "category", "us", "ns", "list", "nothing", "y")
        }
    arrow = pa.table({name: column for name, column in columns.items() if name not in ("json",)})
    if kind == "arrow":
        table: Any = arrow
    else:
        table = arrow.to_pandas() if kind == "pandas" else pl.from_arrow(arrow)
    session = LocalSession()
    session.views["tclose_frame"] = frame_table(session, table.lazy() if kind == "lazy" else table)
    found = LOCAL_INPUTS.read_table(session, Input(path="tclose_frame", format="table"))
    require_same(found.collect(), *rows_of(as_dataframe(spark, table)))
    assert (
        LOCAL_INPUTS.commit_of(LocalSession(), Input(path="tclose_frame", format="table")) is None
    )
    again = frame_table(session, found.collect())
    assert isinstance(again, LocalTable)
    assert again.schema.field("text") == found.schema.field("text")


def test_the_state_of_files(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "people").mkdir()
    (tmp_path / "people/a.csv").write_text("a\n1\n")
    for path in (f"{tmp_path}/people", f"file://{tmp_path}/people"):
        source = Input(path=path, format="csv")
        assert LOCAL_INPUTS.commit_of(LocalSession(), source) is None
        assert LOCAL_INPUTS.input_state(LocalSession(), source, None) == input_state.input_state(
            spark,
            source,
            None,
        )
    assert (
        LOCAL_INPUTS.input_state(LocalSession(), Input(path=f"{tmp_path}/none", format="csv"), None)
        is None
    )
