"""What an adversary who knows a person's class learns about the sensitive value, in exact integers.

The homogeneity and the background knowledge attack (Li, Li and Venkatasubramanian 2007, section 2;
Weber 2.2.2) need the class alone. The skewness and the similarity attack (Li et al. 2007, section
3; Weber 2.2.3) compare it with the whole table. If c of a class's s records and N of the table's n
records are in a group of values, the belief rises from N / n to c / s:

    gain = numerator / (n * s)    numerator = n c - s N

The background join attack (Weber 2.4) infers one sensitive attribute from another one that is
known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tclose_spark.measures.distances.ground_distances import GroundDistance
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.table.arrays import ExactArray, FloatArray, IntArray, exact

RANDOM_CLASSES = 1000
LARGEST_DRAWN = 256
DRAWN_SIZES = (*range(1, 17), *(round(16 * 2 ** (i / 4)) for i in range(1, 17)))


@dataclass(frozen=True)
class TopValues:
    """The two most frequent values of each class; arrays of shape (groups,).

    value: code of the most frequent value, the lowest if several are.
    first: records with it, r1. Homogeneity attack: the belief is r1 / size, certain if r1 == size.
    second: records with the second most frequent value, r2; 0 without one. Background knowledge
        attack: an adversary who can rule out one value believes r1 / (size - r2) at most, which is
        certain for two values or fewer.
    """

    value: IntArray
    first: IntArray
    second: IntArray


@dataclass(frozen=True)
class BeliefGain:
    """The group of values whose share rises most from the table to each class; arrays of shape
    (groups,).

    numerators: gain = numerator / (n * size), exact and never negative.
    first, last: lowest and highest code of the group, inclusive.
    height: of the node whose leaves the group is; 0 for a value or a range.
    """

    numerators: ExactArray
    first: IntArray
    last: IntArray
    height: IntArray


@dataclass(frozen=True)
class KnownAttributeRecords:
    """What a known sensitive value reveals about a target attribute; records of each class, shape
    (groups,).

    guessed: records whose target is guessed right from the class and the known value.
    certain: records that share class and known value only with records of the same target.
    alone: records that share class and known value with no other record. alone <= certain <=
        guessed.
    """

    guessed: IntArray
    certain: IntArray
    alone: IntArray


def most_frequent(classes: Histograms, unknown: int | None = None) -> TopValues:
    """The most frequent value of each class, and the records of the second (Li et al. 2007, section
    2).

    Ruling out the second value v leaves the fewest records beside r1, so no other single exclusion
    is worse. Ruling out the first leaves a belief of r2 / (s - r1), which is no larger: r1 (s - r1)
    - r2 (s - r2) = (r1 - r2) (s - r1 - r2) >= 0. unknown: a value that counts for nothing.
    """
    others = np.where(classes.values == unknown, 0, classes.counts)
    first, place = _largest(others, classes.starts)
    others[place] = 0
    return TopValues(classes.values[place], first, np.maximum.reduceat(others, classes.starts))


def informative(
    table: IntArray,
    classes: Histograms,
    unknown: int | None,
) -> tuple[IntArray, IntArray]:
    """(counts of the whole table, shape (m,), and records of each class, shape (groups,)) without
    an unknown value.

    >>> flu_and_none = Histograms.dense(np.array([[1, 1], [0, 2]]))
    >>> table, known = informative(np.array([3, 5]), flu_and_none, unknown=1)
    >>> table.tolist(), known.tolist()
    ([3, 0], [1, 0])
    """
    if unknown is None:
        return table, classes.sizes
    known = np.where(classes.values == unknown, 0, classes.counts)
    kept = table.copy()
    kept[unknown] = 0
    return kept, np.add.reduceat(known, classes.starts)


def skewness(table: IntArray, classes: Histograms, unknown: int | None = None) -> BeliefGain:
    """The value that gains most in each class, the lowest code of equal ones (skewness attack, Li
    et al. 2007, section 3).

    table: counts of the whole table by code, shape (m,); a class may have values that it lacks.
        Values that the class lacks gain nothing, and the others gain something in sum, so one of
        these gains most.
    unknown: a value that counts for nothing, in the table and in classes. Then gains are over
        `informative` counts.
    """
    bound = _bound(table, classes)
    table, sizes = informative(table, classes, unknown)
    expected = (
        exact(np.repeat(sizes, classes.entries_of), bound) * exact(table, bound)[classes.values]
    )
    gains = np.where(
        classes.values == unknown,
        0,
        int(table.sum()) * exact(classes.counts, bound) - expected,
    )
    largest, place = _largest(gains, classes.starts)
    value = classes.values[place]
    return BeliefGain(largest, value, value, np.zeros_like(value))


def similarity_of_ranges(table: IntArray, classes: Histograms) -> BeliefGain:
    """The range of consecutive values that gains most in each class (similarity attack, Li et al.
    2007, section 3).

    table: counts of the whole table, shape (m,); codes are ranks in the declared order. A best
        range begins and ends at values that the class has. Of equal ranges it is the one that ends
        first, and of those the shortest.

    The gain of a range is the cumulative gain at its end less that before its start, so each end is
    paired with the least start up to it. Time is proportional to the entries, times the logarithm
    of a class's entries.
    """
    bound = _bound(table, classes)
    n = int(table.sum())
    entries = classes.entries_of
    sizes = exact(np.repeat(classes.sizes, entries), bound)
    through = np.cumsum(table)
    reached = np.cumsum(classes.counts)
    reached -= np.repeat(reached[classes.starts] - classes.counts[classes.starts], entries)
    before = (
        n * exact(reached - classes.counts, bound)
        - sizes * exact(through - table, bound)[classes.values]
    )
    after = n * exact(reached, bound) - sizes * exact(through, bound)[classes.values]

    least = _running_minimum(before, np.arange(len(before)) - np.repeat(classes.starts, entries))
    largest, end = _largest(after - least, classes.starts)
    starts = np.flatnonzero(before == np.repeat(least[end], entries))
    start = starts[np.searchsorted(starts, end, side="right") - 1]
    return BeliefGain(largest, classes.values[start], classes.values[end], np.zeros_like(end))


def similarity_of_nodes(distance: GroundDistance, classes: Histograms) -> BeliefGain:
    """The inner node of the hierarchy that gains most in each class (similarity attack, Li et al.
    2007, section 3).

    Of equal nodes the lowest, then the first in the tree's order. If no inner node gains or exists,
    the root: all values, height H, gain 0.
    """
    bound = _bound(distance.table, classes)
    n = int(distance.table.sum())
    m = len(distance.table)
    groups = np.arange(classes.groups)
    sizes = exact(classes.sizes, bound)
    parents = distance.features.parents
    below = np.concatenate([[0], np.cumsum(distance.table)])
    numerators = exact(np.zeros(len(groups), dtype=np.int64), bound)
    first, last, reached = (
        np.full(len(groups), code, dtype=np.int64) for code in (0, m - 1, len(parents))
    )
    owner = classes.owner
    node = classes.values
    count = classes.counts
    node_of_leaf = np.arange(m)
    for height, parent in enumerate(parents[:-1], start=1):
        node = parent[node]
        node_of_leaf = parent[node_of_leaf]
        new = np.flatnonzero(
            np.concatenate([[True], (owner[1:] != owner[:-1]) | (node[1:] != node[:-1])]),
        )
        owner = owner[new]
        node = node[new]
        count = np.add.reduceat(count, new)
        leaf = np.searchsorted(node_of_leaf, np.arange(int(parent.max()) + 2))
        expected = sizes[owner] * exact(np.diff(below[leaf]), bound)[node]
        largest, place = _largest(
            n * exact(count, bound) - expected,
            np.searchsorted(owner, groups),
        )
        better = np.flatnonzero(largest > numerators)
        numerators[better] = largest[better]
        reached[better] = height
        first[better], last[better] = leaf[node[place[better]]], leaf[node[place[better]] + 1] - 1
    return BeliefGain(numerators, first, last, reached)


def value_groups(distance: GroundDistance) -> IntArray:
    """The group of similar values of each value, ascending, shape (m,). With a hierarchy, these are
    its highest nodes that are more than one; with an order, three ranges of about equally many
    values that occur.

    Li et al. (2007, section 6) form three roughly equal groups of occupations: a class whose values
    are all in one group is vulnerable to the similarity attack.
    """
    if distance.features.parents:
        nodes = distance.features.nodes
        group: IntArray = nodes[max(int(np.count_nonzero(nodes[:, -1])) - 1, 0)]
    else:
        rank = np.maximum(np.cumsum(distance.table > 0) - 1, 0)
        group = 3 * rank // (rank[-1] + 1)
    return group


def in_groups(groups: IntArray, classes: Histograms) -> Histograms:
    """Histograms of classes over groups of values. groups: of each value."""
    return Histograms.tally(
        classes.owner,
        groups[classes.values],
        classes.counts,
        classes.groups,
        int(groups[-1]) + 1,
    )


def has_groups(distance: GroundDistance) -> bool:
    """Whether some values are more similar than others: those in a range, or below a node."""
    return distance.features.cumulative or bool(distance.features.parents)


def chance_gains(distance: GroundDistance) -> FloatArray:
    """The largest gain of similar values among RANDOM_CLASSES classes of 0, 1, .. LARGEST_DRAWN
    records drawn at random from the table.

    The draws are fixed. Classes of different sizes are prefixes of the same draws, so figures vary
    little with size. Sizes that are not drawn take the figure of the next smaller one.
    """
    draw = np.random.default_rng(RANDOM_CLASSES)
    ends = np.cumsum(distance.table)
    n = int(ends[-1])
    most = min(int(ends[-1]), LARGEST_DRAWN)
    records = np.stack([draw.choice(n, most, replace=False) for _ in range(RANDOM_CLASSES)])
    codes = np.searchsorted(ends, records, side="right")
    result = np.zeros(LARGEST_DRAWN + 1)
    for size in (s for s in DRAWN_SIZES if s <= most):
        owner = np.repeat(np.arange(RANDOM_CLASSES), size)
        classes = Histograms.tally(
            owner,
            codes[:, :size].ravel(),
            np.ones_like(owner),
            RANDOM_CLASSES,
            len(ends),
        )
        result[size:] = float(similarity(distance, classes).numerators.max()) / (n * size)
    if n <= LARGEST_DRAWN:
        result[n:] = 0.0
    return result


def chance_gain(gains: FloatArray, sizes: IntArray) -> FloatArray:
    """`chance_gains` for classes of these sizes; beyond LARGEST_DRAWN it falls with the square root
    of the size.
    """
    return gains[np.minimum(sizes, LARGEST_DRAWN)] * np.sqrt(np.minimum(1.0, LARGEST_DRAWN / sizes))


def similarity(distance: GroundDistance, classes: Histograms) -> BeliefGain:
    """The group of similar values that gains most: a node of a hierarchy, otherwise a range."""
    return (
        similarity_of_nodes(distance, classes)
        if distance.features.parents
        else similarity_of_ranges(distance.table, classes)
    )


def background_join(
    tuples: Histograms,
    known: IntArray,
    target: IntArray,
    unknown: int | None = None,
) -> KnownAttributeRecords:
    """What one sensitive attribute reveals about another in each class (background join attack,
    Weber 2.4).

    tuples: histograms over codes of tuples of sensitive values.
    known, target: codes of both attributes in each tuple, shape (tuples,). unknown: a target that
        is none: nobody guesses it, or is certain of it.
    """
    pairs, pair = np.unique(known * (np.int64(target.max()) + 1) + target, return_inverse=True)
    cells = Histograms.tally(
        tuples.owner,
        pair[tuples.values],
        tuples.counts,
        tuples.groups,
        len(pairs),
    )
    owner = cells.owner
    value = (pairs // (np.int64(target.max()) + 1))[cells.values]
    new = np.flatnonzero(
        np.concatenate([[True], (owner[1:] != owner[:-1]) | (value[1:] != value[:-1])]),
    )
    records = np.add.reduceat(cells.counts, new)
    targets = np.diff(np.append(new, len(owner)))
    told = np.where(
        (pairs % (np.int64(target.max()) + 1))[cells.values] == unknown,
        0,
        cells.counts,
    )
    guessed = np.maximum.reduceat(told, new)
    sums = [guessed, np.where(targets == 1, guessed, 0), np.where(records == 1, records, 0)]
    first = np.searchsorted(owner[new], np.arange(cells.groups))
    return KnownAttributeRecords(*(np.add.reduceat(part, first) for part in sums))


def _bound(table: IntArray, classes: Histograms) -> int:
    """A bound on intermediate results of numerators; the factor 4 covers differences."""
    return 4 * int(table.sum()) * int(classes.sizes.max())


def _largest(values: ExactArray, starts: IntArray) -> tuple[ExactArray, IntArray]:
    """The largest of each stretch that begins at `starts`, and the first place in `values` that has
    it.
    """
    largest: ExactArray = np.maximum.reduceat(values, starts)
    places = np.flatnonzero(values == np.repeat(largest, np.diff(np.append(starts, len(values)))))
    return largest, places[np.searchsorted(places, starts)]


def _running_minimum(values: ExactArray, rank: IntArray) -> ExactArray:
    """The least of the values up to each place of its stretch, by doubling. rank: the place in its
    stretch, from 0.
    """
    least = values.copy()
    step = 1
    open_ = np.flatnonzero(rank >= step)
    while len(open_):
        least[open_] = np.minimum(least[open_], least[open_ - step])
        step *= 2
        open_ = open_[rank[open_] >= step]
    return least
