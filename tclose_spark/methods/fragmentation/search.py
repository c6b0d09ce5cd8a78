"""FIND-FRAGMENTATION: cuts one fragment until the bounds meet every t (Gowda 2023, 4.4.1 and 4.5;
Weber, 3.4.1).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tclose_spark.errors import UnreachableError
from tclose_spark.measures.distances.histograms import MultiplicityMatrix
from tclose_spark.methods.dealing.relaxed_conformance import Bounds, FragmentDiameter
from tclose_spark.methods.fragmentation.fragments import (
    DomainFragments,
    Fragment,
    FragmentCuts,
    Fragments,
    PaperFragments,
    ValueBins,
)
from tclose_spark.table.arrays import IntArray

Thresholds = Sequence[Fraction | float | None]
"""t of each sensitive attribute; None where any distance will do."""

Objective = Literal["hinge", "steepest"]
Kind = Literal["domain", "paper"]
Stop = Callable[[Bounds, int], bool]
"""`stop(bounds, fragments)`: whether a fragmentation will do."""

Progress = Callable[[int, float], None]
"""`progress(fragments, worst)`: fragments so far, and the largest bound over its t."""

PROGRESS_SECONDS = 0.5
SAME = 1e-12
"""Values of an objective this near are equal, so that rounding does not choose the cut."""

LEAST_T = 1e-6
"""A smaller t weighs as much as this one, so that a t of 0 has a weight."""


@dataclass(frozen=True, kw_only=True)
class SearchPath:
    """The fragmentations of a search: step i cuts fragment `parents[i]` of step i and makes
    fragment i + 1.

    last_fragment_of: shape (cells,); the fragment of each cell at the end.
    parents: shape (steps,); the fragment that was cut.
    attributes: shape (steps,); the attribute along which.
    last: shape (steps,); the last code of the half that stayed.
    exact_bounds: steps + 1 times the bounds, from the one fragment to the end.
    box: shape (attributes, 2), of the one fragment if fragments are boxes, otherwise None.
    """

    last_fragment_of: IntArray
    parents: IntArray
    attributes: IntArray
    last: IntArray
    exact_bounds: tuple[Bounds, ...]
    box: IntArray | None

    @property
    def steps(self) -> int:
        """The number of cuts."""
        return len(self.parents)

    @cached_property
    def bounds(self) -> NDArray[np.float64]:
        """The bounds after each step, shape (steps + 1, attributes)."""
        return np.array(self.exact_bounds, dtype=np.float64)

    def fragmentation(self, steps: int) -> IntArray:
        """The fragment 0..f-1 of each cell after this many steps, shape (cells,). Boxes without
        rows have no number.
        """
        numbers = self._ancestors(steps)[self.last_fragment_of]
        return (np.cumsum(self._held(steps)) - 1)[numbers]

    def boxes(self, steps: int) -> IntArray:
        """The index ranges of these fragments, shape (f, attributes, 2).

        Raises:
            ValueError: if the fragments are not boxes.
        """
        if self.box is None:
            raise ValueError("only fragments of the papers' bounds are boxes")
        boxes = [self.box.copy()]
        for parent, attribute, last in zip(
            self.parents[:steps],
            self.attributes,
            self.last,
            strict=False,
        ):
            upper = boxes[parent].copy()
            upper[attribute, 0] = last + 1
            boxes[parent][attribute, 1] = last
            boxes.append(upper)
        return np.stack(boxes)[self._held(steps)]

    def _ancestors(self, steps: int) -> IntArray:
        """The fragment after this many steps from which each final fragment comes."""
        ancestors = np.arange(self.steps + 1, dtype=np.int64)
        for later in range(steps + 1, self.steps + 1):
            ancestors[later] = ancestors[self.parents[later - 1]]
        return ancestors

    def _held(self, steps: int) -> NDArray[np.bool_]:
        """Whether each fragment has cells."""
        return np.bincount(self._ancestors(steps)[self.last_fragment_of], minlength=steps + 1) > 0


def find_fragmentation(
    matrix: MultiplicityMatrix,
    diameters: Sequence[FragmentDiameter],
    thresholds: Thresholds,
    *,
    kind: Kind = "domain",
    objective: Objective = "steepest",
    bins: ValueBins | None = None,
    stop: Stop | None = None,
    most: int | None = None,
    limit: float | None = None,
    progress: Progress | None = None,
) -> SearchPath:
    """The path of a search from one fragment, until `stop`, `most` fragments, or nothing can be
    cut.

    kind: the kind of bounds (see bounds).
    objective: which cut is taken, see `hinge` and `steepest`; of equal ones the first attribute's,
        then the first fragment's, then the lowest.
    bins: by attribute, the bin of each value of an ordered one, at whose edges only it is cut; the
        bounds still see every value.
    limit: seconds in which the bounds must meet every t; a search that has come so far goes on, so
        that its result does not depend on the clock.

    Raises:
        UnreachableError: if the time is over before.
        ValueError: if no attribute has a t, bins are of an attribute that is not ordered, or the
            papers' bounds are to be met by one.
    """
    if all(t is None for t in thresholds):
        raise ValueError("no sensitive attribute has a t to search for")
    search = _Search(matrix, _fragments(matrix, diameters, kind, bins or {}), thresholds, objective)
    started = said = time.monotonic()
    while (
        not (stop is not None and stop(search.bounds, search.held))
        and (most is None or search.held < most)
        and len(search.cuts)
    ):
        now = time.monotonic()
        if limit is not None and now - started >= limit and not search.meets:
            raise UnreachableError(_out_of_time(search, thresholds, limit))
        if progress is not None and now - said >= PROGRESS_SECONDS:
            said = now
            progress(search.held, search.worst)
        search.step()
    return search.path()


def hinge(bounds: NDArray[np.float64], thresholds: NDArray[np.float64]) -> NDArray[np.float64]:
    """The excess of bounds over their t, summed over the attributes: the papers' objective, to be
    minimized (Weber, 3.4.1).

    bounds: shape (..., attributes); thresholds: shape (attributes,), infinite for attributes
        without a t.
    """
    above: NDArray[np.float64] = np.maximum(bounds - thresholds, 0).sum(axis=-1)
    return above


def steepest(bounds: NDArray[np.float64], thresholds: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of the fourth powers of bound over t. The worst attribute counts most, and the sum
    falls below every t too. Shapes as in `hinge`.
    """
    square = np.square(bounds / np.maximum(thresholds, LEAST_T))
    total: NDArray[np.float64] = np.square(square).sum(axis=-1)
    return total


class _Search:
    """A fragmentation in progress, and every cut that may be next."""

    def __init__(
        self,
        matrix: MultiplicityMatrix,
        fragments: Fragments,
        thresholds: Thresholds,
        objective: Objective,
    ) -> None:
        self._matrix = matrix
        self._kind = fragments
        self._objective = hinge if objective == "hinge" else steepest
        self._t = np.array([np.inf if t is None else float(t) for t in thresholds])
        top = fragments.top()
        self._box = top.box
        self._fragments = [top]
        self._weighted = [fragments.weighted(top)]
        self._steps: list[tuple[int, int, int]] = []
        self._bounds = [self._weighted[0]]
        self.held = 1
        """Fragments with rows."""
        self.cuts = fragments.cuts(top)
        self._owner = np.zeros(len(self.cuts), dtype=np.int64)

    @property
    def bounds(self) -> Bounds:
        """The current aggregate bounds."""
        return self._bounds[-1]

    @property
    def meets(self) -> bool:
        """Whether every bound is at most its t."""
        return bool(np.all(np.array(self.bounds, dtype=np.float64) <= self._t))

    @property
    def worst(self) -> float:
        """The largest bound over its t."""
        return float(np.max(np.array(self.bounds, dtype=np.float64) / np.maximum(self._t, LEAST_T)))

    def step(self) -> None:
        """Takes the best cut."""
        chosen = self._best()
        cut = (
            int(self._owner[chosen]),
            int(self.cuts.attribute[chosen]),
            int(self.cuts.last[chosen]),
        )
        parent = cut[0]
        new = len(self._fragments)
        halves = self._kind.halves(self._fragments[parent], *cut[1:])
        weighted = [self._kind.weighted(half) for half in halves]
        parts = zip(self.bounds, self._weighted[parent], *weighted, strict=True)
        self._bounds.append(
            tuple(bound - whole + lower + upper for bound, whole, lower, upper in parts),
        )
        self.held += all(len(half.cells) for half in halves)
        self._fragments[parent] = halves[0]
        self._weighted[parent] = weighted[0]
        self._fragments.append(halves[1])
        self._weighted.append(weighted[1])
        self._steps.append(cut)
        self._replace(parent, [(parent, halves[0]), (new, halves[1])])

    def _best(self) -> int:
        """The cut that the objective chooses."""
        bounds = np.array(self.bounds, dtype=np.float64)
        values = self._objective(bounds + self.cuts.changes, self._t)
        least = values.min()
        # Cuts of one fragment along one attribute are kept from the lowest to the highest.
        tied = np.flatnonzero(values <= least + SAME * max(1.0, abs(least)))
        return int(tied[np.lexsort((tied, self._owner[tied], self.cuts.attribute[tied]))[0]])

    def _replace(self, parent: int, halves: list[tuple[int, Fragment]]) -> None:
        """Replaces a fragment's cuts by those of its halves."""
        stay = self._owner != parent
        old = FragmentCuts(self.cuts.attribute[stay], self.cuts.last[stay], self.cuts.changes[stay])
        new = [self._kind.cuts(half) for _, half in halves]
        self._owner = np.concatenate(
            [
                self._owner[stay],
                *(np.full(len(c), n) for (n, _), c in zip(halves, new, strict=True)),
            ],
        )
        self.cuts = FragmentCuts.joined([old, *new], len(self._t))

    def path(self) -> SearchPath:
        """The path so far."""
        last_fragment_of = np.empty(self._matrix.cells, dtype=np.int64)
        for number, fragment in enumerate(self._fragments):
            last_fragment_of[fragment.cells] = number
        parents, attributes, last = np.array(self._steps, dtype=np.int64).reshape(-1, 3).T
        return SearchPath(
            last_fragment_of=last_fragment_of,
            parents=parents,
            attributes=attributes,
            last=last,
            exact_bounds=tuple(self._bounds),
            box=self._box,
        )


def _fragments(
    matrix: MultiplicityMatrix,
    diameters: Sequence[FragmentDiameter],
    kind: Kind,
    bins: ValueBins,
) -> Fragments:
    for attribute, bin_of in bins.items():
        if (
            not diameters[attribute].features.cumulative
            or len(bin_of) != diameters[attribute].domain
        ):
            raise ValueError("bins are of an ordered attribute, one number for each of its values")
    return (
        PaperFragments(matrix, diameters, bins)
        if kind == "paper"
        else DomainFragments(matrix, diameters, bins)
    )


def _out_of_time(search: _Search, thresholds: Thresholds, limit: float) -> str:
    reached = ", ".join(
        f"{float(b):.4g}" + ("" if t is None else f" (t {float(t):.4g})")
        for b, t in zip(search.bounds, thresholds, strict=True)
    )
    return (
        f"the search of a fragmentation reached {search.held:,} fragments with the bounds "
        f"{reached} in {limit:g} seconds; raise method.search_seconds, a t, or put values into "
        "bins"
    )
