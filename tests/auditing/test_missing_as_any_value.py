"""Audits that take a missing quasi-identifier for any value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tclose_spark.api.audit import Audit, audit
from tclose_spark.checks.labels.wildcards import MEASURE, MOST_PATTERNS
from tclose_spark.errors import ConfigurationError, InputError

Row = tuple[Any, ...]
FRANCDAT: list[Row] = [
    (1, 2, 5, 1),
    (1, 2, 1, 1),
    (1, 2, None, 1),
    (None, None, 1, 5),
    (4, 3, 1, None),
    (None, 3, 1, 1),
    (6, 2, 1, 5),
    (1, 2, 5, 1),
]
"""The key variables of the example of sdcMicro's `freqCalc` (Capobianchi, Polettini and Lucarelli
2001), with values missing as there.
"""


def table_of(rows: Sequence[Row]) -> pa.Table:
    columns = zip(*rows, strict=True)
    return pa.table(
        {f"q{i}": pa.array(map(text, column), pa.string()) for i, column in enumerate(columns)},
    )


def text(value: Any) -> str | None:
    return None if value is None else str(value)


def alike(one: Row, other: Row) -> bool:
    return all(None in pair or pair[0] == pair[1] for pair in zip(one, other, strict=True))


def frequencies(rows: Sequence[Row]) -> list[int]:
    """The twin: every row with every row."""
    return [sum(alike(one, other) for other in rows) for one in rows]


def asked(rows: Sequence[Row], **settings: Any) -> Audit:
    table = table_of(rows)
    return audit(
        table,
        table.column_names,
        attacks=False,
        **{"missing": "any", "engine": "local", **settings},
    )


def guarantee(found: Audit, measure: str = MEASURE) -> Any:
    (one,) = [g for g in found.guarantees if g.measure == measure]
    return one


def drawn(seed: int, rows: int = 120, columns: int = 3) -> list[Row]:
    draw = np.random.default_rng(seed)
    values = draw.integers(0, 3, (rows, columns)).tolist()
    gone = draw.random((rows, columns)) < 0.25
    return [
        tuple(None if g else v for v, g in zip(*pair, strict=True))
        for pair in zip(values, gone, strict=True)
    ]


def test_frequencies_worked_out_by_hand() -> None:
    assert frequencies(FRANCDAT) == [3, 2, 4, 3, 3, 2, 2, 3]
    found = asked(FRANCDAT, k=3)
    one = guarantee(found)
    assert (one.achieved, one.classes, one.rows, one.size) == (2, 3, 3, 1)
    assert one.worst == {"q0": None, "q1": "3", "q2": "1", "q3": "1"}
    assert found.verdict == "violated"
    assert guarantee(found, "k-anonymity").achieved == 1
    assert asked(FRANCDAT, k=2).verdict == "holds"
    assert asked(FRANCDAT, k=2, missing="value").verdict == "violated"
    assert asked(FRANCDAT, k=2, missing=None).verdict == "violated"


@pytest.mark.parametrize("seed", range(6))
def test_frequencies_are_those_of_all_pairs_of_rows(seed: int) -> None:
    rows = drawn(seed, rows=20 + 30 * seed)
    expected = frequencies(rows)
    of_class = dict(zip(rows, expected, strict=True))
    k = sorted(expected)[len(rows) // 3]
    one = guarantee(asked(rows, k=k))
    assert one.achieved == min(expected)
    assert one.classes == sum(n < k for n in of_class.values())
    assert one.rows == sum(n < k for n in expected)
    assert of_class[tuple(None if v is None else int(v) for v in one.worst.values())] == min(
        expected,
    )
    assert (
        one.size == Counter(rows)[tuple(None if v is None else int(v) for v in one.worst.values())]
    )


@pytest.mark.parametrize("seed", range(2))
def test_both_engines_agree(spark: SparkSession, seed: int) -> None:
    rows = drawn(seed + 10, rows=300, columns=4)
    table = table_of(rows)
    here = audit(table, table.column_names, k=3, missing="any", engine="local")
    there = audit(table, table.column_names, k=3, missing="any", engine="spark")
    assert here.to_json() == there.to_json()
    assert guarantee(here).achieved == min(frequencies(rows))


def test_only_the_columns_whose_settings_say_so() -> None:
    table = table_of(FRANCDAT)
    columns = {
        name: {"missing": "any"} if name in ("q0", "q2") else {} for name in table.column_names
    }
    found = audit(table, columns, k=2, attacks=False, engine="local")
    shown = [
        tuple("-" if v is None and i in (1, 3) else v for i, v in enumerate(row))
        for row in FRANCDAT
    ]
    assert guarantee(found).achieved == min(frequencies(shown)) == 1


def test_t_and_l_stay_those_of_equal_labels() -> None:
    table = table_of(FRANCDAT).append_column("s", pa.array(list("aabbabab")))
    names = [f"q{i}" for i in range(4)]
    strict, loose = (
        audit(table, names, ["s"], engine="local", missing=missing) for missing in (None, "any")
    )
    assert loose.guarantees[2:] == strict.guarantees[1:]
    assert (
        "missing: any is in k and in the joins with lists of people; l and t are of classes with "
        "equal labels" in (loose.notes)
    )


def test_too_many_patterns_are_an_error() -> None:
    rows: list[Row] = list(product([None, 1], repeat=7))
    assert len(rows) > MOST_PATTERNS
    with pytest.raises(
        InputError,
        match=f"missing in more than {MOST_PATTERNS} combinations of columns",
    ):
        asked(rows, k=2)
    found = asked(list(product([None, 1], repeat=6)), k=64)
    assert guarantee(found).achieved == MOST_PATTERNS == 64
    assert found.verdict == "holds"


def test_another_word_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match="missing is 'wild'; expected any or value"):
        asked(FRANCDAT, missing="wild")


def test_people_are_counted_in_classes_of_equal_labels() -> None:
    table = table_of(FRANCDAT).append_column("who", pa.array([f"p{i}" for i in range(8)]))
    found = audit(
        table,
        [f"q{i}" for i in range(4)],
        k=2,
        person="who",
        missing="any",
        engine="local",
    )
    assert found.verdict == "violated"
    assert all(g.measure != MEASURE for g in found.guarantees)
    assert any(note.startswith("missing: any is in the joins") for note in found.notes)


PUBLISHED: list[Row] = [
    ("[20, 29]", "a"),
    ("[30, 39]", "{a, b}"),
    (None, "b"),
    ("*", None),
    ("[30, 39]", "c"),
]
PEOPLE: list[Row] = [(age, job) for age in (None, 21, 35, 70) for job in (None, "a", "b", "c", "d")]


def inside(label: str | None, value: Any) -> bool:
    if None in (label, value) or label == "*":
        return True
    assert label is not None
    if label.startswith("["):
        low, high = map(int, label[1:-1].split(","))
        return bool(low <= value <= high)
    return value in label.strip("{}").split(", ")


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("engine", ["local", "spark"])
def test_a_missing_value_fits_everything_in_a_list_of_people(
    spark: SparkSession,
    engine: str,
    several: bool,
) -> None:
    """Sets of values and persons with several rows are counted once."""
    table = pa.table({"age": [a for a, _ in PUBLISHED], "job": [j for _, j in PUBLISHED]})
    listed = pa.table(
        {"age": pa.array([a for a, _ in PEOPLE], pa.int64()), "job": [j for _, j in PEOPLE]},
    )
    who = [i // 2 if several else i for i in range(len(PEOPLE))]
    settings: dict[str, Any] = {"engine": engine, "missing": "any"}
    if several:
        table = table.append_column("who", pa.array([f"r{i}" for i in range(len(PUBLISHED))]))
        listed = listed.append_column("who", pa.array([f"p{i}" for i in who]))
        settings["person"] = "who"
    found = audit(table, ["age", "job"], background=listed, **settings).background
    assert found is not None
    fits = [
        {who[i] for i, person in enumerate(PEOPLE) if all(map(inside, labels, person))}
        for labels in PUBLISHED
    ]
    assert found.candidates == len(set.union(*fits))
    assert found.people == len(set(who))
    assert found.risks.marketer == sum(Fraction(1, len(people)) for people in fits) / len(fits)
    assert found.risks.journalist == max(Fraction(1, len(people)) for people in fits)
