"""What the method's choices reveal (minimality attack), counted while the release is written: see
`measures.disclosure.minimality`.

A row's raw quasi-identifiers, its labels and its class are together only in these tasks. They send
codes and counts. The driver adds names, which are raw values, so the figure stays in `internal/`.
The distribution of a class is that of the rows with its labels in one task. If several tasks have
rows with equal labels, each part counts as a class: it meets k and t by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tclose_spark.engine.protocol import Session
from tclose_spark.engine.tables import task_sum
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
from tclose_spark.stages.generalize import run_starts
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.domains import Profile, QuasiDomain, SensitiveDomain
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.labels import MISSING, NumericLabels, encode_numbers
from tclose_spark.table.rows import Rows

MOST_SENT = 1 << 24  # counts that all tasks together may send
MOST_CELLS = 1 << 18  # counts that a task may send
MOST_SENSITIVE = 64  # groups of sensitive values
MOST_HALVINGS = 6  # of a numeric quasi-identifier: 64 ranges at the bottom
Sparse = dict[tuple[int, int], IntArray]
"""By (quasi-identifier, sensitive attribute) an array of shape (3, cells): place, people, said."""


@dataclass(frozen=True)
class Scale:
    """The values of one quasi-identifier as a tree: 0 is a missing value; 1, 2, ... are values,
    ranges or nodes.

    nodes: see `measures.disclosure.minimality.label_heights`.
    names: of the nodes of each height.
    edges: of numbers, the codes at which the second and later ranges begin.
    value_of: of categories, the value of each code.
    """

    nodes: tuple[IntArray, ...]
    names: tuple[tuple[str, ...], ...]
    edges: IntArray | None = None
    value_of: IntArray | None = None

    @staticmethod
    def of(domain: QuasiDomain, hierarchy: Hierarchy | None, most: int) -> Scale | None:
        """The finest scale with at most `most` counts, None if there is none."""
        if domain.kind != "category":
            halvings = max(
                (h for h in range(MOST_HALVINGS + 1) if ((1 << h) + 1) * (h + 2) <= most),
                default=None,
            )
            return None if halvings is None else Scale._of_numbers(domain, halvings)
        if not domain.values:
            return None  # missing in all rows
        tree = [np.arange(len(domain.values))] if hierarchy is None else list(hierarchy.nodes[:-1])
        below = next(
            (
                i
                for i, node in enumerate(tree)
                if (int(node.max(initial=0)) + 2) * (len(tree) - i + 1) <= most
            ),
            None,
        )
        if below is None:
            return None
        first = np.unique(tree[below], return_index=True)[1]  # a leaf below each value
        nodes = tuple(np.concatenate([[0], node[first] + 1]) for node in tree[below:])
        labels = (
            [domain.values]
            if hierarchy is None
            else [[path[h] for path in hierarchy.paths] for h in range(len(tree))]
        )
        names = tuple(
            ("missing", *(level[i] for i in np.unique(node, return_index=True)[1]))
            for level, node in zip(labels, tree, strict=True)
        )
        return Scale(nodes, names[below:], value_of=tree[below] + 1)

    @staticmethod
    def _of_numbers(domain: QuasiDomain, halvings: int) -> Scale:
        low = domain.low
        high = domain.high
        starts = list[float]()
        ends = list[float]()
        if domain.kind == "integer":
            width = max(1, -(-(int(high) - int(low) + 1) >> halvings))
            starts = [int(low) + i * width for i in range(1 << halvings)]
            edges = np.array(starts[1:], dtype=object).clip(max=2**63 - 1).astype(np.int64)
            ends = [x + width - 1 for x in starts]
        else:
            starts = [
                low * (1 - i / (1 << halvings)) + high * (i / (1 << halvings))
                for i in range(1 << halvings)
            ]
            edges = encode_numbers(np.array(starts[1:], dtype=np.float64))
            ends = [*starts[1:], high]
        ranges = np.arange(1 << halvings)
        write = NumericLabels(domain.kind == "integer", None, domain.calendar).write
        nodes = tuple(np.concatenate([[0], (ranges >> h) + 1]) for h in range(halvings + 1))
        names = tuple(
            (
                "missing",
                *(
                    f"{write(starts[i << h])} to {write(ends[((i + 1) << h) - 1])}"
                    for i in range(1 << (halvings - h))
                ),
            )
            for h in range(halvings + 1)
        )
        return Scale(nodes, names, edges=edges)

    def values(self, codes: IntArray) -> IntArray:
        """The value of each code of the rows."""
        if self.edges is not None:
            return np.where(
                codes == MISSING,
                0,
                np.searchsorted(self.edges, codes, side="right") + 1,
            )
        assert self.value_of is not None
        return np.where(codes == MISSING, 0, self.value_of[np.maximum(codes, 0)])


@dataclass(frozen=True)
class Groups:
    """A sensitive attribute in at most MOST_SENSITIVE groups: single values, otherwise ranges if it
    is ordered, and the most frequent values and a rest if not. group_of: the group of each of the
    profile's cells.
    """

    group_of: IntArray
    names: tuple[str, ...]

    @staticmethod
    def of(domain: SensitiveDomain, codes: IntArray, ordered: bool) -> Groups:
        """codes: of the attribute's value in each of the profile's cells."""
        values = ["missing" if value is None else value for value in domain.values]
        if len(values) <= MOST_SENSITIVE:
            return Groups(codes, tuple(values))
        if ordered:
            group = equal_mass(domain.table, MOST_SENSITIVE)
            members = [np.flatnonzero(group == g) for g in range(int(group.max()) + 1)]
            return Groups(
                group[codes],
                tuple(f"{values[g[0]]} to {values[g[-1]]}" for g in members),
            )
        frequent = np.argsort(-domain.table, kind="stable")[: MOST_SENSITIVE - 1]
        group = np.full(len(values), len(frequent))
        group[frequent] = np.arange(len(frequent))
        return Groups(group[codes], (*(values[code] for code in frequent), "any other"))


def merge_counts(counts: Sparse, part: Sparse) -> Sparse:
    """The first counts with the second added to them."""
    for pair, cells in part.items():
        both = np.concatenate([counts[pair], cells], axis=1) if pair in counts else cells
        place, index = np.unique(both[0], return_inverse=True)
        added = np.zeros((3, len(place)), dtype=np.int64)
        added[0] = place
        for sums, parts in zip(added[1:], both[1:], strict=True):
            np.add.at(sums, index, parts)
        counts[pair] = added
    return counts


class MinimalityCounter:
    """Counts in tasks; the driver reads `figure` after the write."""

    def __init__(
        self,
        session: Session,
        scales: Sequence[Scale | None],
        groups: Sequence[Groups],
    ) -> None:
        self.scales, self.groups = tuple(scales), tuple(groups)
        self._sum = task_sum(session, dict, merge_counts)

    @staticmethod
    def of(session: Session, attributes: ResolvedAttributes, tasks: int) -> MinimalityCounter:
        """The counter of a run that forms its classes in so many tasks."""
        quasi = attributes.quasi_identifiers
        groups = [
            Groups.of(a.domain, attributes.cells[:, a.column], a.distance.features.cumulative)
            for a in attributes.sensitive
        ]
        most = min(MOST_CELLS, MOST_SENT // tasks) // (
            len(quasi) * sum(len(group.names) for group in groups)
        )
        return MinimalityCounter(
            session,
            [Scale.of(q.domain, q.hierarchy, most) for q in quasi],
            groups,
        )

    def add(self, rows: Rows, labels: Sequence[pa.Array] | None) -> None:
        """In a task: counts released rows in the order of their labels. labels: None if the class
        of a row follows from its quasi-identifiers alone, so that no row can be left in a wide
        class.
        """
        if labels is None or not self._sum.counts or not len(rows):
            self._add(rows, lambda *groups: tally_at_height(0, *groups))
            return
        starts = run_starts(labels)
        self._add(
            rows,
            lambda values, trees, sensitive, m: tally_heights(values, trees, sensitive, starts, m),
        )

    def add_suppressed(self, rows: Rows) -> None:
        """In a task: counts suppressed rows."""
        self._add(rows, lambda *groups: tally_at_height(-1, *groups))

    def _add(self, rows: Rows, tallied: Callable[..., list[HeightTally]]) -> None:
        if not self._sum.counts or not len(rows):
            return
        scaled = [
            (q, scale, scale.values(rows.quasi[q]))
            for q, scale in enumerate(self.scales)
            if scale is not None
        ]
        values = [value for _, _, value in scaled]
        trees = [scale.nodes for _, scale, _ in scaled]
        for a, group in enumerate(self.groups):
            tallies = tallied(values, trees, group.group_of[rows.cell], len(group.names))
            self._sum.add(
                {
                    (q, a): _sparse(counted)
                    for (q, _, _), counted in zip(scaled, tallies, strict=True)
                },
            )

    def figure(self, profile: Profile, k: int, compared_with_input: bool) -> dict[str, Any]:
        """The true shares of sensitive values among rows that are suppressed or in wide classes,
        beside the shares that their classes show. It names raw values, so it must stay inside.
        compared_with_input: whether the distribution of suppressed rows is public.
        """
        sums = self._sum.value
        if sums is None:
            why = (
                "this session has no Spark context of its own (Spark Connect), so tasks cannot "
                "count"
            )
            return {"measured": False, "why": why}
        named: list[tuple[WideClassGroup, dict[str, Any]]] = []
        for (q, a), cells in sorted(sums.items()):
            scale = self.scales[q]
            group = self.groups[a]
            if int(cells[1].sum()) != profile.rows or scale is None:
                return {"measured": False, "why": "a retry disturbed the count"}
            counted = _dense(
                cells,
                (len(scale.nodes[0]), heights_of(scale.nodes), len(group.names)),
            )
            for one in groups_in_wide_classes(
                with_suppressed(counted, compared_with_input),
                scale.nodes,
                k,
            ):
                who = {
                    "quasi_identifier": profile.quasi[q].name,
                    "value": scale.names[one.height][one.node],
                }
                what = {
                    "sensitive_attribute": profile.sensitive[a].name,
                    "sensitive_value": group.names[one.sensitive],
                }
                shares = {
                    key: x
                    for key, x in asdict(one).items()
                    if key not in ("height", "node", "sensitive", "evidence")
                }
                named.append((one, {**who, **what, **shares, "surplus": one.surplus}))
        if not any(self.scales):
            return {
                "measured": False,
                "why": "the quasi-identifiers have too many values for the tasks to count",
            }
        beyond = beyond_chance(
            [one for one, _ in named],
            max(len(group.names) for group in self.groups),
        )
        line_of = {id(one): line for one, line in named}
        lines = [line_of[id(one)] for one in beyond]
        return {
            "measured": True,
            "left_out": [
                domain.name
                for domain, scale in zip(profile.quasi, self.scales, strict=True)
                if scale is None
            ],
            "worst": lines[0] if lines else None,
            "beyond_chance": lines,
            "values": [line for _, line in named],
        }


def _sparse(tallied: HeightTally) -> IntArray:
    place = np.flatnonzero((tallied.people.ravel() > 0) | (tallied.said.ravel() > 0))
    return np.stack([place, tallied.people.ravel()[place], tallied.said.ravel()[place]])


def _dense(cells: IntArray, shape: tuple[int, int, int]) -> HeightTally:
    tables = np.zeros((2, int(np.prod(shape))), dtype=np.int64)
    tables[:, cells[0]] = cells[1:]
    return HeightTally(*(table.reshape(shape) for table in tables))
