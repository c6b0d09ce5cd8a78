"""What a release is worth where a quasi-identifier is missing in all rows: that column tells
nothing, the others do.
"""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
from strategies import count_in, make_problem, town

from tclose_spark.in_memory.release import Released, apply_plan
from tclose_spark.methods.method import method_of
from tclose_spark.options.linked.maker import LinkedRows
from tclose_spark.table.tally import LocalRows
from tclose_spark.usefulness.raw_versus_released import measure_raw_versus_released


def test_the_raw_side_is_measured_without_the_column() -> None:
    records = [{**person, "void": None, "weight": None} for person in town(120)]
    quasi = {"age": {"type": "numeric"}, "void": {}, "weight": {"type": "numeric"}}
    problem, rows = make_problem(records, {"disease": {"t": "0.5"}}, quasi, {}, k=4)
    plan = method_of(problem.spec.method).make_plan(problem.given(count_in(rows)))
    released: Released = apply_plan(plan, problem.attributes, rows, problem.spec)
    labels = [pa.array(column.to_pylist(), pa.string()) for column in released.labels]
    linked = LinkedRows(
        rows=released.rows,
        labels=labels,
        suppressed=released.suppressed,
        whole=len(rows),
    )
    held = LocalRows(rows)
    found = measure_raw_versus_released(
        linked,
        problem.profile,
        problem.attributes,
        problem.spec,
        held.frequencies,
    ).to_json()
    assert [one["name"] for one in found["means"]] == ["age"]
    assert [one["quasi"] for one in found["associations"]] == ["age"]
    assert found["worth"]["query_error"] >= 0
    ages = Counter(person["age"] for person in records)
    alone = sum(n == 1 for n in ages.values())
    assert (found["uniques"]["rows"], found["uniques"]["by_size"]) == (120, (alone, 0, 0))
    assert {one["name"]: one["uniques"] for one in found["uniques"]["columns"]} == {
        "age": alone,
        "void": 0,
        "weight": 0,
    }
