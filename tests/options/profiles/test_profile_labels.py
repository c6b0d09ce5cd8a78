"""Labels of ages and areas, against all ages and areas one by one; and which texts are dates finer
than a year.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import drawn

from tclose_spark.engine.tables import of_arrow
from tclose_spark.io.local_session import LocalSession
from tclose_spark.options.profiles.columns import finer_than_a_year, read_columns
from tclose_spark.options.profiles.rules import dividing_ages, small_areas
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

AGES = range(70, 111)


@st.composite
def intervals(draw: st.DrawFn) -> tuple[int, int]:
    low = draw(st.sampled_from(AGES))
    return low, draw(st.integers(low, AGES[-1]))


def covered(low: int, high: int) -> set[int]:
    return set(range(low, high + 1))


@given(st.lists(intervals(), min_size=1, max_size=5), st.none() | st.integers(95, 110))
@drawn(300)
def test_a_label_with_an_age_above_89_must_have_all_of_them(ends, highest):
    """Every age from 90 to the highest that a label or the range names, counted one by one."""
    labels = {f"[{low}, {high}]" if low < high else str(low): 1 for low, high in ends}
    oldest = max([high for _, high in ends] + ([] if highest is None else [highest]))
    old = set(range(90, oldest + 1))
    wrong = {
        f"[{low}, {high}]" if low < high else str(low)
        for low, high in ends
        if covered(low, high) & old and not old <= covered(low, high)
    }
    assert set(dividing_ages({**labels, "*": 3}, None, highest) or []) == wrong


@pytest.mark.parametrize(
    ("labels", "wrong"),
    [
        (["80-89", "90+"], []),
        (["80-89", "90-94", "95+"], ["90-94", "95+"]),
        (["[80, 90)", "[90, 100)"], []),
        (["[90, 95)", "[95, 100)"], ["[90, 95)", "[95, 100)"]),
        (["{85, 91}", "{88, 91, 93}"], ["{85, 91}"]),
        (["89.5", "90"], []),
        (["91"], ["91"]),
        (["20 jaar", "1116 maanden"], ["1116 maanden"]),
    ],
)
def test_other_forms_of_labels_of_ages(labels, wrong):
    assert dividing_ages(dict.fromkeys(labels, 1), None, None) == wrong


def test_a_node_must_have_all_leaves_from_90_up():
    rows = [(str(age), "old" if age > 84 else "young", "*") for age in (70, 80, 85, 91, 96)]
    tree = Hierarchy.build(rows, "ages")
    assert dividing_ages({"old": 1, "young": 1}, tree, None) == []
    split = Hierarchy.build([*rows[:4], ("96", "oldest", "*")], "ages")
    assert dividing_ages({"old": 1, "young": 1, "oldest": 1}, split, None) == ["old", "oldest"]
    only = Hierarchy.build([*rows[:3], ("96", "oldest", "*")], "ages")
    assert dividing_ages({"old": 1, "young": 1, "oldest": 1}, only, None) == []
    assert dividing_ages({"blue": 1}, None, None) is None
    assert dividing_ages({"blue": 1, "20": 1}, None, None) is None
    assert dividing_ages({"blue": 1, "91": 1}, None, None) == ["91"]


@given(
    st.dictionaries(
        st.sampled_from([f"{i}{j}" for i in "12" for j in "123"]),
        st.integers(0, 60),
        min_size=1,
    ),
)
@drawn(200)
def test_people_of_labels_are_those_of_their_areas(people: Mapping[str, int]):
    tree = Hierarchy.build(
        [(area, "odd" if int(area) % 2 else "even", "*") for area in sorted(people)],
        "areas",
    )
    labels = {
        "*": 1,
        "1*": 1,
        "odd": 1,
        "even": 1,
        "{11, 12}": 1,
        "nowhere": 1,
        **dict.fromkeys(people, 1),
    }
    has = {
        "1*": lambda area: area[0] == "1",
        "odd": lambda area: int(area) % 2,
        "even": lambda area: not int(area) % 2,
        "{11, 12}": lambda area: area in ("11", "12"),
        "nowhere": lambda area: False,
        **{area: (lambda own: lambda area: area == own)(area) for area in people},
    }
    small = {
        label for label, of in has.items() if sum(n for area, n in people.items() if of(area)) < 50
    }
    assert set(small_areas(labels, people, 50, tree)) == small


def test_a_code_below_the_areas_has_nobody_and_000_stands_for_all_small_ones():
    people = {"941": 800_000}
    assert small_areas(
        {"94107": 1, "941**": 1, "000": 1, "000**": 1},
        people,
        20_001,
        None,
        "000",
    ) == ["94107"]
    assert small_areas({"000": 1}, people, 20_001, None) == ["000"]


@pytest.mark.parametrize(
    ("text", "is_finer"),
    [
        ("2024-02-29", True),
        ("2024-02-29T12:00:00", True),
        ("2024-02-29 12:00:00", True),
        ("29.2.2024", True),
        ("2/29/24", True),
        ("2024-02", True),
        ("2024-Q1", True),
        ("2024-H2", True),
        ("[2024-01-01, 2024-03-31]", True),
        ("[2024-02-01, 2024-12-31]", True),
        ("[2024-01-01, 2024-12-30]", True),
        ("[2024-01-01T00:00:00, 2024-12-31T12:00:00]", True),
        ("{2024-01-05, 2025-01-05}", True),
        ("[2024-01-01, 2024-12-31]", False),
        ("[2020-01-01, 2024-12-31]", False),
        ("[2020-01-01T00:00:00, 2024-12-31T23:59:59.999999]", False),
        ("2024", False),
        ("2020s", False),
        ("*", False),
        ("[30, 39]", False),
        ("2020-2024", False),
        ("flu", False),
    ],
)
def test_dates_that_are_finer_than_a_year(text, is_finer):
    assert finer_than_a_year(pa.array([text])).to_pylist() == [is_finer]


TABLE = pa.table(
    {
        "age_min": pa.array([60, 60, 90, None], pa.int32()),
        "age_max": pa.array([70, 70, 99, None], pa.int32()),
        "seen": pa.array([0, 86_400, None, 5], pa.timestamp("us")),
        "contact": ["a@example.org", "x", "+41 44 123 45 67", "a@example.org"],
    },
)


def found(session: object) -> object:
    columns = {"age": ("age_min", "age_max"), "seen": ("seen",), "contact": ("contact",)}
    return read_columns(of_arrow(session, TABLE), columns, ["age"])  # type: ignore[arg-type]


def test_the_columns_of_a_release_are_counted():
    read = found(LocalSession())
    assert read.labels == {"age": {"[60, 70]": 2, "[90, 99]": 1}}  # type: ignore[attr-defined]
    assert read.finer == {"seen": 3}  # type: ignore[attr-defined]
    assert read.patterns == {"contact": {"e-mail addresses": 2, "phone numbers": 1}}  # type: ignore[attr-defined]


@pytest.mark.on_spark
def test_both_engines_find_the_same(session):
    assert found(session) == found(LocalSession())
