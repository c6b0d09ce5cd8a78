"""Both engines compare methods on the same rows, with the same outcomes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from strategies import town

import tclose_spark as tc

PEOPLE = pa.Table.from_pylist(town(240)).drop_columns(["grade"])
SPEC: dict[str, Any] = {
    "name": "town",
    "attributes": {
        "quasi_identifiers": {"age": {"type": "numeric", "round_to": 5}, "sex": {}, "city": {}},
        "sensitive_attributes": {"disease": {"t": "0.4"}},
    },
    "privacy": {"k": 4},
}
ASKED: dict[str, Any] = {
    "k": [3, 300],
    "t": ["0.3", "0.5"],
    "methods": ["stack_and_deal", "fragmentation"],
}
CALL = """
import sys
from tclose_spark import cli
code = cli.main(sys.argv[1:])
assert not {"pyspark", "py4j"} & {*sys.modules}
sys.exit(code)
"""
OF_SPARK = (
    "SPARK_REMOTE",
    "DATABRICKS_RUNTIME_VERSION",
    "PYSPARK_GATEWAY_PORT",
    "TCLOSE_MASTER",
    "TCLOSE_ENGINE",
)


def compare(given: Any, engine: str, spec: dict[str, Any] = SPEC, **asked: Any) -> tc.Comparison:
    return tc.compare(given, spec, engine=engine, **{"log": None, **asked})


def outcomes(compared: tc.Comparison) -> Any:
    return (
        compared.rows,
        compared.whole,
        [{**outcome.to_json(), "seconds": 0} for outcome in compared.outcomes],
    )


@pytest.mark.parametrize("form", ["csv", "parquet", "frame"])
def test_the_same_outcomes(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TCLOSE_SECRET", "both")
    given: Any = PEOPLE if form == "frame" else str(tmp_path / f"people.{form}")
    if form == "csv":
        pc.write_csv(PEOPLE, given)
    elif form == "parquet":
        pq.write_table(PEOPLE, given)
    spec = {**SPEC, "input": {"options": {"header": "true"}}} if form == "csv" else SPEC
    here, there = (compare(given, engine, spec, **ASKED) for engine in ("local", "spark"))
    assert outcomes(here) == outcomes(there)
    assert {outcome.state for outcome in here.outcomes} == {"released", "unreachable"}


def test_the_same_rows_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TCLOSE_SECRET", "both")
    here, there = (
        compare(PEOPLE, engine, methods="stack_and_deal", sample=90)
        for engine in ("local", "spark")
    )
    assert outcomes(here) == outcomes(there)
    assert 60 <= here.rows <= 120


def test_neither_imports_spark(tmp_path: Path, run_file: Callable[..., Path]) -> None:
    file = run_file(PEOPLE, quasi=SPEC["attributes"]["quasi_identifiers"])
    table, made = file.parent / "people.parquet", tmp_path / "made.yaml"
    for arguments in (
        ["suggest", table, "--output", made],
        ["compare", file, "--methods", "stack_and_deal"],
    ):
        called = [sys.executable, "-c", CALL, *map(str, arguments)]
        environment = {name: value for name, value in os.environ.items() if name not in OF_SPARK}
        done = subprocess.run(called, env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode, "engine     local: " in done.stderr) == (0, True), done.stderr
