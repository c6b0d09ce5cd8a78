"""Both engines export the same rows: the same lines of CSV, and Parquet with nothing beside the
rows.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tclose_spark.engine.exports import (
    check_export,
    fingerprint_of,
    rows_of_export,
    without_formulas,
    write_export,
)
from tclose_spark.engine.local.table import LocalTable
from tclose_spark.engine.tables import collect, of_arrow
from tclose_spark.errors import GuaranteeError, InputError
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.storage.folders import LocalFolder

TEXTS = [
    *[
        "",
        None,
        "#a",
        "a#",
        " a ",
        "\ra",
        "a\rb",
        "a\r\nb",
        "a\n",
        "\n",
        "\u2028",
        "a;b",
        "a,b",
        ",",
        '"',
        '""',
        '"a',
    ],
    *[
        'a"b',
        "\\",
        "a\\",
        "'a",
        "\t",
        "é",
        "\x85",
        "=1+cmd",
        "+a",
        "-a",
        "@a",
        "-5",
        "+1e3",
        "-5\n",
        "-5\n\n",
        "\r",
        "NaN",
    ],
    *["+1\u2028", "-1\r\n", "-1x", "=", "-.5", "-5.", "+1e1234", "null", "ab" * 5000],
]
DOUBLES = [
    0.0,
    -0.0,
    0.1,
    1e7,
    9999999.0,
    1e-3,
    1e-4,
    12345678.9,
    5e-300,
    float("nan"),
    float("inf"),
    -float("inf"),
]
DECIMALS = [Decimal(text) for text in ("0", "1E-7", "123.4", "-1E-9", "12345678901.1", "100")]
DAYS = [-800_000, -719_529, -719_162, -141_437, -1, 0, 19_782, 2_932_896, 2_932_897, 10_000_000]
MICROSECONDS = [
    0,
    -1,
    10**15 + 1,
    -62_135_596_800_000_000,
    -62_167_219_200_000_001,
    253_402_300_800_000_000,
]
VALUES: dict[str, pa.Array] = {
    "#text": pa.array(TEXTS),
    'other "text",\n': pa.array(TEXTS[::-1]),
    "whole": pa.array([0, -1, 2**62, -(2**63)], pa.int64()),
    "small": pa.array([0, -128, 127], pa.int8()),
    "double": pa.array(DOUBLES, pa.float64()),
    "float": pa.array([0.1, 1e10, 3.4028235e38, 1.5e-38, -0.0, float("nan")], pa.float32()),
    "decimal": pa.array(DECIMALS, pa.decimal128(38, 12)),
    "truth": pa.array([True, False]),
    "date": pa.array(DAYS, pa.int32()).cast(pa.date32()),
    "time": pa.array(MICROSECONDS, pa.int64()).cast(pa.timestamp("us", "UTC")),
    "clock": pa.array(MICROSECONDS, pa.int64()).cast(pa.timestamp("us")),
}
LOCAL = LocalSession()


def drawn(rows: int, seed: int) -> pa.Table:
    """Rows with values of each column, or none."""
    generator = np.random.default_rng(seed)

    def column(values: pa.Array) -> pa.Array:
        places = generator.integers(0, len(values), rows)
        return values.take(pa.array(places, mask=generator.random(rows) < 0.1))

    return pa.table({name: column(values) for name, values in VALUES.items()})


def csv_of(folder: LocalFolder) -> tuple[set[str], list[str]]:
    """(the headers of an export's files, their other text sorted by rows)."""
    texts = [file.read_bytes().decode() for file in Path(folder.path("release_csv")).iterdir()]
    ends = [text.index("clock\n") + len("clock\n") for text in texts]
    rows = "".join(text[end:] for text, end in zip(texts, ends, strict=True))
    return {text[:end] for text, end in zip(texts, ends, strict=True)}, sorted(rows.split("\n"))


def in_parts(table: pa.Table) -> LocalTable:
    """A local table of two partitions."""
    half = len(table) // 2
    parts = [table.slice(0, half).to_batches(64), table.slice(half).to_batches(64)]
    return LocalTable(LOCAL, table.schema, tuple(lambda part=part: part for part in parts))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_one_file_has_all_rows(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    table = drawn(600, 9)
    for name, release in (
        ("spark", of_arrow(spark, table).repartition(3)),
        ("local", in_parts(table)),
    ):
        folder, fingerprint = LocalFolder(str(tmp_path / name)), str(fingerprint_of(release))
        assert len(write_export(release, kind, folder)) > 1
        files = write_export(release, kind, folder, one_file=True)
        assert list(files) == folder.names(f"release_{kind}") == [f"release.{kind}"]
        check_export(release, fingerprint, kind, folder, files)


@pytest.mark.parametrize("escape", [False, True])
def test_csv_has_the_same_lines_and_is_read_back(
    spark: SparkSession,
    tmp_path: Path,
    escape: bool,
) -> None:
    table, found = drawn(600, 7), {}
    for name, release in (("spark", of_arrow(spark, table)), ("local", in_parts(table))):
        folder = LocalFolder(str(tmp_path / name))
        rows, fingerprint = rows_of_export(release, str(fingerprint_of(release)), "csv", escape)
        files = write_export(rows, "csv", folder)
        check_export(rows, fingerprint, "csv", folder, files)
        found[name] = (fingerprint, *csv_of(folder))
    assert found["local"] == found["spark"]


def test_parquet_has_the_same_rows_and_no_statistics(spark: SparkSession, tmp_path: Path) -> None:
    table = drawn(600, 8).append_column("bytes", pa.array([b"\xff", None, b""] * 200))
    fingerprints = set()
    for name, release in (("spark", of_arrow(spark, table)), ("local", in_parts(table))):
        folder, fingerprint = LocalFolder(str(tmp_path / name)), str(fingerprint_of(release))
        check_export(
            release,
            fingerprint,
            "parquet",
            folder,
            write_export(release, "parquet", folder),
        )
        fingerprints.add(fingerprint)
    assert len(fingerprints) == 1
    for file in (tmp_path / "local/release_parquet").iterdir():
        group = pq.ParquetFile(file).metadata.row_group(0)
        assert not any(group.column(i).is_stats_set for i in range(group.num_columns))


def test_formulas_are_escaped_alike(spark: SparkSession) -> None:
    starts = ["", "=", "+", "-", "@", "\t", "\r", "a", "1"]
    table = pa.table({"text": [a + b for a in starts for b in [t or "" for t in TEXTS[:-1]]]})
    local, of_spark = (
        collect(without_formulas(of_arrow(session, table))) for session in (LOCAL, spark)
    )
    assert local["text"].to_pylist() == of_spark["text"].to_pylist()
    escaped = {
        new
        for old, new in zip(table["text"].to_pylist(), local["text"].to_pylist(), strict=True)
        if new != old
    }
    assert {"'=1+cmd", "'-a", "'-5\n\n", "'\t", "'-1x"} <= escaped
    assert not {"'-5", "'+1e3", "'-5\n", "'-1\r\n", "'+1\u2028", "'-.5"} & escaped


def changed(file: Path) -> None:
    file.write_text(file.read_text().replace("flu", "flue"))


def of_another_type(file: Path) -> None:
    file.write_text(file.read_text().replace("1", "one"))


def short(file: Path) -> None:
    file.write_text(file.read_text().replace("gout,", "gout"))


def without_header(file: Path) -> None:
    file.write_text(file.read_text().partition("\n")[2])


@pytest.mark.parametrize("change", [changed, of_another_type, short, without_header])
def test_a_changed_export_is_noticed_without_spark(tmp_path: Path, change: Any) -> None:
    folder, release = (
        LocalFolder(str(tmp_path)),
        of_arrow(LOCAL, pa.table({"disease": ["flu", "gout"], "age": [1, 2]})),
    )
    files = write_export(release, "csv", folder)
    (file,) = (tmp_path / "release_csv").iterdir()
    check_export(release, str(fingerprint_of(release)), "csv", folder, files)
    change(file)
    files = {file.name: file.stat().st_size}
    with pytest.raises(GuaranteeError, match="release_csv has not the rows of the release"):
        check_export(release, str(fingerprint_of(release)), "csv", folder, files)
    with pytest.raises(GuaranteeError, match="release_csv has not the files"):
        check_export(
            release,
            str(fingerprint_of(release)),
            "csv",
            folder,
            {**files, "part-2.csv": 1},
        )


def test_csv_takes_no_bytes_without_spark(tmp_path: Path) -> None:
    release = of_arrow(
        LOCAL,
        pa.table({"note": [b"x"], "at": [datetime(2024, 1, 1)], "born": [date(2024, 1, 1)]}),
    )
    with pytest.raises(InputError, match="'note' is of type binary, which CSV does not hold"):
        write_export(release, "csv", LocalFolder(str(tmp_path)))
