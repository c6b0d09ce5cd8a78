"""What is computed of the classes of a table does not depend on its engine."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tclose_spark.checks.classes.class_table import ClassRequirements, JudgedQuasi, class_table
from tclose_spark.checks.classes.figures import class_figures
from tclose_spark.checks.classes.tallies import count_columns, count_values, tally_classes
from tclose_spark.checks.labels.loss import members, numbers, themselves, vocabulary_of
from tclose_spark.checks.labels.regions import are_disjoint
from tclose_spark.checks.release_figures import worst_classes
from tclose_spark.checks.supersets import find_supersets, near_supersets, without_t
from tclose_spark.engine.tables import collect, of_arrow
from tclose_spark.io.local_session import LocalSession
from tclose_spark.measures.loss.information_loss import LabelLoss
from tclose_spark.requirements.judge import judged_attribute
from tclose_spark.runfile.attributes import SensitiveAttribute

LABELS, SENSITIVE = ["age", "sex", "towns"], ["disease", "pay"]
QUASI = [
    JudgedQuasi("age", ("age",), LabelLoss(numeric=True, span=40)),
    JudgedQuasi("sex", ("sex",), LabelLoss(numeric=False, distinct=2)),
    JudgedQuasi("towns", ("towns",), LabelLoss(numeric=False, distinct=3, sets=True)),
]
ASKED = {
    "disease": SensitiveAttribute.model_validate(
        {"t": "0.2", "l": {"distinct": 2, "entropy": 1.2}},
    ),
    "pay": SensitiveAttribute.model_validate(
        {
            "distance": "ordered",
            "t": "0.1",
            "missing": "lowest",
            "beta": 1,
            "l": {"frequency": "1.5"},
        },
    ),
}


def drawn(seed: int, rows: int = 200) -> pa.Table:
    draw = np.random.default_rng(seed)

    def pick(values: list[Any], kind: pa.DataType) -> pa.Array:
        return pa.array([values[place] for place in draw.integers(0, len(values), rows)], kind)

    return pa.table(
        {
            "age": pick(["[20, 29]", "[30, 59]", "60", None], pa.string()),
            "sex": pick(["f", "m", None], pa.string()),
            "towns": pick(["{Pisa, Lucca}", "Siena", "*"], pa.string()),
            "disease": pick(["flu", "flu", "gout", 'a "b"', "é, x", None], pa.string()),
            "pay": pick([0.0, -0.0, 1.5, 2e10, float("nan"), None], pa.float64()),
        },
    )


def in_order(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


def tuples_in_order(tallies: pa.Table) -> list[str]:
    """Tallies in which neither classes nor their tuples have an order."""
    found = []
    for row in tallies.to_pylist():
        of_tuples = zip(*(row[name] for name in ("v0", "v1", "n")), strict=True)
        found.append(repr([*(row[f"l{i}"] for i in range(3)), sorted(of_tuples, key=repr)]))
    return sorted(found)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_checks_of_both_engines_are_the_same(spark: SparkSession, seed: int) -> None:
    people = drawn(seed)

    def checked(table: Any) -> dict[str, Any]:
        tallies = tally_classes(table, LABELS, SENSITIVE, 30)
        counts, tuples = count_values(tallies, SENSITIVE)
        attributes = [
            judged_attribute(name, ASKED[name], of, None, name == "disease")
            for name, of in zip(SENSITIVE, counts, strict=True)
        ]
        classes = class_table(tallies, QUASI, attributes)
        whole = without_t(attributes)
        figures = class_figures(classes, ClassRequirements(3, QUASI, attributes))
        supersets, notes = find_supersets(classes, tallies, QUASI, attributes, 20)
        return {
            "tallies": tuples_in_order(collect(tallies)),
            "counts": counts,
            "tuples": tuples,
            "columns": count_columns(table, [*LABELS, *SENSITIVE]),
            "vocabulary": vocabulary_of(tallies, {0: numbers, 1: themselves, 2: members}),
            "classes": in_order(collect(classes)),
            "figures": figures,
            "disjoint": are_disjoint(classes, QUASI),
            "supersets": in_order(collect(supersets)),
            "notes": notes,
            "near": near_supersets(supersets, attributes, 20),
            "worst": worst_classes(
                tallies,
                LABELS,
                class_figures(classes, ClassRequirements(3, QUASI, whole)),
                whole,
            ),
        }

    here, there = (
        checked(of_arrow(LocalSession(), people)),
        checked(spark.createDataFrame(people).repartition(3)),
    )
    for name, found in here.items():
        assert found == there[name], name
    assert any(each.superset for each in here["near"])
