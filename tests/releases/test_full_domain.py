"""A release by full-domain recoding, from the run file to the published table: every value has one
label.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import deltalake
import pyarrow as pa

from tclose_spark import pipeline
from tclose_spark.io.run import Run

QUASI = {
    "age": {"type": "numeric"},
    "weight": {"type": "numeric", "numeric_output": "bounds", "round_to": 5},
    "sex": {"generalization": "set"},
    "city": {"hierarchy": "cities.csv"},
}


def test_every_value_has_one_label_in_the_whole_release(
    make_run: Callable[..., Run],
    drawn_people: Callable[..., pa.Table],
) -> None:
    people = drawn_people(5, 400)
    weights = [40 + i * 7 % 55 for i in range(400)]
    run = make_run(
        people.set_column(people.column_names.index("weight"), "weight", pa.array(weights)),
        quasi=QUASI,
        sensitive={"disease": {"t": "0.4"}, "grade": {"distance": "ordered", "t": "0.4"}},
        privacy={"suppression_limit": "0.1"},
        output={"keep_linked": True},
        drop_others=True,
        k=4,
        method={"name": "t_incognito"},
    )
    certificate = pipeline.release(run)
    left = certificate["suppressed"]["rows"]
    assert 0 < left <= 40
    assert certificate["release"]["classes"] > 1
    linked = deltalake.DeltaTable(run.internal.path("linked")).to_pyarrow_table().to_pylist()
    kept = [row for row in linked if not row["suppressed"]]
    assert (len(linked), len(kept)) == (400, 400 - left)
    for name in QUASI:
        columns = ["weight_min", "weight_max"] if name == "weight" else [name]
        label_of: dict[object, set[object]] = {}
        for row in kept:
            label_of.setdefault(row[f"{name}_raw"], set()).add(
                tuple(row[column] for column in columns),
            )
        assert {len(labels) for labels in label_of.values()} == {1}
    record = json.loads(Path(run.internal.path("run.json")).read_text())["stages"]
    assert record["plan"]["plan"]["suppressed"] == left
    assert record["anonymize"]["method"]["classes"] == certificate["release"]["classes"]
