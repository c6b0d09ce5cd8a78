"""The minimality attack (Wong, Fu, Wang, Pei 2007) with a release and a list of people, without the
secret.

If the narrow classes of a quasi-identifier's value are at the cap, the largest share of a sensitive
value in any class, then the method kept as many of its records there as t allows. People of that
value who fit none of these classes are in a wide class, and the adversary guesses that they have
the sensitive value. Small classes reach the cap by rounding alone (one record of a rare value in a
class of five). A guess therefore counts only if it expects the sensitive value much more often than
the wide classes indicate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from operator import add

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose_spark.auditing.attacks.background import MinimalityGuesses
from tclose_spark.auditing.attacks.intersection_attack import LabelledRelease, labelled_tallies
from tclose_spark.checks.classes.class_table import JudgedQuasi
from tclose_spark.checks.classes.tallies import ClassTally
from tclose_spark.checks.labels.boxes import (
    EVERYTHING,
    Axis,
    axis_codes,
    class_boxes,
    label_axes,
)
from tclose_spark.checks.labels.known_people import distinct_people, joined_quasi
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import keep, merged, schema_of
from tclose_spark.measures.disclosure.reidentification import count_inside
from tclose_spark.requirements.judge import JudgedAttribute
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

MOST_CLASSES = 200_000  # that the driver examines
MOST_CELLS = 20_000_000  # of classes times sensitive values
MOST_VALUES = 2_000  # the most frequent labels of a quasi-identifier, which are examined
MOST_TARGETS = 50
FEW_CLASSES = 3
# The largest probability that chance alone explains some guess of a sensitive attribute.
CHANCE = 1 / 20
# The least part of what the cap allows beyond the table's share, for all narrow classes together.
FILLED = 1 / 4
UNIT = 1 << 60  # shares are summed as multiples of 1 / UNIT: a sum of doubles depends on its order


@dataclass(frozen=True)
class Target:
    """People whose code on one axis is in low..high, and the code of the sensitive value that they
    may have.
    """

    axis: int
    low: int
    high: int
    sensitive: int


@dataclass(frozen=True)
class ReleasedClasses:
    """Classes as boxes of codes.

    low, high: their corners, shape (classes, axes). sizes: their records.
    counts: those with each guessed sensitive value, shape (classes, values).
    """

    low: IntArray
    high: IntArray
    sizes: IntArray
    counts: IntArray

    def narrow(self, target: Target) -> NDArray[np.bool_]:
        """Whether each class has people of the target only."""
        return (self.low[:, target.axis] >= target.low) & (self.high[:, target.axis] <= target.high)

    def apart(self, target: Target) -> NDArray[np.bool_]:
        """Whether each class has nobody of the target."""
        return (self.low[:, target.axis] > target.high) | (self.high[:, target.axis] < target.low)


def find_targets(low: IntArray, high: IntArray, counts: IntArray) -> list[Target]:
    """The people to guess, by descending number of standard deviations.

    Of their narrow classes, far more are at the cap of a sensitive value than of all classes: one
    more record of the value would give them a larger share than any class has. Together, these
    classes hold at least FILLED of what the cap allows.

    low, high: corners of the classes, shape (classes, axes).
    counts: their records by sensitive value, shape (classes, m).
    """
    sizes = counts.sum(axis=1)
    table = counts.sum(axis=0) / counts.sum()
    cap = (counts / sizes[:, None] - table).max(axis=0)
    capped = (counts > 0) & ((counts + 1) / sizes[:, None] - table > cap + 1e-12)
    usual = capped.mean(axis=0)
    deviation = np.sqrt(usual * (1 - usual))
    candidates: list[tuple[float, Target]] = []
    looked = 1
    for axis in range(low.shape[1]):
        spans, place = np.unique(
            np.stack([low[:, axis], high[:, axis]], axis=1),
            axis=0,
            return_inverse=True,
        )
        frequent = np.argsort(-np.bincount(place.reshape(-1), weights=sizes), kind="stable")[
            :MOST_VALUES
        ]
        for first, last in spans[frequent].tolist():
            narrow = (low[:, axis] >= first) & (high[:, axis] <= last)
            if (first, last) == EVERYTHING or narrow.sum() < FEW_CLASSES:
                continue
            looked += counts.shape[1]
            share = counts[narrow].sum(axis=0) / sizes[narrow].sum()
            more = (capped[narrow].mean(axis=0) - usual) * np.sqrt(narrow.sum())
            beyond = np.divide(
                more,
                deviation,
                out=np.zeros(len(more)),
                where=(share - table > FILLED * cap) & (deviation > 0),
            )
            s = int(np.argmax(beyond))
            candidates.append((float(beyond[s]), Target(axis, first, last, s)))
    enough = np.sqrt(2 * np.log(looked))  # about the largest deviation by chance
    candidates.sort(key=lambda one: -one[0])
    return [target for beyond, target in candidates[:MOST_TARGETS] if beyond > enough]


def guess_values(
    points: IntArray,
    weights: IntArray,
    classes: ReleasedClasses,
    targets: Sequence[Target],
) -> tuple[IntArray, np.ndarray]:
    """(the target that guesses each point, or -1; the share of the guessed value in the classes
    that the point fits).
    """
    low = classes.low
    high = classes.high
    sizes = classes.sizes
    by = np.full(len(points), -1)
    said = np.zeros(len(points))
    for number, target in enumerate(targets):
        here = np.flatnonzero(
            (by < 0)
            & (points[:, target.axis] >= target.low)
            & (points[:, target.axis] <= target.high),
        )
        narrow = classes.narrow(target)
        here = here[
            count_inside(
                points[here],
                weights[here],
                low[narrow],
                high[narrow],
                sizes[narrow],
            ).records
            == 0
        ]
        records = count_inside(points[here], weights[here], low, high, sizes).records
        having = count_inside(
            points[here],
            weights[here],
            low,
            high,
            np.ascontiguousarray(classes.counts[:, target.sensitive]),
        ).records
        here, records, having = here[records > 0], records[records > 0], having[records > 0]
        by[here] = number
        said[here] = having / records
    return by, said


def expected(
    target: Target,
    guessed: int,
    covered: int,
    fitting: Sequence[int] | IntArray,
    classes: ReleasedClasses,
) -> tuple[float, float]:
    """(the expected share of correct guesses; an upper bound on the probability that chance
    explains them).

    The expectation starts from the records of the value in the classes that the guessed people fit.
    It subtracts those that other people explain, at the rate of the classes that do not cover the
    target, and attributes the rest to the target's people in these classes: the guessed ones, and a
    proportional part of the people on the list beyond the narrow classes' records. The probability
    is Chernoff's bound at that rate.

    guessed: the number of guessed people. covered: people of the list whose value is the target's.
    fitting: the classes that the guessed people fit.
    """
    sizes = classes.sizes
    having = classes.counts[:, target.sensitive]
    narrow = classes.narrow(target)
    apart = classes.apart(target)
    if not having[apart].sum():
        return 0.0, 1.0  # the rate of others is unknown
    rate = float(having[apart].sum() / sizes[apart].sum())
    records = int(sizes[fitting].sum())
    holders = int(having[fitting].sum())
    left = (covered - int(sizes[narrow].sum())) / int(
        sizes[~narrow & ~apart].sum(),
    )  # of the wide classes' records
    theirs = min(max(guessed, left * records), records)
    expects = min(max((holders - (records - theirs) * rate) / theirs, 0.0), 1.0)
    share = holders / records
    if share <= rate:
        return expects, 1.0
    divergence = share * math.log(share / rate) + (
        (1 - share) * math.log((1 - share) / (1 - rate)) if share < 1 else 0.0
    )
    return expects, math.exp(-records * divergence)


def guess_people(
    release: LabelledRelease,
    background: Table,
    trees: Mapping[str, Hierarchy],
    attributes: Sequence[JudgedAttribute],
    gain: Fraction,
) -> tuple[MinimalityGuesses, ...]:
    """The attack on each sensitive attribute, with the quasi-identifiers that the list of people
    has.

    An attribute is left out if the table has too many classes, or labels that are sets.

    gain: the least excess of the expected share over the share in the classes.
    """
    joined = replace(release, quasi=joined_quasi(release.quasi, background))
    columns = schema_of(background).names
    guesses = []
    for place, judged in enumerate(attributes):
        counted = labelled_tallies(joined, [place], MOST_CLASSES + 1)
        known = judged.name in columns
        people = distinct_people(
            background,
            [q.name for q in joined.quasi] + ([judged.name] if known else []),
        )
        guessed = _guesses(counted, joined.quasi, trees, people, judged, gain)
        if guessed is not None:
            guesses.append(guessed if known else replace(guessed, right=None))
    return tuple(guesses)


def _guesses(
    counted: pa.Table,
    joined: Sequence[JudgedQuasi],
    trees: Mapping[str, Hierarchy],
    people: Table,
    judged: JudgedAttribute,
    gain: Fraction,
) -> MinimalityGuesses | None:
    tally = ClassTally.read(counted, len(joined))
    m = len(judged.values)
    if counted.num_rows > MOST_CLASSES or tally.tuples.groups * m > MOST_CELLS:
        return None
    texts = [column.to_pylist() for column in tally.labels]
    axes = label_axes(joined, texts, trees, people)
    code = {value: i for i, value in enumerate(judged.values)}
    values = np.array([code[value] for value in tally.values[0].to_pylist()])[tally.tuples.values]
    counts = np.zeros((tally.tuples.groups, m), dtype=np.int64)
    np.add.at(counts, (tally.tuples.owner, values), tally.tuples.counts)
    low, high, owner = class_boxes(texts, axes)
    if len(owner) > len(counts):
        return None
    none = MinimalityGuesses(attribute=judged.name, people=0, said=None, at_least=None, right=None)
    targets = find_targets(low, high, counts)
    if not targets:
        return none
    guessed_values, which = np.unique([target.sensitive for target in targets], return_inverse=True)
    targets = [replace(target, sensitive=int(i)) for target, i in zip(targets, which, strict=True)]
    counts = counts[:, guessed_values]
    names = [judged.values[i] for i in guessed_values.tolist()]
    sizes = np.bincount(
        tally.tuples.owner,
        weights=tally.tuples.counts,
        minlength=tally.tuples.groups,
    ).astype(np.int64)
    classes = ReleasedClasses(low, high, sizes, counts)
    with keep(people) as listed:
        worth = _significant(
            targets,
            lambda chosen: _sums(listed, axes, classes, chosen, names),
            lambda target, one: expected(
                target,
                one.people,
                one.covered,
                np.flatnonzero(one.boxes),
                classes,
            ),
            gain,
        )
    n = sum(one.people for one, _ in worth)
    if not n:
        return none
    return MinimalityGuesses(
        attribute=judged.name,
        people=n,
        said=sum(one.said for one, _ in worth) / UNIT / n,
        at_least=sum(expects * one.people for one, expects in worth) / n,
        right=sum(one.right for one, _ in worth) / n,
    )


def _significant(
    targets: Sequence[Target],
    sums_of: Callable[[Sequence[Target]], Sequence[_Sum]],
    expectation: Callable[[Target, _Sum], tuple[float, float]],
    gain: Fraction,
) -> list[tuple[_Sum, float]]:
    """(sums, expected share) of the guesses that count: the expected share exceeds that in the
    classes by at least `gain`, and chance does not explain it.

    Other targets are dropped, and the remaining ones guess again, because a dropped target's people
    may be theirs.
    """
    looked = len(targets)
    while targets:
        guessed = set()
        worth = {}
        for target, one in zip(targets, sums_of(targets), strict=True):
            if one.people:
                guessed.add(target)
                expects, chance = expectation(target, one)
                if chance * looked <= CHANCE and expects - one.said / UNIT / one.people >= float(
                    gain,
                ):
                    worth[target] = (one, expects)
        if len(worth) == len(guessed):
            return list(worth.values())
        targets = [target for target in targets if target in worth or target not in guessed]
    return []


@dataclass(kw_only=True)
class _Sum:
    """Sums of one target.

    people: guessed people.
    said: the sum, over them, of the value's share in the classes that they fit, in parts of UNIT.
    right: correct guesses.
    covered: all people whose value is the target's.
    boxes: whether guessed people fit each class.
    """

    people: int
    said: int
    right: int
    covered: int
    boxes: NDArray[np.bool_]

    def __add__(self, other: _Sum) -> _Sum:
        """The sums of the people of both."""
        return _Sum(
            people=self.people + other.people,
            said=self.said + other.said,
            right=self.right + other.right,
            covered=self.covered + other.covered,
            boxes=self.boxes | other.boxes,
        )


def _sums(
    people: Table,
    axes: Sequence[Axis],
    classes: ReleasedClasses,
    targets: Sequence[Target],
    names: Sequence[str | None],
) -> list[_Sum]:
    """The sums of each target. people: distinct quasi-identifiers and true values, if they are
    known, with their number.
    """

    def sums(batch: pa.RecordBatch) -> list[_Sum]:
        *labels, weights = batch.columns
        points = np.stack(
            [axis_codes(axis, column) for axis, column in zip(axes, labels, strict=False)],
            axis=1,
        )
        weight = weights.to_numpy()
        known = np.array(labels[-1].to_pylist(), dtype=object)
        by, said = guess_values(points, weight, classes, targets)
        boxes = classes.low, classes.high, classes.sizes
        result = []
        for number, target in enumerate(targets):
            hit = by == number
            here = (points[:, target.axis] >= target.low) & (points[:, target.axis] <= target.high)
            shares = zip((said[hit] * UNIT).tolist(), weight[hit].tolist(), strict=True)
            result.append(
                _Sum(
                    people=int(weight[hit].sum()),
                    said=sum(int(share) * n for share, n in shares),
                    right=int(weight[hit & (known == names[target.sensitive])].sum()),
                    covered=int(weight[here].sum()),
                    boxes=count_inside(points[hit], weight[hit], *boxes).people > 0,
                ),
            )
        return result

    return merged(people, sums, lambda one, other: [*map(add, one, other)])
