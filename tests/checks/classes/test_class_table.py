"""The class table: what grouping the released rows and exact fractions give, however files and
batches cut the classes.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from strategies import CITIES

from tclose_spark.auditing.attacks.exposures import AttackColumns
from tclose_spark.checks.classes import class_table as classes
from tclose_spark.checks.classes.class_table import JudgedQuasi
from tclose_spark.checks.classes.tallies import tally_classes
from tclose_spark.measures.distances.ground_distances import (
    EqualDistance,
    GroundDistance,
    HierarchicalDistance,
    OrderedDistance,
)
from tclose_spark.measures.loss.information_loss import LabelLoss
from tclose_spark.requirements.judge import JudgedAttribute, judged_attribute
from tclose_spark.requirements.registry import fields_of
from tclose_spark.runfile.attributes import SensitiveAttribute

AGE = JudgedQuasi("age", ("age",), LabelLoss(numeric=True, span=Fraction(40)))
SEX = JudgedQuasi("sex", ("sex",), LabelLoss(numeric=False, distinct=2))
CITY = JudgedQuasi("city", ("city",), LabelLoss(numeric=False, distinct=5, hierarchy=CITIES))


def judged(
    name: str,
    values: Sequence[str | None],
    counts: Sequence[int],
    **asked: Any,
) -> JudgedAttribute:
    table = np.array(counts, dtype=np.int64)
    distances: dict[str, GroundDistance] = {
        "equal": EqualDistance(table),
        "ordered": OrderedDistance(table),
        "hierarchical": HierarchicalDistance(table, CITIES.parents),
    }
    distance = asked.get("distance", "equal")
    asked |= {"hierarchy": "cities.csv"} if distance == "hierarchical" else {}
    return JudgedAttribute(
        name,
        tuple(values),
        distances[distance],
        SensitiveAttribute.model_validate(asked),
    )


def class_table(
    release: DataFrame,
    quasi: Sequence[JudgedQuasi],
    attributes: Sequence[JudgedAttribute],
    at_once: int = 5,
) -> DataFrame:
    """The class table of released rows."""
    tallied = tally_classes(
        release,
        [column for q in quasi for column in q.columns],
        [a.name for a in attributes],
        at_once,
    )
    return classes.class_table(tallied, quasi, attributes)


def rows(table: DataFrame) -> list[Row]:
    return table.orderBy("quasi_identifiers").collect()


def test_two_classes(spark: SparkSession) -> None:
    release = spark.createDataFrame(
        [
            ("[20, 30]", "f", "flu"),
            ("[20, 30]", "f", "flu"),
            ("[20, 30]", "f", "gout"),
            ("[25, 45]", "*", "gout"),
        ],
        "age string, sex string, disease string",
    )
    disease = judged(
        "disease",
        ["flu", "gout"],
        [2, 2],
        t="0.25",
        l={"distinct": 2, "recursive": {"c": 3, "l": 2}},
    )
    first, second = rows(class_table(release, [AGE, SEX], [disease]))
    # EMD of flu 2/3 from 1/2: 1/6, as numerator 4 of 2 * 4 rows * 3 rows
    assert first["quasi_identifiers"].asDict() == {"age": "[20, 30]", "sex": "f"}
    assert (first["size"], first["numerator_disease"], first["distinct_disease"]) == (3, 4, 2)
    assert first["emd_disease"] == pytest.approx(1 / 6)
    assert first["margin_disease"] == 1 * 24 - 4 * 4  # 1/4 >= 4/24
    assert first["recursive_margin_disease"] == 3 * 1 - 2  # 2 < 3 * 1
    assert first["losses"].asDict() == {"age": 0.25, "sex": 0.0}
    assert first["loss"] == 0.125
    # EMD of gout only: 1/2, which is over
    assert (second["size"], second["numerator_disease"], second["distinct_disease"]) == (1, 4, 1)
    assert second["margin_disease"] == 1 * 8 - 4 * 4
    assert second["recursive_margin_disease"] == 3 * 0 - 1
    assert second["losses"].asDict() == {"age": 0.5, "sex": 1.0}


def test_a_distance_that_equals_t_has_no_margin_left(spark: SparkSession) -> None:
    release = spark.createDataFrame(
        [("1", "a"), ("1", "a"), ("1", "a"), ("2", "b")],
        "age string, disease string",
    )
    exactly = judged("disease", ["a", "b"], [3, 1], t="0.25")  # class 1: |1 - 3/4| = 1/4
    assert [row["margin_disease"] < 0 for row in rows(class_table(release, [AGE], [exactly]))] == [
        False,
        True,
    ]
    below = judged("disease", ["a", "b"], [3, 1], t="0.2499999999999999999")
    assert [row["margin_disease"] < 0 for row in rows(class_table(release, [AGE], [below]))] == [
        True,
        True,
    ]


def test_bounds_are_two_columns_of_one_quasi_identifier(spark: SparkSession) -> None:
    release = spark.createDataFrame(
        [(20, 30, "a"), (20, 30, "b"), (20, 40, "a")],
        "age_min long, age_max long, disease string",
    )
    age = JudgedQuasi("age", ("age_min", "age_max"), LabelLoss(numeric=True, span=Fraction(40)))
    found = rows(class_table(release, [age], [judged("disease", ["a", "b"], [2, 1])]))
    assert [(row["quasi_identifiers"].asDict(), row["size"], row["loss"]) for row in found] == [
        ({"age_min": "20", "age_max": "30"}, 2, 0.25),
        ({"age_min": "20", "age_max": "40"}, 1, 0.5),
    ]


@pytest.mark.parametrize(
    ("low", "high", "loss"),
    [
        (2**60, 2**60 + 20, 0.2),  # doubles do not tell these ends apart
        (2**60 + 10, 2**60 + 60, 0.5),
        (None, None, 0.0),
        (None, 2**60, 1.0),
        ("*", "*", 1.0),
        (5, 3, 0.0),
    ],
)
def test_the_loss_of_bounds_is_exact(low: object, high: object, loss: float) -> None:
    age = JudgedQuasi("age", ("age_min", "age_max"), LabelLoss(numeric=True, span=Fraction(100)))
    texts = [pa.array([None if end is None else str(end)], pa.string()) for end in (low, high)]
    assert age.losses(texts).tolist() == [loss]
    huge = JudgedQuasi(
        "age",
        ("age_min", "age_max"),
        LabelLoss(numeric=True, span=Fraction(2 * 10**308)),
    )
    assert huge.losses([pa.array(["-1e308"]), pa.array(["1e308"])]).tolist() == [1.0]


# --- against an oracle: pandas group-by, and the definitions in fractions


def emd_equal(share: Sequence[Fraction], whole: Sequence[Fraction]) -> Fraction:
    return sum((abs(p - q) for p, q in zip(share, whole, strict=True)), Fraction(0)) / 2


def emd_ordered(share: Sequence[Fraction], whole: Sequence[Fraction]) -> Fraction:
    differences = [p - q for p, q in zip(share, whole, strict=True)]
    return sum(
        (abs(sum(differences[: i + 1])) for i in range(len(differences) - 1)),
        Fraction(0),
    ) / (len(differences) - 1)


def emd_cities(share: Sequence[Fraction], whole: Sequence[Fraction]) -> Fraction:
    extra = [p - q for p, q in zip(share, whole, strict=True)]
    cost = Fraction(0)
    for height in (1, 2, 3):
        children: dict[tuple[str, ...], dict[tuple[str, ...], Fraction]] = {}
        for path, more in zip(CITIES.paths, extra, strict=True):
            below = children.setdefault(path[height:], {})
            below[path[height - 1 :]] = below.get(path[height - 1 :], Fraction(0)) + more
        for below in children.values():
            cost += Fraction(height, 3) * min(
                sum(max(x, 0) for x in below.values()),
                -sum(min(x, 0) for x in below.values()),
            )
    return cost


Oracle = Callable[[Sequence[Fraction], Sequence[Fraction]], Fraction]
ATTRIBUTES: dict[str, tuple[list[str | None], str, Oracle]] = {
    "disease": (["flu", "gout", None], "equal", emd_equal),
    "grade": (["1", "2", "3", "5"], "ordered", emd_ordered),
    "site": (list(CITIES.leaves), "hierarchical", emd_cities),
}


def expected_classes(
    release: pd.DataFrame,
    labels: list[str],
) -> dict[tuple[Any, ...], dict[str, Any]]:
    found = {}
    for key, rows in release.groupby(labels, dropna=False):
        figures: dict[str, Any] = {"size": len(rows)}
        for name, (values, _, emd) in ATTRIBUTES.items():
            inside, whole = Counter(rows[name]), Counter(release[name])
            figures[name] = emd(
                [Fraction(inside[v], len(rows)) for v in values],
                [Fraction(whole[v], len(release)) for v in values],
            )
        found[tuple(None if pd.isna(x) else x for x in key)] = figures
    return found


@pytest.fixture(scope="module")
def drawn() -> pd.DataFrame:
    """400 released rows in some 40 classes of uneven sizes, NULL among the labels and the
    values.
    """
    draw = np.random.default_rng(17)

    def pick(values: Sequence[Any]) -> pd.Series:
        weights = np.arange(1, len(values) + 1) ** 2.0
        return pd.Series(
            [values[i] for i in draw.choice(len(values), 400, p=weights / weights.sum())],
            dtype=object,
        )

    return pd.DataFrame(
        {
            "age": pick([None, "[20, 30]", "30", "*", "[31, 60]"]),
            "sex": pick(["*", "f", None]),
            "city": pick(["Italy", "Pisa", None]),
            "disease": pick([None, "flu", "gout"]),
            "grade": pick(["1", "5", "3", "2"]),
            "site": pick(CITIES.leaves),
        },
    )


LAYOUTS: dict[str, tuple[Mapping[str, str], Callable[[DataFrame], DataFrame]]] = {
    "one file": ({}, lambda table: table.coalesce(1)),
    "classes in several files, batches of 7": (
        {"spark.sql.execution.arrow.maxRecordsPerBatch": "7"},
        lambda table: table.repartition(4),
    ),
    "batches of one row": (
        {"spark.sql.execution.arrow.maxRecordsPerBatch": "1", "spark.sql.shuffle.partitions": "3"},
        lambda table: table,
    ),
}


@pytest.mark.parametrize("at_once", [1, 1 << 20])
@pytest.mark.parametrize("name", LAYOUTS)
def test_the_class_table_is_what_grouping_gives(
    spark: SparkSession,
    settings: Any,
    drawn: pd.DataFrame,
    name: str,
    at_once: int,
) -> None:
    values, lay = LAYOUTS[name]
    release = lay(
        spark.createDataFrame(
            [tuple(row) for row in drawn.to_numpy()],
            ", ".join(f"{c} string" for c in drawn.columns),
        ),
    )
    attributes = [
        judged(
            column,
            domain,
            [Counter(drawn[column])[value] for value in domain],
            distance=distance,
        )
        for column, (domain, distance, _) in ATTRIBUTES.items()
    ]
    with settings(values):
        found = class_table(release, [AGE, SEX, CITY], attributes, at_once).collect()
    expected = expected_classes(drawn, ["age", "sex", "city"])
    assert len(expected) > 30
    assert len(found) == len(expected)  # equal labels in different files are one class
    for row in found:
        figures = expected[tuple(row["quasi_identifiers"])]
        assert row["size"] == figures["size"]
        for a in attributes:
            exact = Fraction(int(row[f"numerator_{a.name}"]), a.distance.scale * 400 * row["size"])
            assert exact == figures[a.name]
            assert row[f"emd_{a.name}"] == pytest.approx(float(exact))


def test_attributes_whose_names_differ_in_a_dot_have_columns_of_their_own(
    spark: SparkSession,
) -> None:
    release = spark.createDataFrame([("1", "a", "x"), ("1", "b", "x")], ["age", "a.b", "a_b"])
    attributes = [judged("a.b", ["a", "b"], [1, 1]), judged("a_b", ["x"], [2])]
    (row,) = class_table(release, [AGE], attributes).collect()
    assert row["size"] == 2


def test_no_two_measures_of_attributes_share_a_column() -> None:
    """Whatever the attributes are called: no measure's name begins with another's and a line."""
    asked = {"entropy": "1.5", "recursive": {"c": "3", "l": 2}, "distinct": 2}
    attribute = judged_attribute(
        "x",
        SensitiveAttribute.model_validate({"t": "0.5", "l": asked}),
        {"a": 1, "b": 1},
        None,
        True,
    )
    parts = [*fields_of([attribute]), *AttackColumns(attribute, Fraction(1, 5)).fields()]
    measures = {name.removesuffix("_x") for name, _ in parts}
    assert len(measures) == len(parts)
    assert [
        (one, other) for one in measures for other in measures if other.startswith(f"{one}_")
    ] == []
