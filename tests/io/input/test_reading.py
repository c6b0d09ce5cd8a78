"""Reading files: text as the file holds it or not at all, and errors that name file, column and
count but no value.
"""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ALL_ON_SPARK
from pyspark.sql import SparkSession

from tclose_spark.errors import InputError
from tclose_spark.io.input.csv_on_spark import SourceTable, check_text, checked
from tclose_spark.io.input.reading import read_table
from tclose_spark.runfile.spec import Input

Command = Callable[..., tuple[int, str, str]]
Refused = Callable[..., str]

SECRETS = ("NAMESECRET", "SECRETDX", "ré", "rè", "PAR1", "\ufffd", "\0")
HEADER = "name,age,sex,disease\n"


def people(first: str = "flu", second: str = "gout", rows: int = 200) -> str:
    """Lines of people who have one of two diseases."""
    return "".join(
        f"NAMESECRET{i},{20 + i % 30},{'fm'[i % 2]},{second if i % 2 else first}\n"
        for i in range(rows)
    )


@pytest.fixture
def refused(tmp_path: Path, write_run: Callable[..., Path], tclose: Command) -> Refused:
    """`refused(content, name=..., **options)`: the one message of a release and of an audit of a
    file, both of which end with 2 and tell no value.
    """

    def run(
        content: bytes,
        name: str = "people.csv",
        file_format: str = "csv",
        roles: Any = None,
        audited_as: tuple[str, str] = ("age,sex", "disease"),
        **options: Any,
    ) -> str:
        (tmp_path / name).write_bytes(content)
        options = {"header": "true", **options} if file_format == "csv" else options
        source = {"path": name, "format": file_format, "options": options}
        path = write_run(
            tmp_path,
            None,
            source=source,
            **{"direct_identifiers": ["name"], **(roles or {})},
        )
        code, out, err = tclose("release", path)
        assert code == 2, err
        assert not (tmp_path / "out/public").exists()
        typed = [part for key, value in options.items() for part in ("--option", f"{key}={value}")]
        command = [
            "audit",
            tmp_path / name,
            "-q",
            audited_as[0],
            "-s",
            audited_as[1],
            "--format",
            file_format,
            *typed,
        ]
        audited, audit_out, audit_err = tclose(*command)
        assert audited == 2, audit_err
        for secret in SECRETS:
            assert not any(secret in text for text in (out, err, audit_out, audit_err)), secret
        assert "unexpected" not in err + audit_err
        run.audit = " ".join(audit_err.split())  # type: ignore[attr-defined]
        return " ".join(err.split())

    return run


# --- text that cannot be decoded


def test_latin_1_is_not_read_as_utf_8(refused: Refused) -> None:
    """`ré` and `rè` became one value of 200 rows, and the release held."""
    told = refused((HEADER + people("ré", "rè")).encode("latin-1"), encoding="UTF-8")
    assert (
        "column 'disease' (200 rows): text is not in UTF-8, and different values would be read as "
        "one" in told
    )
    assert "set input.options.encoding to the file's own" in told
    assert "set --option encoding to" in refused.audit  # type: ignore[attr-defined]


def test_a_file_with_its_encoding_is_read(
    tmp_path: Path,
    write_run: Callable[..., Path],
    tclose: Command,
    spark: SparkSession,
) -> None:
    (tmp_path / "people.csv").write_bytes((HEADER + people("ré €", "rè €")).encode("cp1252"))
    source = {
        "path": "people.csv",
        "format": "csv",
        "options": {"header": "true", "encoding": "windows-1252"},
    }
    path = write_run(tmp_path, None, source=source, direct_identifiers=["name"])
    assert tclose("release", path)[0] == 0
    released = spark.read.format("delta").load(str(tmp_path / "out/public/release"))
    assert {tuple(row) for row in released.groupBy("disease").count().collect()} == {
        ("ré €", 100),
        ("rè €", 100),
    }


@pytest.mark.parametrize("multi_line", ["false", "true"])
def test_compressed_latin_1_is_not_read_as_utf_8(refused: Refused, multi_line: str) -> None:
    told = refused(
        gzip.compress((HEADER + people("ré", "rè")).encode("latin-1")),
        "people.csv.gz",
        multiLine=multi_line,
        encoding="UTF-8",
    )
    assert "column 'disease' (200 rows): text is not in UTF-8" in told


def test_malformed_text_of_an_insensitive_attribute_is_named(refused: Refused) -> None:
    content = (HEADER + people()).replace("NAMESECRET7,", "sécret,").encode("latin-1")
    roles = {"direct_identifiers": [], "insensitive_attributes": ["name"], "allow_unique": ["name"]}
    told = refused(content, roles=roles, audited_as=("age,name", "disease"), encoding="UTF-8")
    assert "column 'name' (1 rows): text is not in UTF-8" in told


def test_columns_that_are_not_released_may_be_malformed(
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    (tmp_path / "people.csv").write_bytes("name,disease\nré,flu\n".encode("latin-1"))
    source = Input(path=str(tmp_path / "people.csv"), format="csv", options={"header": "true"})
    assert checked(SourceTable(read_table(spark, source), source, ["disease"])).count() == 1


def test_a_replacement_character_of_the_file_is_text(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("name,disease\nAnn,r\ufffd\nBob,flu\n", encoding="utf-8")
    source = Input(path=str(tmp_path / "people.csv"), format="csv", options={"header": "true"})
    table = checked(SourceTable(read_table(spark, source), source, ["name", "disease"]))
    assert [row["disease"] for row in table.collect()] == ["r\ufffd", "flu"]


@pytest.mark.parametrize(
    "options",
    [{}, {"multiLine": "true"}, {"inferSchema": "true"}, {"header": "false"}],
)
def test_malformed_rows_are_counted_beside_replacement_characters_of_the_file(
    spark: SparkSession,
    tmp_path: Path,
    options: dict[str, str],
) -> None:
    lines = [
        b"name;disease",
        "Ann;r\ufffd".encode(),
        b'Bob;"r\xe9;"',
        b"Eve;\xe9",
        "Joe;ré".encode(),
    ]
    (tmp_path / "people.csv").write_bytes(b"\n".join(lines))
    source = Input(
        path=str(tmp_path / "people.csv"),
        format="csv",
        options={"header": "true", "sep": ";", **options},
    )
    table = read_table(spark, source)
    with pytest.raises(
        InputError,
        match=r"^column '(disease|_c1)' \(2 rows\): text is not in UTF-8",
    ):
        check_text(SourceTable(table, source, table.columns))


@pytest.mark.parametrize(("encoding", "content"), [("US-ASCII", "ré"), ("windows-1252", "r\x81")])
def test_text_that_an_encoding_does_not_have_is_refused(
    refused: Refused,
    encoding: str,
    content: str,
) -> None:
    told = refused((HEADER + people(content)).encode("latin-1"), encoding=encoding)
    assert f"column 'disease' (100 rows): text is not in {encoding}" in told


def test_an_encoding_that_is_none_is_named(refused: Refused) -> None:
    assert "input.options.encoding: latin1000 is no encoding" in refused(
        (HEADER + people()).encode(),
        encoding="latin1000",
    )


def test_a_malformed_header_is_refused(refused: Refused) -> None:
    told = refused(("prénom,age,sex,disease\n" + people()).encode("latin-1"), encoding="UTF-8")
    assert "1 of 4 names in the first line of" in told
    assert "are not in UTF-8; set input.options.encoding" in told


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("header", ["true", "false"])
def test_utf_16_is_recognised(refused: Refused, encoding: str, header: str) -> None:
    numbered: dict[str, Any] = {
        "roles": {
            "direct_identifiers": ["_c0"],
            "quasi": {"_c1": {}, "_c2": {}},
            "sensitive": {"_c3": {"t": 1}},
        },
        "audited_as": ("_c1,_c2", "_c3"),
    }
    content = (HEADER + people()).encode(encoding)
    told = refused(
        content,
        header=header,
        encoding="UTF-8",
        **(numbered if header == "false" else {}),
    )
    wanted = {"utf-16": "UTF-16", "utf-16-le": "UTF-16LE", "utf-16-be": "UTF-16BE"}[encoding]
    assert f"set input.options.encoding: {wanted}" in told


@pytest.mark.parametrize(
    ("written", "encoding"),
    [("utf-16", "UTF-16"), ("utf-16-le", "UTF-16LE"), ("utf-16-be", "utf-16be")],
)
def test_utf_16_is_read(spark: SparkSession, tmp_path: Path, written: str, encoding: str) -> None:
    (tmp_path / "people.csv").write_bytes(
        "age,disease\r\n31,Ċé\r\n40,flu\r\n".encode(written),
    )  # Ċ has a byte 10
    source = Input(
        path=str(tmp_path / "people.csv"),
        format="csv",
        options={"header": "true", "encoding": encoding},
    )
    table = checked(SourceTable(read_table(spark, source), source, ["age", "disease"]))
    assert [tuple(row) for row in table.collect()] == [("31", "Ċé"), ("40", "flu")]


@pytest.mark.parametrize("options", [{}, {"multiLine": "true"}, {"encoding": "utf-8"}])
def test_a_byte_order_mark_is_no_part_of_the_first_name(
    spark: SparkSession,
    tmp_path: Path,
    options: dict[str, str],
) -> None:
    (tmp_path / "people.csv").write_text("age,sex\n31,é\n", encoding="utf-8-sig")
    table = read_table(
        spark,
        Input(
            path=str(tmp_path / "people.csv"),
            format="csv",
            options={"header": "true", **options},
        ),
    )
    assert table.columns[:2] == ["age", "sex"]
    assert [row["age"] for row in table.collect()] == ["31"]


@pytest.mark.parametrize(("written", "mark"), [("utf-8-sig", "UTF-8"), ("utf-16", "UTF-16")])
def test_a_byte_order_mark_of_another_encoding_is_said(
    refused: Refused,
    written: str,
    mark: str,
) -> None:
    told = refused((HEADER + people("ré", "rè")).encode(written), encoding="ISO-8859-1")
    assert (
        "input.options.encoding: it is ISO-8859-1, but "
        f"{told.split('but ')[1].split(' begins')[0]} begins with the byte order" in told
    )
    assert f"mark of {mark}; set input.options.encoding: {mark}" in told


def test_nul_bytes_are_refused(refused: Refused) -> None:
    assert "column 'disease' (100 rows): text holds NUL bytes" in refused(
        (HEADER + people("fl\0u")).encode(),
    )


def test_malformed_text_in_parquet_is_refused(refused: Refused) -> None:
    age, sex, disease = [30, 31] * 100, ["f", "m"] * 100, [b"r\xe9", b"r\xe8"] * 100
    lengths, joined = pa.array([0, *range(2, 401, 2)], pa.int32()), b"".join(disease)
    text = pa.Array.from_buffers(
        pa.string(),
        200,
        [None, lengths.buffers()[1], pa.py_buffer(joined)],
    )
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"name": sex, "age": age, "sex": sex, "disease": text}), sink)
    told = refused(sink.getvalue().to_pybytes(), "people.parquet", "parquet")
    assert "column 'disease' (200 rows): text is not in UTF-8" in told


# --- headers, and files of another kind


@pytest.mark.parametrize(
    "record",
    ["NAMESECRET0,48,99007,M,SECRETDX\n", "NAMESECRET0,young,M,SECRETDX\n"],
)
def test_a_file_without_a_header_shows_nothing_of_the_first_person(
    refused: Refused,
    record: str,
) -> None:
    told = refused((record * 9).encode())
    assert (
        f"is not in the input; it has {record.count(',') + 1} columns, and none of the requested "
        "ones" in told
    )


def test_a_header_that_is_not_asked_for_is_suggested(refused: Refused) -> None:
    assert "it has 4 columns, read without a header: set input.options.header: true" in refused(
        (HEADER + people()).encode(),
        header="false",
    )


def test_a_name_that_is_near_comes_first(refused: Refused) -> None:
    told = refused(("name,Age,sex,disease\n" + people()).encode())
    assert (
        "column 'age' is not in the input; did you mean 'Age'? It has name, Age, sex, disease"
        in told
    )


@pytest.mark.parametrize("header", ["true", "false"])
def test_parquet_that_is_said_to_be_csv_is_recognised(refused: Refused, header: str) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(
        pa.table({"name": [f"NAMESECRET{i}" for i in range(99)], "age": list(range(99))}),
        sink,
    )
    told = refused(sink.getvalue().to_pybytes(), header=header)
    assert (
        "is a Parquet file; set input.format: parquet" in told
        if header == "true"
        else "is not in the input; it has" in told
    )


def test_gzip_without_its_ending_is_recognised(refused: Refused) -> None:
    assert "people.csv is compressed by gzip; give it a name that ends in .gz" in refused(
        gzip.compress((HEADER + people()).encode()),
    )


@pytest.mark.parametrize("header", ["name,age,sex,disease,AGE", "name,age,sex,disease,sex"])
def test_a_name_that_stands_twice_is_said(refused: Refused, header: str) -> None:
    told = refused((f"{header}\n" + people().replace("\n", ",1\n")).encode())
    assert "has a name twice (but for case), in columns" in told


def test_a_record_in_place_of_names_is_refused(refused: Refused) -> None:
    told = refused(("NAMESECRET0,48,M,SECRETDX,m\n" + people().replace("\n", ",1\n")).encode())
    assert "may be a record: 2 of 5 names are values of their column" in told


def test_names_that_end_in_their_places_are_no_duplicates(
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    (tmp_path / "people.csv").write_text("q0,q1,q2\n1,2,3\n")
    table = read_table(
        spark,
        Input(path=str(tmp_path / "people.csv"), format="csv", options={"header": "true"}),
    )
    assert [tuple(row)[:3] for row in table.collect()] == [("1", "2", "3")]


def test_a_name_that_stands_twice_in_parquet_is_said(refused: Refused) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"age": [1], "AGE": [2], "sex": ["f"], "disease": ["flu"]}), sink)
    assert "has a duplicate: several columns of one name but for case" in refused(
        sink.getvalue().to_pybytes(),
        "people.parquet",
        "parquet",
    )


def test_a_column_without_a_name_is_read(spark: SparkSession, tmp_path: Path) -> None:
    """As pandas writes its index."""
    (tmp_path / "people.csv").write_text(",age\n0,31\n")
    source = Input(path=str(tmp_path / "people.csv"), format="csv", options={"header": "true"})
    assert [
        tuple(row)
        for row in checked(SourceTable(read_table(spark, source), source, ["age"])).collect()
    ] == [("0", "31")]


def test_a_column_without_a_name_in_several_files_is_refused(
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(",age\n0,31\n")
    with pytest.raises(InputError, match="leaves a column without a name"):
        read_table(spark, Input(path=str(tmp_path), format="csv", options={"header": "true"}))


def test_an_empty_csv_file_is_said(refused: Refused) -> None:
    assert "is empty (0 bytes" in refused(b"")


# --- files that are damaged


def test_a_truncated_gzip_is_named(refused: Refused) -> None:
    packed = gzip.compress((HEADER + people(rows=20_000)).encode())
    assert "input.path: people.csv.gz is truncated" in refused(
        packed[: len(packed) // 2],
        "people.csv.gz",
    )


def test_a_csv_that_is_called_gzip_is_named(refused: Refused) -> None:
    assert (
        "input.path: people.csv.gz cannot be read: it is damaged, or not what its name says"
        in refused((HEADER + people()).encode(), "people.csv.gz")
    )


def parquet(**more: Any) -> bytes:
    columns = {
        "name": ["NAMESECRET"] * 60,
        "age": list(range(60)),
        "sex": ["f", "m"] * 30,
        "disease": ["flu", "gout"] * 30,
        **more,
    }
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue().to_pybytes()


def test_a_truncated_parquet_file_is_named(refused: Refused) -> None:
    told = refused(parquet()[:-100], "people.parquet", "parquet")
    assert (
        "input.path: people.parquet cannot be read as parquet (it is none, or is truncated" in told
    )


def test_an_empty_parquet_file_is_named(refused: Refused) -> None:
    assert "input.path: people.parquet is empty (0 bytes)" in refused(
        b"",
        "people.parquet",
        "parquet",
    )


def test_a_damaged_parquet_file_is_named(refused: Refused) -> None:
    whole = parquet()
    assert "input.path: people.parquet cannot be read: it is damaged" in refused(
        whole[:4] + bytes(300) + whole[304:],
        "people.parquet",
        "parquet",
    )


@pytest.mark.parametrize("second", [b"", "truncated"])
def test_one_bad_file_among_several_is_named(
    spark: SparkSession,
    tmp_path: Path,
    tclose: Command,
    second: bytes | str,
) -> None:
    """Spark passes over a file of 0 bytes: its rows were lost without a word."""
    folder = tmp_path / "people"
    folder.mkdir()
    (folder / "a.parquet").write_bytes(parquet())
    (folder / "b.parquet").write_bytes(parquet()[:-50] if second == "truncated" else b"")
    code, _, err = tclose("audit", folder, "-q", "age", "-s", "disease")
    assert code == 2
    assert (
        "b.parquet is empty (0 bytes)" in err
        or "b.parquet cannot be read as parquet (it is none, or is truncated" in err
    )


# --- timestamps in nanoseconds

MOMENTS = pa.array(list(range(60)), pa.timestamp("ns"))


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_a_timestamp_in_nanoseconds_that_is_published_is_named(
    tmp_path: Path,
    write_run: Callable[..., Path],
    tclose: Command,
    zone: str | None,
) -> None:
    (tmp_path / "people.parquet").write_bytes(
        parquet(at=MOMENTS.cast(pa.timestamp("ns", zone)), number=list(range(60))),
    )
    path = write_run(
        tmp_path,
        None,
        direct_identifiers=["name"],
        insensitive_attributes=["at"],
        drop_others=True,
    )
    code, _, err = tclose("release", path)
    assert code == 2
    assert (
        "column 'at' is a timestamp in nanoseconds, which Spark does not have; write it in "
        "microseconds" in " ".join(err.split())
    )
    code, _, err = tclose("audit", tmp_path / "people.parquet", "-q", "age,at", "-s", "disease")
    assert code == 2
    assert "column 'at' is a timestamp in nanoseconds" in " ".join(err.split())


@pytest.mark.parametrize(
    "roles",
    [{"direct_identifiers": ["name", "at"]}, {"direct_identifiers": ["name"], "drop_others": True}],
)
def test_a_timestamp_in_nanoseconds_that_is_dropped_does_no_harm(
    tmp_path: Path,
    write_run: Callable[..., Path],
    tclose: Command,
    roles: dict[str, Any],
) -> None:
    (tmp_path / "people.parquet").write_bytes(parquet(at=MOMENTS))
    assert tclose("release", write_run(tmp_path, None, **roles))[0] == 0
    assert tclose("audit", tmp_path / "people.parquet", "-q", "sex", "-s", "disease")[0] == 0


def test_integers_beside_nanoseconds_are_published(
    spark: SparkSession,
    tmp_path: Path,
    write_run: Callable[..., Path],
    tclose: Command,
):
    (tmp_path / "people.parquet").write_bytes(parquet(at=MOMENTS, visits=[1, 2, 3] * 20))
    path = write_run(
        tmp_path,
        None,
        direct_identifiers=["name"],
        insensitive_attributes=["visits"],
        drop_others=True,
    )
    assert tclose("release", path)[0] == 0
    assert (
        spark.read.format("delta")
        .load(str(tmp_path / "out/public/release"))
        .schema["visits"]
        .dataType.simpleString()
        == "bigint"
    )


def test_another_type_that_spark_does_not_have_is_reported(refused: Refused) -> None:
    told = refused(
        parquet(at=pa.array(list(range(60)), pa.time64("ns"))),
        "people.parquet",
        "parquet",
    )
    here = "has column 'at' of a type that Spark cannot read, time64[ns]; write it as another"
    spark = "has a column of a type that Spark cannot read, INT64 (TIME(NANOS,false)); write it as"
    assert (spark if ALL_ON_SPARK else here) in told


# --- ordered text


def test_an_ordered_attribute_with_a_few_that_are_no_number_gives_their_count(
    refused: Refused,
) -> None:
    lines = "".join(
        f"NAMESECRET{i},{20 + i % 30},f,{'SECRETDX' if i < 3 else i % 5}\n" for i in range(60)
    )
    roles = {"sensitive": {"disease": {"distance": "ordered", "t": 1}}}
    told = refused((HEADER + lines).encode(), roles=roles, audited_as=("age", "disease:ordered"))
    assert (
        "sensitive attribute 'disease' is ordered by value, but 3 of 60 rows have no number" in told
    )
