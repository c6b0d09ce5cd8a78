"""Means and cross tables of a release beside those of the raw rows: quasi-identifiers with
sensitive attributes.

A released row counts in each group of values by the share of its label in that group.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tclose_spark.in_memory.release import PublishedClasses
from tclose_spark.measures.distances.bins import equal_mass, nodes_of_level
from tclose_spark.measures.loss.query_error import CoveredRanges, CoveredValues
from tclose_spark.methods.attributes import ResolvedAttributes, ResolvedQuasi, ResolvedSensitive
from tclose_spark.runfile.quantities import Calendar, write_moment
from tclose_spark.table.arrays import FloatArray, IntArray
from tclose_spark.table.domains import QuasiDomain
from tclose_spark.table.labels import MISSING, decode_numbers
from tclose_spark.table.rows import Rows
from tclose_spark.table.writing import write_number
from tclose_spark.usefulness.queries import sensitive_codes, spread_labels

MOST_ROWS = 8
MOST_COLUMNS = 6
OTHERS = "all others"
UNITS: dict[Calendar, str] = {"date": "D", "timestamp": "us"}
"""The unit of codes, as NumPy names it."""
PERIODS = ("Y", "M", "D")
MOMENT = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d:\d\d(\.\d{1,6})?)?")


@dataclass(frozen=True, kw_only=True)
class Mean:
    """Mean and standard deviation of a numeric quasi-identifier: of raw rows, and of the midpoints
    of their labels. Of dates and times, the mean is an ISO text, and the deviation is in days.
    """

    name: str
    raw: tuple[float | str, float]
    released: tuple[float | str, float]


@dataclass(frozen=True, kw_only=True)
class CrossTable:
    """Shares of all rows, and the association of both columns (Cramér's V, from 0 to 1).

    raw, released: shape (rows, columns).
    """

    quasi: str
    sensitive: str
    rows: Sequence[str]
    columns: Sequence[str]
    raw: FloatArray
    released: FloatArray

    @property
    def raw_v(self) -> float:
        """Cramér's V of the raw rows."""
        return cramers_v(self.raw)

    @property
    def released_v(self) -> float:
        """Cramér's V of the release."""
        return cramers_v(self.released)

    @property
    def moved(self) -> float:
        """The share of rows in another cell: half the sum of the differences."""
        return float(np.abs(self.raw - self.released).sum() / 2)


def cramers_v(shares: FloatArray) -> float:
    """Cramér's V of a table of shares or counts; 0 if a side has only one group.

    >>> cramers_v(np.array([[2.0, 0.0], [0.0, 2.0]])), cramers_v(np.array([[1.0, 1.0], [1.0, 1.0]]))
    (1.0, 0.0)
    """
    table = shares[shares.sum(axis=1) > 0][:, shares.sum(axis=0) > 0]
    least = min(table.shape, default=0) - 1
    if least < 1:
        return 0.0
    table = table / table.sum()
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    return float(np.sqrt(((table - expected) ** 2 / expected).sum() / least))


def means(quasi: Sequence[ResolvedQuasi], rows: Rows, classes: PublishedClasses) -> Iterator[Mean]:
    """The means of every numeric quasi-identifier."""
    for q, codes in zip(quasi, rows.quasi, strict=True):
        if q.domain.kind == "category":
            continue
        known = codes[codes != MISSING]
        raw = decode_numbers(known) if q.domain.kind == "double" else known.astype(np.float64)
        spread, label = spread_labels(q, classes.labels[q.name])
        assert isinstance(spread, CoveredRanges)
        middle = (spread.low / 2 + spread.high / 2)[label[classes.of_row]]
        middle = middle[~np.isnan(middle)]
        if len(raw) and len(middle):
            yield Mean(name=q.name, raw=_mean(q.domain, raw), released=_mean(q.domain, middle))


def _mean(domain: QuasiDomain, codes: FloatArray) -> tuple[float | str, float]:
    """The mean and the standard deviation of numbers, dates or times."""
    mean = float(codes.mean())
    deviation = float(codes.std())
    if domain.calendar is None:
        return mean, deviation
    step = 1 if domain.calendar == "date" else 1_000_000  # whole days, whole seconds
    return write_moment(round(mean / step) * step, domain.calendar), deviation / domain.scale


def cross_tables(
    attributes: ResolvedAttributes,
    rows: Rows,
    classes: PublishedClasses,
) -> Iterator[CrossTable]:
    """The cross tables of every quasi-identifier that has values with every sensitive attribute."""
    sensitive = [
        (a, *_sensitive_groups(a, codes))
        for a, codes in zip(attributes.sensitive, sensitive_codes(rows, attributes), strict=True)
    ]
    for q, codes in zip(attributes.quasi_identifiers, rows.quasi, strict=True):
        ranges = list(_quasi_ranges(q, codes))
        if not ranges:  # missing in all rows
            continue
        spread, label = spread_labels(q, classes.labels[q.name])
        raw_in = np.stack([(codes >= low) & (codes <= high) for _, low, high in ranges]).astype(
            np.float64,
        )
        shares = np.stack([_shares(q, spread, low, high) for _, low, high in ranges])[
            :,
            label[classes.of_row],
        ]
        for a, names, group in sensitive:
            has = np.eye(len(names))[group]
            yield CrossTable(
                quasi=q.name,
                sensitive=a.name,
                rows=[*(name for name, _, _ in ranges), OTHERS],
                columns=names,
                raw=_with_others(raw_in) @ has / len(codes),
                released=_with_others(shares) @ has / len(codes),
            )


def _with_others(part: FloatArray) -> FloatArray:
    """Memberships of rows, shape (groups, rows), and below them the rest of each row."""
    return np.concatenate([part, np.maximum(1 - part.sum(axis=0), 0)[None]])


def _shares(q: ResolvedQuasi, spread: CoveredValues, low: int, high: int) -> FloatArray:
    if q.domain.kind == "double":
        start, end = decode_numbers(np.array([low, high])).tolist()
        return spread.shares(start, end)
    return spread.shares(low, high)


def _quasi_ranges(q: ResolvedQuasi, codes: IntArray) -> Iterator[tuple[str, int, int]]:
    """At most MOST_ROWS groups of values as (name, lowest, highest code): periods of dates and
    times, ranges of as many rows, nodes of a hierarchy, or the most frequent values.
    """
    known, n = np.unique(codes[codes != MISSING], return_counts=True)
    if q.domain.calendar is not None:
        yield from _periods(UNITS[q.domain.calendar], known, n, MOST_ROWS)
        return
    if q.domain.kind != "category":
        yield from _numeric_ranges(q, known, n)
        return
    node = np.arange(len(q.domain.values))
    names: Sequence[str] = q.domain.values
    if q.hierarchy is not None and len(known) > MOST_ROWS:
        for height, nodes in enumerate(q.hierarchy.nodes):
            if len(np.unique(nodes)) <= MOST_ROWS or height == len(q.hierarchy.nodes) - 2:
                node = nodes
                names = [path[height] for path in q.hierarchy.paths]
                break
    rows_of = np.bincount(node[known], weights=n)
    frequent = [int(i) for i in np.argsort(-rows_of, kind="stable")[:MOST_ROWS] if rows_of[i]]
    for i in sorted(frequent):
        below = np.flatnonzero(node == i)
        yield names[below[0]], int(below[0]), int(below[-1])


def _periods(unit: str, known: IntArray, n: IntArray, most: int) -> Iterator[tuple[str, int, int]]:
    """Years, or shorter periods if all moments are in one, joined into at most so many ranges.
    unit: of the codes.
    """
    moments: Any = known.astype(f"M8[{unit}]")
    for period in PERIODS:
        first, begin = np.unique(moments.astype(f"M8[{period}]"), return_index=True)
        if len(first) > 1 or period == PERIODS[-1]:
            break
    if not len(first):
        return
    rows = np.add.reduceat(n, begin)
    group = np.arange(len(first)) if len(first) <= most else equal_mass(rows, most)
    for i in range(int(group.max()) + 1):
        low, high = first[group == i][[0, -1]]
        end = (high + 1).astype(moments.dtype).astype(np.int64) - 1
        yield (
            str(low) if low == high else f"{low} to {high}",
            int(low.astype(moments.dtype).astype(np.int64)),
            int(end),
        )


def _numeric_ranges(
    q: ResolvedQuasi,
    known: IntArray,
    n: IntArray,
) -> Iterator[tuple[str, int, int]]:
    if not len(known):
        return
    group = equal_mass(n, MOST_ROWS - 2)
    for i in range(int(group.max()) + 1):
        low, high = known[group == i][[0, -1]].tolist()
        ends = (
            decode_numbers(np.array([low, high])).tolist()
            if q.domain.kind == "double"
            else [low, high]
        )
        first, last = (write_number(end) for end in ends)
        yield first if low == high else f"{first} to {last}", low, high


def _sensitive_groups(a: ResolvedSensitive, codes: IntArray) -> tuple[list[str], IntArray]:
    """(names of at most MOST_COLUMNS groups of values, the group of each row)."""
    names = ["(missing)" if value is None else value for value in a.domain.values]
    if len(names) > MOST_COLUMNS and a.hierarchy is not None:
        names, node = nodes_of_level(a.hierarchy, MOST_COLUMNS)
        codes = node[codes]
    if len(names) <= MOST_COLUMNS:
        return names, codes
    n = np.bincount(codes, minlength=len(names))
    if a.hierarchy is None and (moments := _moments(a.domain.values)) is not None:
        return _by_period(moments, n, codes)
    if a.distance.features.cumulative:
        group = equal_mass(n, MOST_COLUMNS)
        ends = [np.flatnonzero(group == g)[[0, -1]].tolist() for g in range(int(group.max()) + 1)]
        return [
            names[low] if low == high else f"{names[low]} to {names[high]}" for low, high in ends
        ], group[codes]
    frequent = np.argsort(-n, kind="stable")[: MOST_COLUMNS - 1]
    place: Any = np.full(len(names), len(frequent))
    place[frequent] = np.arange(len(frequent))
    return [*(names[i] for i in frequent), OTHERS], place[codes]


def _moments(values: Sequence[str | None]) -> Any:
    """Values as microseconds, NaT if missing; None unless all are dates or times."""
    if not all(value is None or MOMENT.fullmatch(value) for value in values):
        return None
    try:
        return np.array(["NaT" if value is None else value for value in values], "M8[us]")
    except ValueError:  # a day that does not exist
        return None


def _by_period(moments: Any, n: IntArray, codes: IntArray) -> tuple[list[str], IntArray]:
    """See _sensitive_groups. moments: of the values. n: their rows."""
    order = np.argsort(moments)[: (~np.isnat(moments)).sum()]  # NaT is last
    whole = moments.astype(np.int64)
    ranges = list(_periods("us", whole[order], n[order], MOST_COLUMNS - 1))
    group = np.searchsorted([low for _, low, _ in ranges], whole, side="right") - 1
    group[np.isnat(moments)] = len(ranges)
    missing = ["(missing)"] if len(order) < len(moments) else []
    return [*(name for name, _, _ in ranges), *missing], group[codes]
