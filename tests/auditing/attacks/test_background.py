"""The join with people whom an attacker knows, against trying every person on every class."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from strategies import CITIES

from tclose_spark.auditing.attacks.background import BackgroundJoin, join_background
from tclose_spark.checks.classes.class_table import JudgedQuasi
from tclose_spark.checks.labels.boxes import ABSENT, EVERYTHING, UNCOVERED, Axis
from tclose_spark.engine.protocol import Session, Table
from tclose_spark.engine.tables import of_arrow
from tclose_spark.errors import InputError
from tclose_spark.measures.loss.information_loss import LabelLoss
from tclose_spark.runfile.hierarchies import HierarchyBuilder
from tclose_spark.table.hierarchies.building import build_hierarchy
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

TREES = {"city": CITIES}
AGE = JudgedQuasi("age", ("age",), LabelLoss(numeric=True, span=Fraction(60), foreign=True))
CITY = JudgedQuasi("city", ("city",), LabelLoss(numeric=False, hierarchy=CITIES))
JOB = JudgedQuasi("job", ("job",), LabelLoss(numeric=False, distinct=4, sets=True))
SEX = JudgedQuasi("sex", ("sex",), LabelLoss(numeric=False))
BOUNDS = JudgedQuasi("year", ("year_min", "year_max"), LabelLoss(numeric=True, span=Fraction(60)))
QUASI = [AGE, CITY, JOB]


def class_table(
    session: Session,
    classes: Sequence[tuple[Any, ...]],
    quasi: Sequence[JudgedQuasi],
) -> Table:
    """Classes (label, ..., records); labels are text."""
    names = [column for q in quasi for column in q.columns]
    labels = [dict(zip(names, row, strict=False)) for row in classes]
    kind = pa.struct([(name, pa.string()) for name in names])
    table = pa.table(
        {"quasi_identifiers": pa.array(labels, kind), "size": [row[-1] for row in classes]},
    )
    return of_arrow(session, table)


def join(
    session: Session,
    classes: Sequence[tuple[Any, ...]],
    people: Mapping[str, Sequence[Any] | pa.Array],
    quasi: Sequence[JudgedQuasi] = QUASI,
) -> BackgroundJoin:
    background = of_arrow(session, pa.table(dict(people)))
    return join_background(class_table(session, classes, quasi), background, quasi, TREES)


# --- worked examples


def test_a_list_of_everybody(session: Session):
    """The table's people and two more, of whom one fits no class."""
    classes = [("[20, 29]", "f", 2), ("[30, 39]", "*", 3)]
    people = {"age": [21, 29, 30, 35, 39, 33, 25], "sex": list("fffmfmm")}
    found = join(session, classes, people, [AGE, SEX])
    assert (found.joined, found.people, found.candidates) == (("age", "sex"), 7, 6)
    assert found.members == 2  # two women in their twenties, two records: both are in the table
    risks = found.risks
    assert (risks.prosecutor, risks.prosecutor_mean) == (
        Fraction(1, 2),
        Fraction(2, 5),
    )  # picks a record of 2, or of 3
    assert risks.journalist == Fraction(1, 2)  # two people for each of the first two records
    assert risks.marketer == (2 * Fraction(1, 2) + 3 * Fraction(1, 4)) / 5
    assert (risks.presence, risks.unmatched) == (1, 0)


def test_a_list_that_lacks_people_of_the_table(session: Session):
    """Nobody fits the second class, whose three records are of people that are not listed."""
    found = join(session, [("20", 2), ("30", 3)], {"age": [20, 20, 20, 50]}, [AGE])
    assert (found.people, found.candidates, found.members) == (4, 3, 0)
    assert found.risks.unmatched == 1
    assert (
        found.risks.marketer == (2 * Fraction(1, 3) + 3 * Fraction(1, 3)) / 5
    )  # at least three people have its labels


def test_people_who_fit_several_classes(session: Session):
    """Both classes have a record for each of those who fit; the one who fits both is one member."""
    found = join(session, [("[20, 29]", 2), ("[25, 39]", 2)], {"age": [20, 27, 31]}, [AGE])
    assert (found.people, found.candidates, found.members) == (3, 3, 3)
    assert found.risks.members == 4  # which counts in each class
    assert found.risks.journalist == Fraction(1, 2)


def test_all_classes_alike_by_the_columns_that_are_known_are_one(session: Session):
    """Of age alone: two records of each label."""
    classes = [("[20, 29]", "f", 1), ("[20, 29]", "m", 1), ("*", "f", 2)]
    found = join(session, classes, {"age": [20, 50]}, [AGE, SEX])
    assert found.joined == ("age",)
    assert found.risks.prosecutor == Fraction(1, 2)
    # one fits the first two records (raised to two people), two the others
    assert (found.members, found.risks.journalist, found.risks.unmatched) == (2, Fraction(1, 2), 1)


@pytest.mark.parametrize(
    "ages",
    [
        ["39", "39.0", "039", " 39 ", "thirty-nine", "38.9", None],
        [39.0, 39.0, 39.0, 39.0, 40.5, 38.9, float("nan")],
        pytest.param(
            pa.array([*map(Decimal, [39, 39, 39, 39, 40, 38]), None], pa.decimal128(9, 3)),
            marks=pytest.mark.on_spark,
        ),
    ],
    ids=["text", "doubles", "decimals"],
)
def test_numbers_are_numbers_however_they_are_written(session: Session, ages: Sequence[Any]):
    found = join(session, [("39", 4), ("[39.0, 39.5]", 1)], {"age": ages}, [AGE])
    assert (found.people, found.candidates, found.members) == (7, 4, 4)


def test_a_value_that_stands_twice_in_a_set_is_one(session: Session):
    assert join(session, [("{cook, cook}", 1)], {"job": ["cook"]}, [JOB]).risks.journalist == 1


def test_numbers_below_nodes_are_numbers_however_they_are_written(session: Session):
    tree = Hierarchy.build(
        [("38", "thirties", "*"), ("39", "thirties", "*"), ("40", "forties", "*")],
        "ages",
    )
    age = JudgedQuasi("age", ("age",), LabelLoss(numeric=False, hierarchy=tree))
    people = of_arrow(
        session,
        pa.table({"age": [38.0, 39.0, None]}),
    )  # as pandas writes them if one is missing
    assert (
        join_background(
            class_table(session, [("thirties", 2)], [age]),
            people,
            [age],
            {"age": tree},
        ).candidates
        == 2
    )


AT = [
    datetime(2024, 1, 5, 12, 30, tzinfo=UTC),
    datetime(2024, 1, 9, tzinfo=UTC),
    datetime(2024, 2, 1, tzinfo=UTC),
]
TIMES, DAYS = ("2024-01-05T12:30:00", "2024-01-09T00:00:00"), ("2024-01-05", "2024-01-09")


@pytest.mark.parametrize(
    ("leaves", "people"),
    [
        pytest.param(TIMES, AT, marks=pytest.mark.on_spark),
        (TIMES, ["2024-01-05 12:30:00", "2024-01-09T01:00+01:00", "2024-02-01"]),
        (DAYS, [at.date() for at in AT]),
        (DAYS, AT),
        (("0.5", "1.25"), ["0.50", "1.250", "2024-02-01"]),
    ],
    ids=["times", "times as text", "days", "days of times", "numbers as text"],
)
def test_times_and_numbers_below_nodes_are_themselves_however_they_are_written(
    session: Session,
    leaves: tuple[str, str],
    people: Sequence[Any],
):
    tree = Hierarchy.build([(leaves[0], "first", "*"), (leaves[1], "second", "*")], "at")
    at = JudgedQuasi("at", ("at",), LabelLoss(numeric=False, hierarchy=tree))
    known = of_arrow(session, pa.table({"at": people}))
    found = join_background(
        class_table(session, [("first", 1), ("second", 1)], [at]),
        known,
        [at],
        {"at": tree},
    )
    assert (found.people, found.candidates, found.members) == (3, 2, 2)


def test_bounds_are_joined_as_the_interval_between_them(session: Session):
    classes = [("20", "1990", "1999", 1), ("20", "2000", "2000", 1)]
    found = join(session, classes, {"age": [20, 20, 20], "year": [1995, 1989, 2000]}, [AGE, BOUNDS])
    assert (found.joined, found.people, found.candidates) == (("age", "year"), 3, 2)


def test_nothing_to_join_by(session: Session):
    with pytest.raises(
        InputError,
        match="--background: the table has none of the quasi-identifiers; expected columns such as "
        "'age'",
    ):
        join(session, [("20", 1)], {"name": ["Anna"]}, [AGE])


def test_no_people(session: Session):
    with pytest.raises(InputError, match="--background: the table has no rows"):
        join(session, [("20", 1)], {"age": pa.array([], pa.int32())}, [AGE])


# --- against every person tried on every class: what each label covers, said apart

ANYBODY: Callable[[Any], bool] = lambda _: True  # noqa: E731
COVERS: dict[str, dict[str | None, Callable[[Any], bool]]] = {
    "age": {
        "[20, 29]": lambda x: x is not None and 20 <= x <= 29,
        "[29, 35.5[": lambda x: x is not None and 29 <= x < 35.5,
        "]35.5, 50]": lambda x: x is not None and 35.5 < x <= 50,
        "]20, 50[": lambda x: x is not None and 20 < x < 50,
        "35.50": lambda x: x == 35.5,
        "*": ANYBODY,
        None: lambda x: x is None,
    },
    "city": {
        "Pisa": lambda x: x == "Pisa",
        "Tuscany": lambda x: x in ("Pisa", "Siena"),
        "Italy": lambda x: x in ("Pisa", "Siena", "Bari"),
        "France": lambda x: x in ("Lyon", "Nice"),
        "*": ANYBODY,
        None: lambda x: x is None,
    },
    "job": {
        "cook": lambda x: x == "cook",
        "{clerk, cook}": lambda x: x in ("clerk", "cook"),
        '{"cook, chief", nurse}': lambda x: x in ("cook, chief", "nurse"),
        "*": ANYBODY,
        None: lambda x: x is None,
    },
}
PEOPLE: dict[str, list[Any]] = {
    "age": [None, 19.0, 20.0, 24.5, 29.0, 35.5, 35.75, 50.0, 51.0],
    "city": [None, "Pisa", "Siena", "Bari", "Lyon", "Oslo"],
    "job": [None, "cook", "clerk", "nurse", "cook, chief", "pilot"],
}


def by_trial(
    classes: Mapping[tuple[Any, ...], int],
    people: Sequence[tuple[Any, ...]],
    names: Sequence[str],
) -> dict[str, Any]:
    """All figures of a join, person by person and class by class."""
    fits = {
        labels: [
            p
            for p, person in enumerate(people)
            if all(COVERS[n][x](v) for n, x, v in zip(names, labels, person, strict=True))
        ]
        for labels in classes
    }
    complete = [labels for labels, inside in fits.items() if len(inside) <= classes[labels]]
    population = {labels: max(len(inside), classes[labels]) for labels, inside in fits.items()}
    records = sum(classes.values())
    return {
        "people": len(people),
        "candidates": len({p for inside in fits.values() for p in inside}),
        "members": len({p for labels in complete for p in fits[labels]}),
        "prosecutor": Fraction(1, min(classes.values())),
        "prosecutor_mean": Fraction(len(classes), records),
        "journalist": Fraction(1, min(population.values())),
        "marketer": sum(Fraction(classes[labels], population[labels]) for labels in classes)
        / records,
        "presence": max(Fraction(classes[labels], population[labels]) for labels in classes),
        "unmatched": sum(len(inside) < classes[labels] for labels, inside in fits.items()),
    }


@pytest.mark.parametrize(
    ("seed", "names", "most"),
    [
        pytest.param(1, ("age", "city", "job"), 4, marks=pytest.mark.on_spark),
        (2, ("age", "city", "job"), 1),
        (3, ("city",), 9),
        (4, ("age", "job"), 9),
    ],
    ids=["all columns", "one record for each label", "by a hierarchy", "by numbers and sets"],
)
def test_a_drawn_join_is_what_trying_gives(
    session: Session,
    seed: int,
    names: tuple[str, ...],
    most: int,
):
    """People may be missing every value, be outside all intervals, and live where no node is."""
    draw = np.random.default_rng(seed)
    drawn_labels = {
        tuple(draw.choice(np.array(list(COVERS[q.name]), dtype=object)) for q in QUASI)
        for _ in range(30)
    }
    table = [(*labels, int(draw.integers(1, most + 1))) for labels in sorted(drawn_labels, key=str)]
    people = [
        tuple(draw.choice(np.array(PEOPLE[name], dtype=object)) for name in names)
        for _ in range(80)
    ]
    places = [[q.name for q in QUASI].index(name) for name in names]
    classes: Counter[tuple[Any, ...]] = Counter()
    for row in table:
        classes[tuple(row[i] for i in places)] += row[-1]

    columns = zip(*people, strict=True)
    found = join(
        session,
        table,
        {name: pa.array(column) for name, column in zip(names, columns, strict=True)},
    )
    expected = by_trial(classes, people, names)
    figures = {
        **vars(found.risks),
        **{name: getattr(found, name) for name in ("people", "candidates", "members")},
    }
    assert {name: figures[name] for name in expected} == expected
    assert found.joined == names
    assert expected["candidates"] > 0
    assert expected["unmatched"] < len(classes)


def test_a_missing_value_that_may_be_any_fits_every_label_and_a_missing_label_everybody(
    session: Session,
):
    """Two people fit the label 20, one of them by a missing age; all three fit the missing label.
    Otherwise each class has more records than people who fit.
    """
    any_age = replace(AGE, missing_any=True)
    classes, people = [("20", 2), (None, 3), ("40", 1)], {"age": [20.0, None, 30.0]}
    found = join(session, classes, people, [any_age])
    assert (found.candidates, found.members, found.risks.unmatched) == (3, 3, 0)
    found = join(session, classes, {"age": [20.0, 20.0, 30.0]}, [any_age])
    assert (found.candidates, found.members, found.risks.unmatched) == (3, 3, 1)
    found = join(session, classes, people, [AGE])
    assert (found.candidates, found.members, found.risks.unmatched) == (2, 2, 3)


# --- axes, pure


def test_a_numeric_axis():
    axis = Axis.of(AGE, ["[20, 29]", "[29, 40[", "]20, 40[", "*", None, "35"], None)
    assert axis.ends == (20, 29, 35, 40)
    # below 20, 20, between, 29, between, 35, between, 40, above
    assert [
        axis.point(x) for x in ("19.9", "20", "20.0", "28", "2.9e1", "30", "35", "39", "40", "41")
    ] == [
        0,
        1,
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
    ]
    assert (axis.point(None), axis.point("many"), axis.point("Infinity")) == (
        ABSENT,
        UNCOVERED,
        UNCOVERED,
    )
    assert axis.ranges("[20, 29]") == [(1, 3)]
    assert axis.ranges("[29, 40[") == [(3, 6)]
    assert axis.ranges("]20, 40[") == [(2, 6)]
    assert axis.ranges("35") == [(5, 5)]
    assert axis.ranges("*") == [EVERYTHING]
    assert axis.ranges(None) == [(ABSENT, ABSENT)]


def test_texts_on_a_numeric_axis_are_neither_missing_nor_each_other():
    axis = Axis.of(AGE, ["[20, 29]", "adult", "child", "old"], None)
    codes = [axis.point(text) for text in ("adult", "child", "old")]
    assert len({*codes, ABSENT, UNCOVERED}) == 5
    assert max(codes) < 0
    assert [axis.ranges(text) for text in ("adult", "child", "old")] == [
        [(code, code)] for code in codes
    ]


def test_people_fit_bins(session: Session):
    """Without an end a bin covers everybody beyond the other one; a decade ends before the next."""
    people = {"age": [-3.0, 19.0, 20.0, 29.5, 30.0, 80.0, 107.0]}
    found = join(session, [("<20", 2), ("20s", 2), ("80+", 2)], people, [AGE])
    assert (found.people, found.candidates, found.members) == (7, 6, 6)


def test_bins_among_values_say_not_whom_they_cover(session: Session):
    with pytest.raises(InputError, match=r"sex: 1 labels do not show which values they cover"):
        join(
            session,
            [("20-29", 2), ("f", 2)],
            {"sex": ["f"]},
            [replace(SEX, loss=replace(SEX.loss, foreign=True))],
        )


def test_an_axis_of_a_hierarchy():
    axis = Axis.of(CITY, ["Italy", "Lyon"], CITIES)
    codes = {city: axis.point(city) for city in CITIES.leaves}
    assert len({*codes.values()}) == 5
    for node in ("Pisa", "Tuscany", "Italy", "France"):
        ((low, high),) = axis.ranges(node)
        assert {city for city, code in codes.items() if low <= code <= high} == {
            path[0] for path in CITIES.paths if node in path
        }
    assert (axis.point("Oslo"), axis.point("Italy"), axis.point(None)) == (
        UNCOVERED,
        UNCOVERED,
        ABSENT,
    )


@pytest.mark.parametrize(
    ("form", "values", "fits"),
    [
        (
            {"intervals": [5, 20]},
            ["20", "33", "41"],
            {"23": "[20, 24]", "38": "[20, 39]", "61": None, "x": None},
        ),
        ({"intervals": [5]}, ["0.5", "3"], {"4.99": "[0, 5)", "5": None, "0": "[0, 5)"}),
        (
            {"prefix": [3, 1]},
            ["10001", "10110"],
            {"10199": "101**", "12": "1****", "100011": None, "2": None},
        ),
        (
            {"dates": ["month", "year"]},
            ["2024-02-29"],
            {"2024-02-01": "2024-02", "2024-03-01": "2024", "2023-02-28": None},
        ),
        ({"groups": {"north": ["59"]}, "other": "else"}, ["59", "75"], {"13": "else", "75": "75"}),
        ({"ranges": {"crops": "1-199"}}, ["10", "11"], {"150": "crops", "200": None}),
        ({"order": 2}, ["a", "c", "d"], {"b": None}),
    ],
)
def test_a_value_that_the_table_lacks_fits_the_built_labels_that_cover_it(form, values, fits):
    """It fits them and what is above, and no label beside or below."""
    builder = HierarchyBuilder.model_validate(form)
    tree = build_hierarchy(
        builder,
        dict.fromkeys(values, 1),
        "q",
        "q.hierarchy",
        "intervals" in form,
    )
    nodes = {node for path in tree.paths for node in path}
    axis = Axis.of(replace(CITY, builder=builder), nodes, tree)
    for value, lowest in fits.items():
        held = {
            n for n in nodes for low, high in axis.ranges(n) if low <= axis.point(value) <= high
        }
        path = () if lowest is None else next(path for path in tree.paths if lowest in path)
        assert held == {"*", *path[path.index(lowest) if path else 0 :]}, value


def test_an_axis_of_values_and_sets():
    axis = Axis.of(JOB, ["{b, d}", '{"a, c", b}', "d", "*", None], None)
    assert axis.places == {"a, c": 0, "b": 1, "d": 2}
    assert axis.ranges("{b, d}") == [(1, 1), (2, 2)]
    assert axis.ranges("d") == [(2, 2)]
    assert (axis.point("a, c"), axis.point("{b, d}"), axis.point("e")) == (0, UNCOVERED, UNCOVERED)
    plain = Axis.of(SEX, ["{b, d}", "f"], None)  # where labels are no sets, braces are text
    assert plain.ranges("{b, d}") == [(plain.point("{b, d}"),) * 2]


def test_everything_covers_what_no_other_label_does():
    low, high = EVERYTHING
    assert low <= ABSENT < UNCOVERED < 0
    assert high > 2 * 10**9
