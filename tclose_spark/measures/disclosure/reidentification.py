"""Re-identification by a join with a background table of people and their quasi-identifiers
(linking attack, Weber 2.1.2).

The prosecutor knows that a person is in the published table. The journalist does not, and
re-identifies anybody. The marketer re-identifies as many people as possible (El Emam and Dankar
2008, "Protecting privacy using k-anonymity"; Dankar and El Emam 2010 for the marketer). Membership:
whether a person is in the table at all (delta-presence, Nergiz, Atzori and Clifton 2007).

Linkage by distance: how often an adversary with raw quasi-identifiers finds a row's class first.

The distance of a number from an interval is the width (NCP) of the narrowest interval that covers
both; that of a value from a label the width of the label if it covers the value, else 1. That of a
row from a class is the sum over quasi-identifiers. So a class that covers the row by narrow labels
comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from tclose_spark.table.arrays import FloatArray, IntArray

CodeArray = NDArray[np.integer]
FEW_POINTS = 64
SMALL_PRODUCT = 1 << 16
MOST_PAIRS = 1 << 24  # of points and boxes that are compared at once
LARGEST_DENOMINATOR = 10**18


@dataclass(frozen=True)
class Fits:
    """Which people fit which classes, in sums.

    people: total weight of the points in each box, shape (boxes,).
    records: total records of the boxes that hold each point, shape (points,), or (points, columns)
        as they are given.
    """

    people: IntArray
    records: IntArray


def count_inside(
    points: CodeArray,
    weights: IntArray,
    low: CodeArray,
    high: CodeArray,
    records: IntArray,
) -> Fits:
    """The people who fit each class, and the records that each person fits: points in closed boxes,
    exactly.

    points: codes of the distinct people's quasi-identifiers, shape (points, d); weights: people
        with them, (points,).
    low, high: lowest and highest code of each box, inclusive, shape (boxes, d); records: of each,
        (boxes,), or several figures to add up, (boxes, columns). Boxes may overlap, and are empty
        if a low exceeds its high.

    Points are halved along the axis on which most boxes cut their cell. A box that misses a cell is
    dropped, one that covers it counts as a whole, and the others meet few points, which are tried
    one by one. Sums must fit 64 bits.
    """
    fits = Fits(
        np.zeros(len(low), dtype=np.int64),
        np.zeros((len(points), *records.shape[1:]), dtype=np.int64),
    )
    if not len(points) or not len(low):
        return fits
    place, lows, highs = _ranked(points, low, high)
    cells = [(np.arange(len(points)), np.arange(len(low)))]
    while cells:
        cell, boxes = cells.pop()
        here = place[:, cell]
        first = here.min(axis=1)[:, None]
        last = here.max(axis=1)[:, None]
        boxes = boxes[((lows[:, boxes] <= last) & (highs[:, boxes] >= first)).all(axis=0)]
        cuts = (lows[:, boxes] > first) | (highs[:, boxes] < last)
        partial = cuts.any(axis=0)
        whole = boxes[~partial]
        boxes = boxes[partial]
        fits.people[whole] += weights[cell].sum()
        fits.records[cell] += records[whole].sum(axis=0)
        if not len(boxes):
            continue
        cut = cuts.sum(axis=1)
        if len(cell) <= FEW_POINTS or len(cell) * len(boxes) <= SMALL_PRODUCT:
            axes = np.flatnonzero(cut)
            inside = _inside(here[axes], lows[axes[:, None], boxes], highs[axes[:, None], boxes])
            fits.people[boxes] += np.einsum("p,pb->b", weights[cell], inside)
            fits.records[cell] += np.einsum("pb,b...->p...", inside, records[boxes])
            continue
        along = here[int(np.argmax(cut))]  # an axis that a box cuts has more than one rank here
        middle = np.partition(along, len(along) // 2)[len(along) // 2]
        left = along < middle if along.min() < middle else along <= middle
        cells += [(cell[left], boxes), (cell[~left], boxes)]
    return fits


def count_people_inside(
    points: CodeArray,
    person: IntArray,
    low: CodeArray,
    high: CodeArray,
    owner: IntArray,
    records: IntArray,
) -> Fits:
    """The people who fit each class, each of whom may have several points, and each class several
    boxes. A person fits a class if one of the points is in one of its boxes, and counts once.

    person: whose each point is, shape (points,).
    owner: the class of each box, ascending, shape (boxes,); boxes of one class do not overlap.
    records: of each class, shape (classes,).

    `Fits.people` has shape (classes,), and `Fits.records` shape (people,).
    """
    distinct = np.unique(np.column_stack([person, points]), axis=0)
    _, who, several = np.unique(distinct[:, 0], return_inverse=True, return_counts=True)
    alone = distinct[several[who] == 1, 1:]
    fits = count_inside(alone, np.ones(len(alone), dtype=np.int64), low, high, records[owner])
    people = np.zeros(len(records), dtype=np.int64)
    np.add.at(people, owner, fits.people)
    classes, starts = np.unique(owner, return_index=True)
    of_several = []
    for whole in np.array_split(
        np.flatnonzero(several > 1),
        1 + len(distinct) * len(low) // MOST_PAIRS,
    ):
        if len(whole):
            place = np.flatnonzero(np.isin(who, whole))
            inside = _inside(distinct[place, 1:].T, low.T, high.T)
            some = np.logical_or.reduceat(
                inside,
                np.flatnonzero(np.diff(who[place], prepend=-1)),
                axis=0,
            )
            some = np.logical_or.reduceat(some, starts, axis=1) if len(starts) else some
            people[classes] += some.sum(axis=0)
            of_several.append(some @ records[classes])
    return Fits(people, np.concatenate([fits.records, *of_several]))


def _ranked(
    points: CodeArray,
    low: CodeArray,
    high: CodeArray,
) -> tuple[CodeArray, CodeArray, CodeArray]:
    """Points and boxes as ranks among the codes of the points, one row for each axis; small
    integers are quick to compare.
    """
    columns = []
    for axis in range(points.shape[1]):
        codes, rank = np.unique(points[:, axis], return_inverse=True)
        below = (
            np.searchsorted(codes, low[:, axis]),
            np.searchsorted(codes, high[:, axis], side="right") - 1,
        )
        narrow = np.int16 if len(codes) < 1 << 15 else np.int32
        columns.append([ranks.astype(narrow) for ranks in (rank, *below)])
    place, lows, highs = (np.stack(ranks) for ranks in zip(*columns, strict=True))
    return place, lows, highs


def _inside(place: CodeArray, lows: CodeArray, highs: CodeArray) -> NDArray[np.bool_]:
    """Whether each point is in each box, shape (points, boxes)."""
    inside = np.ones((place.shape[1], lows.shape[1]), dtype=np.bool_)
    for at, low, high in zip(place, lows, highs, strict=True):
        inside &= low <= at[:, None]
        inside &= high >= at[:, None]
    return inside


@dataclass(frozen=True, kw_only=True)
class Risks:
    """Risks of re-identification of a published table, as shares, and disclosure of membership.

    prosecutor, prosecutor_mean: probability of picking a person's record, for the worst record and
        on average.
    journalist: probability of naming a record's person, for the worst record.
    marketer: expected share of all records whose person is named right. Exact, or rounded up by
        less than 1e-18 a class if the exact denominator would pass 10^18 times the records.
    presence: the largest share of the people who fit one class that are in the table
        (delta-presence).
    members: people who fit a class with a record for each of them. They are in the table, if the
        background is complete. People who fit several such classes count in each.
    unmatched: classes with more records than people who fit them: the background lacks people of
        the table.

    journalist, marketer and presence are None where they are not measured.
    """

    prosecutor: Fraction
    prosecutor_mean: Fraction
    journalist: Fraction | None
    marketer: Fraction | None
    presence: Fraction | None
    members: int
    unmatched: int


def risks(sizes: IntArray, population: IntArray) -> Risks:
    """The risks of a table whose classes have `sizes` records and labels that fit `population`
    people, both shape (classes,).

    At least as many people as a class has records fit its labels, so a smaller population is raised
    to that.

    Raises:
        ValueError: if there is no class, or one without records.
    """
    if not len(sizes) or sizes.min() < 1:
        raise ValueError("risks are those of classes that have records")
    fitting = np.maximum(population, sizes)
    distinct, group = np.unique(fitting, return_inverse=True)
    records = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(records, group, sizes)
    most = np.zeros(len(distinct), dtype=np.int64)
    np.maximum.at(most, group, sizes)

    named = expected_named(distinct.tolist(), records.tolist())
    total = int(sizes.sum())
    return Risks(
        prosecutor=Fraction(1, int(sizes.min())),
        prosecutor_mean=Fraction(len(sizes), total),
        journalist=Fraction(1, int(distinct[0])),
        marketer=named / total,
        presence=max(
            Fraction(held, people)
            for held, people in zip(most.tolist(), distinct.tolist(), strict=True)
        ),
        members=int(population[population <= sizes].sum()),
        unmatched=int(np.count_nonzero(population < sizes)),
    )


def expected_named(people: Sequence[int], records: Sequence[int]) -> Fraction:
    """How many records the marketer expects to name right: the sum of records / people, of groups
    of classes that so many people fit each. Exact, or rounded up by less than 1e-18 a group if the
    denominator would pass 10^18.
    """
    denominator = 1
    for number in people:
        denominator = lcm(denominator, number)
        if denominator > LARGEST_DENOMINATOR:
            denominator = LARGEST_DENOMINATOR
            break
    named = sum(
        -(-held * denominator // number) for held, number in zip(records, people, strict=True)
    )
    return Fraction(named, denominator)


MOST_ROWS = 2_000
SEED = 2026
CHUNK = 100  # rows whose distances to all classes are held at once
Distances = Callable[[IntArray], FloatArray]
"""From places of rows, shape (rows,), to their distances from all classes, shape (rows,
classes).
"""
Owned = Callable[[IntArray], NDArray[np.bool_]]
"""From places of rows to whether each class may be the row's own, shape (rows, classes)."""


@dataclass(frozen=True, kw_only=True)
class Linkage:
    """How often rows are linked to their own class.

    rows: that were linked. classes: among which the adversary looks.
    nearest: the expected share of rows whose own class is the nearest; among equally near classes,
        a row is drawn.
    one_to_one: the share if each raw row is assigned another released row, with the least sum of
        distances; None if the released rows of these people are not known, or were not given.
    blind: the chance that a released row, drawn at random, is of the own class.
    without: rows without an own class, which are never linked.
    """

    rows: int
    classes: int
    nearest: float
    one_to_one: float | None
    blind: float
    without: int


def link(
    distances: Sequence[Distances],
    own: Owned,
    rows: int,
    sizes: IntArray,
    released: IntArray | None = None,
) -> Linkage:
    """The linkage of `rows` rows.

    distances: of each quasi-identifier. sizes: rows of each class, shape (classes,).
    released: the classes of the released rows of the same people, in any order, shape (rows,); None
        if not known.
    """
    nearest = 0.0
    blind = 0.0
    without = 0
    assigned = np.zeros((0 if released is None else rows, rows))
    for start in range(0, rows, CHUNK):
        chunk = np.arange(start, min(start + CHUNK, rows))
        apart: FloatArray = np.round(sum(distance(chunk) for distance in distances), 9)
        drawn = sizes * (apart == apart.min(axis=1, keepdims=True))
        is_own = own(chunk)
        nearest += float(((drawn * is_own).sum(axis=1) / drawn.sum(axis=1)).sum())
        blind += float((sizes * is_own).sum() / sizes.sum())
        without += int((~is_own.any(axis=1)).sum())
        if released is not None:
            assigned[chunk] = apart[:, released]
    one_to_one = None if released is None else _one_to_one(assigned, own, released) / rows
    return Linkage(
        rows=rows,
        classes=len(sizes),
        nearest=nearest / rows,
        one_to_one=one_to_one,
        blind=blind / rows,
        without=without,
    )


def _one_to_one(apart: FloatArray, own: Owned, released: IntArray) -> float:
    """How many rows the cheapest assignment links to their own class. Equal ones are decided by
    chance.
    """
    from scipy.optimize import linear_sum_assignment

    mixed = np.random.default_rng(SEED).permutation(len(released))
    rows, columns = linear_sum_assignment(apart[:, mixed])
    found = released[mixed[columns]]
    return float(sum(own(rows[i : i + 1])[0, found[i]] for i in range(len(rows))))


def of_numbers(values: FloatArray, low: FloatArray, high: FloatArray) -> Distances:
    """The distances of numbers from the intervals of classes. NaN is a missing value or label; `*`
    is infinite.

    >>> of_numbers(np.array([5.0]), np.array([0.0, 10.0]), np.array([10.0, 20.0]))(np.array([0])).tolist()
    [[0.5, 0.75]]
    """
    ends = np.concatenate([low, high])
    ends = ends[np.isfinite(ends)]
    span = float(ends.max() - ends.min()) if len(ends) else 0.0

    def distances(rows: IntArray) -> FloatArray:
        value = values[rows][:, None]
        width = np.maximum(value, high) - np.minimum(value, low)
        share = np.where(width == 0, 0.0, np.minimum(width / span, 1.0) if span > 0 else 1.0)
        missing = np.isnan(value) & np.isnan(low)
        return np.where(missing, 0.0, np.where(np.isnan(share), 1.0, share))

    return distances


def of_values(between: FloatArray, of_row: IntArray, of_class: IntArray) -> Distances:
    """The distances of values from labels, by a table of both, shape (values, labels)."""
    return lambda rows: between[of_row[rows]][:, of_class]
