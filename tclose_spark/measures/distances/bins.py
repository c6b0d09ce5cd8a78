"""Bins of an ordered domain: a long or continuous domain as few ranges (Weber, 4.1.2), groups that
show a class's distribution beside the table's, and places of equal width or equal steps.

Each function of bins gives `bin_of`, shape (m,): the bin of each value, nondecreasing from 0,
without an empty number. A place may have no row.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from tclose_spark.errors import InputError
from tclose_spark.runfile.attributes import MOST_PLACES, EvenPlaces
from tclose_spark.runfile.quantities import parse_number
from tclose_spark.table.arrays import IntArray, exact
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

Number = float | Fraction


def equal_width(numbers: Sequence[Number], bins: int) -> IntArray:
    """Ranges of one width between the least and the greatest value; an edge belongs to the bin
    above it.

    numbers: the values, ascending.

    >>> equal_width([0, 1, 4, 5, 9, 10], 2).tolist()
    [0, 0, 0, 1, 1, 1]

    Raises:
        ValueError: if there are no values, they do not ascend, or `bins` is below 1.
    """
    values = _ascending(numbers)
    _require_bins(bins)
    low = values[0]
    width = values[-1] - values[0]
    if not width:
        return np.zeros(len(values), dtype=np.int64)
    return _without_gaps(
        np.array(
            [min((value - low) * bins // width, bins - 1) for value in values],
            dtype=np.int64,
        ),
    )


def equal_mass(counts: IntArray, bins: int) -> IntArray:
    """Ranges with as even a number of rows as the values allow: a value is in the bin in which the
    middle of its rows is.

    counts: rows of each value in order, shape (m,).

    >>> equal_mass(np.array([6, 1, 1, 2, 2]), 2).tolist()
    [0, 1, 1, 1, 1]

    Raises:
        ValueError: if there are no rows, or `bins` is below 1.
    """
    _require_bins(bins)
    rows = int(counts.sum())
    if not rows:
        raise ValueError("bins of equal mass need rows")
    counts = exact(counts, 4 * rows * bins)
    middle = 2 * np.cumsum(counts) - counts
    return _without_gaps(np.minimum(middle * bins // (2 * rows), bins - 1).astype(np.int64))


def by_edges(numbers: Sequence[Number], edges: Sequence[Number]) -> IntArray:
    """The ranges [edge, next edge); what is below the first edge, and from the last one on, are
    bins of their own.

    numbers: the values, ascending; edges: ascending.

    >>> by_edges([17, 18, 40, 65], [18, 65]).tolist()
    [0, 1, 1, 2]

    Raises:
        ValueError: if there are no values, or one of both does not ascend.
    """
    places = _ascending(edges) if len(edges) else []
    return _without_gaps(
        np.array([bisect_right(places, value) for value in _ascending(numbers)], dtype=np.int64),
    )


def _ascending(numbers: Sequence[Number]) -> list[Fraction]:
    """The numbers as exact fractions, so that an edge is an edge."""
    values = [Fraction(number) for number in numbers]
    if not values or any(a > b for a, b in pairwise(values)):
        raise ValueError("values of an ordered domain are at least one, and ascend")
    return values


def _require_bins(bins: int) -> None:
    if bins < 1:
        raise ValueError(f"{bins} bins; expected at least 1")


def _without_gaps(bin_of: IntArray) -> IntArray:
    """The same bins, numbered without gaps."""
    return np.cumsum(np.diff(bin_of, prepend=bin_of[:1]) > 0).astype(np.int64)


MOST_SHOWN = 30
OTHERS = "all others"


@dataclass(frozen=True)
class ValueGroup:
    """Some values of a domain.

    name: as a reader takes it.
    part, whole: records of the class and of the table.
    """

    name: str
    part: int
    whole: int


def group_values(
    values: Sequence[str | None],
    part: IntArray,
    whole: IntArray,
    cumulative: bool,
    hierarchy: Hierarchy | None = None,
    most: int = MOST_SHOWN,
) -> list[ValueGroup]:
    """At most `most` groups of the values, in the domain's order: the values themselves where they
    are few; of more, ranges of them where they have an order (cumulative), or the nodes of a level
    of their hierarchy; else those whose shares differ most, and all others.

    part, whole: records of the class and of the table with each value, shape (m,).
    hierarchy: of the values, its leaves in their order. The level is the lowest with at most `most`
        nodes; if only the root has so few, the nodes below it are grouped as values are.

    >>> group_values(["a", "b", "c"], np.array([2, 0, 0]), np.array([2, 2, 1]), cumulative=False, most=2)
    [ValueGroup(name='a', part=2, whole=2), ValueGroup(name='all others', part=0, whole=3)]
    """
    names = ["(missing)" if value is None else value for value in values]
    if len(names) <= most:
        return [
            ValueGroup(*each) for each in zip(names, part.tolist(), whole.tolist(), strict=True)
        ]
    if cumulative:
        return _ranges(names, part, whole, equal_mass(part + whole, most))
    if hierarchy is not None:
        names, node = nodes_of_level(hierarchy, most)
        part, whole = (np.bincount(node, weights=each).astype(np.int64) for each in (part, whole))
        if len(names) <= most:
            return [
                ValueGroup(*each) for each in zip(names, part.tolist(), whole.tolist(), strict=True)
            ]
    s = int(part.sum())
    n = int(whole.sum())
    differs = np.abs(part / s - whole / n)
    first = np.sort(np.argsort(-differs, kind="stable")[: most - 1])
    rest = np.ones(len(names), dtype=np.bool_)
    rest[first] = False
    groups = [ValueGroup(names[code], int(part[code]), int(whole[code])) for code in first.tolist()]
    return [*groups, ValueGroup(OTHERS, int(part[rest].sum()), int(whole[rest].sum()))]


def nodes_of_level(hierarchy: Hierarchy, most: int) -> tuple[list[str], IntArray]:
    """(the names of the nodes of a level, the node of each leaf): of the lowest level with at most
    so many nodes, or of the highest below the root.
    """
    last = hierarchy.height - 1
    level = next((i for i in range(last) if hierarchy.nodes[i][-1] < most), last)
    starts = np.flatnonzero(np.diff(hierarchy.nodes[level], prepend=-1))
    return [hierarchy.paths[start][level] for start in starts.tolist()], hierarchy.nodes[level]


def _ranges(
    names: Sequence[str],
    part: IntArray,
    whole: IntArray,
    group: IntArray,
) -> list[ValueGroup]:
    """Groups of consecutive values. group: of each value."""
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    ends = [*(starts[1:] - 1).tolist(), len(names) - 1]
    sums = zip(
        np.add.reduceat(part, starts).tolist(),
        np.add.reduceat(whole, starts).tolist(),
        strict=True,
    )
    return [
        ValueGroup(names[low] if low == high else f"{names[low]} to {names[high]}", *both)
        for low, high, both in zip(starts.tolist(), ends, sums, strict=True)
    ]


@dataclass(frozen=True)
class Places:
    """of_value: the place of each value of a domain in order, ascending from 0, shape (m,).

    ends: of the places, ascending: place i of the numbers is from ends[i] to below ends[i + 1], the
        last one to the end itself if it is a bin. Missing values have a place of their own, before
        or after them.
    """

    of_value: IntArray
    ends: tuple[Fraction, ...]

    @property
    def size(self) -> int:
        """How many places there are. The first and the last one have rows."""
        return int(self.of_value[-1]) + 1

    def counts(self, table: IntArray) -> IntArray:
        """Rows of each place, shape (size,). table: by value, shape (m,)."""
        counts = np.zeros(self.size, dtype=np.int64)
        np.add.at(counts, self.of_value, table)
        return counts


def places_of(name: str, values: Sequence[str | None], settings: EvenPlaces) -> Places:
    """The places of an attribute's values, which are in order.

    >>> places = places_of("pay", ["0", "1", "4", "5", "9", "10"], EvenPlaces(equal_width=5))
    >>> places.of_value.tolist(), [str(end) for end in places.ends]
    ([0, 0, 2, 2, 4, 4], ['0', '2', '4', '6', '8', '10'])
    >>> places_of("pay", ["3", "4", "7"], EvenPlaces(step=1)).of_value.tolist()
    [0, 1, 4]

    Raises:
        InputError: if values are no numbers, or there are too many places.
    """
    known = [value for value in values if value is not None]
    key = f"attributes.sensitive_attributes.{name}.domain"
    try:
        numbers = [parse_number(value) for value in known]
    except ValueError:
        raise InputError(f"{key}: the values are no numbers; leave it out") from None
    if not numbers:
        return Places(np.zeros(len(values), dtype=np.int64), ())
    low = numbers[0]
    width = numbers[-1] - numbers[0]
    if settings.step is not None:
        last = width // settings.step
        if last >= MOST_PLACES:
            raise InputError(
                f"{key}.step: the range of the values has {last + 1:,} places of this width; "
                f"expected a larger step, for at most {MOST_PLACES:,}",
            )
        inside = [int((number - low) // settings.step) for number in numbers]
        ends = [low + i * settings.step for i in range(last + 2)]
    else:
        bins = settings.equal_width if width else 1
        assert bins is not None
        inside = [
            min(int((number - low) * bins // width), bins - 1) if width else 0 for number in numbers
        ]
        ends = [low + i * width / bins for i in range(bins + 1)]
    before = [0] if values[0] is None else []
    after = [inside[-1] + 1] if values[-1] is None else []
    of_value = [*before, *(place + len(before) for place in inside), *after]
    return Places(np.array(of_value, dtype=np.int64), tuple(ends))
