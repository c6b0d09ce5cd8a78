"""Whether a table is the release that a certificate is of: from Python and the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import draw_people
from pyspark.sql import SparkSession

import tclose_spark as tc

Command = Callable[..., tuple[int, str, str]]
KEPT = ["grade", "site", "note", "at"]


@pytest.fixture(scope="module")
def made(write_run: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> tc.Release:
    conf = write_run(
        tmp_path_factory.mktemp("people"),
        draw_people(5),
        quasi={"age": {"type": "numeric"}, "sex": {}},
        sensitive={"disease": {"t": "0.6"}},
        insensitive_attributes=KEPT,
        allow_unique=KEPT,
        drop_others=True,
    )
    return tc.release(None, conf, log=None)


@pytest.fixture
def named(made: tc.Release) -> str:
    """The fingerprint in the certificate."""
    return str(made.certificate["release"]["fingerprint"])


def test_every_form_of_the_release_has_its_fingerprint(
    made: tc.Release,
    named: str,
    spark: SparkSession,
) -> None:
    rows, folder = made.to_arrow(), f"{made.path}/release"
    other_order = rows.take(list(range(rows.num_rows))[::-1])
    by_spark = spark.read.format("delta").load(folder).repartition(3)
    forms = [folder, rows, other_order, pl.from_arrow(rows), rows.to_pandas(), by_spark]
    assert [tc.fingerprint(form) for form in forms] == [named] * len(forms)
    assert tc.fingerprint(folder, engine="spark") == named


def test_another_table_has_another(made: tc.Release, named: str) -> None:
    rows = made.to_arrow()
    grades = rows["grade"].to_pylist()
    changed = rows.set_column(
        rows.column_names.index("grade"),
        "grade",
        pa.array([grades[0] + 1, *grades[1:]]),
    )
    for other in (
        changed,
        rows.slice(1),
        pa.concat_tables([rows, rows.slice(0, 1)]),
        rows.select(rows.column_names[::-1]),
    ):
        assert tc.fingerprint(other) != named


def test_numbers_that_pandas_made_floats_are_integers_again() -> None:
    ages = pa.table({"age": pa.array([1, None, 3], pa.int32())})
    floats = ages.to_pandas()
    assert tc.fingerprint(floats) != tc.fingerprint(ages)
    assert tc.fingerprint(floats.astype({"age": "Int64"})) == tc.fingerprint(ages)


def test_the_command_requires_the_fingerprint_of_the_certificate(
    made: tc.Release,
    named: str,
    tmp_path: Path,
    tclose: Command,
) -> None:
    folder, certificate = f"{made.path}/release", f"{made.path}/certificate.json"
    assert tclose("fingerprint", folder)[:2] == (0, f"{named}\n")
    assert tclose("fingerprint", folder, "--certificate", certificate)[:2] == (0, f"{named}\n")
    pq.write_table(made.to_arrow().slice(1), tmp_path / "less.parquet")
    code, out, error = tclose(
        "fingerprint",
        tmp_path / "less.parquet",
        "--certificate",
        certificate,
    )
    assert (code, out.strip() == named) == (1, False)
    assert f"is not the release of {certificate}, which has the fingerprint {named}" in error


@pytest.mark.parametrize("text", [None, "[]", "{", json.dumps({"release": {}})])
def test_a_file_that_is_no_certificate_is_refused(
    text: Any,
    tmp_path: Path,
    tclose: Command,
) -> None:
    file = tmp_path / "certificate.json"
    if text is not None:
        file.write_text(text)
    code, out, error = tclose("fingerprint", tmp_path / "people.parquet", "--certificate", file)
    assert (code, out) == (2, "")
    assert f"--certificate {file}: " in error
