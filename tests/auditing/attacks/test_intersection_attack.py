"""The intersection attack, carried out once more in plain Python: each person is tried on each
class.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from strategies import drawn

from tclose_spark.api.audit import Audit, audit
from tclose_spark.auditing.attacks import intersection_attack
from tclose_spark.auditing.attacks.intersection_attack import Intersection, largest_belief
from tclose_spark.auditing.views import audit_page
from tclose_spark.errors import InputError

QUASI = {"age": {"type": "numeric"}, "sex": {}, "job": {}}
SENSITIVE: Mapping[str, Any] = {"disease": {"t": "0.9"}, "ward": {}}


class Row(NamedTuple):
    age: str
    sex: str
    job: str
    disease: str
    ward: str


class Person(NamedTuple):
    age: int
    sex: str
    job: str


def table_of(rows: Sequence[Any], kind: Any) -> pa.Table:
    return pa.table(dict(zip(kind._fields, map(list, zip(*rows, strict=True)), strict=True)))


def covers(label: str, value: object) -> bool:
    if label.startswith("["):
        low, high = label[1:-1].split(", ")
        return int(low) <= int(str(value)) <= int(high)
    return label == "*" or str(value) in label.strip("{}").split(", ")


def expected(tables: Sequence[Sequence[Row]], people: Sequence[Person], k: int) -> dict[str, Any]:
    """What `found` has of the same tables and people."""
    combinations: Counter[Any] = Counter()
    for person in people:
        fits = [
            frozenset(row[:3] for row in table if all(map(covers, row[:3], person)))
            for table in tables
        ]
        if all(fits):
            combinations[tuple(fits)] += 1
    figures: dict[str, Any] = {
        "people": len(people),
        "outside": len(people) - combinations.total(),
        "combinations": len(combinations),
        "alone": sum(n for n in combinations.values() if n == 1),
        "below": sum(n for n in combinations.values() if n < k),
    }
    for column in ("disease", "ward"):
        prior = Counter(getattr(row, column) for row in tables[-1])
        certain, contradicted, beliefs = 0, 0, [Fraction(0)]
        for fits, n in combinations.items():
            weights: dict[str, Fraction] = defaultdict(lambda: Fraction(1))
            for classes, table in zip(fits, tables, strict=True):
                held = Counter(getattr(row, column) for row in table if row[:3] in classes)
                for value in prior:
                    weights[value] *= held[value]
            left = [value for value in prior if weights[value]]
            certain += n * (len(left) == 1)
            contradicted += n * (not left)
            posterior = {
                value: weights[value] / Fraction(prior[value]) ** (len(tables) - 1)
                for value in left
            }
            beliefs += [weight / sum(posterior.values()) for weight in posterior.values()]
        figures[column] = (
            certain,
            contradicted,
            pytest.approx(float(max(beliefs))) if max(beliefs) else None,
        )
    return figures


def attacked(
    tables: Sequence[Sequence[Row]],
    people: Sequence[Person],
    k: int,
    engine: str = "local",
) -> Audit:
    *earlier, latest = (table_of(rows, Row) for rows in tables)
    known = table_of(people, Person)
    asked: dict[str, Any] = {
        "k": k,
        "earlier": earlier,
        "background": known,
        "attacks": False,
        "engine": engine,
    }
    return audit(latest, QUASI, SENSITIVE, **asked)


def found(result: Audit) -> dict[str, Any]:
    one = result.together
    assert isinstance(one, Intersection)
    counts = {name: getattr(one, name) for name in ("people", "outside", "combinations", "alone")}
    values = {each.attribute: (each.certain, each.contradicted, each.belief) for each in one.values}
    return {**counts, "below": one.guarantee.rows, **values}


LABELS = st.sampled_from(
    [f"[{low}, {low + width}]" for low in (20, 25, 30) for width in (4, 9)] + ["*"],
)
ROWS = st.builds(
    Row,
    LABELS,
    st.sampled_from("fm*"),
    st.sampled_from(["a", "{a, b}", "{b, c}", "*"]),
    st.sampled_from(["flu", "gout", "cold"]),
    st.sampled_from("12"),
)
PEOPLE = st.builds(Person, st.integers(19, 40), st.sampled_from("fm"), st.sampled_from("abc"))


@drawn(25)
@given(
    st.lists(st.lists(ROWS, min_size=4, max_size=12), min_size=2, max_size=3),
    st.lists(PEOPLE, min_size=1, max_size=12),
    st.integers(1, 4),
)
def test_the_attack_is_that_of_plain_python(
    tables: list[list[Row]],
    people: list[Person],
    k: int,
) -> None:
    wanted = expected(tables, people, k)
    assume(wanted["combinations"])
    assert found(attacked(tables, people, k)) == wanted


def test_a_value_that_is_frequent_anyway_is_believed_less() -> None:
    """Shares of 1/2 and 1/2, then 3/4 and 1/4, of values that 3/4 and 1/4 of the table have: 1/2
    each. A third release that has three of four with the rare value: (1/2)(3/4)(1/4) / (3/4)^2
    against (1/2)(1/4)(3/4) / (1/4)^2.
    """
    prior, two = (
        np.array([0.75, 0.25, 0]),
        [np.array([[1, 1, 0], [0, 0, 5]]), np.array([[3, 1, 0], [1, 1, 2]])],
    )
    assert largest_belief(two, prior).tolist() == pytest.approx([0.5, 0])
    three = [*two, np.array([[1, 3, 0], [1, 1, 0]])]
    assert largest_belief(three, prior).tolist() == pytest.approx([0.9, 0])


def random_case(seed: int) -> tuple[list[list[Row]], list[Person]]:
    draw = np.random.default_rng(seed)
    tables = []
    for n in (60, 90):
        low = draw.integers(2, 6, n) * 10
        ages = [
            f"[{a}, {a + b}]"
            for a, b in zip(low.tolist(), draw.choice([9, 19], n).tolist(), strict=True)
        ]
        rest = [
            draw.choice(np.array(x), n).tolist()
            for x in (["f", "m", "*"], ["a", "*"], ["flu", "gout"], ["1", "2"])
        ]
        tables.append([Row(*row) for row in zip(ages, *rest, strict=True)])
    picked = [
        draw.integers(20, 60, 300).tolist(),
        draw.choice(["f", "m"], 300).tolist(),
        draw.choice(["a", "b"], 300),
    ]
    return tables, [
        Person(int(age), str(sex), str(job)) for age, sex, job in zip(*picked, strict=True)
    ]


def test_the_attack_of_both_engines_is_the_same(spark: SparkSession) -> None:
    tables, people = random_case(1)
    local = attacked(tables, people, 5)
    assert found(local) == expected(tables, people, 5)
    assert attacked(tables, people, 5, "spark").together == local.together


OLD = [Row("[20, 29]", "*", "*", d, "1") for d in ("flu", "gout")] + [
    Row("[30, 39]", "*", "*", "cold", "1"),
] * 2
NEW = [Row("*", "f", "*", d, "1") for d in ("flu", "cold")] + [
    Row("*", "m", "*", d, "1") for d in ("gout", "cold")
]
ADA, BEA, CID, DOV = (
    Person(21, "f", "a"),
    Person(35, "f", "a"),
    Person(22, "m", "a"),
    Person(60, "m", "a"),
)


def test_two_classes_have_one_value_in_common() -> None:
    """Ada has flu or gout by the first release, and flu or cold by the second."""
    result = attacked([OLD, NEW], [ADA, BEA, CID, DOV], k=2)
    one = result.together
    assert isinstance(one, Intersection)
    assert (one.people, one.outside, one.combinations, one.alone) == (4, 1, 3, 3)
    assert (one.values[0].certain, one.values[0].belief) == (3, 1.0)
    assert result.verdict == "violated"
    assert not one.guarantee.holds
    printed, page = repr(result), audit_page(result)
    said = (
        "3 of 4 listed people fit a class of every release, by age, sex, job; they fit 3 "
        "combinations of classes, and 3 of them are alone in theirs"
    )
    assert said in printed
    assert said in page
    assert "k-anonymity of listed people in all releases: worst group 1 person" in printed
    assert result.to_json()["several_releases"]["values"][0] == {
        "attribute": "disease",
        "certain": 3,
        "contradicted": 0,
        "belief": 1.0,
    }


def test_values_of_many_classes_are_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intersection_attack, "MOST_CELLS", 3)
    result = attacked([OLD, NEW], [ADA, BEA, CID], k=1)
    assert isinstance(result.together, Intersection)
    assert result.together.alone == 3
    assert not result.together.values
    assert any("values left for listed people are not measured" in note for note in result.notes)


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="nobody fits a class of every release"):
        attacked([OLD, NEW], [DOV], k=1)
    known = {"background": pa.table({"age": [21]}), "engine": "local", "attacks": False}
    old, new = table_of(OLD, Row), table_of(NEW, Row)
    with pytest.raises(InputError, match="none of the quasi-identifiers of earlier 1"):
        audit(new, QUASI, earlier=old.drop(["age"]), **known)
    masked = table_of([row._replace(job="a*") for row in OLD], Row)
    with pytest.raises(
        InputError,
        match="earlier: earlier 1: job: 1 labels do not show which values they cover",
    ):
        audit(new, QUASI, earlier=masked, **{**known, "background": table_of([ADA], Person)})
    monkeypatch.setattr(intersection_attack, "MOST_JOINED", 1)
    with pytest.raises(InputError, match="earlier 1 has more than 1 classes"):
        audit(new, QUASI, earlier=old, **known)
