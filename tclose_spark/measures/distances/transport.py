"""The optimal transport plan behind a distance: which mass of a class moves where to make the
table's distribution.

What a class and the table share stays where it is; the surplus of the class moves to its deficit.
How it does is optimal for each form of ground distance (see `features`; Li, Li and
Venkatasubramanian 2007, 5.1-5.2; Dosselmann, Sadeqi and Hamilton, the weighted ordered distance of
2.1.2):

    cumulative features  surpluses to deficits in order: no two moves cross
    nodes                within the lowest nodes first; what is left of a node goes up, to be
                         matched above; where the root is next, any matching of surpluses and
                         deficits, here the one in order

Masses are integers over n * s inside, n records of the table and s of the class, so every plan is
exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose_spark.measures.distances.features import Features
from tclose_spark.measures.distances.ground_distances import GroundDistance
from tclose_spark.table.arrays import IntArray


@dataclass(frozen=True)
class Move:
    """Mass that goes from one value to another.

    source, target: codes.
    mass: share of the class that moves, above 0.
    distance: ground distance of the two, above 0, at most 1.
    """

    source: int
    target: int
    mass: Fraction
    distance: Fraction

    @property
    def cost(self) -> Fraction:
        """The weighted distance of the move (Dosselmann et al., Equation 5)."""
        return self.mass * self.distance


@dataclass(frozen=True)
class TransportPlan:
    """The moves that turn the distribution of a class into that of the table, in the order in which
    they are made.
    """

    moves: tuple[Move, ...]

    @property
    def cost(self) -> Fraction:
        """The earth mover's distance: what all moves cost (Dosselmann et al., Equation 6)."""
        return sum((move.cost for move in self.moves), Fraction(0))


def transport_plan(distance: GroundDistance, counts: IntArray) -> TransportPlan:
    """A cheapest plan that moves the distribution of a class onto `distance.table`; its cost is the
    class's distance.

    counts: records of the class by code, shape (m,); values that the table lacks may occur. The
        work is proportional to m, and for a hierarchical distance to m times the height. There are
        fewer moves than values.

    >>> from tclose_spark.measures.distances.ground_distances import OrderedDistance
    >>> plan = transport_plan(OrderedDistance(np.array([1, 1, 2])), np.array([1, 1, 0]))
    >>> [(move.source, move.target, str(move.mass), str(move.distance)) for move in plan.moves]
    [(0, 2, '1/4', '1'), (1, 2, '1/4', '1/2')]
    >>> plan.cost
    Fraction(3, 8)

    Raises:
        ValueError: if counts and table do not have one shape (m,), or one has a count below 0 or no
            record.
    """
    held = _checked(counts, "class")
    wanted = _checked(distance.table, "table")
    if len(held) != len(wanted):
        raise ValueError(f"the class has counts of {len(held)} values, the table of {len(wanted)}")
    s = sum(held)
    n = sum(wanted)
    excess = [n * c - s * total for c, total in zip(held, wanted, strict=True)]
    surplus = [_Mass(code, mass) for code, mass in enumerate(excess) if mass > 0]
    deficit = [_Mass(code, -mass) for code, mass in enumerate(excess) if mass < 0]
    moves = []
    for round_ in _rounds(distance.features):
        for source, target, mass in _match(surplus, deficit, round_.node_of):
            moves.append(
                Move(source, target, Fraction(mass, n * s), round_.between(source, target)),
            )
        surplus, deficit = ([one for one in masses if one.mass] for masses in (surplus, deficit))
    return TransportPlan(tuple(moves))


@dataclass(frozen=True)
class _Round:
    """One pass over surpluses and deficits, matching those below the same node.

    node_of: the node above each code, never descending; None where one node is above all.
    between: the ground distance of two codes that are matched in this round.
    """

    node_of: Sequence[int] | None
    between: Callable[[int, int], Fraction]


def _rounds(features: Features) -> list[_Round]:
    """The passes after which no surplus is left and the moves cost the least."""
    scale = features.scale
    weights = features.level_weights
    if features.cumulative:
        places = (
            np.cumsum(weights[0]) - weights[0]
        ).tolist()  # how far each value is from the first
        return [
            _Round(
                None,
                lambda source, target: Fraction(abs(places[source] - places[target]), scale),
            ),
        ]
    # Of each value, up to a height.
    ways = np.cumsum(np.take_along_axis(weights, features.nodes, axis=1), axis=0)
    above = [*(node.tolist() for node in features.nodes[1:]), None]
    return [
        _Round(node_of, _through(way, scale))
        for node_of, way in zip(above, ways.tolist(), strict=True)
    ]


def _through(way: Sequence[int], scale: int) -> Callable[[int, int], Fraction]:
    """The distance of two values that travel up to a node and down again."""
    return lambda source, target: Fraction(way[source] + way[target], scale)


@dataclass
class _Mass:
    """What a value has too much or too little of, in units of 1 / (n * s)."""

    code: int
    mass: int


def _match(
    surplus: list[_Mass],
    deficit: list[_Mass],
    node_of: Sequence[int] | None,
) -> Iterator[tuple[int, int, int]]:
    """Moves (source, target, mass) of surpluses into deficits below the same node, in order; lowers
    both by what moves.
    """
    i = j = 0
    while i < len(surplus) and j < len(deficit):
        here = surplus[i]
        there = deficit[j]
        if node_of is not None and node_of[here.code] != node_of[there.code]:
            if node_of[here.code] < node_of[there.code]:
                i += 1
            else:
                j += 1
            continue
        mass = min(here.mass, there.mass)
        yield here.code, there.code, mass
        here.mass -= mass
        there.mass -= mass
        i += not here.mass
        j += not there.mass


def _checked(counts: IntArray, whose: str) -> list[int]:
    """Counts by code as Python integers."""
    if np.ndim(counts) != 1:
        raise ValueError(
            f"the counts of the {whose} have shape {np.shape(counts)}; expected (values,)",
        )
    numbers: list[int] = np.asarray(counts).tolist()
    if min(numbers, default=0) < 0:
        raise ValueError(f"a count of the {whose} is below 0")
    if not any(numbers):
        raise ValueError(f"the {whose} has no records: it has no distribution")
    return numbers
