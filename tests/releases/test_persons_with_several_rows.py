"""One woman with 40 identical rows and 1,500 people with one row each: her class has k rows, and
the release says that these are rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from people import tree
from pyspark.sql import SparkSession

from tclose_spark import pipeline
from tclose_spark.io.run import Run
from tclose_spark.report.certificate.building import COUNTS
from tclose_spark.runfile.loading import load_spec
from tclose_spark.stages.verify import verify_finished

CANARY = "person-canary-7"
PEOPLE = {
    "patient_id": [f"P{i}" for i in range(1500)] + [CANARY] * 40,
    "age": [20 + i % 60 for i in range(1500)] + [88] * 40,
    "sex": [["m", "f"][i // 60 % 2] for i in range(1500)] + ["f"] * 40,
    "zip": [["06103", "06105", "06106"][i % 3] for i in range(1500)] + ["06108"] * 40,
    "disease": [["flu", "gout", "ulcer"][i // 7 % 3] for i in range(1540)],
}


def test_a_release_of_rows_says_that_they_are_rows(
    write_run: Callable[..., Path],
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    conf = write_run(
        tmp_path,
        PEOPLE,
        quasi={"age": {"type": "numeric"}, "sex": {}, "zip": {}},
        sensitive={"disease": {"t": "0.4"}},
        direct_identifiers=["patient_id"],
        k=10,
        method={"name": "t_mondrian"},
    )
    lines: list[str] = []
    certificate = pipeline.release(Run(load_spec(conf), spark, lines.append))
    warning = (
        "'patient_id' looks like an identifier of a person and repeats: 1,540 rows, about 1,501 "
        "values; counts are rows, so a person with several rows may be alone in a class; if these "
        "are people, use attributes.person; if households, attributes.household"
    )
    assert f"note: {warning}" in lines
    assert (
        warning.replace("'patient_id'", "a column that is not published") in certificate["warnings"]
    )
    assert (
        certificate["counts"]
        == COUNTS
        == "Counts are rows. A person with several rows counts several times."
    )
    page = " ".join((tmp_path / "out/public/report.html").read_text().split())
    assert COUNTS in page
    assert "looks like an identifier of a person and repeats" in page
    assert " people</" not in page
    assert "</b> people" not in page
    published = (
        row.asDict()
        for row in spark.read.format("delta").load(str(tmp_path / "out/public/release")).collect()
    )
    hers = [row for row in published if row["zip"] == "06108"]
    assert len(hers) == 40  # her class is she alone: k counts rows
    for name, content in tree(tmp_path / "out/public").items():
        assert CANARY.encode() not in content, name
    said = json.dumps([lines, json.loads((tmp_path / "out/internal/run.json").read_text())])
    assert CANARY not in said
    assert verify_finished(Run(load_spec(conf), spark, lambda line: None)).holds
