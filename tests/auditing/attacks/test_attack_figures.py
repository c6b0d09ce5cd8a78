"""The attacks over a class table: who is exposed, and the worst belief, against the definitions in
fractions.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from strategies import CITIES

from tclose_spark.auditing.attacks.exposures import (
    AttackColumns,
    Exposure,
    KnownAttributeColumns,
    measure_attacks,
)
from tclose_spark.auditing.audit import audit_table
from tclose_spark.auditing.question import question_from_columns
from tclose_spark.auditing.tables import AuditTables
from tclose_spark.checks.classes.class_table import JudgedQuasi, class_table
from tclose_spark.checks.classes.tallies import tally_classes
from tclose_spark.checks.classes.tuples import TupleCloseness
from tclose_spark.engine.protocol import Session, Table
from tclose_spark.engine.tables import collect, of_arrow
from tclose_spark.measures.disclosure.beliefs import chance_gains
from tclose_spark.measures.distances.ground_distances import (
    EqualDistance,
    HierarchicalDistance,
    OrderedDistance,
)
from tclose_spark.measures.loss.information_loss import LabelLoss
from tclose_spark.requirements.judge import JudgedAttribute
from tclose_spark.runfile.attributes import SensitiveAttribute
from tclose_spark.table.arrays import TupleCodes

Key = tuple[Any, ...]
FIFTH = Fraction(1, 5)
DOMAINS: dict[str, tuple[str | None, ...]] = {
    "disease": ("flu", "gout", "ulcer", None),
    "grade": ("1", "2", "3", "4", "5"),
    "site": CITIES.leaves,
}
KINDS = {"disease": "equal", "grade": "ordered", "site": "hierarchical"}


def judged(name: str, column: Sequence[str | None]) -> JudgedAttribute:
    """An attribute of KINDS, or else one at equal distance whose values are those of the column."""
    values = DOMAINS.get(name) or tuple(sorted(set(column), key=str))
    counts = np.array([Counter(column)[value] for value in values])
    kind = KINDS.get(name, "equal")
    distance = {
        "equal": lambda: EqualDistance(counts),
        "ordered": lambda: OrderedDistance(counts),
        "hierarchical": lambda: HierarchicalDistance(counts, CITIES.parents),
    }[kind]()
    asked = {"distance": kind, **({"hierarchy": "cities.csv"} if kind == "hierarchical" else {})}
    return JudgedAttribute(name, values, distance, SensitiveAttribute.model_validate(asked))


def texts(session: Session, table: Mapping[str, Sequence[str | None]]) -> Table:
    return of_arrow(
        session,
        pa.table({name: pa.array(column, pa.string()) for name, column in table.items()}),
    )


def attacks(
    session: Session,
    table: Mapping[str, Sequence[str | None]],
    labels: Sequence[str],
    gain: Fraction = FIFTH,
) -> dict[tuple[str, str, str | None], Exposure]:
    """The exposures of a table by attack, attribute, and (knowing another) what is known. Columns
    that are no labels are sensitive.
    """
    attributes = [judged(name, column) for name, column in table.items() if name not in labels]
    columns = [
        AttackColumns(a, gain, CITIES if KINDS.get(a.name) == "hierarchical" else None)
        for a in attributes
    ]
    knowing = (
        KnownAttributeColumns(tuple(a.name for a in attributes)) if len(attributes) > 1 else None
    )
    quasi = [JudgedQuasi(name, (name,), LabelLoss(numeric=False)) for name in labels]
    tallies = tally_classes(texts(session, table), labels, [a.name for a in attributes], 7)
    classes = class_table(tallies, quasi, attributes, [*columns, *([knowing] if knowing else [])])
    rows = len(next(iter(table.values())))
    found = measure_attacks(classes, columns, knowing, rows)
    result = {
        (e.attack, e.attribute, e.about if e.attack == "knowing another" else None): e
        for e in found
    }
    assert len(result) == len(found)
    return result


def test_the_attacks_on_one_attribute(session: Session):
    """Gowda's and Li's examples in small: one class has one disease, one has two, one has all
    three.
    """
    table = {
        "sex": ["f"] * 3 + ["m"] * 4 + ["*"] * 3,
        "disease": ["gout", "gout", "gout", "flu", "flu", "flu", "ulcer", "flu", "gout", "ulcer"],
    }
    assert list(attacks(session, table, ["sex"]).values()) == [
        # without the table 4/10 have gout, in the class all do
        Exposure(
            attack="homogeneity",
            attribute="disease",
            criterion="all records of the class have one disease",
            classes=1,
            people=3,
            before=0.4,
            after=1.0,
            about="gout",
            worst={"sex": "f"},
            size=3,
        ),
        # of four, three have flu: who rules out ulcer is certain; likewise of one disease
        Exposure(
            attack="background knowledge",
            attribute="disease",
            criterion="an adversary who can rule out one disease is certain",
            classes=2,
            people=7,
            before=0.75,
            after=1.0,
            about="flu",
            worst={"sex": "m"},
            size=4,
        ),
        # gout from 4/10 to 1; flu from 4/10 to 3/4
        Exposure(
            attack="skewness",
            attribute="disease",
            criterion="belief in some disease rises by more than 0.2",
            classes=2,
            people=7,
            before=0.4,
            after=1.0,
            about="gout",
            worst={"sex": "f"},
            size=3,
        ),
    ]


@pytest.mark.parametrize(("gain", "classes"), [("0.2", 0), ("0.19999999999999999999", 1)])
def test_a_gain_that_just_reaches_the_threshold_is_not_exposed(
    session: Session,
    gain: str,
    classes: int,
):
    """Four of five against six of ten: as doubles 0.8 - 0.6 is above 0.2."""
    assert 0.8 - 0.6 > 0.2
    table = {
        "sex": ["f"] * 5 + ["m"] * 5,
        "grade": ["5", "5", "5", "5", "1", "5", "5", "1", "1", "1"],
    }
    # the other class gains as much, of grade 1: 3/5 against 4/10
    found = attacks(session, table, ["sex"], Fraction(gain))
    exposure = found["skewness", "grade", None]
    assert (exposure.classes, exposure.people) == (2 * classes, 10 * classes)
    similarity = found["similarity by belief", "grade", None]
    assert similarity.classes == 0  # every tenth half of such a table gains as much by chance
    for e in (exposure, similarity):
        assert e.after - e.before == pytest.approx(0.2)


def test_dealt_classes_are_not_similar_and_planted_ones_are(session: Session):
    """Some range of salaries rises by more than .2 in every class of five; that is what five
    records drawn by lot do.
    """
    draw = np.random.default_rng(4)
    salaries = draw.permutation(500)
    dealt = [[str(x) for x in salaries[i : i + 5]] for i in range(0, 500, 5)]
    columns = {
        "q": [str(i) for i in range(100) for _ in range(5)],
        "salary": [x for five in dealt for x in five],
    }
    counts = np.ones(500, dtype=np.int64)
    order = tuple(str(i) for i in range(500))
    judged_salary = JudgedAttribute(
        "salary",
        order,
        OrderedDistance(counts),
        SensitiveAttribute(distance="ordered"),
    )

    def similarity(columns: Mapping[str, Sequence[str]]) -> Exposure:
        part = AttackColumns(judged_salary, FIFTH)
        table = class_table(
            tally_classes(texts(session, columns), ["q"], ["salary"]),
            [JudgedQuasi("q", ("q",), LabelLoss(numeric=False))],
            [judged_salary],
            [part],
        )
        assert (
            sum(
                gain > 0.2
                for gain in collect(table)[judged_salary.column("group_gain")].to_pylist()
            )
            == 100
        )
        return {e.attack: e for e in measure_attacks(table, [part], None, 500)}[
            "similarity by belief"
        ]

    assert similarity(columns).classes == 0
    low = [
        str(x) for x in sorted(salaries)[:5]
    ]  # the five least salaries trade places with the first class
    moved = {**dict(zip(low, dealt[0], strict=True)), **dict(zip(dealt[0], low, strict=True))}
    planted = {**columns, "salary": [moved.get(x, x) for x in columns["salary"]]}
    found = similarity(planted)
    assert (found.classes, found.people, found.about, found.worst) == (1, 5, "0 .. 4", {"q": "0"})
    assert found.criterion.endswith(
        "by more than 0.2, and than in any of 1,000 random classes of about the size",
    )


def test_without_sensitive_attributes_there_are_no_attacks(session: Session):
    assert attacks(session, {"sex": ["f", "m"]}, ["sex"]) == {}


def test_knowing_one_attribute_and_learning_another(session: Session):
    table = {
        "sex": ["f", "f", "f", "f", "m", "m"],
        "town": ["Rome", "Rome", "Oslo", "Oslo", "Rome", "Rome"],
        "pay": ["low", "low", "low", "high", "high", None],
    }
    found = attacks(session, table, ["sex"])
    told = found["knowing another", "pay", "town"]
    # women of Rome have low pay for certain; who guesses best is right for 3 + 1 of six without the
    # town, 2 + 1 + 1 with it
    assert (told.classes, told.people, told.before, told.after) == (
        1,
        2,
        pytest.approx(4 / 6),
        pytest.approx(4 / 6),
    )
    assert told.criterion == "an adversary who knows the class and town is certain of pay"
    assert told.worst is None
    told = found["knowing another", "town", "pay"]
    # high pay is in Oslo (f) or in Rome (m), no pay is in Rome; low pay is in Rome for two of three
    assert (told.classes, told.people, told.before, told.after) == (
        2,
        3,
        pytest.approx(4 / 6),
        pytest.approx(5 / 6),
    )


# --- against the definitions, on drawn tables


@pytest.fixture(scope="module", params=[pytest.param(3, marks=pytest.mark.on_spark), 4])
def release(request: pytest.FixtureRequest) -> pd.DataFrame:
    """150 released records in classes of 1 to some 30 records."""
    draw = np.random.default_rng(request.param)

    def pick(values: Sequence[Any], weights: Sequence[float]) -> pd.Series:
        return pd.Series(
            [values[i] for i in draw.choice(len(values), 150, p=np.array(weights) / sum(weights))],
            dtype=object,
        )

    return pd.DataFrame(
        {
            "age": pick(["[20, 29]", "[30, 39]", "40", None, "*"], [8, 4, 2, 1, 1]),
            "sex": pick(["f", "m", "*", None], [8, 4, 1, 1]),
            "disease": pick(DOMAINS["disease"], [8, 2, 1, 1]),
            "grade": pick(DOMAINS["grade"], [2, 2, 4, 1, 0.3]),
            "site": pick(DOMAINS["site"], [4, 1, 1, 2, 1]),
        },
    )


def expected_gain(inside: Counter[Any], whole: Counter[Any], group: Sequence[Any]) -> Fraction:
    """The rise in belief in a group of values."""
    return share(inside, group) - share(whole, group)


def share(counts: Counter[Any], group: Sequence[Any]) -> Fraction:
    return Fraction(sum(counts[value] for value in group), counts.total())


def groups_of(name: str) -> dict[str | None, Sequence[Any]]:
    """The groups of similar values that an attack can tell: ranges of grades, inner nodes of
    cities.
    """
    if name == "site":
        nodes = dict.fromkeys(node for path in CITIES.paths for node in path[1:])
        return {node: [path[0] for path in CITIES.paths if node in path] for node in nodes}
    values = DOMAINS[name]
    ranges = [values[i : j + 1] for i in range(len(values)) for j in range(i, len(values))]
    return {
        group[0] if len(group) == 1 else f"{group[0]} .. {group[-1]}": group for group in ranges
    }


def test_drawn_classes_are_exposed_as_the_definitions_say(session: Session, release: pd.DataFrame):
    table = {name: list(column) for name, column in release.items()}
    found = attacks(session, table, ["age", "sex"], FIFTH)
    grouped = release.groupby(["age", "sex"], dropna=False)
    classes = {tuple(None if pd.isna(x) else x for x in key): rows for key, rows in grouped}
    sizes = {key: len(rows) for key, rows in classes.items()}
    assert min(sizes.values()) < 3 < max(sizes.values())
    for name, values in DOMAINS.items():
        whole = Counter(release[name])
        inside = {key: Counter(rows[name]) for key, rows in classes.items()}

        def check(
            attack: str,
            exposed: Mapping[Key, bool],
            before: Mapping[Key, Fraction],
            after: Mapping[Key, Fraction],
            *,
            of: str = name,
        ) -> Exposure:
            e = found[attack, of, None]
            counted = [key for key in classes if exposed[key]]
            assert (e.classes, e.people) == (len(counted), sum(sizes[key] for key in counted))
            assert e.worst is not None
            worst = tuple(e.worst.values())
            assert after[worst] - before[worst] == max(after[key] - before[key] for key in classes)
            assert (e.before, e.after) == (
                pytest.approx(float(before[worst])),
                pytest.approx(float(after[worst])),
            )
            return e

        ranked = {
            key: [*sorted(counts.values(), reverse=True), 0] for key, counts in inside.items()
        }
        likeliest = {
            key: min(values, key=lambda v, n=counts: (-n[v], values.index(v)))
            for key, counts in inside.items()
        }
        belief = {key: Fraction(r[0], sizes[key]) for key, r in ranked.items()}
        homogeneity = check(
            "homogeneity",
            {key: len(counts) == 1 for key, counts in inside.items()},
            {key: share(whole, [likeliest[key]]) for key in classes},
            belief,
        )
        assert homogeneity.about == likeliest[tuple(homogeneity.worst.values())]
        check(
            "background knowledge",
            {key: len(counts) <= 2 for key, counts in inside.items()},
            belief,
            {key: Fraction(r[0], sizes[key] - r[1]) for key, r in ranked.items()},
        )
        singles = {value: [value] for value in values}
        for attack, groups in (
            ("skewness", singles),
            ("similarity by belief", groups_of(name) if name != "disease" else None),
        ):
            if groups is None:
                assert (
                    attack,
                    name,
                    None,
                ) not in found  # at an equal distance no values are similar
                continue
            gain = {
                key: {
                    group: expected_gain(inside[key], whole, group_values)
                    for group, group_values in groups.items()
                }
                for key in classes
            }
            best = {key: max(gains, key=gains.__getitem__) for key, gains in gain.items()}
            most = {key: gain[key][best[key]] for key in classes}
            e = found[attack, name, None]
            by_chance = (
                chance_gains(judged(name, table[name]).distance)
                if attack == "similarity by belief"
                else np.zeros(257)
            )
            counted = [
                key
                for key in classes
                if most[key] > max(float(FIFTH), by_chance[min(sizes[key], 256)] + 1e-9)
            ]
            assert (e.classes, e.people) == (len(counted), sum(sizes[key] for key in counted))
            assert attack == "similarity by belief" or 0 < len(counted) < len(classes)
            worst = tuple(e.worst.values())
            assert (
                most[worst] == max(most[key] for key in counted or classes) == gain[worst][e.about]
            )
            assert e.before == pytest.approx(float(share(whole, groups[e.about])))
            assert e.after == pytest.approx(float(share(inside[worst], groups[e.about])))
        if name == "disease":
            assert ("similarity by group", name, None) not in found
            continue
        top = {city: path[-2] for path in CITIES.paths for city in path[:1]}
        group = (
            top
            if name == "site"
            else {"1": "1 .. 2", "2": "1 .. 2", "3": "3 .. 4", "4": "3 .. 4", "5": "5"}
        )
        within = {
            key: Counter(group[value] for value in counts.elements())
            for key, counts in inside.items()
        }
        most = {key: max(sorted(counts), key=counts.__getitem__) for key, counts in within.items()}
        e = found["similarity by group", name, None]
        counted = [key for key, counts in within.items() if len(counts) == 1]
        assert 0 < len(counted) < len(classes)
        assert (e.classes, e.people) == (len(counted), sum(sizes[key] for key in counted))
        worst = tuple(e.worst.values())
        assert worst in counted
        assert (e.about, e.after) == (most[worst], 1)
        assert e.before == pytest.approx(
            sum(group[value] == e.about for value in release[name]) / 150,
        )


def test_a_class_in_one_group_is_counted_whatever_its_belief(session: Session):
    """Li et al. 2007, section 6. That of two Italians hardly rises, of a table of nine Italians in
    ten.
    """
    table = {
        "sex": ["f"] * 2 + ["m"] * 8,
        "site": ["Pisa", "Bari", "Lyon", *["Pisa", "Siena", "Bari"] * 2, "Pisa"],
    }
    found = attacks(session, table, ["sex"])
    assert found["similarity by belief", "site", None].classes == 0
    e = found["similarity by group", "site", None]
    assert (e.classes, e.people, e.before, e.after, e.about, e.worst) == (
        1,
        2,
        0.9,
        1.0,
        "Italy",
        {"sex": "f"},
    )
    assert e.criterion == "all site of the class are in one group below the root"


def test_who_is_alone_with_a_known_value_in_the_class_is_found(session: Session):
    """The join with a list of people that has one sensitive attribute (Weber 2.4)."""
    table = {
        "sex": ["f", "f", "f", "f", "m", "m"],
        "town": ["Rome", "Rome", "Oslo", "Bern", "Rome", "Rome"],
        "pay": ["low", "low", "low", "high", "high", None],
    }
    found = attacks(session, table, ["sex"])
    town, pay = found["re-identification", "town", None], found["re-identification", "pay", None]
    assert (town.classes, town.people, town.before, town.after) == (
        1,
        2,
        pytest.approx(2 / 6),
        pytest.approx(4 / 6),
    )
    assert (pay.classes, pay.people, pay.before, pay.after) == (
        2,
        3,
        pytest.approx(2 / 6),
        pytest.approx(4 / 6),
    )
    assert (
        town.criterion
        == "a join with a list of people that has town leaves one record of the class"
    )
    assert (town.about, town.worst) == ("town", None)


def test_knowing_another_on_drawn_tables(session: Session, release: pd.DataFrame):
    sensitive = list(DOMAINS)
    found = attacks(session, {name: list(release[name]) for name in ["age", *sensitive]}, ["age"])
    records = [
        tuple(None if pd.isna(x) else x for x in row)
        for row in release[["age", *sensitive]].to_numpy()
    ]
    for known, target in permutations(sensitive, 2):
        i, j = (1 + sensitive.index(name) for name in (known, target))
        shared: dict[Key, Counter[Any]] = {}
        by_class: dict[Any, Counter[Any]] = {}
        for record in records:
            shared.setdefault((record[0], record[i]), Counter())[record[j]] += 1
            by_class.setdefault(record[0], Counter())[record[j]] += 1
        certain = {key: counts.total() for key, counts in shared.items() if len(counts) == 1}
        e = found["knowing another", target, known]
        assert e.people == sum(certain.values())
        assert e.classes == len({age for age, _ in certain})
        assert e.before == pytest.approx(
            sum(max(counts.values()) for counts in by_class.values()) / 150,
        )
        assert e.after == pytest.approx(
            sum(max(counts.values()) for counts in shared.values()) / 150,
        )


# --- the distance of tuples


def test_the_distance_of_tuples(session: Session):
    """Each attribute of a class is as in the table, its tuples are not."""
    table = {"sex": ["f", "f", "m", "m"], "a": ["x", "y", "x", "y"], "b": ["1", "2", "2", "1"]}
    attributes = [judged(name, table[name]) for name in "ab"]
    pairs = TupleCodes.of(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), (0, 1), (2, 2))
    tuples = TupleCloseness(pairs, np.array([1, 1, 1, 1]), ("a", "b"))
    classes = class_table(
        tally_classes(texts(session, table), ["sex"], ["a", "b"]),
        [JudgedQuasi("sex", ("sex",), LabelLoss(numeric=False))],
        attributes,
        [tuples],
    )
    for row in collect(classes).to_pylist():
        assert (row["emd_a"], row["emd_b"], row["tuples_emd"]) == (0, 0, 0.5)
        assert Fraction(int(row["tuples_numerator"]), 2 * 4 * row["size"]) == Fraction(1, 2)


# --- names


@pytest.mark.on_spark
@pytest.mark.parametrize("names", [("a.b", "a_b"), ("größe", "x y"), ("a`b", "a%60b")])
def test_attributes_of_any_names(session: Session, names: tuple[str, str]):
    table = {"q": ["1", "1"], names[0]: ["x", "y"], names[1]: ["z", "z"]}
    found = attacks(session, table, ["q"])
    assert found["homogeneity", names[1], None].classes == 1
    assert found["homogeneity", names[0], None].classes == 0
    assert found["knowing another", names[1], names[0]].people == 2


@pytest.mark.on_spark
@pytest.mark.parametrize("names", [("pay", "over_pay"), ("a", "a/a")])
def test_attributes_whose_columns_have_one_name(session: Session, names: tuple[str, str]):
    found = attacks(session, {"q": ["1", "1"], names[0]: ["x", "y"], names[1]: ["z", "z"]}, ["q"])
    assert found["homogeneity", names[1], None].classes == 1


@pytest.mark.on_spark
def test_an_attribute_called_tuples(session: Session):
    attributes = [judged("tuples", ["x", "y"])]
    table = texts(session, {"q": ["1", "1"], "tuples": ["x", "y"]})
    tuples = TupleCloseness(
        TupleCodes.of(np.array([[0], [1]]), (0,), (2,)),
        np.array([1, 1]),
        ("tuples",),
    )
    classes = class_table(
        tally_classes(table, ["q"], ["tuples"]),
        [JudgedQuasi("q", ("q",), LabelLoss(numeric=False))],
        attributes,
        [tuples],
    )
    assert len(set(classes.columns)) == len(classes.columns)


def test_without_attacks_the_guarantees_are_the_same(session: Session):
    table = texts(session, {"q": ["1", "1", "2"], "a": ["x", "y", "x"], "b": ["y", "y", "z"]})
    whole, quick = (
        audit_table(
            AuditTables(table=table),
            question_from_columns(["q"], {"a": {"t": "0.5"}, "b": {}}, k=1, attacks=attacks),
        )
        for attacks in (True, False)
    )
    assert whole.attacks
    assert quick.attacks == ()
    assert quick.guarantees == tuple(
        g for g in whole.guarantees if g.measure != "t-closeness of tuples"
    )
    assert (quick.verdict, quick.figures) == (whole.verdict, replace(whole.figures, more=()))
