"""Audits of tables in which a person has several rows, judged by code of their own."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle.people import judge_people
from pyspark.sql import SparkSession
from strategies import CITIES, drawn

from tclose_spark.api.audit import Audit, audit
from tclose_spark.auditing.views import questions_of
from tclose_spark.errors import ConfigurationError, InputError

GRADES = ["1", "2", "3", "4"]
TOWNS = {path[0]: path for path in CITIES.paths}
SENSITIVE: Mapping[str, Any] = {
    "disease": {"t": "0.3", "l": {"distinct": 2}},
    "grade": {"t": "0.2", "distance": "ordered", "order": GRADES},
}
KINDS = {"disease": "equal", "grade": GRADES}
QUASI = ["age", "sex"]


def published(seed: int, people: int = 60, moving: float = 0.2) -> pa.Table:
    """A published table, about two rows a person. moving: the share of rows with another age than
    the person's.
    """
    draw = np.random.default_rng(seed)
    who = np.repeat(np.arange(people), draw.geometric(0.5, people))
    n = len(who)
    age = draw.integers(3, size=people)[who]
    age = np.where(draw.random(n) < moving, draw.integers(3, size=n), age)
    table = pa.table(
        {
            "age": np.array(["[20, 29]", "[30, 39]", "*"])[age],
            "sex": np.array(["f", "m"])[draw.integers(2, size=people)[who]],
            "disease": np.array(["cold", "flu", "gout"])[draw.integers(3, size=n)],
            "grade": np.array(GRADES)[draw.integers(4, size=n)],
            "patient": [f"P{i}" for i in who],
            "row": [str(i) for i in range(n)],
        },
    )
    return table.take(pa.array(draw.permutation(n)))


def figures(found: Audit) -> dict[tuple[str, str | None], Any]:
    return {(g.measure, g.attribute): g.achieved for g in found.guarantees}


@pytest.mark.parametrize("seed", range(4))
def test_people_are_counted_as_another_judge_counts_them(seed: int) -> None:
    table = published(seed)
    rows, names = table.to_pylist(), list(KINDS)
    whose = dict(zip(table["row"].to_pylist(), table["patient"].to_pylist(), strict=True))
    judged = judge_people(rows, whose, "row", QUASI, KINDS)
    found = audit(table, QUASI, SENSITIVE, k=judged.smallest, person="patient", engine="local")
    reached = figures(found)
    assert (
        reached["k-anonymity over people", None] == judged.smallest < reached["k-anonymity", None]
    )
    for name in names:
        assert abs(reached["t-closeness over people", name] - judged.emd[name]) < Fraction(
            1,
            10**12,
        )
    assert reached["distinct l-diversity over people", "disease"] == judged.distinct["disease"]
    by_rows = figures(audit(table, QUASI, SENSITIVE, engine="local"))
    assert by_rows == {
        key: value for key, value in reached.items() if not key[0].endswith("over people")
    }
    required = {"t-closeness over people": "emd", "k-anonymity over people": "smallest"}
    assert set(required) < {g.measure for g in found.guarantees}
    table_json = found.to_json()["table"]
    assert (table_json["people"], table_json["most_rows_of_a_person"]) == (
        judged.people,
        judged.most_rows,
    )


@drawn(30, quick=8)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5)), min_size=1, max_size=25))
def test_the_chance_to_pick_a_row_of_a_person_is_of_people(rows: list[tuple[int, int]]) -> None:
    """At most the largest share of a class that is of one person; on average one over the people of
    a class.
    """
    table = pa.table(
        {
            "age": [str(age) for age, _ in rows],
            "disease": ["flu"] * len(rows),
            "who": [p for _, p in rows],
        },
    )
    classes: dict[int, list[int]] = defaultdict(list)
    for age, person in rows:
        classes[age].append(person)
    share = max(max(Counter(people).values()) / len(people) for people in classes.values())
    in_classes = sum(len(set(people)) for people in classes.values())
    found = audit(table, ["age"], {"disease": "equal"}, person="who", engine="local")
    assert found.figures.chance == pytest.approx((share, len(classes) / in_classes))
    assert audit(
        table,
        ["age"],
        {"disease": "equal"},
        engine="local",
    ).figures.chance == pytest.approx(
        (1 / min(map(len, classes.values())), len(classes) / len(rows)),
    )


def test_a_class_of_one_person_with_five_rows_is_that_person() -> None:
    table = pa.table(
        {"age": ["1"] * 5 + ["2"] * 4, "disease": ["flu"] * 9, "who": [7] * 5 + [1, 2, 3, 4]},
    )
    found = audit(table, ["age"], {"disease": "equal"}, person="who", engine="local")
    singling_out, linkability, _ = questions_of(found)
    assert "no class has fewer than 1 people" in singling_out.measured
    assert (
        "the chance to pick a person's row in its class is 1 at most, 0.4 on average"
        in linkability.measured
    )


def test_a_class_of_many_rows_and_one_person() -> None:
    """Ten rows of one person are ten records, one person and one value of that person."""
    one = {"age": ["1"] * 10, "disease": [*["flu"] * 5, *["gout"] * 5], "patient": [7] * 10}
    many = {
        "age": ["2"] * 10,
        "disease": [*["flu"] * 5, *["gout"] * 5],
        "patient": list(range(10, 20)),
    }
    table = pa.table({name: one[name] + many[name] for name in one})
    asked: dict[str, Any] = {"k": 5, "engine": "local"}
    diverse = {"disease": {"l": {"distinct": 2}}}
    assert audit(table, ["age"], diverse, **asked).holds
    found = audit(table, ["age"], diverse, person="patient", **asked)
    assert {g.measure for g in found.guarantees if not g.holds} == {
        "k-anonymity over people",
        "distinct l-diversity over people",
    }
    assert figures(found)["k-anonymity over people", None] == 1
    assert [
        (g.classes, g.rows) for g in found.guarantees if g.measure == "k-anonymity over people"
    ] == [(1, 10)]
    assert "20 rows of 11 people in 2 classes" in repr(found)


def test_each_person_weighs_one() -> None:
    """A person with 1,000 rows of flu moves the table's distribution over rows, and over people by
    one of five.
    """
    rows = [("1", "flu", "a")] * 1000 + [
        ("1", "gout", "b"),
        ("1", "gout", "c"),
        ("2", "flu", "d"),
        ("2", "gout", "e"),
    ]
    table = pa.table(
        dict(zip(("age", "disease", "patient"), map(list, zip(*rows, strict=True)), strict=True)),
    )
    reached = figures(audit(table, ["age"], ["disease"], person="patient", engine="local"))
    assert reached["t-closeness over people", "disease"] == Fraction(1, 2) - Fraction(2, 5)
    assert reached["t-closeness", "disease"] == Fraction(1001, 1004) - Fraction(1, 2)


def fitting(
    list_of_people: Sequence[Mapping[str, Any]],
    classes: Sequence[tuple[str, str]],
) -> list[set[Any]]:
    """The people with some row that each class covers, by trying each row on each class."""
    spans = {"[20, 29]": range(20, 30), "[30, 39]": range(30, 40), "*": range(200)}
    return [
        {row["patient"] for row in list_of_people if row["age"] in spans[age] and row["sex"] == sex}
        for age, sex in classes
    ]


@pytest.mark.parametrize("on", ["local", "spark"])
def test_people_of_a_background_list_may_have_several_rows(on: str, spark: SparkSession) -> None:
    table, draw = published(3, people=40), np.random.default_rng(9)
    who = np.repeat(np.arange(70), draw.integers(1, 4, 70))
    known = pa.table(
        {
            "patient": [f"K{i}" for i in who],
            "age": draw.integers(15, 45, len(who)),
            "sex": np.array(["f", "m"])[draw.integers(2, size=70)[who]],
        },
    )
    people_of: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in table.to_pylist():
        people_of[row["age"], row["sex"]].add(row["patient"])
    classes = list(people_of)
    fits = fitting(known.to_pylist(), classes)
    found = audit(table, QUASI, person="patient", background=known, engine=on).background
    assert found is not None
    assert (found.people, found.candidates) == (70, len(set().union(*fits)))
    sizes = [len(people_of[one]) for one in classes]
    assert found.risks.prosecutor == Fraction(1, min(sizes))
    most = [max(size, len(fit)) for size, fit in zip(sizes, fits, strict=True)]
    assert found.risks.journalist == Fraction(1, min(most))
    named = sum(
        (Fraction(size, n) for size, n in zip(sizes, most, strict=True)),
        Fraction(0),
    ) / sum(sizes)
    assert found.risks.marketer == named
    rows = audit(table, QUASI, background=known, engine=on).background
    assert rows is not None
    assert rows.people == known.num_rows


def without_some(table: pa.Table) -> pa.Table:
    patients = table["patient"].to_pylist()
    return table.set_column(4, "patient", pa.array([None, "", *patients[2:]]))


@pytest.mark.parametrize(
    ("change", "asked", "error", "message"),
    [
        (without_some, {}, InputError, "person: 2 rows of the table have no 'patient'"),
        (
            lambda table: table.drop_columns("patient"),
            {},
            InputError,
            "person 'patient' is not in the table",
        ),
        (lambda table: table, {"person": "sex"}, ConfigurationError, "'sex' has two roles"),
        (lambda table: table, {"n": 30}, ConfigurationError, "judged over rows only"),
        (
            lambda table: table,
            {"reference": published(2)},
            ConfigurationError,
            "person and reference: ",
        ),
        (
            lambda table: table.rename_columns(["age", "suppressed", *table.column_names[2:]]),
            {"quasi_identifiers": ["age", "suppressed"]},
            InputError,
            "a column 'suppressed'",
        ),
    ],
)
def test_what_is_refused(
    change: Callable[[pa.Table], pa.Table],
    asked: Mapping[str, Any],
    error: type[Exception],
    message: str,
) -> None:
    given: dict[str, Any] = {"quasi_identifiers": QUASI, "person": "patient", **asked}
    with pytest.raises(error, match=message):
        audit(change(published(1)), sensitive=SENSITIVE, engine="local", **given)


def test_the_command(tmp_path: Path, tclose: Callable[..., tuple[int, str, str]]) -> None:
    pq.write_table(published(5), tmp_path / "table.parquet")
    asked = [
        "audit",
        str(tmp_path / "table.parquet"),
        "--quasi-identifiers",
        "age,sex",
        "--sensitive",
        "disease",
    ]
    code, printed, _ = tclose(*asked, "--k", "2", "--person", "patient", "--no-attacks")
    assert code in (0, 1)
    assert "k-anonymity over people" in printed
    assert "of 60 people in" in printed
    assert "P1" not in printed


def of_two_values() -> tuple[pa.Table, pa.Table]:
    """A class of two people whose label is a set; and both people with a row at each of its
    values.
    """
    table = {"zip": ["{10, 20}"] * 4, "disease": ["flu", "gout"] * 2, "pid": ["A", "A", "B", "B"]}
    return pa.table(table), pa.table({"zip": ["10", "20"] * 2, "pid": ["A", "A", "B", "B"]})


def test_a_person_who_fits_a_set_twice_counts_once() -> None:
    table, known = of_two_values()
    found = audit(table, ["zip"], person="pid", background=known, engine="local").background
    assert found is not None
    assert (found.risks.journalist, found.risks.presence, found.members) == (Fraction(1, 2), 1, 2)


def test_people_of_a_population_may_have_several_rows() -> None:
    table, known = of_two_values()
    risks = audit(table, ["zip"], person="pid", population=known, engine="local").risks
    assert risks is not None
    assert (risks.people, risks.risks["journalist"].maximum) == (2, Fraction(1, 2))
