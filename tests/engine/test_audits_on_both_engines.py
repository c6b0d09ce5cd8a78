"""Audits, explanations and hierarchies are equal on both engines, for tables in memory and in
files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import tclose_spark as tc
from tclose_spark.auditing.audit import audit_table
from tclose_spark.auditing.question import question_from_columns
from tclose_spark.auditing.tables import AuditTables
from tclose_spark.engine.tables import collect, of_arrow, read_delta
from tclose_spark.errors import ConfigurationError, InputError, TcloseError
from tclose_spark.io.local_session import LocalSession

LOCAL = LocalSession()
ZIPS = "1301,130*,*\n1302,130*,*\n1401,140*,*\n1402,140*,*\n"
QUASI = ["age", "zip", "year_min", "year_max", "job"]
SENSITIVE = {
    "disease": {
        "distance": "equal",
        "t": "0.3",
        "l": {"distinct": 2, "recursive": {"c": "3", "l": 2}},
    },
    "pay": {
        "distance": "ordered",
        "t": "0.2",
        "missing": "lowest",
        "beta": "3/2",
        "l": {"frequency": 2},
    },
    "ward": {"distance": "equal"},
}


def drawn(rows: int, seed: int, raw: bool = False) -> pa.Table:
    """Rows with labels, and missing values; or people with raw values."""
    generator = np.random.default_rng(seed)

    def column(values: list[Any], missing: float = 0.05) -> pa.Array:
        places = generator.integers(0, len(values), rows)
        return pa.array(values).take(pa.array(places, mask=generator.random(rows) < missing))

    low = generator.integers(1, 4, rows) * 20.0
    years: dict[str, Any] = {"year": generator.integers(20, 100, rows)}
    if not raw:
        years = {"year_min": low, "year_max": low + generator.integers(0, 2, rows) * 19}
    return pa.table(
        {
            "age": column(["21", "35.0", "61"] if raw else ["[20, 29]", "[30, 39]", "60+", "*"]),
            "zip": column(["1301", "1302", "1401"] if raw else ["130*", "1401", "*"]),
            **{name: pa.array(values) for name, values in years.items()},
            "job": column(["a", "b", "c"] if raw else ["a", "{a, b}", "*"]),
            "disease": column(["flu", "Flu ", "gout", "ulcer", "é"]),
            "pay": column([1.5, -0.0, 0.0, 10.0, 1e7]),
            "ward": column([3, 4]),
            "other": pa.array([[1]] * rows),
        },
    )


@pytest.fixture
def zips(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "zip.csv").write_text(ZIPS)
    return {"zip": str(tmp_path / "zip.csv")}


def told(verb: str, *arguments: Any, **options: Any) -> Any:
    """What a verb tells on both engines, or its error."""
    results = []
    for engine in ("spark", "local"):
        try:
            found = getattr(tc, verb)(*arguments, engine=engine, **options)
            shown = found.to_json() if hasattr(found, "to_json") else vars(found.outline)
            results.append(json.loads(json.dumps(shown, default=str)))
        except TcloseError as error:
            results.append(f"{type(error).__name__}: {error}")
    assert results[0] == results[1]
    return results[1]


@pytest.mark.parametrize("seed", range(2))
def test_audits_of_drawn_tables(spark: SparkSession, zips: Mapping[str, str], seed: int) -> None:
    found = told("audit", drawn(300, seed), QUASI, SENSITIVE, k=2, hierarchies=zips)
    assert {g["attribute"] for g in found["guarantees"]} >= {None, *SENSITIVE}
    assert any(e["attack"] == "knowing another" for e in found["attacks"])
    assert any("its bounds" in note for note in found["notes"])


def test_an_audit_with_a_reference_and_people_who_are_known(
    spark: SparkSession,
    zips: Mapping[str, str],
) -> None:
    people, reference = drawn(400, 5, raw=True), drawn(500, 6)
    found = told(
        *(
            "audit",
            drawn(300, 4),
            ["age", "zip", "year_min", "year_max"],
            {name: SENSITIVE[name] for name in ("disease", "pay")},
        ),
        **{"k": 2, "hierarchies": zips, "reference": reference, "background": people},
    )
    assert found["background"]["candidates"] > 0
    assert len(found["background"]["guesses"]) == 2


def test_an_audit_by_supersets(spark: SparkSession, zips: Mapping[str, str]) -> None:
    found = told(
        "audit",
        drawn(300, 7),
        ["age", "zip"],
        {"pay": SENSITIVE["pay"]},
        n=150,
        hierarchies=zips,
    )
    assert any(g["measure"] == "(n, t)-closeness" for g in found["guarantees"])


def test_guesses_of_the_minimality_attack(spark: SparkSession) -> None:
    classes = [("A", f"[{age}, {age + 4}]", 15, 35) for age in range(20, 50, 5)]
    for zip_ in "BC":
        classes += [(zip_, f"[{20 + 10 * i}, {29 + 10 * i}]", 2 * i, 50 - 2 * i) for i in range(6)]
    classes.append(("*", "[50, 79]", 90, 210))
    rows = [
        (zip_, age, disease)
        for zip_, age, flu, others in classes
        for disease in ["flu"] * flu + ["gout"] * others
    ]
    people = [("A", age, "flu") for age in range(51, 60)] + [("B", 22, "gout"), ("A", 35, "gout")]
    table, known = (
        pa.table(
            dict(zip(("zip", "age", "disease"), map(list, zip(*each, strict=True)), strict=True)),
        )
        for each in (rows, people)
    )
    for background in (known, known.drop(["disease"])):
        found = told("audit", table, ["zip", "age"], {"disease": "equal"}, background=background)
        assert found["background"]["guesses"][0]["people"] == 9


def test_aggregates(spark: SparkSession) -> None:
    question = question_from_columns(["age", "zip"], {"disease": {}}, aggregates=True)
    results = [
        audit_table(AuditTables(table=of_arrow(session, drawn(200, 3).drop(["other"]))), question)
        for session in (spark, LOCAL)
    ]
    assert results[0].to_json() == results[1].to_json()
    assert any("aggregates" in note for note in results[1].notes)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files(spark: SparkSession, tmp_path: Path, zips: Mapping[str, str], ending: str) -> None:
    tables = {
        "table": drawn(300, 1),
        "reference": drawn(300, 2),
        "background": drawn(300, 3, raw=True),
    }
    paths = {name: str(tmp_path / f"{name}.{ending}") for name in tables}
    for name, table in tables.items():
        if ending == "csv":
            pa.csv.write_csv(table.drop(["other"]), paths[name])
        else:
            pq.write_table(table, paths[name])
    sensitive = {"disease": SENSITIVE["disease"], "ward": {}}
    given = {"hierarchies": zips, "reference": paths["reference"]}
    found = told(
        "audit",
        paths["table"],
        QUASI[:2],
        sensitive,
        k=2,
        background=paths["background"],
        **given,
    )
    assert found["background"]["people"] == 300
    told("explain", paths["table"], QUASI[:2], sensitive, **given)
    told("audit", str(tmp_path / f"none.{ending}"), QUASI)


@pytest.mark.parametrize(
    "labels",
    [
        None,
        {"age": None, "zip": "130*"},
        {"age": "60+", "zip": "*"},
        {"zip": "none"},
        {"zip": "*"},
        {"job": "a"},
    ],
    ids=str,
)
def test_explanations(spark: SparkSession, labels: Mapping[str, str | None] | None) -> None:
    table = drawn(300, 8)
    sensitive = {"disease": {"t": "0.1"}, "pay": {"distance": "ordered", "missing": "highest"}}
    told("explain", table, ["age", "zip"], sensitive, labels=labels)
    told(
        "explain",
        table,
        ["age", "zip"],
        sensitive,
        labels=labels,
        attribute="pay",
        reference=drawn(300, 9),
    )


def test_texts_that_are_merged(spark: SparkSession) -> None:
    sensitive = {"disease": {"distance": "equal", "text": {"strip": True, "case": "fold"}}}
    found = told("audit", drawn(200, 2), ["age"], sensitive, background=drawn(50, 3, raw=True))
    assert not any(
        "differ from another" in note and note.startswith("disease") for note in found["notes"]
    )


def test_missing_numbers_that_are_mixed(spark: SparkSession) -> None:
    table = pa.table(
        {"age": pa.array([1.0, float("nan"), None, 1.0]), "disease": ["a", "b", "a", "b"]},
    )
    found = told("audit", table, ["age"], ["disease"])
    assert any("1 rows have NaN and 1 have NULL" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["none"], "quasi-identifier 'none' is not in the table"),
        (["other"], "quasi-identifier 'other' is of type array<bigint>; expected single values"),
    ],
)
def test_columns_that_no_audit_has(spark: SparkSession, columns: list[str], message: str) -> None:
    assert message in told("audit", drawn(10, 1), columns, ["disease"])


def test_errors_of_tables(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "short.csv").write_text("age,disease\n1,flu\n2\n")
    (tmp_path / "lost.csv").write_bytes(b"age,disease,other\n1,fl\xff,\xff\n")
    assert "1 of 2 rows are malformed" in told(
        "audit",
        str(tmp_path / "short.csv"),
        ["age"],
        ["disease"],
    )
    utf_8 = {"encoding": "UTF-8"}
    assert "disease" in told(
        "audit",
        str(tmp_path / "lost.csv"),
        ["age"],
        ["disease"],
        options=utf_8,
    )
    assert "no rows" in told("audit", drawn(0, 1), ["age"], ["disease"])
    no_people = pa.table({"age": pa.array([], pa.string())})
    assert "the background table has no rows" in told(
        "audit",
        drawn(9, 1),
        ["age"],
        background=no_people,
    )
    others = pa.table({"x": [1]})
    assert "none of the quasi-identifiers" in told("audit", drawn(9, 1), ["age"], background=others)


@pytest.mark.parametrize(
    ("column", "of", "kind", "message"),
    [
        ("zip", {"prefix": 2}, None, ""),
        ("pay", {"intervals": [5, 10]}, "numeric", ""),
        ("age", {"intervals": 10}, "numeric", ""),
        ("disease", {"intervals": 5}, "numeric", "rows hold no finite number"),
        ("none", {"prefix": 1}, None, "column 'none' is not in the table"),
        ("other", {"prefix": 1}, None, "of type array<bigint>"),
    ],
)
def test_hierarchies(
    spark: SparkSession,
    column: str,
    of: Mapping[str, Any],
    kind: Any,
    message: str,
) -> None:
    found = told("hierarchy", drawn(200, 4, raw=True), column, of, kind)
    assert message in found if message else sum(found["counts"].values()) == 200


def test_hierarchies_of_files(spark: SparkSession, tmp_path: Path, zips: Mapping[str, str]) -> None:
    pa.csv.write_csv(drawn(200, 4, raw=True).select(["zip", "age"]), tmp_path / "people.csv")
    found = told("hierarchy", str(tmp_path / "people.csv"), "zip", zips["zip"])
    assert sum(found["counts"].values()) == 200
    spec = {
        "name": "a",
        "input": {
            "path": str(tmp_path / "people.csv"),
            "format": "csv",
            "options": {"header": True},
        },
        "output": {"path": str(tmp_path / "out")},
        "privacy": {"k": 2},
        "attributes": {
            "quasi_identifiers": {"zip": {"hierarchy": zips["zip"]}},
            "sensitive_attributes": {"age": {"t": "0.5"}},
        },
    }
    assert told("hierarchy", None, "zip", spec=spec) == found


def test_the_class_table_is_written_here(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "made" / "classes"
    found = tc.audit(drawn(100, 1), ["age"], ["disease"], classes_output=path, engine="local")
    classes = collect(read_delta(LOCAL, str(path)))
    assert classes.num_rows == found.figures.classes
    assert read_delta(spark, str(path)).count() == found.figures.classes
    assert {file.stat().st_mode & 0o777 for file in path.rglob("*") if file.is_file()} == {0o600}
    with pytest.raises(ConfigurationError, match="holds a table already"):
        tc.audit(drawn(100, 1), ["age"], ["disease"], classes_output=path, engine="local")


def test_what_only_spark_reads_is_refused(spark: SparkSession) -> None:
    table = drawn(10, 1)
    frame = spark.range(2)
    for given in (
        {"reference": frame},
        {"classes_output": "hdfs://a/b"},
        {"hierarchies": {"age": "hdfs://a/age.csv"}},
    ):
        with pytest.raises(
            ConfigurationError,
            match="the local engine does not read; try engine: spark",
        ):
            tc.audit(table, ["age"], {"disease": {}}, engine="local", **given)
    with pytest.raises(ConfigurationError, match="a DataFrame of Spark needs Spark"):
        tc.audit(frame, ["id"], engine="local")
    with pytest.raises((ConfigurationError, InputError), match="URI"):
        tc.hierarchy(table, "zip", "hdfs://a/zip.csv", engine="local")
