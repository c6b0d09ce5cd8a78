"""The outsider's attack: people who fit no narrow class of a value whose narrow classes stand at the cap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

from tclose_spark.audit.audit import audit_table
from tclose_spark.audit.outsider import Target, find_targets, guess
from tclose_spark.audit.question import ask

CLASSES = [  # zip, age, records with flu, others; flu is .2 of the table, and no class has more than .3
    *[("A", f"[{age}, {age + 4}]", 15, 35) for age in (20, 25, 30, 35, 40, 45)],
    *[(zip_, f"[{age}, {age + 9}]", flu, 50 - flu) for zip_ in "BC" for age, flu in zip(range(20, 80, 10), range(0, 12, 2), strict=True)],
    ("*", "[50, 79]", 90, 210),
]
LEFT = [("A", age, "flu") for age in range(51, 60)] + [("A", 60, "gout"), ("A", 61, "gout")]
OTHERS = [(zip_, age, "gout") for zip_ in "BC" for age in (22, 45, 71, 79)] + [("A", age, "gout") for age in (20, 35, 49)]


def boxes() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Corners and counts of CLASSES: A, B, C are 1, 2, 3, ages are themselves."""
    low, high, counts = [], [], []
    for zip_, age, flu, others in CLASSES:
        first, last = age.strip("[]").split(", ")
        low.append([-(1 << 40) if zip_ == "*" else ord(zip_) - 64, int(first)])
        high.append([1 << 40 if zip_ == "*" else ord(zip_) - 64, int(last)])
        counts.append([flu, others])
    return np.array(low), np.array(high), np.array(counts)


def test_who_fits_no_narrow_class_of_a_value_at_the_cap_is_guessed():
    low, high, counts = boxes()
    targets = find_targets(low, high, counts)
    assert targets == [Target(0, 1, 1, 0, pytest.approx(0.3))]
    people = [*LEFT, *OTHERS]
    points = np.array([[ord(zip_) - 64, age] for zip_, age, _ in people])
    by, said = guess(points, np.ones(len(people), dtype=np.int64), low, high, counts.sum(axis=1), counts, targets)
    assert by.tolist() == [0] * len(LEFT) + [-1] * len(OTHERS)
    assert said[: len(LEFT)] == pytest.approx(9 / 30)


def test_classes_below_the_cap_are_no_target():
    low, high, counts = boxes()
    counts[:4] = 5, 45  # four of zip A's six classes could take more
    assert [target for target in find_targets(low, high, counts) if target.axis == 0] == []


def test_the_labels_of_most_records_are_looked_at_where_there_are_many():
    low, high, counts = boxes()
    many = np.arange(2_500)[:, None] + np.array([-10_000, 0])
    low, high = np.concatenate([many, low]), np.concatenate([many, high])
    assert find_targets(low, high, np.concatenate([np.tile([0, 1], (2_500, 1)), counts]))[0].low == 1


def test_classes_drawn_by_lot_are_no_target():
    draw = np.random.default_rng(3)
    zips, counts = draw.integers(10, size=(400, 1)), draw.multinomial(10, [0.2, 0.5, 0.3], size=400)
    assert find_targets(zips, zips, counts) == []


def test_who_fits_no_class_at_all_is_not_guessed():
    low, high, counts = boxes()
    by, _ = guess(np.array([[1, 95]]), np.ones(1, dtype=np.int64), low, high, counts.sum(axis=1), counts, find_targets(low, high, counts))
    assert by.tolist() == [-1]


@pytest.mark.parametrize("owner", [True, False], ids=["with the truth", "without"])
def test_the_audit_tells_it(spark: SparkSession, owner: bool):
    records: list[Any] = [(zip_, age, disease) for zip_, age, flu, others in CLASSES for disease in ["flu"] * flu + ["gout"] * others]
    table = spark.createDataFrame(records, ["zip", "age", "disease"])
    people = spark.createDataFrame([*LEFT, *OTHERS], ["zip", "age", "disease"])
    found, _ = audit_table(table, ask(["zip", "age"], {"disease": {}}), background=people if owner else people.drop("disease"))
    assert found.background is not None
    (told,) = found.background.guesses
    assert (told.attribute, told.people) == ("disease", len(LEFT))
    assert (told.said, told.at_least) == (pytest.approx(0.3), pytest.approx(0.3))
    assert told.right == (pytest.approx(9 / 11) if owner else None)
    assert found.to_json()["background"]["guesses"] == [vars(told)]
