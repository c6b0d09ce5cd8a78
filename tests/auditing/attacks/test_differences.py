"""Differences of releases, found once more in plain Python by trying every value on every two
classes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from strategies import CITIES, drawn

from tclose_spark.api.audit import Audit, audit
from tclose_spark.auditing.attacks import differences
from tclose_spark.auditing.attacks.differences import Difference, Differences
from tclose_spark.auditing.views import audit_page
from tclose_spark.errors import InputError

SENSITIVE: Mapping[str, Any] = {"disease": {}, "ward": {}}


class Row(NamedTuple):
    age: str
    job: str
    disease: str
    ward: str


def table_of(rows: Sequence[Row]) -> pa.Table:
    return pa.table(dict(zip(Row._fields, map(list, zip(*rows, strict=True)), strict=True)))


def values_of(row: Row) -> set[tuple[int, str]]:
    """All people whom the labels of a row cover."""
    low, high = row.age[1:-1].split(", ") if row.age != "*" else ("0", "99")
    jobs = "abcd" if row.job == "*" else row.job.strip("{}").replace(", ", "")
    return set(product(range(int(low), int(high) + 1), jobs))


def groups_of(tables: Sequence[Sequence[Row]]) -> list[set[tuple[int, Row]]]:
    """The groups, as sets of rows with the place of their table."""
    groups: list[set[Any]] = [
        {(i, labels)} for i, table in enumerate(tables) for labels in {row[:2] for row in table}
    ]
    for one, other in combinations([next(iter(group)) for group in groups], 2):
        if one[0] != other[0] and values_of(Row(*one[1], "", "")) & values_of(
            Row(*other[1], "", ""),
        ):
            first, second = (
                next(group for group in groups if each in group) for each in (one, other)
            )
            if first is not second:
                groups.remove(second)
                first |= second
    return groups


def expected(tables: Sequence[Sequence[Row]], k: int) -> Differences:
    groups = groups_of(tables)
    names = [*(f"earlier {i}" for i in range(1, len(tables))), "the table"]
    found = []
    for i, j in combinations(range(len(tables)), 2):
        for column in ("disease", "ward"):
            exposed = []
            for group in groups:
                first, second = (
                    Counter(getattr(row, column) for row in tables[x] if (x, row[:2]) in group)
                    for x in (i, j)
                )
                apart = abs(first.total() - second.total())
                if 0 < apart < k and (first <= second or second <= first):
                    exposed.append(apart)
            if exposed:
                found.append(
                    Difference(
                        releases=(names[i], names[j]),
                        attribute=column,
                        groups=len(exposed),
                        people=sum(exposed),
                        fewest=min(exposed),
                    ),
                )
    return Differences(joined=("age", "job"), groups=len(groups), k=k, found=tuple(found))


def compared(tables: Sequence[Sequence[Row]], k: int | None, engine: str = "local") -> Audit:
    *earlier, latest = map(table_of, tables)
    quasi = {"age": {"type": "numeric"}, "job": {}}
    return audit(latest, quasi, SENSITIVE, k=k, earlier=earlier, attacks=False, engine=engine)


ROWS = st.builds(
    Row,
    st.sampled_from(["[20, 24]", "[24, 27]", "[28, 29]", "[30, 39]", "[40, 41]", "[50, 59]"]),
    st.sampled_from(["{a, b}", "{b, c}", "d", "{a, d}"]),
    st.sampled_from(["flu", "gout"]),
    st.sampled_from("12"),
)


@drawn(40)
@given(st.lists(st.lists(ROWS, min_size=3, max_size=9), min_size=2, max_size=3), st.integers(1, 4))
def test_differences_are_those_of_plain_python(tables: list[list[Row]], k: int) -> None:
    tables = [
        [*table, Row("[90, 90]", "{a, b}", "flu", "1")] for table in tables
    ]  # ages stay intervals, jobs sets
    assert compared(tables, k).together == expected(tables, k)


TOWN = [Row("[20, 29]", "a", d, "1") for d in ("flu", "gout", "cold")] + [
    Row("[30, 39]", "a", "flu", "1"),
] * 3
LATER = [*TOWN, Row("[20, 29]", "a", "ulcer", "1")]


def test_a_newcomer_is_exposed() -> None:
    """Three people of 20 to 29 become four, and the fourth has an ulcer."""
    result = compared([TOWN, LATER], 3)
    assert result.together == expected([TOWN, LATER], 3)
    assert result.verdict == "violated"
    said = (
        "disease: earlier 1 and the table expose the values of those who came or left (people: 1, "
        "groups: 1)"
    )
    assert said in repr(result)
    assert said[1:] in audit_page(result)
    assert (
        "k-anonymity of differences (earlier 1 and the table) of disease: worst group 1 person"
        in repr(result)
    )
    assert result.to_json()["several_releases"]["groups"] == 2
    assert compared([TOWN, TOWN], 3).verdict == "holds"
    assert not compared([TOWN, LATER], None).together.guarantees  # type: ignore[union-attr]


@pytest.mark.parametrize("seed", range(2))
def test_both_engines_find_the_same(seed: int, spark: SparkSession) -> None:
    draw = np.random.default_rng(seed)
    rows = [
        Row(f"[{10 * low}, {10 * low + 9}]", "ab"[job], ["flu", "gout"][sick], "12"[ward])
        for low, job, sick, ward in draw.integers(0, [8, 2, 2, 2], (200, 4)).tolist()
    ]
    tables = [rows[:-7], rows]
    local = compared(tables, 5)
    assert local.together == expected(tables, 5) == compared(tables, 5, "spark").together
    assert local.together.guarantees  # type: ignore[union-attr]


def test_nodes_of_a_hierarchy_overlap_with_those_below(tmp_path: Any) -> None:
    (tmp_path / "cities.csv").write_text("".join(";".join(path) + "\n" for path in CITIES.paths))
    old = pa.table({"city": ["Tuscany"] * 2 + ["Lyon"] * 2, "disease": ["flu", "gout"] * 2})
    new = pa.table(
        {"city": ["Pisa"] * 3 + ["Lyon"] * 2, "disease": ["flu", "gout", "flu", "flu", "gout"]},
    )
    asked: dict[str, Any] = {
        "hierarchies": {"city": tmp_path / "cities.csv"},
        "engine": "local",
        "attacks": False,
    }
    found = audit(new, ["city"], ["disease"], k=2, earlier=old, **asked).together
    assert isinstance(found, Differences)
    assert (found.groups, found.found[0].people, found.found[0].groups) == (2, 1, 1)


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [row._replace(age="young") for row in TOWN]
    with pytest.raises(
        InputError,
        match="age: its labels are numbers in some tables and texts in others",
    ):
        audit(table_of(TOWN), ["age"], earlier=table_of(texts), engine="local")
    earlier = [table_of(TOWN).drop(["age"]), table_of(TOWN).drop(["job"])]
    with pytest.raises(InputError, match="no quasi-identifier is in all tables"):
        audit(table_of(TOWN), ["age", "job"], earlier=earlier, engine="local")
    with pytest.raises(InputError, match="labels do not show which values they cover"):
        audit(
            table_of(TOWN),
            ["job"],
            earlier=table_of([row._replace(job="a*") for row in TOWN]),
            engine="local",
        )
    monkeypatch.setattr(differences, "MOST_PAIRS", 3)
    with pytest.raises(InputError, match="4 pairs of classes are more than 3"):
        compared([TOWN, LATER], 3)
