"""(n, t)-closeness: the superset that is named proves the class, and where none is named there is none."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession
from strategies import CITIES

from tclose_spark.checks.classes import JudgedAttribute, JudgedQuasi, class_table
from tclose_spark.checks.supersets import (
    ITSELF,
    MISSING,
    WHOLE,
    Heights,
    Ladder,
    count_heights,
    nearest_heights,
    with_supersets,
)
from tclose_spark.checks.tallies import tally_classes
from tclose_spark.measures.distances import EqualDistance, OrderedDistance
from tclose_spark.measures.information_loss import LabelLoss
from tclose_spark.runfile.attributes import SensitiveAttribute

Labels = tuple[str | None, ...]
Class = Sequence[tuple[str | None, ...]]
CITY, SEX = Ladder("city", CITIES), Ladder("sex", None)


# --- what a label becomes, and in what order, pure


@pytest.mark.parametrize(
    ("ladder", "label", "expected"),
    [
        (CITY, "Pisa", ["Pisa", "Tuscany", "Italy", "*"]),
        (CITY, "Tuscany", [None, "Tuscany", "Italy", "*"]),  # below its own height it is no member
        (CITY, "France", [None, None, "France", "*"]),
        (CITY, "*", [None, None, None, "*"]),
        (CITY, None, [MISSING, MISSING, MISSING, "*"]),  # a missing label is under the root only
        (SEX, "f", ["f", "*"]),
        (SEX, "[20, 29]", ["[20, 29]", "*"]),
        (SEX, "*", [None, "*"]),
        (SEX, None, [MISSING, "*"]),
    ],
)
def test_what_a_label_becomes(ladder: Ladder, label: str | None, expected: list[str | None]):
    assert ladder.climb(label) == expected
    assert len(expected) == ladder.height + 1


@pytest.mark.parametrize("ladders", [[SEX], [CITY], [SEX, SEX], [CITY, SEX], [SEX, CITY, CITY], [SEX] * 5])
def test_all_heights_are_tried_the_nearest_first(ladders: list[Ladder]):
    found = list(nearest_heights(ladders))
    tops = [ladder.height for ladder in ladders]
    every = set(product(*[range(top + 1) for top in tops])) - {(0,) * len(tops), tuple(tops)}
    assert len(found) == len(every) == count_heights(ladders) == prod(top + 1 for top in tops) - 2
    assert set(found) == every
    assert [sum(heights) for heights in found] == sorted(sum(heights) for heights in every)


# --- an oracle: all vectors of heights, in fractions


def emd(part: Counter[Any], whole: Counter[Any], values: Sequence[str | None], distance: str) -> Fraction:
    extra = [Fraction(part[v], part.total()) - Fraction(whole[v], whole.total()) for v in values]
    if distance == "equal":
        return sum(map(abs, extra), Fraction(0)) / 2
    return sum((abs(sum(extra[: i + 1])) for i in range(len(extra) - 1)), Fraction(0)) / (len(extra) - 1)


def under(ladder: Ladder, node: str | None, label: str | None) -> bool:
    """Whether a label lies at or below a node (None: missing)."""
    if node == "*" or label == node:
        return True
    return ladder.hierarchy is not None and any(
        label in path and node in path[path.index(label) :] for path in CITIES.paths
    )


def nodes_above(ladder: Ladder, label: str | None) -> list[str | None]:
    """What a label can be generalized to, itself first."""
    if label == "*":
        return ["*"]
    if ladder.hierarchy is None or label is None:
        return [label, "*"]
    path = next(path for path in CITIES.paths if label in path)
    return list(dict.fromkeys(path[path.index(label) :]))


def supersets_of(
    labels: Labels, classes: Mapping[Labels, Class], ladders: Sequence[Ladder]
) -> dict[Labels, list[Labels]]:
    """Every natural superset of a class but itself: {its labels: the classes in it}."""
    nodes = product(*[nodes_above(ladder, label) for ladder, label in zip(ladders, labels, strict=True)])
    return {
        node: [other for other in classes if all(map(under, ladders, node, other))]
        for node in nodes
        if node != labels
    }  # fmt: skip


def read_superset(text: str, ladders: Sequence[Ladder]) -> Labels:
    """The labels of `city=Italy, sex=missing`."""
    parts = dict(part.split("=") for part in text.split(", "))
    return tuple(None if parts[ladder.name] == "missing" else parts[ladder.name] for ladder in ladders)


DOMAINS: dict[str, tuple[tuple[str | None, ...], str, str | None]] = {
    "disease": (("flu", "gout", None), "equal", "0.2"),
    "grade": (("1", "2", "3", "4"), "ordered", "0.15"),
    "note": (("a", "b"), "equal", None),  # of which nothing is asked
}


def judged(records: Sequence[Mapping[str, Any]], names: Sequence[str], **t: str) -> list[JudgedAttribute]:
    attributes = []
    for name in names:
        values, distance, least = DOMAINS[name]
        counts = np.array([Counter(r[name] for r in records)[value] for value in values])
        kind = {"equal": EqualDistance, "ordered": OrderedDistance}[distance]
        asked = SensitiveAttribute.model_validate({"distance": distance, "t": t.get(name, least)})
        attributes.append(JudgedAttribute(name, values, kind(counts), asked))
    return attributes


def proven(
    spark: SparkSession,
    records: Sequence[Mapping[str, Any]],
    ladders: Sequence[Ladder],
    attributes: Sequence[JudgedAttribute],
    n: int,
    vectors: Sequence[Heights] | None = None,
) -> dict[Labels, dict[str, Any]]:
    """{labels: superset and distance of each attribute} of each class."""
    names = [*[ladder.name for ladder in ladders], *[a.name for a in attributes]]
    table = spark.createDataFrame(
        [tuple(r[name] for name in names) for r in records], ", ".join(f"{name} string" for name in names)
    )
    tallies = tally_classes(table.repartition(2), names[: len(ladders)], names[len(ladders) :])
    quasi = [JudgedQuasi(ladder.name, (ladder.name,), LabelLoss(numeric=False)) for ladder in ladders]
    classes = class_table(tallies, quasi, attributes)
    tried = list(nearest_heights(ladders)) if vectors is None else vectors
    found = with_supersets(classes, tallies, ladders, attributes, n, tried)
    asked = [a.name for a in attributes if a.settings.t is not None]
    assert set(found.columns) - set(classes.columns) == {
        f"{column}_{name}" for column in ("superset", "nt_emd") for name in asked
    }
    rows = found.collect()
    result = {tuple(row["quasi_identifiers"]): row.asDict() for row in rows}
    assert len(rows) == len(result)
    return result


# --- worked examples


def of(sex: str, values: str, city: str = "Pisa") -> list[dict[str, str]]:
    return [{"city": city, "sex": sex, "disease": {"f": "flu", "g": "gout"}[value]} for value in values]


ITALY = [
    *of("f", "ff"),
    *of("f", "ffg", "Siena"),
    *of("f", "g", "Bari"),
    *of("m", "g"),
    *of("m", "gggg", "Lyon"),
    *of("m", "gg", "Bari"),
]
"""Flu: 2 of 2 women of Pisa, 4 of 5 of Tuscany, 4 of 6 of Italy, no men; 4 of the 13."""


def superset_of(found: Mapping[Labels, Mapping[str, Any]]) -> dict[Labels, str | None]:
    return {labels: row["superset_disease"] for labels, row in found.items()}


def test_each_class_has_its_smallest_superset(spark: SparkSession):
    found = proven(spark, ITALY, [CITY, SEX], judged(ITALY, ["disease"]), 5)
    assert superset_of(found) == {
        ("Pisa", "f"): "city=Tuscany, sex=f",
        ("Siena", "f"): "city=Tuscany, sex=f",
        ("Bari", "f"): None,  # gout, which a third of Italy's women and five of nine Italians have
        ("Pisa", "m"): "city=*, sex=m",  # seven men, all with gout
        ("Lyon", "m"): "city=*, sex=m",
        ("Bari", "m"): "city=*, sex=m",
    }
    assert found["Pisa", "f"]["nt_emd_disease"] == pytest.approx(1 / 5)  # exactly t
    assert found["Siena", "f"]["nt_emd_disease"] == pytest.approx(4 / 5 - 2 / 3)
    assert found["Lyon", "m"]["nt_emd_disease"] == 0


def test_n_above_the_table_is_met_by_no_superset(spark: SparkSession):
    found = proven(spark, ITALY, [CITY, SEX], judged(ITALY, ["disease"], disease="1"), len(ITALY) + 1)
    assert set(superset_of(found).values()) == {None}


def test_n_of_the_table_is_t_closeness(spark: SparkSession):
    """Of all 13 records, 4 with flu: the whole table, whatever it is called."""
    found = proven(spark, ITALY, [CITY, SEX], judged(ITALY, ["disease"], disease="14/39"), len(ITALY))
    assert superset_of(found) == {labels: None if labels == ("Pisa", "f") else WHOLE for labels in found}
    assert found["Siena", "f"]["nt_emd_disease"] == pytest.approx(14 / 39)  # 2/3 - 4/13, exactly t
    assert found["Lyon", "m"]["nt_emd_disease"] == pytest.approx(4 / 13)
    assert found["Pisa", "f"]["nt_emd_disease"] == pytest.approx(9 / 13)


def test_a_class_of_n_records_proves_itself(spark: SparkSession):
    found = proven(spark, ITALY, [CITY, SEX], judged(ITALY, ["disease"]), 1)
    assert {(row["superset_disease"], row["nt_emd_disease"]) for row in found.values()} == {(ITSELF, 0.0)}
    found = proven(spark, ITALY, [CITY, SEX], judged(ITALY, ["disease"]), 4, vectors=[])  # no others are tried
    assert superset_of(found) == {labels: ITSELF if labels == ("Lyon", "m") else None for labels in found}


def test_where_nothing_proves_a_class_the_least_distance_is_told(spark: SparkSession):
    """The one with flu: 3/4 away from the four women, 1/2 from the whole table."""
    records = [*of("f", "f"), *of("f", "ggg", "Siena"), *of("m", "ffff", "Lyon"), *of("m", "gg", "Nice")]
    found = proven(spark, records, [CITY, SEX], judged(records, ["disease"], disease="0.1"), 4)
    assert found["Pisa", "f"]["superset_disease"] is None
    assert found["Pisa", "f"]["nt_emd_disease"] == pytest.approx(0.5)


# --- against the oracle


@pytest.mark.parametrize(
    ("seed", "n", "names"),
    [
        (1, 12, ("disease", "grade", "note")),
        (2, 25, ("note", "grade", "disease")),
        (3, 59, ("disease",)),
    ],
)
def test_the_named_superset_proves_the_class_and_where_none_is_named_there_is_none(
    spark: SparkSession, seed: int, n: int, names: tuple[str, ...]
):
    """Labels of all heights side by side (local recoding), missing ones, and two attributes with a t of their own."""
    draw = np.random.default_rng(seed)
    pick: Callable[[Sequence[Any]], Any] = lambda values: values[draw.integers(len(values))]  # noqa: E731
    cities = ["Pisa", "Pisa", "Siena", "Tuscany", "Bari", "Italy", "Lyon", "France", "*", None]
    records = []
    for _ in range(60):
        sex, city = pick(["f", "f", "m", "*", None]), pick(cities)
        sick = ["flu", "flu", "gout"] if sex == "f" else ["gout", None]
        records.append(
            {
                "city": city,
                "sex": sex,
                "disease": pick(sick),
                "grade": pick("1234" if city in CITIES.leaves else "334"),
                "note": pick("ab"),
            }
        )
    ladders, attributes = [CITY, SEX], judged(records, names)
    found = proven(spark, records, ladders, attributes, n)

    classes: dict[Labels, list[Any]] = {}
    for r in records:
        classes.setdefault((r["city"], r["sex"]), []).append(r)
    assert set(found) == set(classes)
    ways = Counter()
    for a in (a for a in attributes if a.settings.t is not None):
        inside = {labels: Counter(r[a.name] for r in rows) for labels, rows in classes.items()}
        whole = Counter(r[a.name] for r in records)
        for labels, row in found.items():
            told, distance = row[f"superset_{a.name}"], row[f"nt_emd_{a.name}"]
            far = emd(inside[labels], whole, a.values, a.settings.distance)
            if far <= a.settings.t:
                assert (told, distance) == (WHOLE, pytest.approx(float(far)))
                ways[WHOLE] += 1
                continue
            if len(classes[labels]) >= n:
                assert (told, distance) == (ITSELF, 0)
                ways[ITSELF] += 1
                continue
            sums = {
                nodes: sum((inside[other] for other in others), Counter())
                for nodes, others in supersets_of(labels, classes, ladders).items()
            }
            large = {nodes: counts for nodes, counts in sums.items() if counts.total() >= n}
            proofs = {
                nodes: x
                for nodes, counts in large.items()
                if (x := emd(inside[labels], counts, a.values, a.settings.distance)) <= a.settings.t
            }
            ways["proven" if proofs else "open"] += 1
            if not proofs:
                assert told is None
                continue
            nodes = read_superset(told, ladders)
            assert nodes in proofs  # it is one of the class's own supersets, has n records, and is within t
            assert distance == pytest.approx(float(proofs[nodes]))
            assert large[nodes].total() == min(large[node].total() for node in proofs)  # none that proves it is smaller
    assert ways["open"] > 0
    if n < 59:  # else a vector of heights or two leaves enough of 60 records
        assert ways[WHOLE] > 0
        assert ways["proven"] > 0
