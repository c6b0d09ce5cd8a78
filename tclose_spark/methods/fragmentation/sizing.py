"""Class sizes: for each fragmentation of the search, the sizes at which its classes are proven to
hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd, isqrt

import numpy as np

from tclose_spark.measures.distances.histograms import MultiplicityMatrix
from tclose_spark.methods.dealing.relaxed_conformance import SURE, FragmentTable
from tclose_spark.methods.dealing.stacks import Stack, orders
from tclose_spark.table.arrays import FloatArray, IntArray

# Of the portfolio, those whose bounds are lowest at one size are looked at at all of them.
ORDERS = 3
EACH_SIZE = 64  # up to here every size is looked at, above about every fiftieth


@dataclass(frozen=True, kw_only=True)
class SizedFragmentation:
    """A fragmentation, and the classes that are dealt from it.

    fragments: their number.
    fragment_of: of each cell, shape (cells,).
    bounds: the aggregate bound of each attribute.
    stack: of the fragments, in the order called `order`.
    size: of the smallest class.
    classes: their number.
    proven: the bounds plus the cost of rounding shares, at this size.
    smallest: the least class size whose bounds hold (it may be below k).
    loss: of information, when the sample is dealt.
    measured: whether the size rests on measured distances rather than bounds.
    """

    fragments: int
    fragment_of: IntArray
    bounds: tuple[float, ...]
    stack: Stack
    order: str
    size: int
    classes: int
    proven: tuple[float, ...]
    smallest: int
    loss: float = 1.0
    measured: bool = False

    def resized(self, size: int, loss: float) -> SizedFragmentation:
        """The same fragmentation with classes of a measured size."""
        e = self.stack.rows // size
        return replace(self, size=self.stack.rows // e, classes=e, loss=loss, measured=True)


def sizes_from(smallest: int, rows: int) -> Iterator[tuple[int, int]]:
    """(class size, number of classes), from small to large; the last one is one class of all
    rows.
    """
    size = min(smallest, rows)
    while True:
        e = rows // size
        yield rows // e, e
        if e == 1:
            return
        size = min(max(rows // e + 1, size + (size // 50 if size > EACH_SIZE else 1)), rows)


def centres(
    matrix: MultiplicityMatrix,
    fragment_of: IntArray,
    rows: IntArray,
) -> MultiplicityMatrix:
    """The fragments as cells of a matrix. An attribute's code is the rank of a fragment's centre of
    gravity.

    Fragments with equal centres differ by their number, a last attribute.
    """
    ranks = [
        np.unique(
            (np.bincount(fragment_of, matrix.counts * matrix.codes[:, a]) / rows).round(9),
            return_inverse=True,
        )[1]
        for a in range(matrix.attributes)
    ]
    codes = np.stack([*ranks, np.arange(len(rows))], axis=1)
    return MultiplicityMatrix(
        codes,
        rows,
        tuple(int(codes[:, a].max()) + 1 for a in range(codes.shape[1])),
    )


def best_stacks(
    table: FragmentTable,
    portfolio: Sequence[tuple[str, Stack]],
    limits: FloatArray,
    size: int,
) -> list[tuple[str, Stack]]:
    """The stacks of the portfolio with the lowest proven bounds at one class size."""
    e = max(int(table.rows.sum()) // size, 1)
    never = np.full(len(limits), -1.0)  # a few compositions of each will do
    ratios = [
        float(np.max(table.largest_bounds(stack, e, never) / limits)) for _, stack in portfolio
    ]
    return [portfolio[i] for i in np.argsort(ratios, kind="stable")[:ORDERS]]


def prove(
    matrix: MultiplicityMatrix,
    fragment_of: IntArray,
    table: FragmentTable,
    bounds: tuple[float, ...],
    thresholds: Mapping[str, float],
    k: int,
) -> SizedFragmentation:
    """The smallest class size, of at least k rows, at which the bounds of all classes hold with
    proportional shares.

    thresholds: t by attribute, infinite without one. If an aggregate bound is above its t, one
        class of all rows remains.
    """
    n = matrix.rows
    fragments = len(table.rows)
    limits = np.array(list(thresholds.values())) - SURE
    portfolio = list(orders(centres(matrix, fragment_of, table.rows), tuple(thresholds)))
    stacks = best_stacks(table, portfolio, limits, max(k, min(fragments, n)))
    provable = bool(np.all(np.array(bounds) <= limits))
    order, stack, size, e, proven = _first_proven(table, stacks, limits, k if provable else n, n)
    below = _first_proven(table, stacks, limits, 2, min(k, n)) if provable and k > 2 else None
    smallest = below[2] if below is not None and np.all(below[4] <= limits) else size
    return SizedFragmentation(
        fragments=fragments,
        fragment_of=fragment_of,
        bounds=bounds,
        stack=stack,
        order=order,
        size=size,
        classes=e,
        proven=tuple(proven.tolist()),
        smallest=smallest,
    )


def _first_proven(
    table: FragmentTable,
    stacks: Sequence[tuple[str, Stack]],
    limits: FloatArray,
    smallest: int,
    largest: int,
) -> tuple[str, Stack, int, int, FloatArray]:
    """(order, stack, class size, classes, bounds) of the first size from `smallest` on whose bounds
    hold, otherwise of the largest size.
    """
    for size, e in sizes_from(smallest, int(table.rows.sum())):
        for order, stack in stacks:
            proven = table.largest_bounds(stack, e, limits)
            if np.all(proven <= limits):
                return order, stack, size, e, proven
        if size >= largest:
            break
    return *stacks[0], size, e, table.largest_bounds(stacks[0][1], e, limits)


def gcd_classes(rows: Sequence[int] | IntArray) -> int:
    """The largest number of equal classes that conform exactly: the greatest common divisor of the
    fragments' rows (Gowda 2023, 4.4.2).

    >>> gcd_classes([6, 9, 12])
    3
    """
    return gcd(*(int(size) for size in rows))


def conform_exactly(
    matrix: MultiplicityMatrix,
    fragment_of: IntArray,
    rows: IntArray,
    bounds: tuple[float, ...],
    k: int,
) -> SizedFragmentation:
    """Exactly conforming classes (Gowda 2023, 4.4.2): their number divides the rows of every
    fragment, and each has k rows.

    rows: of each fragment, shape (f,).
    """
    most = gcd_classes(rows)
    small = [d for d in range(1, isqrt(most) + 1) if most % d == 0]
    e = max(d for d in {1, *small, *(most // d for d in small)} if d == 1 or matrix.rows // d >= k)
    return SizedFragmentation(
        fragments=len(rows),
        fragment_of=fragment_of,
        bounds=bounds,
        stack=Stack(np.arange(len(rows)), rows),
        order="as found",
        size=matrix.rows // e,
        classes=e,
        proven=bounds,
        smallest=matrix.rows // most,
    )
