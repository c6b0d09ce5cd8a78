"""Tables with one violation planted, each beside its twin that is repaired by the smallest change:
the audit finds what was planted, names the class, and nothing else; of the twin it raises no false
alarm, also where a bound is reached exactly.

Every audit here also has the verdict of Great Expectations: `audit_table` raises where that is
another.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import great_expectations as gx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from strategies import CITIES

from tclose_spark.auditing.audit import audit_table
from tclose_spark.auditing.question import question_from_columns
from tclose_spark.auditing.result import AuditResult
from tclose_spark.auditing.tables import AuditTables
from tclose_spark.engine.protocol import Session, Table
from tclose_spark.engine.tables import collect, of_arrow, read_delta
from tclose_spark.errors import InputError
from tclose_spark.requirements.criterion import Guarantee

Labels = str | None | tuple[Any, ...]
Classes = Mapping[Labels, str]
"""The records of each class by its labels: `{"130**": "2 flu, 1 gout"}`; the value `missing` is
NULL.
"""


def values_of(text: str) -> list[str | None]:
    """ "2 flu, 1 gout" as flu, flu, gout."""
    parts = [part.split(" ", 1) for part in text.split(", ")]
    return [
        None if value == "missing" else value for many, value in parts for _ in range(int(many))
    ]


def columns_of(classes: Classes, columns: Sequence[str] = ("zip",), value: type = str) -> pa.Table:
    """A row a record: the labels, and `disease`."""
    rows = [
        (*(labels if isinstance(labels, tuple) else (labels,)), record)
        for labels, text in classes.items()
        for record in values_of(text)
    ]
    *labels, diseases = zip(*rows, strict=True)
    written = [None if disease is None else value(disease) for disease in diseases]
    return pa.table(
        {
            **{name: pa.array(column) for name, column in zip(columns, labels, strict=True)},
            "disease": pa.array(written),
        },
    )


def people(
    session: Session,
    classes: Classes,
    columns: Sequence[str] = ("zip",),
    value: type = str,
) -> Table:
    return of_arrow(session, columns_of(classes, columns, value))


def broken(audit: AuditResult) -> list[tuple[str, str | None]]:
    return [(g.measure, g.attribute) for g in audit.guarantees if not g.holds]


def guarantee(audit: AuditResult, measure: str, attribute: str | None = "disease") -> Guarantee:
    (found,) = [g for g in audit.guarantees if (g.measure, g.attribute) == (measure, attribute)]
    return found


K, T, DISTINCT, ENTROPY, RECURSIVE, NEAR = (
    "k-anonymity",
    "t-closeness",
    "distinct l-diversity",
    "entropy l-diversity",
    "recursive (c, l)-diversity",
    "(n, t)-closeness",
)


@dataclass(frozen=True)
class Planted:
    """bad, twin: the tables. breaks: the one guarantee that bad breaks; worst: the labels of the
    class that is named;
    found: the
    classes and rows that break it; achieved, repaired: the figure of bad and of its twin. disease:
    what is asked of it (nothing: of k only), and besides of the twin.
    """

    bad: Classes
    twin: Classes
    breaks: str
    worst: Labels
    found: tuple[int, int]
    achieved: Any
    repaired: Any
    k: int = 2
    disease: Mapping[str, Any] = field(default_factory=lambda: {"t": "0.5", "l": {"distinct": 2}})
    of_twin: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[str, ...] = ("zip",)
    quasi: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: {"zip": {}})
    value: type = str


HALVES = {"130**": "3 flu, 3 gout", "148**": "3 flu, 3 gout"}
CENTRE = {"130**": "1 Pisa, 1 Siena, 1 Lyon, 1 Nice", "148**": "1 Pisa, 1 Siena, 1 Lyon, 1 Nice"}
GRADES = {"130**": "2 none, 1 severe, 1 fatal", "148**": "2 none, 1 severe, 1 fatal"}
IN_ORDER = {"distance": "ordered", "order": ["none", "mild", "severe", "fatal"]}

PLANTED = {
    "a class of k - 1": Planted(
        bad={"130**": "2 flu, 1 gout", "148**": "1 flu, 1 gout"},
        twin={"130**": "2 flu, 1 gout", "148**": "1 flu, 2 gout"},
        k=3,
        breaks=K,
        worst="148**",
        found=(1, 2),
        achieved=2,
        repaired=3,
    ),
    "two bounds of a number make two classes": Planted(
        bad={(20, 29): "2 flu, 1 gout", (20, 30): "1 flu, 1 gout"},
        twin={(20, 29): "2 flu, 1 gout", (20, 30): "1 flu, 2 gout"},
        columns=("age_min", "age_max"),
        quasi={"age": {"type": "numeric", "numeric_output": "bounds"}},
        k=3,
        disease={},
        breaks=K,
        worst=("20", "30"),
        found=(1, 2),
        achieved=2,
        repaired=3,
    ),
    "two classes that differ in case": Planted(
        bad={"F": "1 flu, 1 gout", "f": "1 flu, 1 gout", "M": "2 flu, 2 gout"},
        twin={"F": "2 flu, 2 gout", "M": "2 flu, 2 gout"},
        k=4,
        disease={},
        breaks=K,
        worst="F",
        found=(2, 4),
        achieved=2,
        repaired=4,
    ),
    "a class that a trailing blank cuts off": Planted(
        bad={"F": "2 flu, 2 gout", "F ": "1 flu, 1 gout"},
        twin={"F": "3 flu, 3 gout"},
        k=3,
        disease={},
        breaks=K,
        worst="F ",
        found=(1, 2),
        achieved=2,
        repaired=6,
    ),
    "39 and 39.0": Planted(
        bad={"39": "2 flu, 2 gout", "39.0": "1 flu, 1 gout"},
        twin={"39": "3 flu, 3 gout"},
        k=3,
        disease={},
        breaks=K,
        worst="39.0",
        found=(1, 2),
        achieved=2,
        repaired=6,
    ),
    "missing labels are a class of their own": Planted(
        bad={"130**": "2 flu, 2 gout", None: "1 flu, 1 gout", "*": "2 flu, 1 gout"},
        twin={"130**": "2 flu, 2 gout", None: "2 flu, 1 gout", "*": "2 flu, 1 gout"},
        k=3,
        disease={},
        breaks=K,
        worst=None,
        found=(1, 2),
        achieved=2,
        repaired=3,
    ),
    # whole table 7 : 11; |1/6 - 7/18| = 2/9, and 1/9 for the halves, which is t. Repaired: |2/6 - 8/18| = 1/9
    "equal distance over t by one record": Planted(
        bad={**HALVES, "149**": "1 flu, 5 gout"},
        twin={**HALVES, "149**": "2 flu, 4 gout"},
        disease={"t": "1/9"},
        breaks=T,
        worst="149**",
        found=(1, 6),
        achieved=Fraction(2, 9),
        repaired=Fraction(1, 9),
    ),
    "the suppressed rows are a class": Planted(
        bad={
            ("130**", "2*"): "3 flu, 3 gout",
            ("130**", "*"): "3 flu, 3 gout",
            ("*", "*"): "1 flu, 5 gout",
        },
        twin={
            ("130**", "2*"): "3 flu, 3 gout",
            ("130**", "*"): "3 flu, 3 gout",
            ("*", "*"): "2 flu, 4 gout",
        },
        columns=("zip", "age"),
        quasi={"zip": {}, "age": {}},
        disease={"t": "1/9"},
        breaks=T,
        worst=("*", "*"),
        found=(1, 6),
        achieved=Fraction(2, 9),
        repaired=Fraction(1, 9),
    ),
    # Li et al. 2007: salaries of tables 3 and 5, where 4 and 9 (thousand) have changed places
    "ordered by value": Planted(
        bad={"2*": "1 3, 1 4, 1 5", ">=40": "1 6, 1 11, 1 8", "3*": "1 7, 1 9, 1 10"},
        twin={"2*": "1 3, 1 9, 1 5", ">=40": "1 6, 1 11, 1 8", "3*": "1 7, 1 4, 1 10"},
        value=int,
        k=3,
        disease={"distance": "ordered", "t": "1/6"},
        breaks=T,
        worst="2*",
        found=(2, 6),
        achieved=Fraction(3, 8),
        repaired=Fraction(1, 6),
    ),
    # in order ulcer, flu, gout the whole table has 1/2, 5/6, 1; of 149** it is 1/2, 1/2, 1: (1/3) /
    # 2. In order flu, gout, ulcer it would be (1/3) / 2 too, and 1/12 for others; repaired (1/12) /
    # 2
    "ordered by frequency": Planted(
        bad={"130**": "2 ulcer, 2 flu", "148**": "2 ulcer, 2 flu", "149**": "2 ulcer, 2 gout"},
        twin={
            "130**": "2 ulcer, 2 flu",
            "148**": "2 ulcer, 1 flu, 1 gout",
            "149**": "2 ulcer, 1 flu, 1 gout",
        },
        disease={"distance": "ordered", "order": "frequency", "t": "1/12"},
        breaks=T,
        worst="149**",
        found=(1, 4),
        achieved=Fraction(1, 6),
        repaired=Fraction(1, 12),
    ),
    # none 5, severe 4, fatal 3 of 12: 1/6 of 149** goes two steps of three; nobody is mild, and
    # without it would be (1/6) / 2 <= t
    "ordered by a list with a value between that nobody has": Planted(
        bad={**GRADES, "149**": "1 none, 2 severe, 1 fatal"},
        twin={**GRADES, "149**": "2 none, 1 severe, 1 fatal"},
        disease={**IN_ORDER, "t": "0.1"},
        breaks=T,
        worst="149**",
        found=(1, 4),
        achieved=Fraction(1, 9),
        repaired=Fraction(0),
    ),
    # (1/3) / 3 and repaired (1/6) / 3, which is t: it is the two values at the end that nobody has
    # which make the distance small
    "ordered by a list with values at its end that nobody has": Planted(
        bad={"130**": "2 none, 2 mild", "148**": "2 none, 2 mild", "149**": "4 mild"},
        twin={"130**": "2 none, 2 mild", "148**": "2 none, 2 mild", "149**": "1 none, 3 mild"},
        disease={**IN_ORDER, "t": "1/18"},
        breaks=T,
        worst="149**",
        found=(1, 4),
        achieved=Fraction(1, 9),
        repaired=Fraction(1, 18),
    ),
    # 1/6 too many in Pisa and too few in Nice (across the root), or too many in Lyon (inside
    # France, 2/3 as far);
    # equal: 1/6 both
    "hierarchical": Planted(
        bad={**CENTRE, "149**": "2 Pisa, 1 Siena, 1 Lyon"},
        twin={**CENTRE, "149**": "1 Pisa, 1 Siena, 2 Lyon"},
        disease={"distance": "hierarchical", "hierarchy": "cities.csv", "t": "1/9"},
        breaks=T,
        worst="149**",
        found=(1, 4),
        achieved=Fraction(1, 6),
        repaired=Fraction(1, 9),
    ),
    "a t that is 1e-18 below the distance, or just the distance": Planted(
        bad={"130**": "3 flu, 1 gout", "148**": "7 flu, 5 gout"},
        twin={"130**": "3 flu, 1 gout", "148**": "7 flu, 5 gout"},
        disease={"t": "0.124999999999999999"},
        of_twin={"t": "0.125"},
        breaks=T,
        worst="130**",
        found=(1, 4),
        achieved=Fraction(1, 8),
        repaired=Fraction(1, 8),
    ),
    # missing 1/2 - 1/6 = 1/3; repaired 1/4 - 1/12 = 1/6. Without the missing 130** would have one
    # value
    "missing is a value of its own": Planted(
        bad={"130**": "2 flu, 2 missing", "148**": "3 flu, 1 gout", "149**": "3 flu, 1 gout"},
        twin={
            "130**": "2 flu, 1 gout, 1 missing",
            "148**": "3 flu, 1 gout",
            "149**": "3 flu, 1 gout",
        },
        disease={"t": "0.25", "l": {"distinct": 2}},
        breaks=T,
        worst="130**",
        found=(1, 4),
        achieved=Fraction(1, 3),
        repaired=Fraction(1, 6),
    ),
    "distinct l one short": Planted(
        bad={"130**": "2 flu, 1 gout", "148**": "1 flu, 1 gout, 1 mumps"},
        twin={"130**": "1 flu, 1 gout, 1 mumps", "148**": "1 flu, 1 gout, 1 mumps"},
        disease={"t": "0.5", "l": {"distinct": 3}},
        breaks=DISTINCT,
        worst="130**",
        found=(1, 3),
        achieved=2,
        repaired=3,
    ),
    "0 and -0 are one value": Planted(
        bad={"130**": "1 0.0, 2 -0.0", "148**": "2 0.0, 2 1.5"},
        twin={"130**": "1 1.5, 2 -0.0", "148**": "2 0.0, 2 1.5"},
        value=float,
        breaks=DISTINCT,
        worst="130**",
        found=(1, 3),
        achieved=1,
        repaired=2,
    ),
    # 6 / (3^3 2^2)^(1/6)
    "entropy l short": Planted(
        bad={"130**": "3 flu, 2 gout, 1 mumps", "148**": "2 flu, 2 gout, 2 mumps"},
        twin={"130**": "2 flu, 2 gout, 2 mumps", "148**": "2 flu, 2 gout, 2 mumps"},
        disease={"t": "0.5", "l": {"entropy": 3}},
        breaks=ENTROPY,
        worst="130**",
        found=(1, 6),
        achieved=pytest.approx(6 / 108 ** (1 / 6)),
        repaired=pytest.approx(3),
    ),
    "recursive l, 6 < 3 * 2 is strict": Planted(
        bad={"130**": "6 flu, 1 gout, 1 mumps", "148**": "1 flu, 1 gout, 1 mumps"},
        twin={"130**": "5 flu, 1 gout, 1 mumps", "148**": "1 flu, 1 gout, 1 mumps"},
        disease={"t": "0.5", "l": {"recursive": {"c": 3, "l": 2}}},
        breaks=RECURSIVE,
        worst="130**",
        found=(1, 8),
        achieved=False,
        repaired=True,
    ),
    "recursive l with a fraction, 3 < 1.5 * 2": Planted(
        bad={"130**": "3 flu, 3 gout, 2 mumps", "148**": "1 flu, 1 gout, 1 mumps"},
        twin={"130**": "3 flu, 3 gout, 2 mumps, 1 ulcer", "148**": "1 flu, 1 gout, 1 mumps"},
        disease={"t": "0.5", "l": {"recursive": {"c": "1.5", "l": 3}}},
        breaks=RECURSIVE,
        worst="130**",
        found=(1, 8),
        achieved=False,
        repaired=True,
    ),
}


ON_SPARK = ("hierarchical", "entropy l short")
"""What the audits that both engines carry out (tests/engine) do not ask for."""


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=name, marks=[pytest.mark.on_spark] * (name in ON_SPARK))
        for name, case in PLANTED.items()
    ],
)
def test_planted(session: Session, case: Planted) -> None:
    labels = case.worst if isinstance(case.worst, tuple) else (case.worst,)

    def audit(classes: Classes, disease: Mapping[str, Any]) -> AuditResult:
        question = question_from_columns(
            case.quasi,
            {"disease": disease} if disease else {},
            k=case.k,
        )
        return audit_table(
            AuditTables(table=people(session, classes, case.columns, case.value)),
            question,
            {"disease": CITIES} if "hierarchy" in disease else {},
        )

    bad = audit(case.bad, case.disease)
    assert bad.verdict == "violated"
    assert [measure for measure, _ in broken(bad)] == [case.breaks]
    planted = guarantee(bad, case.breaks, None if case.breaks == K else "disease")
    assert planted.worst == dict(zip(case.columns, labels, strict=True))
    assert (planted.classes, planted.rows, planted.achieved) == (*case.found, case.achieved)

    twin = audit(case.twin, {**case.disease, **case.of_twin})
    assert twin.verdict == "holds"
    assert broken(twin) == []
    repaired = guarantee(twin, case.breaks, planted.attribute)
    assert (repaired.classes, repaired.rows, repaired.achieved) == (0, 0, case.repaired)


@pytest.mark.parametrize(
    "name",
    ["two classes that differ in case", "a class that a trailing blank cuts off"],
)
def test_labels_that_only_look_alike_are_reported(session: Session, name: str) -> None:
    notes = [
        audit_table(
            AuditTables(table=people(session, classes)),
            question_from_columns(["zip"]),
        ).notes
        for classes in (PLANTED[name].bad, PLANTED[name].twin)
    ]
    assert [
        ["1 of its labels differ from another only by case, spaces" in note for note in told]
        for told in notes
    ] == [
        [True],
        [],
    ]


def test_only_the_second_of_two_attributes_is_too_far_and_each_has_its_own_t(
    session: Session,
) -> None:
    zips = ["130**"] * 4 + ["148**"] * 4 + ["149**"] * 4
    diseases = (
        ["flu"] * 3 + ["gout"] + ["flu"] + ["gout"] * 3 + ["flu", "gout"] * 2
    )  # 1/4 from half and half
    bad = pa.table(
        {"zip": zips, "disease": diseases, "salary": [1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 1, 2]},
    )  # 3/4 - 7/12
    twin = pa.table(
        {"zip": zips, "disease": diseases, "salary": [1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 2]},
    )
    question = question_from_columns(
        ["zip"],
        {"disease": {"t": "0.25"}, "salary": {"distance": "ordered", "t": "1/12"}},
        k=4,
    )
    found = audit_table(AuditTables(table=of_arrow(session, bad)), question)
    assert found.verdict == "violated"
    assert broken(found) == [(T, "salary")]
    salary = guarantee(found, T, "salary")
    assert (salary.worst, salary.classes, salary.rows, salary.achieved) == (
        {"zip": "149**"},
        1,
        4,
        Fraction(1, 6),
    )
    assert guarantee(found, T, "disease").achieved == Fraction(1, 4)
    repaired = audit_table(AuditTables(table=of_arrow(session, twin)), question)
    assert (repaired.verdict, guarantee(repaired, T, "salary").achieved) == ("holds", 0)


@pytest.mark.parametrize(
    ("census", "emd", "found"),
    [
        ("7 flu, 2 gout, 1 mumps", Fraction(3, 10), (2, 8)),
        ("7 flu, 3 gout", Fraction(1, 5), (0, 0)),
    ],
)
def test_a_sample_is_judged_against_a_census(
    session: Session,
    census: str,
    emd: Fraction,
    found: tuple[int, int],
) -> None:
    sample = people(session, {"130**": "2 flu, 2 gout", "148**": "2 flu, 2 gout"})
    question = question_from_columns(["zip"], {"disease": {"t": "0.2"}}, k=4)
    audit = audit_table(
        AuditTables(
            table=sample,
            reference=of_arrow(session, columns_of({"all": census}).select(["disease"])),
        ),
        question,
    )
    t = guarantee(audit, T)
    assert (t.achieved, t.classes, t.rows, broken(audit)) == (
        emd,
        *found,
        [(T, "disease")] if found[0] else [],
    )
    if found[0]:
        alone = audit_table(AuditTables(table=sample), question)
        assert (alone.verdict, guarantee(alone, T).achieved) == ("holds", 0)


# Missing values that have no place in the distance


def test_missing_values_in_an_order_need_the_option_missing(session: Session) -> None:
    table = people(
        session,
        {"130**": "1 1, 1 missing, 1 3", "148**": "1 missing, 1 1, 1 3"},
        value=int,
    )
    with pytest.raises(
        InputError,
        match=r"'disease' is missing in 2 rows and has an ordered distance.*missing: lowest or highest",
    ):
        audit_table(
            AuditTables(table=table),
            question_from_columns(["zip"], {"disease": {"distance": "ordered", "t": "0.1"}}, k=3),
        )
    placed = audit_table(
        AuditTables(table=table),
        question_from_columns(
            ["zip"],
            {"disease": {"distance": "ordered", "t": "0.1", "missing": "lowest"}},
            k=3,
        ),
    )
    assert (placed.verdict, guarantee(placed, T).achieved) == ("holds", 0)


def test_missing_values_have_no_place_in_a_hierarchy(session: Session) -> None:
    question = question_from_columns(
        ["zip"],
        {"disease": {"distance": "hierarchical", "hierarchy": "cities.csv", "t": "0.1"}},
        k=2,
    )
    with pytest.raises(
        InputError,
        match=r"'disease' is missing in 1 rows and has a hierarchical distance; give .*disease\.missing: leaf",
    ):
        audit_table(
            AuditTables(
                table=people(session, {"130**": "1 Pisa, 1 missing", "148**": "1 Pisa, 1 Lyon"}),
            ),
            question,
            {"disease": CITIES},
        )
    twin = audit_table(
        AuditTables(table=people(session, {"130**": "1 Pisa, 1 Lyon", "148**": "1 Pisa, 1 Lyon"})),
        question,
        {"disease": CITIES},
    )
    assert twin.verdict == "holds"


def test_missing_values_may_be_a_leaf_of_a_hierarchy(session: Session) -> None:
    asked = {"distance": "hierarchical", "hierarchy": "cities.csv", "t": "0.25", "missing": "leaf"}
    table = people(session, {"130**": "1 Pisa, 1 missing", "148**": "1 Pisa, 1 Lyon"})
    found = audit_table(
        AuditTables(table=table),
        question_from_columns(["zip"], {"disease": asked}, k=2),
        {"disease": CITIES},
    )
    assert (found.verdict, guarantee(found, T).achieved) == (
        "holds",
        Fraction(1, 4),
    )  # a quarter moves from missing to Lyon, at 1


@pytest.mark.parametrize("distance", ["ordered", "hierarchical"])
def test_missing_values_beside_a_reference_without_any_are_reported_too(
    session: Session,
    distance: str,
) -> None:
    tree = (
        {"hierarchy": "cities.csv"} if distance == "hierarchical" else {"order": ["Pisa", "Lyon"]}
    )
    question = question_from_columns(
        ["zip"],
        {"disease": {"distance": distance, "t": "0.5", **tree}},
    )
    census = people(session, {"all": "1 Pisa, 1 Lyon"})
    with pytest.raises(InputError, match="'disease' is missing in 1 rows"):
        audit_table(
            AuditTables(table=people(session, {"130**": "1 Pisa, 1 missing"}), reference=census),
            question,
            {"disease": CITIES},
        )


# Rows that are far apart, and many of them


def test_rows_of_a_class_in_every_partition(
    spark: SparkSession,
    settings: Callable[..., Any],
) -> None:
    case = PLANTED["equal distance over t by one record"]
    question = question_from_columns(["zip"], {"disease": case.disease}, k=600)
    with settings({"spark.sql.shuffle.partitions": "3"}):
        for classes, emd, found in (
            (case.bad, case.achieved, (1, 600)),
            (case.twin, case.repaired, (0, 0)),
        ):
            rows = columns_of(classes).to_pylist() * 100
            shuffled = [rows[i * 7919 % len(rows)] for i in range(len(rows))]  # 7919 is prime
            table = spark.createDataFrame(pa.Table.from_pylist(shuffled)).repartition(5)
            assert (
                table.groupBy(F.spark_partition_id())
                .agg(F.countDistinct("zip"))
                .toArrow()
                .columns[1]
                .to_pylist()
                == [3] * 5
            )
            audit = audit_table(AuditTables(table=table), question)
            t = guarantee(audit, T)
            assert (audit.verdict, t.achieved, t.classes, t.rows) == (
                "violated" if found[0] else "holds",
                emd,
                *found,
            )
            assert t.worst == {"zip": case.worst}


@pytest.mark.parametrize("rows", [200_000, pytest.param(3_000_000, marks=pytest.mark.slow)])
def test_hierarchical_over_t_by_one_record_of_many(spark: SparkSession, rows: int) -> None:
    # Four classes with all five cities alike; in the last, two fifths of the records are in Pisa
    # whatever they were: 0.4 * 0.45. One record more goes from Siena to Pisa: (1 / class size) *
    # 3/4 (of the table it is a part itself) * 1/3. Numerators are sums of rows * count - class size
    # * count: 4e9 and more, beyond 32 bits.
    cities = F.array(*[F.lit(city) for city in CITIES.leaves])
    place, quarter = F.floor(F.col("id") / 4), F.col("id") % 4

    def table(more: int) -> DataFrame:
        moved = (quarter == 3) & (place < rows // 10 + more)
        city = F.when(moved, F.lit("Pisa")).otherwise(
            F.element_at(cities, (place % 5 + 1).cast("int")),
        )
        return spark.range(0, rows, 1, 4).select(
            F.concat(F.lit("zip "), quarter).alias("zip"),
            city.alias("city"),
        )

    assert CITIES.leaves[:2] == ("Pisa", "Siena")
    question = question_from_columns(
        ["zip"],
        {"city": {"distance": "hierarchical", "hierarchy": "cities.csv", "t": "0.18"}},
        k=rows // 4,
    )
    bad = audit_table(AuditTables(table=table(2)), question, {"city": CITIES})
    t = guarantee(bad, T, "city")
    assert broken(bad) == [(T, "city")]
    assert (t.worst, t.classes, t.rows, t.achieved) == (
        {"zip": "zip 3"},
        1,
        rows // 4,
        Fraction(9, 50) + Fraction(1, rows),
    )
    twin = audit_table(AuditTables(table=table(0)), question, {"city": CITIES})
    assert (twin.verdict, guarantee(twin, T, "city").achieved) == ("holds", Fraction(9, 50))


# (n, t)-closeness

DROPPED = {
    (q, w): "1 x, 1 y" if w == "u" else "1 z, 1 w" for q, w in zip("abcdef", "uuuvvv", strict=True)
}
CLIMBED = {
    ("Pisa",): "3 x, 3 y",
    ("Siena",): "1 x, 1 y",
    ("Bari",): "1 x, 1 y",
    ("Lyon",): "3 z, 3 w",
    ("Nice",): "1 z, 1 w",
}
NEAR_CASES = {
    "by dropping a quasi-identifier": (
        DROPPED,
        ("c", "u"),
        ("zip", "sex"),
        6,
        "1/6",
        Fraction(1, 3),
    ),
    "through a hierarchy": (CLIMBED, ("Siena",), ("zip",), 8, "1/8", Fraction(3, 8)),
}


def near(
    session: Session,
    classes: Classes,
    columns: Sequence[str],
    n: int,
    t: str,
    **more: Any,
) -> AuditResult:
    trees = {"zip": CITIES} if len(columns) == 1 else {}
    return audit_table(
        AuditTables(table=people(session, classes, columns)),
        question_from_columns(columns, {"disease": {"t": t}}, k=2, n=n, **more),
        trees,
    )


@pytest.mark.parametrize("case", NEAR_CASES.values(), ids=NEAR_CASES)
def test_a_class_that_is_far_from_all_its_supersets(
    session: Session,
    case: tuple[Any, ...],
) -> None:
    classes, far, columns, n, t, emd = case
    audit = near(session, {**classes, far: "2 x"}, columns, n, t)
    assert audit.verdict == "violated"
    assert broken(audit) == [(NEAR, "disease")]
    found = guarantee(audit, NEAR)
    assert found.worst == {**dict(zip(columns, far, strict=True)), "(superset)": "none was found"}
    assert (found.classes, found.rows, found.achieved) == (1, 2, pytest.approx(float(emd)))


@pytest.mark.parametrize("case", NEAR_CASES.values(), ids=NEAR_CASES)
def test_classes_that_are_near_a_superset_and_far_from_the_whole_table(
    session: Session,
    case: tuple[Any, ...],
    tmp_path: Path,
) -> None:
    classes, far, columns, n, t, _ = case
    audit = near(session, classes, columns, n, t, classes_output=str(tmp_path / "classes"))
    assert audit.verdict == "holds"
    assert guarantee(audit, T).achieved == (Fraction(1, 2) if len(columns) == 2 else Fraction(5, 9))
    assert guarantee(audit, T).required is None
    proofs = collect(read_delta(session, str(tmp_path / "classes"))).to_pylist()
    expected = "zip=*, sex=u" if len(columns) == 2 else "zip=Italy"
    assert [
        row["superset_disease"] for row in proofs if row["quasi_identifiers"]["zip"] == far[0]
    ] == [expected]


INSIDE = {
    "intervals": ("[20, 29]", "[22, 25]", "[40, 49]"),
    "half-open intervals": ("[20, 30[", "[22, 26[", "[40, 50["),
    "sets": ("{Lyon, Pisa}", "Lyon", "Bari"),
    "masks": ("47***", "476**", "81***"),
}


@pytest.mark.parametrize("labels", INSIDE.values(), ids=INSIDE)
def test_labels_that_lie_in_a_wider_one_count_in_its_supersets(
    session: Session,
    labels: Sequence[str],
) -> None:
    """Ten of the wide label with flu, a hundred inside it without: all supersets of the ten hold
    the hundred.
    """
    wide, inside, beside = labels
    sick = {(wide, sex): "5 flu" for sex in "fm"}
    well = {(label, sex): "50 none" for label in (inside, beside) for sex in "fm"}
    audit = near(session, {**sick, **well}, ("zip", "sex"), 10, "0.1")
    assert (audit.verdict, broken(audit)) == ("violated", [(NEAR, "disease")])
    found = guarantee(audit, NEAR)
    assert (found.classes, found.rows) == (2, 10)
    assert found.achieved >= 0.8
    if labels[0] != "47***":
        without = {place: rows for place, rows in {**sick, **well}.items() if place[0] != inside}
        assert near(session, without, ("zip", "sex"), 10, "0.1").verdict == "holds"


def test_no_superset_has_more_records_than_the_table(session: Session) -> None:
    classes = {("130**",): "1 x, 1 y", ("148**",): "1 x, 1 y"}
    audit = audit_table(
        AuditTables(table=people(session, classes)),
        question_from_columns(["zip"], {"disease": {"t": "0.1"}}, k=2, n=5),
    )
    assert (audit.verdict, broken(audit), guarantee(audit, NEAR).classes) == (
        "violated",
        [(NEAR, "disease")],
        2,
    )
    twin = audit_table(
        AuditTables(table=people(session, classes)),
        question_from_columns(["zip"], {"disease": {"t": "0.1"}}, k=2, n=4),
    )
    assert (twin.verdict, guarantee(twin, NEAR).worst["(superset)"]) == ("holds", "the whole table")


# A table that is there ten or a hundred times


def test_replicating_a_table_changes_no_distance_and_no_verdict(session: Session) -> None:
    table = pa.table(
        {
            "zip": ["130**"] * 6 + ["148**"] * 5 + ["149**"] * 4,
            "disease": ["flu"] * 4
            + ["gout"] * 2
            + ["flu", "gout", "mumps", "ulcer", "flu"]
            + ["gout", "gout", "mumps", "flu"],
            "grade": [1, 2, 2, 3, 5, 5, 1, 1, 2, 3, 8, 2, 2, 3, 5],
            "city": ["Pisa", "Siena", "Bari", "Lyon", "Nice", "Pisa"]
            + ["Lyon", "Lyon", "Nice", "Pisa", "Bari"]
            + ["Siena"] * 4,
        },
    )
    question = question_from_columns(
        ["zip"],
        {
            "disease": {
                "t": "0.3",
                "l": {"distinct": 3, "entropy": 2, "recursive": {"c": "1.5", "l": 2}},
            },
            "grade": {
                "distance": "ordered",
                "t": "0.2",
                "l": {"entropy": "2.8", "recursive": {"c": "1.5", "l": 2}},
            },
            "city": {
                "distance": "hierarchical",
                "hierarchy": "cities.csv",
                "t": "0.4",
                "l": {"recursive": {"c": 2, "l": 2}},
            },
        },
    )
    seen = []
    for times in (1, 10, 100):
        audit = audit_table(
            AuditTables(table=of_arrow(session, pa.concat_tables([table] * times))),
            question,
            {"city": CITIES},
        )
        assert audit.figures.rows == 15 * times
        seen.append(
            [
                (g.measure, g.attribute, g.achieved, g.holds, g.classes, g.rows / times, g.worst)
                for g in audit.guarantees[1:]
            ],
        )
    assert seen[0] == seen[1] == seen[2]
    holds = {(measure, attribute): held for measure, attribute, _, held, *_ in seen[0]}
    assert [holds[T, name] for name in ("disease", "grade", "city")] == [True, True, False]
    assert [holds[RECURSIVE, name] for name in ("disease", "grade", "city")] == [False, True, False]
    assert (holds[ENTROPY, "disease"], holds[ENTROPY, "grade"], holds[DISTINCT, "disease"]) == (
        False,
        True,
        False,
    )


# The command


Command = Callable[..., tuple[int, str, str]]
ASKED = ["-q", "zip", "-s", "disease:equal:t=1/9", "--k", "6"]


def written(folder: Path, table: pa.Table) -> Path:
    pq.write_table(table, folder / "people.parquet")
    return folder / "people.parquet"


@pytest.mark.parametrize(("which", "code"), [("bad", 1), ("twin", 0)])
def test_the_command_says_what_the_api_says(
    spark: SparkSession,
    session: Session,
    tclose: Command,
    tmp_path: Path,
    which: str,
    code: int,
) -> None:
    """And its class table passes its suite where the audit holds, and nowhere else."""
    table = columns_of(getattr(PLANTED["equal distance over t by one record"], which))
    path = written(tmp_path, table)
    outputs = [
        "--classes-output",
        tmp_path / "classes",
        "--expectations-output",
        tmp_path / "suite.json",
    ]
    status, told, error = tclose("audit", path, *ASKED, *outputs, "--json")
    audit = audit_table(
        AuditTables(table=of_arrow(session, table)),
        question_from_columns(["zip"], {"disease": {"t": "1/9"}}, k=6),
    )
    assert status == code
    assert json.loads(told) == json.loads(json.dumps(audit.to_json(), default=str))
    assert [g["holds"] for g in json.loads(told)["guarantees"]] == [True, not code, *[None] * 6]
    assert expectations_in((tmp_path / "suite.json").read_text()) == expectations_in(audit.suite)
    if code:
        assert f"{path} does not meet the requirements: t-closeness of disease" in " ".join(
            error.split(),
        )

    classes = spark.read.format("delta").load(str(tmp_path / "classes"))
    assert passes(classes, audit.suite) == (not code)
    if not code:
        lost = F.when(F.col("quasi_identifiers.zip") != "130**", F.col("emd_disease"))
        assert not passes(classes.limit(0), audit.suite)
        assert not passes(classes.withColumn("emd_disease", lost), audit.suite)
        assert not passes(classes.drop("emd_disease"), audit.suite)
        assert not passes(classes.drop("margin_disease"), audit.suite)


def expectations_in(suite: str) -> list[dict[str, Any]]:
    """Apart from the numbers that Great Expectations draws for them."""
    return [
        {key: value for key, value in each.items() if key != "id"}
        for each in json.loads(suite)["expectations"]
    ]


def passes(classes: DataFrame, suite: str) -> bool:
    """What a pipeline of one's own finds with a suite that was read from its file."""
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    batch = (
        context.data_sources.add_spark("spark", persist=False)
        .add_dataframe_asset("classes")
        .add_batch_definition_whole_dataframe("all")
    )
    read = context.suites.add(gx.ExpectationSuite(**json.loads(suite)))
    definition = context.validation_definitions.add(
        gx.ValidationDefinition(name="classes", data=batch, suite=read),
    )
    return bool(
        definition.run(
            batch_parameters={"dataframe": classes},
            result_format="BOOLEAN_ONLY",
        ).success,
    )


def test_the_command_names_the_class_to_a_reader(tclose: Command, tmp_path: Path) -> None:
    code, told, error = tclose(
        "audit",
        written(tmp_path, columns_of(PLANTED["a class of k - 1"].bad)),
        "-q",
        "zip",
        "--k",
        "3",
    )
    assert code == 1
    assert "5 rows in 2 classes; NOT all requirements hold" in " ".join(told.split())
    assert "zip='148**'" in told
    assert "k-anonymity" in error


def test_several_files_are_one_table(tclose: Command, tmp_path: Path) -> None:
    # File by file half and half, or flu only: every class is its file. Together flu is 16 of 28,
    # and 6 of 8 in 130**.
    def files(name: str, *texts: str) -> Path:
        (tmp_path / name).mkdir()
        for number, text in enumerate(texts):
            (tmp_path / name / f"part-{number}.csv").write_text("zip,disease\n" + text)
        return tmp_path / name

    first = "130**,flu\n130**,gout\n" * 2 + "148**,flu\n148**,gout\n" * 10
    second, mended = "130**,flu\n" * 4, "130**,flu\n130**,gout\n" * 2
    asked = ["-q", "zip", "-s", "disease:equal:t=1/6", "--k", "4", "--json"]
    alone = [
        tclose("audit", files(name, text), *asked)[0]
        for name, text in (("one", first), ("two", second))
    ]
    assert alone == [0, 0]
    code, told, _ = tclose("audit", files("both", first, second), *asked)
    (t,) = [g for g in json.loads(told)["guarantees"] if g["measure"] == T]
    assert code == 1
    assert (t["worst"], t["classes"], t["rows"], t["achieved_exact"]) == (
        {"zip": "130**"},
        1,
        8,
        "5/28",
    )
    assert (
        tclose("audit", files("mended", first, mended), *asked, "--k", "8")[0] == 0
    )  # 4 in each file, 8 together


TWO = {"130**": "1 Pisa, 1 Lyon", "148**": "1 Pisa, 1 Lyon"}

# what is wrong: (table, what is asked, what the message says)
REFUSED: dict[str, tuple[Classes, list[str], list[str]]] = {
    "a missing value that has no place in the order": (
        {**TWO, "149**": "1 Oslo, 1 missing"},
        ["-q", "zip", "-s", "disease:ordered"],
        ["'disease' is missing in 1 rows", "lowest or highest (with --sensitive: missing=lowest)"],
    ),
    "a value that its hierarchy lacks": (
        {**TWO, "149**": "2 Oslo"},
        ["-q", "zip", "-s", "disease:hierarchical:t=0.2,hierarchy={cities}"],
        ["'disease'", "its hierarchy lacks 1 value in 2 rows"],
    ),
    "a label that its hierarchy lacks": (
        TWO,
        ["-q", "zip", "--hierarchy", "zip={cities}"],
        ["'zip'", "its hierarchy lacks 2 labels"],
    ),
    "a quasi-identifier that is not there": (
        TWO,
        ["-q", "zip,age", "--k", "2"],
        ["'age' is not in the table", "zip, disease"],
    ),
    "a sensitive attribute that is not there": (
        TWO,
        ["-q", "zip", "-s", "salary"],
        ["'salary' is not in the table"],
    ),
    "no such distance": (
        TWO,
        ["-q", "zip", "-s", "disease:euclidean:t=0.2"],
        ["disease.distance", "'euclidean'", "'equal', 'ordered' or"],
    ),
    "a t in percent": (
        TWO,
        ["-q", "zip", "-s", "disease", "--t", "20%"],
        ["disease.t", "20%", "a number such as 0.2"],
    ),
    "an attribute's own t in percent": (
        TWO,
        ["-q", "zip", "-s", "disease:equal:t=20%"],
        ["disease.t", "20%", "a number such as 0.2"],
    ),
    "a t below 0": (
        TWO,
        ["-q", "zip", "-s", "disease:equal:t=-1"],
        ["disease.t", "a number from 0 to 1"],
    ),
    "text that has no order": (
        TWO,
        ["-q", "zip", "-s", "disease:ordered:t=0.2"],
        ["'disease' is text", "order: frequency or a list"],
    ),
    "a value that the list lacks": (
        TWO,
        ["-q", "zip", "-s", "disease:ordered:t=0.2,order=Pisa|Rome"],
        ["disease.order lacks 1 values of the table (2 rows)"],
    ),
    "missing values in an order": (
        {**TWO, "149**": "2 missing"},
        ["-q", "zip", "-s", "disease:ordered:t=0.2,order=Pisa|Lyon"],
        ["'disease' is missing in 2 rows", "missing: lowest or highest"],
    ),
    "a column in two roles": (
        TWO,
        ["-q", "zip,disease", "-s", "disease:equal:t=0.2"],
        ["'disease'", "expected one role"],
    ),
    "no quasi-identifiers": (TWO, ["-s", "disease:equal:t=0.2"], ["--quasi-identifiers"]),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_is_wrong_is_named(
    tclose: Command,
    tmp_path: Path,
    case: tuple[Classes, list[str], list[str]],
) -> None:
    classes, asked, says = case
    (tmp_path / "cities.csv").write_text("".join(";".join(path) + "\n" for path in CITIES.paths))
    path = written(tmp_path, columns_of(classes))
    code, told, error = tclose(
        "audit",
        path,
        *[text.format(cities=tmp_path / "cities.csv") for text in asked],
    )
    assert code == 2
    assert told == ""
    for text in says:
        assert text in " ".join(error.split())


def test_an_audit_measures_numbers_that_no_float_holds(tclose: Command, tmp_path: Path) -> None:
    path = written(tmp_path, columns_of({"1": "1 flu, 1 gout", "9" * 400: "1 flu, 1 gout"}))
    assert tclose("audit", path, "-q", "zip", "-s", "disease", "--k", 2)[0] == 0


def test_a_setting_that_no_float_holds_is_refused(tclose: Command, tmp_path: Path) -> None:
    path = written(tmp_path, columns_of({"1": "1 flu, 1 gout"}))
    code, _, error = tclose("audit", path, "-q", "zip", "-s", "disease:equal:beta=1e400")
    assert (code, "disease.beta: found '1e400'; expected a number" in " ".join(error.split())) == (
        2,
        True,
    ), error


def test_an_option_is_named_where_it_was_typed(tclose: Command, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("zip,disease\n1,flu\n2\n")
    code, _, error = tclose("audit", tmp_path / "people.csv", "-q", "zip", "-s", "disease")
    assert (code, "set --option (sep, quote," in " ".join(error.split())) == (2, True)


# What the audit does not yet do right


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_table_without_rows_holds_nothing(tclose: Command, tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"people.{kind}"
    if kind == "csv":
        path.write_text("zip,disease\n")
    else:
        written(tmp_path, columns_of(TWO).slice(0, 0))
    code, told, error = tclose("audit", path, "-q", "zip", "-s", "disease:equal:t=0.2", "--k", "2")
    assert (code, told) == (2, "")
    assert "the table has no rows" in error


@pytest.mark.parametrize(
    "asked",
    ["-q zip --t 0.2", "-q zip -s disease --n 3"],
    ids=["t of no attribute", "n without t"],
)
def test_a_bound_that_is_of_nothing_is_refused(tclose: Command, tmp_path: Path, asked: str) -> None:
    assert tclose("audit", written(tmp_path, columns_of(TWO)), *asked.split())[0] == 2


def test_a_malformed_row_of_a_reference_is_refused(tclose: Command, tmp_path: Path) -> None:
    (tmp_path / "census.csv").write_text("zip,disease\nall,Pisa\nall\nall,Lyon\n")
    asked = ["-q", "zip", "-s", "disease:equal:t=1", "--reference", tmp_path / "census.csv"]
    assert tclose("audit", written(tmp_path, columns_of(TWO)), *asked)[0] == 2


def test_a_class_table_of_columns_whose_names_have_blanks(tclose: Command, tmp_path: Path) -> None:
    path = written(tmp_path, columns_of(TWO).rename_columns(["zip code", "disease"]))
    code, _, error = tclose(
        "audit",
        path,
        "-q",
        "zip code",
        "--k",
        "2",
        "--classes-output",
        tmp_path / "classes",
    )
    assert code == 0 or (code == 2 and "zip code" in error)


def test_a_class_table_is_readable_by_its_owner_only(tclose: Command, tmp_path: Path) -> None:
    """Of a raw table its labels are people's records."""
    asked = ["-q", "zip", "--k", "1", "--classes-output", tmp_path / "made/classes"]
    assert tclose("audit", written(tmp_path, columns_of(TWO)), *asked)[0] == 0
    made = [tmp_path / "made/classes", *(tmp_path / "made/classes").rglob("*")]
    assert {(path.is_dir(), path.stat().st_mode & 0o777) for path in made} == {
        (True, 0o700),
        (False, 0o600),
    }


def test_files_with_other_headings_are_refused(tclose: Command, tmp_path: Path) -> None:
    (tmp_path / "people").mkdir()
    (tmp_path / "people/part-0.csv").write_text("zip,disease\n130**,flu\n")
    (tmp_path / "people/part-1.csv").write_text("disease,zip\nflu,130**\n")
    assert tclose("audit", tmp_path / "people", "-q", "zip", "--k", "1")[0] == 2
