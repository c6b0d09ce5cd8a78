"""Fragments and their cuts in two, with the change of every aggregate bound.

A fragment is cut along one attribute. Its cells, in an order along the attribute, fall into a lower
half that stays and an upper half that becomes a new fragment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tclose_spark.errors import InputError
from tclose_spark.measures.distances.bins import by_edges, equal_mass, equal_width
from tclose_spark.measures.distances.histograms import MultiplicityMatrix, sum_at
from tclose_spark.methods.dealing.relaxed_conformance import Bounds, FragmentDiameter, box_deltas
from tclose_spark.runfile.attributes import Bins
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.domains import SensitiveDomain, number_in_text

CHUNK = 1 << 20  # entries of a dense table of histograms held at once: 8 MiB
MOST_CUTS = 64
"""So many cuts of one fragment along one attribute are considered, evenly spaced by mass, where
there are more. Not for boxes.
"""

ValueBins = Mapping[int, IntArray]
"""For some ordered attributes the bin of each value: cuts are at the edges of bins only."""


@dataclass(frozen=True)
class Fragment:
    """Some cells of the matrix.

    cells: shape (c,); ascending.
    box: shape (attributes, 2); its index ranges, if it is a box.
    """

    cells: IntArray
    box: IntArray | None = None


@dataclass(frozen=True)
class FragmentCuts:
    """Possible cuts of fragments, one per entry.

    attribute, last: shape (cuts,); the attribute, and the last code of the half that stays, in the
        order along the attribute.
    changes: shape (cuts, attributes); the change of each aggregate bound.
    """

    attribute: IntArray
    last: IntArray
    changes: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.attribute)

    @staticmethod
    def joined(parts: Sequence[FragmentCuts], attributes: int) -> FragmentCuts:
        """The cuts of several parts."""
        none = np.zeros(0, dtype=np.int64)
        return FragmentCuts(
            np.concatenate([none, *(part.attribute for part in parts)]),
            np.concatenate([none, *(part.last for part in parts)]),
            np.concatenate([np.zeros((0, attributes)), *(part.changes for part in parts)]),
        )


class Fragments(Protocol):
    """The operations that the search needs, for one kind of bounds."""

    def top(self) -> Fragment:
        """The one fragment that has every cell."""
        ...

    def weighted(self, fragment: Fragment) -> Bounds:
        """What a fragment adds to each aggregate bound."""
        ...

    def cuts(self, fragment: Fragment) -> FragmentCuts:
        """The cuts of a fragment, by attribute, then in the order along it."""
        ...

    def halves(self, fragment: Fragment, attribute: int, last: int) -> tuple[Fragment, Fragment]:
        """The half that stays and the new one."""
        ...


@dataclass(frozen=True)
class _Column:
    """One attribute inside a fragment: its codes (p,), ascending, their rows (p,), and the place of
    each cell's code among them.
    """

    codes: IntArray
    counts: IntArray
    place: IntArray


class DomainFragments:
    """Fragments for bounds of kind domain: sets of cells, cut between the units of their
    attribute.
    """

    def __init__(
        self,
        matrix: MultiplicityMatrix,
        diameters: Sequence[FragmentDiameter],
        bins: ValueBins,
    ) -> None:
        self._matrix = matrix
        self._diameters = diameters
        self._bins = bins
        # One attribute's codes next to each other: gathering some cells of them is several times
        # faster.
        self._codes = [np.ascontiguousarray(codes) for codes in matrix.codes.T]

    def top(self) -> Fragment:
        return Fragment(np.arange(self._matrix.cells, dtype=np.int64))

    def weighted(self, fragment: Fragment) -> Bounds:
        columns = [self._column(fragment, attribute) for attribute in range(len(self._diameters))]
        return tuple(
            Fraction(
                int(diameter.weighted(column.codes, column.counts[None, :])[0]),
                diameter.scale * self._matrix.rows,
            )
            for diameter, column in zip(self._diameters, columns, strict=True)
        )

    def cuts(self, fragment: Fragment) -> FragmentCuts:
        counts = self._matrix.counts[fragment.cells]
        columns = [self._column(fragment, attribute) for attribute in range(len(self._diameters))]
        cuts = []
        for attribute, column in enumerate(columns):
            units = self._units(attribute, column)
            ends = thinned(sum_at(units, column.counts, int(units.max()) + 1))
            if not len(ends):
                continue
            # Of each cell: cut i has the groups 0..i below it.
            group = np.searchsorted(ends, units)[column.place]
            changes = [
                self._changes(s, columns[s], group, counts, len(ends)) for s in range(len(columns))
            ]
            last = np.zeros(int(units.max()) + 1, dtype=np.int64)
            last[units] = column.codes  # codes ascend, so the greatest of a unit stays
            cuts.append(
                FragmentCuts(
                    np.full(len(ends), attribute, dtype=np.int64),
                    last[ends],
                    np.stack(changes, axis=1),
                ),
            )
        return FragmentCuts.joined(cuts, len(self._diameters))

    def halves(self, fragment: Fragment, attribute: int, last: int) -> tuple[Fragment, Fragment]:
        column = self._column(fragment, attribute)
        units = self._units(attribute, column)
        stays = (units <= units[np.searchsorted(column.codes, last)])[column.place]
        return Fragment(fragment.cells[stays]), Fragment(fragment.cells[~stays])

    def _column(self, fragment: Fragment, attribute: int) -> _Column:
        codes = self._codes[attribute][fragment.cells]
        counts = self._matrix.counts[fragment.cells]
        domain = self._matrix.domains[attribute]
        if domain > 8 * len(
            codes,
        ):  # a pass over the domain would cost more than sorting the few cells
            present, place = np.unique(codes, return_inverse=True)
            return _Column(present, sum_at(place, counts, len(present)), place)
        histogram = sum_at(codes, counts, domain)
        present = np.flatnonzero(histogram)
        place_of = np.zeros(domain, dtype=np.int64)
        place_of[present] = np.arange(len(present))
        return _Column(present, histogram[present], place_of[codes])

    def _units(self, attribute: int, column: _Column) -> IntArray:
        if attribute not in self._bins:
            return self._diameters[attribute].units(column.codes, column.counts)
        bins = self._bins[attribute][column.codes]
        return np.cumsum(np.diff(bins, prepend=bins[0]) > 0).astype(np.int64)

    def _changes(
        self,
        attribute: int,
        column: _Column,
        group: IntArray,
        counts: IntArray,
        cuts: int,
    ) -> NDArray[np.float64]:
        """The change of one bound by each cut, shape (cuts,), from the histograms of all lower and
        upper halves.
        """
        diameter = self._diameters[attribute]
        present = len(column.codes)
        whole = diameter.weighted(column.codes, column.counts[None, :])[0]
        changes = np.empty(cuts)
        below = np.zeros(present, dtype=np.int64)
        step = max(1, CHUNK // present)
        for i in range(0, cuts, step):
            j = min(i + step, cuts)
            here = slice(None) if j - i == cuts else (group >= i) & (group < j)
            # Groups past the chunk go to a row that is dropped.
            row = np.minimum(group[here] - i, j - i)
            table = sum_at(row * present + column.place[here], counts[here], (j - i + 1) * present)
            lower = below + np.cumsum(table.reshape(-1, present)[:-1], axis=0)
            halves = diameter.weighted(column.codes, lower) + diameter.weighted(
                column.codes,
                column.counts - lower,
            )
            changes[i:j] = (halves - whole).astype(np.float64) / (
                diameter.scale * self._matrix.rows
            )
            below = lower[-1]
        return changes


def thinned(rows: IntArray) -> IntArray:
    """The units after which a fragment may be cut, at most MOST_CUTS: all but the last, or those
    nearest to even shares.

    rows: shape (units,); the rows of each unit.
    """
    if len(rows) - 1 <= MOST_CUTS:
        return np.arange(len(rows) - 1, dtype=np.int64)
    reached = np.cumsum(rows)
    shares = reached[-1] * (np.arange(1, MOST_CUTS + 1) / (MOST_CUTS + 1))
    return np.unique(np.minimum(np.searchsorted(reached, shares), len(rows) - 2)).astype(np.int64)


class PaperFragments:
    """Fragments for bounds of kind paper: boxes of index ranges with their empty cells (Gowda 2023,
    Definitions 5 and 6).

    A box is cut between any two indexes, so a half may have no rows; such a half is not cut again.
    """

    def __init__(
        self,
        matrix: MultiplicityMatrix,
        diameters: Sequence[FragmentDiameter],
        bins: ValueBins,
    ) -> None:
        if not all(
            diameter.features.cumulative and diameter.features.plain for diameter in diameters
        ):
            raise ValueError(
                "the papers' bounds are for ordered attributes only; use the bounds of the domain",
            )
        self._matrix = matrix
        self._bins = bins

    def top(self) -> Fragment:
        box = [[0, domain - 1] for domain in self._matrix.domains]
        return Fragment(
            np.arange(self._matrix.cells, dtype=np.int64),
            np.array(box, dtype=np.int64),
        )

    def weighted(self, fragment: Fragment) -> Bounds:
        assert fragment.box is not None
        deltas = box_deltas(
            self._matrix.codes[fragment.cells],
            self._matrix.counts[fragment.cells],
            fragment.box,
        )
        return tuple(delta / self._matrix.rows for delta in deltas)

    def cuts(self, fragment: Fragment) -> FragmentCuts:
        assert fragment.box is not None
        attributes = range(self._matrix.attributes)
        if not len(fragment.cells):
            return FragmentCuts.joined([], len(attributes))
        codes = self._matrix.codes[fragment.cells]
        counts = self._matrix.counts[fragment.cells].astype(np.float64)
        first, last = fragment.box.T
        cuts = []
        for a in attributes:
            places = np.arange(first[a], last[a], dtype=np.int64)
            ends = (
                places[np.diff(self._bins[a][first[a] : last[a] + 1]) > 0]
                if a in self._bins
                else places
            )
            at = codes[:, a] - first[a]
            length = int(last[a] - first[a]) + 1
            rows = np.cumsum(np.bincount(at, counts, minlength=length))[ends - first[a]]
            changes = np.empty((len(ends), len(attributes)))
            for s in attributes:
                offsets = codes[:, s] - first[s]
                moment = np.cumsum(np.bincount(at, counts * offsets, minlength=length))[
                    ends - first[a]
                ]
                all_rows = counts.sum()
                all_moment = counts @ offsets
                span = last[s] - first[s]
                cut = ends - first[s]
                lower = _box_delta(rows, moment, cut if s == a else span)
                shift = cut + 1 if s == a else 0
                rest = all_rows - rows
                upper = _box_delta(rest, all_moment - moment - shift * rest, span - shift)
                changes[:, s] = lower + upper - _box_delta(all_rows, all_moment, span)
            cuts.append(
                FragmentCuts(
                    np.full(len(ends), a, dtype=np.int64),
                    ends,
                    changes / self._matrix.rows,
                ),
            )
        return FragmentCuts.joined(cuts, len(attributes))

    def halves(self, fragment: Fragment, attribute: int, last: int) -> tuple[Fragment, Fragment]:
        assert fragment.box is not None
        stays = self._matrix.codes[fragment.cells, attribute] <= last
        lower = fragment.box.copy()
        upper = fragment.box.copy()
        lower[attribute, 1] = last
        upper[attribute, 0] = last + 1
        return Fragment(fragment.cells[stays], lower), Fragment(fragment.cells[~stays], upper)


def _box_delta(
    rows: NDArray[np.float64],
    moment: NDArray[np.float64],
    span: IntArray | int,
) -> NDArray[np.float64]:
    """Row-weighted Delta of kind paper from a box's rows, the sum of their offsets in it, and its
    length less 1.
    """
    farthest = np.maximum(moment, span * rows - moment)
    delta: NDArray[np.float64] = np.where(np.greater(span, 0), farthest / np.maximum(span, 1), 0.0)
    return delta


def bin_of(domain: SensitiveDomain, bins: Bins) -> IntArray:
    """The bin of each value of an ordered attribute, shape (m,). Missing values have a bin of their
    own.

    Raises:
        InputError: if bins by width or by edges are set for values that are not numbers.
    """
    known = [i for i, value in enumerate(domain.values) if value is not None]
    if not known:
        return np.zeros(len(domain.values), dtype=np.int64)
    numbers = [
        parsed for i in known if (parsed := number_in_text(str(domain.values[i]))) is not None
    ]
    if len(numbers) < len(known) and bins.equal_mass is None:
        raise InputError(
            f"attributes.sensitive_attributes.{domain.name}.bins: the values are no numbers; use "
            "equal_mass, or leave bins out",
        )
    if bins.equal_mass is not None:
        inside = equal_mass(domain.table[known], bins.equal_mass)
    elif bins.equal_width is not None:
        inside = equal_width(numbers, bins.equal_width)
    else:
        inside = by_edges(numbers, bins.edges or ())
    bin_numbers = np.zeros(len(domain.values), dtype=np.int64)
    bin_numbers[known] = inside + known[0]  # missing ones are the lowest or the highest
    if known[-1] + 1 < len(bin_numbers):
        bin_numbers[-1] = bin_numbers[-2] + 1
    return bin_numbers
