"""A ground distance that the package does not have comes with a class and a line, and nothing else
has to know it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import uneven
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from scipy.optimize import linprog
from uneven import NumericDistance

from tclose_spark import pipeline
from tclose_spark.auditing.audit import audit_table
from tclose_spark.auditing.question import question_from_columns
from tclose_spark.auditing.tables import AuditTables
from tclose_spark.errors import ConfigurationError
from tclose_spark.io.run import Run
from tclose_spark.io.tables.delta import read_delta
from tclose_spark.measures.closeness import earth_movers_distance
from tclose_spark.measures.distances import ground_distances as distances
from tclose_spark.runfile import distances as schema
from tclose_spark.runfile.distances import DistanceKind

PAYS = [0, 1, 2, 10, 11, 50]
NUMERIC = {"pay": {"distance": "numeric", "missing": "error", "t": "0.3"}}


@pytest.fixture
def numeric() -> Iterator[None]:
    """The class and the line; the class is sent to tasks by value, since they do not find the
    tests' modules.
    """
    line = DistanceKind(
        meaning="values are as far apart as numbers",
        ordered=True,
        missing=("lowest",),
    )
    cloudpickle.register_pickle_by_value(uneven)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(distances.DISTANCES, "numeric", NumericDistance)
        patch.setitem(schema.DISTANCES, "numeric", line)
        yield
    cloudpickle.unregister_pickle_by_value(uneven)


def people(rows: int = 120) -> pa.Table:
    draw = np.random.default_rng(5)
    return pa.table(
        {"age": draw.integers(18, 80, rows), "sex": ["fm"[i % 2] for i in range(rows)]},
    ).append_column("pay", pa.array(draw.choice(PAYS, rows, p=[0.4, 0.2, 0.1, 0.1, 0.1, 0.1])))


def transport(part: list[int], whole: list[int]) -> float:
    """The cheapest way of moving one distribution onto the other, by linear programming."""
    values = sorted(set(whole))
    m, held, wanted = len(values), Counter(part), Counter(whole)
    margins = np.vstack([np.kron(np.eye(m), np.ones(m)), np.kron(np.ones(m), np.eye(m))])
    masses = [held[v] / len(part) for v in values] + [wanted[v] / len(whole) for v in values]
    costs = [abs(u - v) / (values[-1] - values[0]) for u in values for v in values]
    return float(linprog(costs, A_eq=margins, b_eq=masses).fun)


@pytest.mark.parametrize(
    "method",
    [{"name": "stack_and_deal"}, {"name": "fragmentation"}],
    ids=lambda m: m["name"],
)
def test_its_release_is_as_close_as_transport_says(
    numeric: None,
    method: dict[str, Any],
    make_run: Callable[..., Run],
    spark: SparkSession,
) -> None:
    run = make_run(people(), sensitive=NUMERIC, k=5, method=method)
    certificate = pipeline.release(run)
    found = certificate["guarantees"]["t"]["pay"]
    classes, table = defaultdict(list), []
    for row in read_delta(spark, run.public.path("release")).collect():
        classes[row["age"], row["sex"]].append(row["pay"])
        table.append(row["pay"])
    emds = [transport(part, table) for part in classes.values()]
    assert len(classes) > 5
    assert max(emds) == pytest.approx(found["achieved"], abs=1e-9)
    assert found["achieved"] <= 0.3
    assert (found["distance"], certificate["attributes"]["sensitive"]["pay"]["order"]) == (
        "numeric",
        "value",
    )
    page = run.public.read("report.html")
    assert "values are as far apart as numbers" in page


def test_it_is_audited(numeric: None, spark: SparkSession) -> None:
    table = people()
    frame = spark.createDataFrame(table.to_pandas().assign(age=lambda rows: rows["age"] // 20))
    found = audit_table(
        AuditTables(table=frame),
        question_from_columns(["age"], {"pay": {"distance": "numeric", "t": "0.5"}}, k=2),
    )
    pays: dict[int, list[int]] = defaultdict(list)
    for age, pay in zip(table["age"].to_pylist(), table["pay"].to_pylist(), strict=True):
        pays[age // 20].append(pay)
    worst = max(transport(part, table["pay"].to_pylist()) for part in pays.values())
    (reached,) = [g.achieved for g in found.guarantees if g.measure == "t-closeness"]
    assert float(reached) == pytest.approx(worst, abs=1e-9)
    assert {"similarity by belief", "similarity by group"} <= {
        exposure.attack for exposure in found.attacks
    }


def test_records_are_measured_with_it(numeric: None) -> None:
    assert earth_movers_distance([0, 0], [0, 10, 4, 2], distance="numeric") == Fraction(2, 5)


@pytest.mark.parametrize(
    "method",
    [{"name": "closeness_tree"}, {"deal": "layered"}, {"name": "fragmentation", "bounds": "paper"}],
    ids=["tree", "layered", "paper"],
)
def test_what_takes_steps_for_one_refuses_it(
    numeric: None,
    method: dict[str, Any],
    make_run: Callable[..., Run],
) -> None:
    run = make_run(people(), sensitive=NUMERIC, k=5, method=method)
    pipeline.profile(run)
    with pytest.raises(
        ConfigurationError,
        match=r"pay\.distance: its steps between values differ, and .* them for one",
    ):
        pipeline.plan(run)


def test_every_name_has_its_class_and_its_line() -> None:
    assert list(distances.DISTANCES) == list(schema.DISTANCES)
