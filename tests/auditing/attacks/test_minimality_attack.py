"""The outsider's attack: people who fit no narrow class of a value whose narrow classes stand at
the cap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tclose_spark.auditing.attacks import minimality_attack as outsider
from tclose_spark.auditing.attacks.minimality_attack import (
    ReleasedClasses,
    Target,
    expected,
    find_targets,
    guess_values,
)
from tclose_spark.auditing.audit import audit_table
from tclose_spark.auditing.question import question_from_columns
from tclose_spark.auditing.tables import AuditTables
from tclose_spark.engine.protocol import Table

CLASSES = [  # zip, age, records with flu, others; flu is .2 of the table, and no class has more than .3
    *[("A", f"[{age}, {age + 4}]", 15, 35) for age in (20, 25, 30, 35, 40, 45)],
    *[
        (zip_, f"[{age}, {age + 9}]", flu, 50 - flu)
        for zip_ in "BC"
        for age, flu in zip(range(20, 80, 10), range(0, 12, 2), strict=True)
    ],
    ("*", "[50, 79]", 90, 210),
]
LEFT = [("A", age, "flu") for age in range(51, 60)] + [("A", 60, "gout"), ("A", 61, "gout")]
OTHERS = [(zip_, age, "gout") for zip_ in "BC" for age in (22, 45, 71, 79)] + [
    ("A", age, "gout") for age in (20, 35, 49)
]

KINDS = {"zip": "string", "age": "int64", "disease": "string"}


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
    assert targets == [Target(0, 1, 1, 0)]
    people = [*LEFT, *OTHERS]
    points = np.array([[ord(zip_) - 64, age] for zip_, age, _ in people])
    by, said = guess_values(
        points,
        np.ones(len(people), dtype=np.int64),
        ReleasedClasses(low, high, counts.sum(axis=1), counts),
        targets,
    )
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
    assert (
        find_targets(low, high, np.concatenate([np.tile([0, 1], (2_500, 1)), counts]))[0].low == 1
    )


def test_classes_drawn_by_lot_are_no_target():
    draw = np.random.default_rng(3)
    zips, counts = draw.integers(10, size=(400, 1)), draw.multinomial(10, [0.2, 0.5, 0.3], size=400)
    assert find_targets(zips, zips, counts) == []


def test_who_fits_no_class_at_all_is_not_guessed():
    low, high, counts = boxes()
    by, _ = guess_values(
        np.array([[1, 95]]),
        np.ones(1, dtype=np.int64),
        ReleasedClasses(low, high, counts.sum(axis=1), counts),
        find_targets(low, high, counts),
    )
    assert by.tolist() == [-1]


def unrelated(
    seed: int,
    rows: int = 4000,
) -> tuple[list[tuple[str, str, str]], list[tuple[str, int, str]]]:
    """(records, people) of a table whose disease has nothing to do with zip and age: classes of
    five neighbours, each fourth one of any zip.
    """
    draw = np.random.default_rng(seed)
    often = 1 / np.arange(2, 30)
    zips, ages, values = (
        draw.integers(8, size=rows),
        draw.integers(20, 90, size=rows),
        draw.choice(28, size=rows, p=often / often.sum()),
    )
    order = np.lexsort((ages, zips))
    people = [(f"zip {zips[i]}", int(ages[i]), f"d{values[i]}") for i in order]
    records = []
    for number in range(rows // 5):
        members = people[5 * number : 5 * number + 5]
        years = [age for _, age, _ in members]
        label = members[0][0] if number % 4 and members[0][0] == members[-1][0] else "*"
        records += [(label, f"[{min(years)}, {max(years)}]", disease) for *_, disease in members]
    return records, people


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_small_classes_of_no_association_make_no_guess(
    table_of: Callable[..., Table],
    seed: int,
    monkeypatch: pytest.MonkeyPatch,
):
    records, people = unrelated(seed)
    table = table_of(records, **{**KINDS, "age": "string"})
    known = table_of(people, **KINDS)
    looked: list[int] = []

    def watched(target: Target, guessed: int, *others: Any) -> tuple[float, float]:
        looked.append(guessed)
        return expected(target, guessed, *others)

    monkeypatch.setattr(outsider, "expected", watched)
    found = audit_table(
        AuditTables(table=table, background=known),
        question_from_columns(["zip", "age"], {"disease": {}}),
    )
    assert (
        sum(looked) > 10
    )  # people fit no narrow class of their value, and some of these stand at the cap by whole numbers
    assert found.background is not None
    assert [told.people for told in found.background.guesses] == [0]


def wide_and_apart(flu: int, records: int) -> ReleasedClasses:
    """Corners, records and counts of flu: narrow classes of value 1 at .3, ten classes of value 2
    at .1, and one wide class.
    """
    low, high = np.array([[1], [1], *[[2]] * 10, [1]]), np.array([[1], [1], *[[2]] * 10, [2]])
    return ReleasedClasses(
        low,
        high,
        np.array([50, 50, *[100] * 10, records]),
        np.array([[15], [15], *[[10]] * 10, [flu]]),
    )


def test_what_a_guess_expects_is_what_others_in_the_wide_classes_do_not_explain():
    target = Target(0, 1, 1, 0)
    # of 200 records 40 are people of value 1, the other 160 explain 16 of 46 with flu: 30 of 40
    belief, chance = expected(target, 40, 140, [12], wide_and_apart(46, 200))
    assert belief == pytest.approx(30 / 40)
    assert chance < 1e-4
    # 80 people of the list are left for the wide class, of whom 40 fit a narrow one, too
    assert expected(target, 40, 180, [12], wide_and_apart(46, 200))[0] == pytest.approx(
        (46 - 12) / 80,
    )
    # a list that is not everyone's
    assert expected(target, 5, 5, [12], wide_and_apart(46, 200))[0] == 1.0


def test_what_the_others_explain_is_chance():
    assert expected(Target(0, 1, 1, 0), 40, 140, [12], wide_and_apart(20, 200)) == (
        pytest.approx(0.1),
        1.0,
    )
    for flu in range(3):  # a rare value in few records
        assert expected(Target(0, 1, 1, 0), 2, 2, [12], wide_and_apart(flu, 8))[1] > 0.2
    assert expected(Target(0, 1, 1, 0), 8, 108, [12], wide_and_apart(8, 8)) == (
        1.0,
        pytest.approx(0.1**8),
    )


def test_where_nobody_else_has_it_nothing_is_expected():
    classes = wide_and_apart(46, 200)
    classes.counts[2:12] = 0
    assert expected(Target(0, 1, 1, 0), 40, 140, [12], classes) == (0.0, 1.0)


@pytest.mark.parametrize(("gain", "people"), [("0.7", len(LEFT)), ("0.71", 0)])
def test_a_guess_counts_from_the_gain_on(table_of: Callable[..., Table], gain: str, people: int):
    """It expects flu of all that are left, and their class says .3."""
    records: list[Any] = [
        (zip_, age, disease)
        for zip_, age, flu, others in CLASSES
        for disease in ["flu"] * flu + ["gout"] * others
    ]
    table = table_of(records, **{**KINDS, "age": "string"})
    known = table_of([*LEFT, *OTHERS], **KINDS)
    found = audit_table(
        AuditTables(table=table, background=known),
        question_from_columns(["zip", "age"], {"disease": {}}, gain=gain),
    )
    assert found.background is not None
    assert [told.people for told in found.background.guesses] == [people]


@pytest.mark.parametrize(
    "owner",
    [
        pytest.param(True, id="with the truth", marks=pytest.mark.on_spark),
        pytest.param(False, id="without"),
    ],
)
def test_the_audit_tells_it(table_of: Callable[..., Table], owner: bool):
    records: list[Any] = [
        (zip_, age, disease)
        for zip_, age, flu, others in CLASSES
        for disease in ["flu"] * flu + ["gout"] * others
    ]
    table = table_of(records, **{**KINDS, "age": "string"})
    people = table_of([*LEFT, *OTHERS], **(KINDS if owner else {"zip": "string", "age": "int64"}))
    found = audit_table(
        AuditTables(table=table, background=people),
        question_from_columns(["zip", "age"], {"disease": {}}),
    )
    assert found.background is not None
    (told,) = found.background.guesses
    assert (told.attribute, told.people) == ("disease", len(LEFT))
    assert (told.said, told.at_least) == (pytest.approx(0.3), 1.0)
    assert told.right == (pytest.approx(9 / 11) if owner else None)
    assert found.to_json()["background"]["guesses"] == [vars(told)]
