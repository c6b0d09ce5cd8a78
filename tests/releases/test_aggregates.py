"""Aggregates in place of labels: what a class says is the exact mean, median or mode of its values,
and a reader's class, in which others with the same values are, says it, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import drawn

from tclose_spark.options.aggregates.check import AggregateCheck, rows_without_aggregate
from tclose_spark.runfile.attributes import QuasiIdentifier
from tclose_spark.runfile.quantities import CODES_A_DAY, EPOCH, write_moment
from tclose_spark.runfile.release_form import Aggregate
from tclose_spark.stages.generalize import AggregateLabels
from tclose_spark.table.domains import QuasiDomain
from tclose_spark.table.labels import MISSING, encode_numbers

SITES = ("low", "middle", "high", "upper")
DOMAINS = {
    "integer": QuasiDomain(name="x", kind="integer", missing=0),
    "double": QuasiDomain(name="x", kind="double", missing=0),
    "date": QuasiDomain(name="x", kind="integer", missing=0, calendar="date"),
    "timestamp": QuasiDomain(name="x", kind="integer", missing=0, calendar="timestamp"),
    "category": QuasiDomain(name="x", kind="category", missing=0, values=SITES),
}
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "integer": st.integers(-3, 3) | st.integers(-(2**63) + 1, 2**63 - 1),
    "double": st.sampled_from([0.1, 0.2, -0.0, 0.3, 1e300, 1e-7, 2.5]) | st.floats(-1e6, 1e6),
    "date": st.integers(-3, 3) | st.integers(-700_000, 2_900_000),
    "timestamp": st.integers(-3, 3) | st.integers(0, 2**50),
    "category": st.integers(0, 3),
}


@st.composite
def classes(draw: st.DrawFn, kind: str) -> list[list[Any]]:
    """Values of some classes, None where one is missing."""
    one = st.lists(st.none() | VALUES[kind], min_size=1, max_size=7)
    return draw(st.lists(one, min_size=1, max_size=8))


def aggregate_for(kind: str, asked: Any, digits: int) -> Aggregate:
    return Aggregate(asked, digits if asked == "mean" and kind in ("integer", "double") else None)


def joined(groups: Sequence[Sequence[Any]]) -> list[Any]:
    return [value for group in groups for value in group]


def codes_of(kind: str, values: Sequence[Any]) -> Any:
    if kind == "double":
        return encode_numbers(
            np.array([np.nan if x is None else x for x in values], dtype=np.float64),
        )
    return np.array([MISSING if x is None else x for x in values], dtype=np.int64)


def raw_of(kind: str, values: Sequence[Any]) -> pa.Array:
    if kind == "category":
        return pa.array([None if x is None else SITES[x] for x in values], pa.string())
    return pa.array(values, pa.float64() if kind == "double" else pa.int64())


def published(kind: str, aggregate: Aggregate, groups: Sequence[Sequence[Any]]) -> list[str | None]:
    """What each class says."""
    starts = np.cumsum([0, *map(len, groups)])[:-1]
    index, texts = AggregateLabels(aggregate, DOMAINS[kind]).label(
        codes_of(kind, joined(groups)),
        starts,
    )
    return [texts[i] for i in index.tolist()]


def naive(kind: str, aggregate: Aggregate, group: Sequence[Any]) -> str | Fraction | None:
    """A class's aggregate, value by value; a number as a fraction."""
    known = [Fraction(str(x)) for x in group if x is not None]
    if not known:
        return None
    if aggregate.kind == "mean":
        unit = Fraction(1, 10 ** (aggregate.digits or 0))
        figure = floor(sum(known) / len(known) / unit + Fraction(1, 2)) * unit
    elif aggregate.kind == "median":
        figure = sorted(known)[(len(known) - 1) // 2]
    else:
        rows = Counter(known)
        figure = min(x for x in known if rows[x] == max(rows.values()))
    if kind == "category":
        return SITES[int(figure)]
    return (
        figure
        if kind in ("integer", "double")
        else write_moment(int(figure), DOMAINS[kind].calendar or "date")
    )


def check_of(kind: str, aggregate: Aggregate) -> AggregateCheck:
    order = {site: i for i, site in enumerate(SITES)} if kind == "category" else None
    return AggregateCheck(aggregate, DOMAINS[kind].scale, order)


def wrong(
    kind: str,
    aggregate: Aggregate,
    groups: Sequence[Sequence[Any]],
    said: Sequence[str | None],
) -> int:
    """Rows that the check objects to where each class says this."""
    of_rows = pa.array(
        [text for text, group in zip(said, groups, strict=True) for _ in group],
        pa.string(),
    )
    return rows_without_aggregate(
        [check_of(kind, aggregate)],
        [raw_of(kind, joined(groups))],
        [of_rows],
    )


KINDS = [
    (kind, asked)
    for kind in DOMAINS
    for asked in ("mean", "median", "mode")
    if (kind, asked) != ("category", "mean")
]


@pytest.mark.parametrize(("kind", "asked"), KINDS)
def test_a_class_says_what_counting_by_hand_says_and_the_check_agrees(
    kind: str,
    asked: str,
) -> None:
    @drawn(40)
    @given(classes(kind), st.integers(0, 3), st.randoms())
    def holds(groups: list[list[Any]], digits: int, shuffled: Any) -> None:
        aggregate = aggregate_for(kind, asked, digits)
        said = published(kind, aggregate, groups)
        numbers = [
            Fraction(x) if x is not None and kind in ("integer", "double") else x for x in said
        ]
        assert numbers == [naive(kind, aggregate, group) for group in groups]
        for group in groups:
            shuffled.shuffle(group)
        assert published(kind, aggregate, groups) == said
        assert (
            wrong(kind, aggregate, groups, said) == 0
        )  # classes that say the same are one to the check

    holds()


@pytest.mark.parametrize(("kind", "asked"), KINDS)
def test_what_two_classes_say_their_union_may_say(kind: str, asked: str) -> None:
    """So a reader's class, of any number of the method's, publishes its aggregate."""

    @drawn(60)
    @given(
        st.lists(
            st.lists(st.none() | VALUES[kind].filter(lambda x: abs(x) < 4), min_size=1, max_size=5),
            min_size=30,
        ),
    )
    def holds(groups: list[list[Any]]) -> None:
        aggregate = aggregate_for(kind, asked, 0)
        said = published(kind, aggregate, groups)
        for text in set(said):
            together = joined(
                [group for group, one in zip(groups, said, strict=True) if one == text],
            )
            assert wrong(kind, aggregate, [together], [text]) == 0

    holds()


@pytest.mark.parametrize(
    ("kind", "aggregate", "group", "said", "others"),
    [
        (
            "integer",
            Aggregate("mean", 1),
            [1, 2, 2],
            "1.7",
            ["1.6", "1.8", "1", "[1, 2]", "*", "", "2", None],
        ),
        ("integer", Aggregate("mean", 0), [1, 2, None], "2", ["3", "0", "1.49", None]),
        ("double", Aggregate("mean", 2), [0.1, 0.2], "0.15", ["0.1", "0.2", "0.16", "0.14"]),
        ("integer", Aggregate("median"), [5, 1, 3, 9], "3", ["4", "5", "1", None]),
        ("integer", Aggregate("mode"), [5, 5, 1, 1, 9], "1", ["5", "9", "4"]),
        ("integer", Aggregate("mode"), [4, 5, 4, 5], "4", ["5"]),
        (
            "category",
            Aggregate("median"),
            [0, 3, 2, 2],
            "high",
            ["middle", "upper", "elsewhere", "*", None],
        ),
        ("category", Aggregate("mode"), [3, 1, 1, 3, None], "middle", ["upper", "low", None]),
        (
            "date",
            Aggregate("mean"),
            [0, 1],
            "1970-01-02",
            ["1970-01-03", "1969-12-31", "soon", None],
        ),
        (
            "timestamp",
            Aggregate("median"),
            [7, 3, 5],
            "1970-01-01T00:00:00.000005",
            ["1970-01-01", None],
        ),
        ("integer", Aggregate("mode"), [None, None], None, ["0", "*"]),
    ],
)
def test_another_value_than_the_aggregate_is_found(
    kind: str,
    aggregate: Aggregate,
    group: list[Any],
    said: str | None,
    others: list[str | None],
) -> None:
    assert published(kind, aggregate, [group]) == [said]
    assert wrong(kind, aggregate, [group], [said]) == 0
    for other in others:
        assert wrong(kind, aggregate, [group], [other]) == len(group), other


@pytest.mark.parametrize(
    ("numbers", "sites", "rows"),
    [("15", "aa", 3), ("14", "ab", 3), ("15", "ab", 3), ("25", "aa", 5), ("14", "aa", 0)],
)
def test_each_row_of_a_class_with_a_wrong_value_counts_once(
    numbers: str,
    sites: str,
    rows: int,
) -> None:
    """Of two classes, of two rows and of three."""
    checks = [check_of("integer", Aggregate("median")), check_of("category", Aggregate("mode"))]
    raw = [raw_of("integer", [1, 1, 4, 4, 4]), raw_of("category", [0, 0, 0, 0, 1])]
    names = [{"a": "low", "b": "middle"}[site] for site in sites]
    said = [pa.array([one] * 2 + [other] * 3, pa.string()) for one, other in (numbers, names)]
    assert rows_without_aggregate(checks, raw, said) == rows


def test_a_mean_has_no_overflow_and_dates_are_those_of_the_calendar() -> None:
    most = 2**63 - 1
    assert published("integer", Aggregate("mean", 2), [[most, most - 1]]) == [f"{most - 1}.5"]
    day = (date(2024, 2, 29) - EPOCH.date()).days
    assert published("date", Aggregate("mean"), [[day, day + 1]]) == ["2024-03-01"]
    noon = (datetime(2024, 2, 29, 12) - EPOCH).total_seconds() * 1_000_000
    assert published(
        "timestamp",
        Aggregate("mean"),
        [[int(noon), int(noon) + CODES_A_DAY["timestamp"]]],
    ) == ["2024-03-01T00:00:00"]


@pytest.mark.parametrize(
    ("settings", "asked", "found"),
    [
        ({"type": "numeric"}, "mean", Aggregate("mean", 3)),
        ({"type": "numeric"}, "median", Aggregate("median")),
        ({"type": "date"}, "mean", Aggregate("mean")),
        ({}, "mean", Aggregate("mode")),
        ({"hierarchy": "zip.csv"}, "median", Aggregate("mode")),
        ({"hierarchy": {"prefix": 1}}, "median", Aggregate("mode")),
        ({"hierarchy": {"groups": {"a": ["b"]}}}, "median", Aggregate("mode")),
        ({"hierarchy": {"order": 2}}, "mean", Aggregate("median")),
        ({"type": "numeric", "hierarchy": {"intervals": [5]}}, "mean", Aggregate("median")),
        ({"type": "date", "hierarchy": {"dates": ["month"]}}, "median", Aggregate("median")),
        ({"hierarchy": {"order": 2}}, "mode", Aggregate("mode")),
    ],
)
def test_what_a_column_can_have(settings: dict[str, Any], asked: Any, found: Aggregate) -> None:
    assert Aggregate.of(QuasiIdentifier.model_validate(settings), asked, 3) == found
