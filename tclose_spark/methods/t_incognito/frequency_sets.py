"""Frequency sets: the rows of each cell in every group of a node (LeFevre, DeWitt and Ramakrishnan
2005, with the sensitive values counted too). A coarser node's set follows from a finer one's, never
from rows.

Which groups of a frequency set are classes: k rows, every t, every l and every beta, in exact
integers.

What the search may prune by, with A a union of groups B:

    k, distinct l               if A breaks it, every B does: A has at least the rows and the values
                                of each B
    t (Li et al. 2007, Fact 2)  if A breaks it, some B does: the distance is convex
    entropy l                   likewise: entropy is concave
    recursive l                 likewise: r_1 of A is at most the sum of those of the B, its tail at
                                least that of their tails
    frequency l, beta           likewise: what caps the shares of values in each B caps those in A

So where no row may be suppressed, a node that is coarser than one that holds, or has fewer of its
quasi-identifiers, holds as well (generalization and subset property). With a suppression limit it
need not: a coarser node may have one large group too far where a finer one had a small one too
many. But how many rows go at least does have both properties. Of a group A of s rows at distance D,
let R be in those B that are no classes; the others are within t, so by convexity D s <= t (s - R) +
m R, where m is the largest distance of anyone, and R >= s (D - t) / (m - t); all of A where it
breaks k or distinct l. The sum over a node's groups is a bound for all finer nodes and for those of
more quasi-identifiers (`least_lost`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.methods.attributes import ResolvedSensitive
from tclose_spark.methods.class_requirement import CellGroups, ClassRequirement
from tclose_spark.table.arrays import WIDEST, Codes, IntArray


@dataclass(frozen=True, kw_only=True)
class FrequencySet(CellGroups):
    """The groups of rows with the same labels at a node, and each group's rows by cell.

    labels: of each group, shape (quasi-identifiers, groups).
    """

    labels: Codes

    def rolled_up(self, maps: Sequence[tuple[int, Codes]], cells: int) -> FrequencySet:
        """The frequency set of some of the quasi-identifiers, at labels no finer.

        maps: (its place here, the new label of each of its labels) of each that is kept.
        cells: how many the table has.

        >>> ages = FrequencySet(labels=np.array([[0, 1, 2]]), group=np.array([0, 1, 1, 2]),
        ...                     cell=np.array([0, 0, 1, 1]), rows=np.array([2, 1, 4, 8]))
        >>> made = ages.rolled_up([(0, np.array([0, 0, 1]))], cells=2)
        >>> made.labels.tolist(), made.group.tolist(), made.cell.tolist(), made.rows.tolist()
        ([[0, 1]], [0, 0, 1], [0, 1, 1], [3, 4, 8])
        """
        columns = [above[self.labels[place]] for place, above in maps]
        first, number = number_tuples(columns, [int(above.max()) + 1 for _, above in maps])
        key = number[self.group] * cells + self.cell
        largest = len(first) * cells
        if largest <= 4 * len(key):
            # Exact below 2^53.
            rows = np.bincount(key, weights=self.rows, minlength=largest).astype(np.int64)
            key = np.flatnonzero(rows)
            rows = rows[key]
        else:
            order = np.argsort(key)
            key = key[order]
            starts = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
            key = key[starts]
            rows = np.add.reduceat(self.rows[order], starts)
        labels = np.stack([column[first] for column in columns])
        return FrequencySet(labels=labels, group=key // cells, cell=key % cells, rows=rows)

    def only(self, groups: IntArray) -> FrequencySet:
        """The frequency set of the groups at these ascending places."""
        number = np.full(self.groups, -1, dtype=np.int64)
        number[groups] = np.arange(len(groups))
        here = np.flatnonzero(number[self.group] >= 0)
        return FrequencySet(
            labels=self.labels[:, groups],
            group=number[self.group[here]],
            cell=self.cell[here],
            rows=self.rows[here],
        )


def number_tuples(
    columns: Sequence[Codes | IntArray],
    sizes: Sequence[int],
) -> tuple[IntArray, IntArray]:
    """(where each different tuple stands first, in ascending order of the tuples; the number of
    each tuple, shape (n,)). sizes: the codes of a column are below its own.

    >>> first, number = number_tuples([np.array([1, 0, 1]), np.array([2, 0, 2])], [2, 3])
    >>> first.tolist(), number.tolist()
    ([1, 0], [1, 0, 1])
    """
    key = np.zeros(len(columns[0]), dtype=np.int64)
    bound = 1
    for column, size in zip(columns, sizes, strict=True):
        if bound * size >= WIDEST:
            known, key = np.unique(key, return_inverse=True)
            bound = len(known)
        key = key * size + column
        bound = bound * size
    if bound <= 4 * len(key):
        first = np.full(bound, -1, dtype=np.int64)
        first[key[::-1]] = np.arange(len(key) - 1, -1, -1)
        present = np.flatnonzero(first >= 0)
        rank = np.zeros(bound, dtype=np.int64)
        rank[present] = np.arange(len(present))
        return first[present], rank[key]
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    return first, number


Mask = NDArray[np.bool_]

MOST_ADDED = 200  # classes that are suppressed with others so that all form a class
MOST_COUNTS = 1 << 20  # counts of cells held for that


def least_lost(requirement: ClassRequirement, groups: FrequencySet, lacking: int = 0) -> float:
    """A bound for the rows in groups that are no classes, of this node and of all that are finer or
    have more quasi-identifiers; a hair less, so that rounding makes it no more.

    lacking: rows of the whole table that may be missing in what distances are measured from, at
        most.
    """
    lost = np.where(requirement.poor(groups), groups.sizes, 0).astype(np.float64)
    for a in requirement.attributes.sensitive:
        shift = _shift(a, lacking, requirement.attributes.rows) if lacking else 0.0
        if a.t is None or float(a.t) + shift >= 1:
            continue
        unit = a.distance.scale * requirement.attributes.rows
        values = np.flatnonzero(a.distance.table)
        alone = Histograms(np.arange(len(values) + 1), values, np.ones(len(values), dtype=np.int64))
        farthest = float(a.distance.numerators(alone).max()) / unit
        t = float(a.t) + shift
        if farthest > t:
            work = (
                a.distance.numerators(requirement.histograms(groups, a)).astype(np.float64) / unit
            )
            lost = np.maximum(lost, (work - t * groups.sizes) / (farthest - t))
    return float(lost.sum()) * (1 - 1e-9) - 1e-6


def largest_distances(
    requirement: ClassRequirement,
    groups: FrequencySet,
    cell_rows: IntArray,
) -> list[Fraction]:
    """The largest distance of a group, by sensitive attribute."""
    largest = []
    for a in requirement.attributes.sensitive:
        distance, numerators = requirement.distances(
            a,
            requirement.histograms(groups, a),
            cell_rows,
        )
        unit = distance.scale * int(distance.table.sum())
        pairs = zip(numerators.tolist(), groups.sizes.tolist(), strict=True)
        largest.append(max(Fraction(x, unit * size) for x, size in pairs))
    return largest


def _shift(a: ResolvedSensitive, lacking: int, rows: int) -> float:
    """How much farther from the whole table, at most, a group is than from all but so many of its
    rows.

    These are at most the share of the missing rows from the whole table. Where the domain is the
    values present, r of m may be missing: of an order by value two others come at most r places
    closer, of m - 1 or fewer. An order by frequency may become any other.
    """
    share = lacking / rows
    if a.order is None:
        return share
    if a.order == "frequency":
        return 1.0
    present = np.sort(a.distance.table[a.distance.table > 0])
    gone = int(np.searchsorted(np.cumsum(present), lacking, side="right"))
    return share + gone / max(len(a.domain.values) - 1, 1)


@dataclass(frozen=True, kw_only=True)
class Suppression:
    """The limit of suppression, and the requirements of released and suppressed rows.

    Groups that are not classes are suppressed, if they are few enough. If the input's distribution
    is public, so is that of the suppressed rows, which must therefore form a class
    (`options.suppression.judge`). If they do not, the smallest classes are suppressed too, until
    they do. ARX does not require this.

    requirement: of every class.
    most: the most rows that may be suppressed.
    of: the distribution that classes are compared with (`PlanningInput.of`).
    class_of_suppressed: whether the suppressed rows must be a class if `of` is the input. Without
        it, nodes are those of ARX, and the verifier objects.
    """

    requirement: ClassRequirement
    most: int
    of: Literal["input", "released"] = "input"
    class_of_suppressed: bool = True

    def may_hold(self, groups: FrequencySet) -> bool:
        """Whether this node, a finer one, or one of more quasi-identifiers may hold.

        If so, coarser nodes and nodes of fewer quasi-identifiers may too (see `requirement`).
        Without suppression: whether this node holds.
        """
        if not self.most:
            return self.suppressed(groups) is not None
        return (
            least_lost(self.requirement, groups, self.most if self.of == "released" else 0)
            <= self.most
        )

    def suppressed(self, groups: FrequencySet) -> Mask | None:
        """The suppressed groups, shape (groups,); None if suppression does not suffice."""
        sizes = groups.sizes
        requirement = self.requirement
        poor = requirement.poor(groups)
        if sizes[poor].sum() > self.most:
            return None
        shifts = self.of == "released" and self.most
        left = self._beside_the_released(groups, poor) if shifts else requirement.broken(groups)
        rows = int(sizes[left].sum())
        if rows > self.most or left.all():
            return None
        if rows and self.of == "input" and self.class_of_suppressed:
            return self._as_a_class(groups, left)
        return left

    def _as_a_class(self, groups: FrequencySet, left: Mask) -> Mask | None:
        """The suppressed groups, with as many of the smallest classes as make them a class; None if
        no allowed number does.
        """
        kept = np.flatnonzero(~left)
        smallest = kept[np.argsort(groups.sizes[kept], kind="stable")]
        room = self.most - int(groups.sizes[left].sum())
        fits = int(np.searchsorted(np.cumsum(groups.sizes[smallest]), room, side="right"))
        tried = min(fits, len(kept) - 1, MOST_ADDED, MOST_COUNTS // self._cells)
        counts = np.zeros((tried + 1, self._cells), dtype=np.int64)
        counts[0] = groups.only(np.flatnonzero(left)).in_all(self._cells)
        for step, group in enumerate(smallest[:tried], start=1):
            entries = slice(*groups.offsets[group : group + 2])
            counts[step, groups.cell[entries]] = groups.rows[entries]
        holds = np.flatnonzero(~self.requirement.broken(CellGroups.of(np.cumsum(counts, axis=0))))
        if not len(holds):
            return None
        left = left.copy()
        left[smallest[: holds[0]]] = True
        return left

    def _beside_the_released(self, groups: FrequencySet, poor: Mask) -> Mask:
        """The suppressed groups if classes are compared with the released rows. Each suppression
        changes that distribution, until no class is too far. A suppressed group stays suppressed.
        """
        left = poor
        while not left.all() and groups.sizes[left].sum() <= self.most:
            kept = np.flatnonzero(~left)
            released = groups.only(kept)
            broken = self.requirement.broken(released, released.in_all(self._cells))
            if not broken.any():
                break
            left = left.copy()
            left[kept[broken]] = True
        return left

    @property
    def _cells(self) -> int:
        return len(self.requirement.attributes.cells)

    def compared(self, groups: FrequencySet, left: Mask) -> IntArray:
        """Rows of each cell in the distribution that classes are compared with, shape (cells,)."""
        if self.of == "input":
            return self.requirement.attributes.cell_rows
        return groups.only(np.flatnonzero(~left)).in_all(self._cells)
