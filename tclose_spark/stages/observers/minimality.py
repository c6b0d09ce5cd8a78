"""What the method tells by its choices, measured while the release is written (see `measures.minimality`).

Only here a row's raw quasi-identifiers and its published labels are at hand together, and whole classes with them. A
task adds codes and counts to an accumulator, the driver puts names to them: raw values, so the figure stays in
`internal/`. What a class says is taken from the rows of its labels in one task: exact where a task holds all of them,
and where equal labels lie in several tasks each of these parts, which meets k and t by itself, stands for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tclose_spark.measures.disclosure.minimality import (
    HeightTally,
    WideClassGroup,
    beyond_chance,
    groups_in_wide_classes,
    heights_of,
    tally_at_height,
    tally_heights,
    with_suppressed,
)
from tclose_spark.measures.distances.bins import equal_mass
from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.dictionaries import coded, codes_of
from tclose_spark.table.domains import Profile, QuasiDomain, SensitiveDomain
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.labels import MISSING, NumericLabels, encode_numbers
from tclose_spark.table.rows import Rows

MOST_SENT = 1 << 24  # counts that all tasks together may send
MOST_CELLS = 1 << 18  # counts that a task may send
MOST_SENSITIVE = 64  # sensitive values that are told apart
MOST_RANGES = 6  # a numeric quasi-identifier is halved so often: 64 ranges at the bottom
Sparse = dict[tuple[int, int], IntArray]
"""By (quasi-identifier, sensitive attribute) an array of shape (3, cells): place, people, said."""


@dataclass(frozen=True)
class Scale:
    """The values of one quasi-identifier as a tree: 0 is a missing value, 1, 2, .. are values, ranges of numbers or
    nodes.

    nodes: see `measures.minimality.label_heights`.
    names: of the nodes of each height.
    edges: of a numeric one, the codes at which the ranges from the second on begin.
    value_of: of another, the value of each code.
    """

    nodes: tuple[IntArray, ...]
    names: tuple[tuple[str, ...], ...]
    edges: IntArray | None = None
    value_of: IntArray | None = None

    @staticmethod
    def of(domain: QuasiDomain, hierarchy: Hierarchy | None, most: int) -> Scale | None:
        """The scale with as many values as fit `most` counts; None if none does."""
        if domain.kind != "category":
            halvings = max((h for h in range(MOST_RANGES + 1) if ((1 << h) + 1) * (h + 2) <= most), default=None)
            return None if halvings is None else Scale._of_numbers(domain, halvings)
        if not domain.values:
            return None  # missing in all rows
        tree = [np.arange(len(domain.values))] if hierarchy is None else list(hierarchy.nodes[:-1])
        below = next(
            (i for i, node in enumerate(tree) if (int(node.max(initial=0)) + 2) * (len(tree) - i + 1) <= most), None
        )
        if below is None:
            return None
        first = np.unique(tree[below], return_index=True)[1]  # a leaf below each value
        nodes = tuple(np.concatenate([[0], node[first] + 1]) for node in tree[below:])
        labels = (
            [domain.values] if hierarchy is None else [[path[h] for path in hierarchy.paths] for h in range(len(tree))]
        )
        names = tuple(
            ("missing", *(level[i] for i in np.unique(node, return_index=True)[1]))
            for level, node in zip(labels, tree, strict=True)
        )
        return Scale(nodes, names[below:], value_of=tree[below] + 1)

    @staticmethod
    def _of_numbers(domain: QuasiDomain, halvings: int) -> Scale:
        low, high, starts, ends = domain.low, domain.high, list[float](), list[float]()
        if domain.kind == "integer":
            width = max(1, -(-(int(high) - int(low) + 1) >> halvings))
            starts = [int(low) + i * width for i in range(1 << halvings)]
            edges, ends = (
                np.array(starts[1:], dtype=object).clip(max=2**63 - 1).astype(np.int64),
                [x + width - 1 for x in starts],
            )
        else:
            starts = [low * (1 - i / (1 << halvings)) + high * (i / (1 << halvings)) for i in range(1 << halvings)]
            edges, ends = encode_numbers(np.array(starts[1:], dtype=np.float64)), [*starts[1:], high]
        ranges, write = np.arange(1 << halvings), NumericLabels(domain.kind == "integer", None, domain.calendar).write
        nodes = tuple(np.concatenate([[0], (ranges >> h) + 1]) for h in range(halvings + 1))
        names = tuple(
            (
                "missing",
                *(f"{write(starts[i << h])} to {write(ends[((i + 1) << h) - 1])}" for i in range(1 << (halvings - h))),
            )
            for h in range(halvings + 1)
        )
        return Scale(nodes, names, edges=edges)

    def values(self, codes: IntArray) -> IntArray:
        """The value of each code of the rows."""
        if self.edges is not None:
            return np.where(codes == MISSING, 0, np.searchsorted(self.edges, codes, side="right") + 1)
        assert self.value_of is not None
        return np.where(codes == MISSING, 0, self.value_of[np.maximum(codes, 0)])


@dataclass(frozen=True)
class Groups:
    """One sensitive attribute in at most MOST_SENSITIVE groups: its values, or ranges of an ordered one's, or its most
    frequent ones and the rest.

    group_of: of each of the profile's cells.
    """

    group_of: IntArray
    names: tuple[str, ...]

    @staticmethod
    def of(domain: SensitiveDomain, codes: IntArray, ordered: bool) -> Groups:
        """The groups of a sensitive attribute. codes: of its values in each of the profile's cells."""
        values = ["missing" if value is None else value for value in domain.values]
        if len(values) <= MOST_SENSITIVE:
            return Groups(codes, tuple(values))
        if ordered:
            group = equal_mass(domain.table, MOST_SENSITIVE)
            ends = [
                (np.flatnonzero(group == g)[0], np.flatnonzero(group == g)[-1]) for g in range(int(group.max()) + 1)
            ]
            return Groups(group[codes], tuple(f"{values[low]} to {values[high]}" for low, high in ends))
        frequent = np.argsort(-domain.table, kind="stable")[: MOST_SENSITIVE - 1]
        group = np.full(len(values), len(frequent))
        group[frequent] = np.arange(len(frequent))
        return Groups(group[codes], (*(values[code] for code in frequent), "any other"))


class _Added(AccumulatorParam[Sparse]):
    """Adds up what tasks counted."""

    def zero(self, value: Sparse) -> Sparse:
        return {}

    def addInPlace(self, value1: Sparse, value2: Sparse) -> Sparse:  # noqa: N802 - Spark's name
        for pair, cells in value2.items():
            both = np.concatenate([value1[pair], cells], axis=1) if pair in value1 else cells
            place, index = np.unique(both[0], return_inverse=True)
            added = np.zeros((3, len(place)), dtype=np.int64)
            added[0] = place
            for sums, parts in zip(added[1:], both[1:], strict=True):
                np.add.at(sums, index, parts)
            value1[pair] = added
        return value1


class MinimalityCounter:
    """Counts in tasks, reads on the driver. Spark adds what a result task counted once, however often it was tried.

    Sessions without a context of their own (Spark Connect) do not count.
    """

    def __init__(self, spark: SparkSession, scales: Sequence[Scale | None], groups: Sequence[Groups]) -> None:
        self.scales, self.groups = tuple(scales), tuple(groups)
        self._sum: Accumulator[Sparse] | None
        try:
            self._sum = spark.sparkContext.accumulator({}, _Added())
        except (PySparkException, AttributeError):
            self._sum = None

    @staticmethod
    def of(spark: SparkSession, attributes: ResolvedAttributes, tasks: int) -> MinimalityCounter:
        """The counter of a run whose classes are finished in so many tasks."""
        quasi = attributes.quasi_identifiers
        groups = [
            Groups.of(a.domain, attributes.cells[:, a.column], a.distance.features.cumulative)
            for a in attributes.sensitive
        ]
        most = min(MOST_CELLS, MOST_SENT // tasks) // (len(quasi) * sum(len(group.names) for group in groups))
        return MinimalityCounter(spark, [Scale.of(q.domain, q.hierarchy, most) for q in quasi], groups)

    def add(self, rows: Rows, labels: Sequence[pa.Array] | None) -> None:
        """In a task: counts released rows, which are in the order of their published labels. labels: None where the
        class of a row follows from its quasi-identifiers alone, so that nobody is left in a wide one.
        """
        if self._sum is None or not len(rows):
            return
        starts = None if labels is None else run_starts(labels)
        self._add(
            rows,
            lambda values, trees, sensitive, m: (
                tally_at_height(0, values, trees, sensitive, m)
                if starts is None
                else tally_heights(values, trees, sensitive, starts, m)
            ),
        )

    def add_suppressed(self, rows: Rows) -> None:
        """In a task: counts suppressed rows."""
        self._add(rows, lambda values, trees, sensitive, m: tally_at_height(-1, values, trees, sensitive, m))

    def _add(self, rows: Rows, tallied: Callable[..., list[HeightTally]]) -> None:
        if self._sum is None or not len(rows):
            return
        scaled = [(q, scale, scale.values(rows.quasi[q])) for q, scale in enumerate(self.scales) if scale is not None]
        values, trees = [value for _, _, value in scaled], [scale.nodes for _, scale, _ in scaled]
        for a, group in enumerate(self.groups):
            tallies = tallied(values, trees, group.group_of[rows.cell], len(group.names))
            self._sum.add({(q, a): _sparse(counted) for (q, _, _), counted in zip(scaled, tallies, strict=True)})

    def figure(self, profile: Profile, k: int, compared_with_input: bool) -> dict[str, Any]:
        """On the driver, after the write: what is true of those who are left in wide classes or suppressed, and what
        is said of them; with names and values, to be kept where the raw table is. compared_with_input: whether the
        distribution of suppressed rows is public.
        """
        if self._sum is None:
            return {
                "measured": False,
                "why": "this session has no context of its own (Spark Connect), so tasks cannot count",
            }
        named: list[tuple[WideClassGroup, dict[str, Any]]] = []
        for (q, a), cells in sorted(self._sum.value.items()):
            scale, group = self.scales[q], self.groups[a]
            if int(cells[1].sum()) != profile.rows or scale is None:
                return {"measured": False, "why": "a retry disturbed the count"}
            counted = _dense(cells, (len(scale.nodes[0]), heights_of(scale.nodes), len(group.names)))
            for one in groups_in_wide_classes(with_suppressed(counted, compared_with_input), scale.nodes, k):
                who = {"quasi_identifier": profile.quasi[q].name, "value": scale.names[one.height][one.node]}
                what = {"sensitive_attribute": profile.sensitive[a].name, "sensitive_value": group.names[one.sensitive]}
                shares = {
                    key: x for key, x in asdict(one).items() if key not in ("height", "node", "sensitive", "evidence")
                }
                named.append((one, {**who, **what, **shares, "surplus": one.surplus}))
        if not any(self.scales):
            return {"measured": False, "why": "the quasi-identifiers have too many values for the tasks to count"}
        beyond = beyond_chance([one for one, _ in named], max(len(group.names) for group in self.groups))
        line_of = {id(one): line for one, line in named}
        lines = [line_of[id(one)] for one in beyond]
        return {
            "measured": True,
            "left_out": [
                domain.name for domain, scale in zip(profile.quasi, self.scales, strict=True) if scale is None
            ],
            "worst": lines[0] if lines else None,
            "beyond_chance": lines,
            "values": [line for _, line in named],
        }


def run_starts(labels: Sequence[pa.Array]) -> IntArray:
    """The first rows of the classes, which are the runs of rows with the same labels."""
    new = np.zeros(len(labels[0]), dtype=bool)
    new[0] = True
    for column in labels:
        codes = codes_of(coded(column))
        new[1:] |= codes[1:] != codes[:-1]
    return np.flatnonzero(new)


def _sparse(tallied: HeightTally) -> IntArray:
    place = np.flatnonzero((tallied.people.ravel() > 0) | (tallied.said.ravel() > 0))
    return np.stack([place, tallied.people.ravel()[place], tallied.said.ravel()[place]])


def _dense(cells: IntArray, shape: tuple[int, int, int]) -> HeightTally:
    tables = np.zeros((2, int(np.prod(shape))), dtype=np.int64)
    tables[:, cells[0]] = cells[1:]
    return HeightTally(*(table.reshape(shape) for table in tables))
