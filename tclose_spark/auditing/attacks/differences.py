"""Differences of releases, from their labels alone: who came or left where few did.

Classes of different releases overlap if a person could be in both. Groups of overlapping classes
have the same people in every release, but for those who came or left. If a group has a few rows
more in one release, and all values that it has in the other, then the values that are left over are
those of the few.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, combinations

import numpy as np

from tclose_spark.auditing.attacks.intersection_attack import LabelledRelease, classes_in_memory
from tclose_spark.checks.classes.class_table import JudgedQuasi
from tclose_spark.checks.classes.tallies import ClassTally
from tclose_spark.checks.labels.boxes import Axis, class_boxes, require_covering
from tclose_spark.errors import InputError
from tclose_spark.measures.supersets.boxes import overlapping_groups
from tclose_spark.requirements.criterion import Guarantee
from tclose_spark.table.arrays import BoolArray, IntArray
from tclose_spark.table.hierarchies.hierarchy import ROOT, Hierarchy

MEASURE = "k-anonymity of differences"
WHAT = "--earlier"
MOST_PAIRS = 1 << 32  # of boxes that are compared


@dataclass(frozen=True, kw_only=True)
class Difference:
    """What two releases reveal of a sensitive attribute by their difference.

    groups: those that a few rows came to or left. people: these rows. fewest: of a group.
    """

    releases: tuple[str, str]
    attribute: str
    groups: int
    people: int
    fewest: int


@dataclass(frozen=True, kw_only=True)
class Differences:
    """Groups of overlapping classes, and what their differences reveal.

    joined: the quasi-identifiers that all releases have.
    groups: how many there are. k: that those who came to a group or left it should be. found: where
        they are fewer, and their values are exposed.
    """

    joined: tuple[str, ...]
    groups: int
    k: int | None
    found: tuple[Difference, ...]

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """A broken guarantee for each difference."""
        return tuple(
            Guarantee(
                measure=f"{MEASURE} ({' and '.join(one.releases)})",
                attribute=one.attribute,
                required=self.k,
                achieved=one.fewest,
                classes=one.groups,
                rows=one.people,
                worst={},
                size=one.fewest,
            )
            for one in self.found
        )

    @property
    def counts(self) -> Mapping[str, object]:
        """The figures as plain values."""
        found = [asdict(one) for one in self.found]
        return {
            "known_by": "labels",
            "joined": list(self.joined),
            "groups": self.groups,
            "differences": found,
        }

    def without_labels(self) -> Differences:
        """Itself: it has none."""
        return self


def find_differences(
    releases: Sequence[LabelledRelease],
    hierarchies: Mapping[str, Hierarchy],
    attributes: Sequence[str],
    k: int | None,
) -> Differences:
    """The differences of every two releases. attributes: the names of the sensitive ones, in the
    tallies' order.

    Raises:
        InputError: if no quasi-identifier is in all releases, or one has numbers in some and texts
            in others; if a label does not show which values it covers; or if there are too many
            classes to compare.
    """
    names = [
        q.name
        for q in releases[0].quasi
        if all(q.name in [p.name for p in one.quasi] for one in releases)
    ]
    if not names:
        raise InputError(
            f"{WHAT}: no quasi-identifier is in all tables; expected tables with the same columns",
        )
    quasi = [[next(q for q in one.quasi if q.name == name) for name in names] for one in releases]
    tallies = [
        classes_in_memory(replace(one, quasi=own), len(attributes))
        for one, own in zip(releases, quasi, strict=True)
    ]
    group, release = _groups(quasi, tallies, hierarchies)
    groups = int(group.max()) + 1
    grouped = [
        _Grouped(one.name, tally, group[release == i])
        for i, (one, tally) in enumerate(zip(releases, tallies, strict=True))
    ]
    found = []
    for one, other in combinations(grouped, 2):
        apart = np.abs(one.rows(groups) - other.rows(groups))
        few = (apart > 0) & (apart < (k or 0))
        for place, attribute in enumerate(attributes):
            exposed = [int(apart[number]) for number in _exposed(one, other, few, place)]
            if exposed:
                found.append(
                    Difference(
                        releases=(one.name, other.name),
                        attribute=attribute,
                        groups=len(exposed),
                        people=sum(exposed),
                        fewest=min(exposed),
                    ),
                )
    return Differences(joined=tuple(names), groups=groups, k=k, found=tuple(found))


@dataclass(frozen=True)
class _Grouped:
    """A release by groups of its classes. group: of each class, shape (classes,)."""

    name: str
    tally: ClassTally
    group: IntArray

    def rows(self, groups: int) -> IntArray:
        """The rows in each group, shape (groups,)."""
        rows = np.zeros(groups, dtype=np.int64)
        np.add.at(rows, self.group, self.tally.tuples.sizes)
        return rows

    def values(self, few: BoolArray, place: int) -> dict[int, Counter[str | None]]:
        """The values of an attribute in these groups, with their rows. few: shape (groups,)."""
        tuples = self.tally.tuples
        of = self.group[tuples.owner]
        entries = np.flatnonzero(few[of])
        texts = self.tally.values[place].take(tuples.values[entries]).to_pylist()
        counted: dict[int, Counter[str | None]] = {}
        for number, text, n in zip(
            of[entries].tolist(),
            texts,
            tuples.counts[entries].tolist(),
            strict=True,
        ):
            counted.setdefault(number, Counter())[text] += n
        return counted


def _groups(
    quasi: Sequence[Sequence[JudgedQuasi]],
    tallies: Sequence[ClassTally],
    hierarchies: Mapping[str, Hierarchy],
) -> tuple[IntArray, IntArray]:
    """(the group of each class, its release), over the classes of all releases. quasi: of each
    release.
    """
    labels = [[tally.labels[i].to_pylist() for tally in tallies] for i in range(len(quasi[0]))]
    shared = [
        _shared(of_quasi, columns)
        for of_quasi, columns in zip(zip(*quasi, strict=True), labels, strict=True)
    ]
    everywhere = [list(chain(*of_quasi)) for of_quasi in labels]
    require_covering(shared, everywhere, hierarchies, WHAT)
    axes = [
        replace(
            Axis.of(q, set(column), hierarchies.get(q.name)),
            missing_any=q.missing_any,
            lacking=q.missing_any,
        )
        for q, column in zip(shared, everywhere, strict=True)
    ]
    low, high, owner = class_boxes(everywhere, axes, WHAT)
    release = np.repeat(np.arange(len(tallies)), [tally.tuples.groups for tally in tallies])
    pairs = sum(int(a) * int(b) for a, b in combinations(np.bincount(release[owner]), 2))
    if pairs > MOST_PAIRS:
        raise InputError(
            f"{WHAT}: {pairs:,} pairs of classes are more than {MOST_PAIRS:,}; give --background "
            "TABLE, --person COLUMN or fewer quasi-identifiers",
        )
    return overlapping_groups(low, high, owner, release), release


def _exposed(one: _Grouped, other: _Grouped, few: BoolArray, place: int) -> Iterator[int]:
    """Those of a few groups where one release has all values that the other has. few: shape
    (groups,).
    """
    first, second = (release.values(few, place) for release in (one, other))
    for number in np.flatnonzero(few).tolist():
        here = first.get(number, Counter())
        there = second.get(number, Counter())
        if here <= there or here >= there:
            yield number


def _shared(quasi: Sequence[JudgedQuasi], labels: Sequence[Sequence[str | None]]) -> JudgedQuasi:
    """A quasi-identifier as all releases have it. labels: of each release."""
    telling = [
        q for q, column in zip(quasi, labels, strict=True) if set(column) - {None, ROOT}
    ] or list(quasi[:1])
    if len({q.loss.numeric for q in telling}) > 1:
        raise InputError(
            f"{WHAT}: {quasi[0].name}: its labels are numbers in some tables and texts in others; "
            "expected labels of one kind",
        )
    sets = any(q.loss.sets for q in telling)
    return replace(
        telling[0],
        loss=replace(telling[0].loss, sets=sets),
        missing_any=any(q.missing_any for q in quasi),
    )
