"""docs/limits.md, docs/inputs.md: what becomes of values that are read, and of runs that cannot
meet the run file.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from people import read
from promise_page import promises
from promise_releases import MakeRelease, skewed

from tclose_spark import pipeline
from tclose_spark.cli import main
from tclose_spark.errors import DamagedStagingError
from tclose_spark.io.run import Run


@promises("In a sensitive attribute, NaN is published as NULL and -0.0 as 0.")
def test_nan_is_null_and_minus_zero_is_zero(make_finished: MakeRelease) -> None:
    table = pd.DataFrame({"age": range(40), "dose": [np.nan, -0.0, 0.0, 2.5] * 10})
    how = {"quasi": {"age": {"type": "numeric"}}, "sensitive": {"dose": {"t": "0.3"}}}
    doses = make_finished(table, method={"name": "stack_and_deal"}, **how).rows["dose"]
    assert doses.isna().sum() == 10
    assert sorted(doses.dropna().astype(str).unique()) == ["0.0", "2.5"]


@promises("An empty field is a missing value, like NULL and NaN.")
def test_an_empty_field_is_missing(
    write_run: Callable[..., Path],
    open_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    lines = [
        "age,disease",
        *(f"{20 + i % 9 if i % 3 else ''},{['flu', 'gout', ''][i % 3]}" for i in range(30)),
    ]
    (tmp_path / "people.csv").write_text("\n".join(lines))
    source = {"path": "people.csv", "format": "csv", "options": {"header": True}}
    path = write_run(
        tmp_path,
        None,
        source=source,
        quasi={"age": {"type": "numeric"}},
        sensitive={"disease": {"t": "0.5"}},
    )
    pipeline.release(open_run(path))
    assert read(tmp_path / "out/public/release")["disease"].isna().sum() == 10


@promises("Reading replaces codes, labels and marks in numbers.")
def test_values_are_those_that_are_read(
    write_run: Callable[..., Path],
    open_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    how = {"quasi": {"age": {"type": "numeric"}}, "sensitive": {"pay": {"t": "0.9"}}, "k": 2}
    lines = [
        "age;pay",
        *(f"{20 + i};{['1.234,50 €', '99,00 €', 'Unknown'][i % 3]}" for i in range(12)),
    ]
    (tmp_path / "people.csv").write_text("\n".join(lines), encoding="utf-8")
    options = {"header": True, "sep": ";", "decimal": ",", "thousands": ".", "currency": "€"}
    source = {
        "path": "people.csv",
        "format": "csv",
        "options": options,
        "missing_values": ["Unknown"],
    }
    pipeline.release(open_run(write_run(tmp_path, None, source=source, **how)))
    found = read(tmp_path / "out/public/release")["pay"]
    assert Counter(found.dropna()) == {"1234.50": 4, "99.00": 4}
    assert found.isna().sum() == 4
    frame, labels = (
        pd.DataFrame({"age": range(12), "pay": [1, 2, 3] * 4}),
        {1: "low", 2: "middle", 3: "high"},
    )
    frame.to_stata(tmp_path / "people.dta", write_index=False, value_labels={"pay": labels})
    path = write_run(
        tmp_path / "stata",
        None,
        source={"path": str(tmp_path / "people.dta"), "format": "stata"},
        **how,
    )
    pipeline.release(open_run(path))
    assert Counter(read(tmp_path / "stata/out/public/release")["pay"]) == dict.fromkeys(
        labels.values(),
        4,
    )


@promises("If anything fails, the run ends with exit code 1, or with 2 if the written rows")
def test_rows_that_are_gone_before_they_are_written_are_missed(
    write_run: Callable[..., Path],
    open_run: Callable[..., Run],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = write_run(
        tmp_path,
        pa.Table.from_pandas(skewed(60)),
        quasi={"zip": {}},
        sensitive={"disease": {"t": "0.9"}},
    )
    run = open_run(path)
    pipeline.profile(run)
    pipeline.plan(run)
    profile = json.loads(run.staging.read("profile.json"))
    profile["fingerprint"] = profile["fingerprint"][:-1] + (
        "0" if profile["fingerprint"][-1] != "0" else "1"
    )
    run.staging.write("profile.json", json.dumps(profile))
    monkeypatch.setattr(Run, "_recorded", {})  # which shows such a change before any row is read
    with pytest.raises(DamagedStagingError, match="not those that were profiled") as raised:
        pipeline.anonymize(run)
    assert raised.value.exit_code == 2
    assert not (tmp_path / "out/public").exists()


@promises(
    "Classes that need labels coarser than `coarsest`",
    "If there are more of them, nothing is published (exit code 3).",
    "If labels coarser than `coarsest` are the only problem, it ends with 3.",
)
def test_coarse_classes_beyond_the_limit_publish_nothing(
    write_run: Callable[..., Path],
    tmp_path: Path,
) -> None:
    given = {"quasi": {"zip": {"coarsest": 0}}, "sensitive": {"disease": {"t": "0.1"}}, "k": 5}
    how = {"method": {"name": "closeness_tree"}, "privacy": {"suppression_limit": "0.001"}}
    path = write_run(tmp_path, pa.Table.from_pandas(skewed(600)), **given, **how)
    assert main(["release", str(path)]) == 3
    assert not (tmp_path / "out/public").exists()


@promises("A release of one part is one file.")
def test_one_block_is_one_file(finished: Path) -> None:
    assert len(list((finished / "public/release").glob("*.parquet"))) == 1
