"""If rows are suppressed, public labels and hierarchies name values of released rows only.

Suppressed rows are known once all tasks are done. Tasks therefore note the values of released rows
during a first write. If a label names a value that only suppressed rows have, the same classes are
written again with other labels.

Every value of a category is noted. Of numbers only regions are (see
`methods.method.ClassAssignment`), each with the lowest and highest released value, so the driver
holds one entry for each region.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, combine
from tclose_spark.methods.attributes import ResolvedAttributes, ResolvedQuasi
from tclose_spark.methods.method import ClassAssignment
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.hierarchies.building import built_columns
from tclose_spark.table.hierarchies.hierarchy import MISSING_LEAF, Hierarchy
from tclose_spark.table.hierarchies.released import ReleasedHierarchy
from tclose_spark.table.labels import MISSING, HierarchyLabels, NumericLabels, SetLabels, ranges
from tclose_spark.table.rows import Rows

VALUES = "values"
"""The table of noted values, by place of the column: quasi-identifiers, then sensitive
attributes.
"""
VALUES_SCHEMA = pa.schema(
    [(name, pa.int64()) for name in ("place", "low", "high", "lowest", "highest")],
)
Released = Mapping[int, IntArray]
"""By place of the column, regions of codes in order: (low, high, lowest released code, highest
released code), shape (4, regions). A noted value is a region of its own.
"""


def note_values(rows: Rows, assigned: ClassAssignment, attributes: ResolvedAttributes) -> pa.Table:
    """The values of released rows, as rows of NOTED: of categories, of sensitive attributes with a
    hierarchy, and of numbers the ends of those with one region's label.

    rows: of a task. assigned: what it made of them, of the released rows alone (see `kept`).
    """
    released = rows.take(assigned.here)
    noted = dict[int, IntArray]()
    released = released.raw if assigned.regions is None else released
    for place, quasi in enumerate(attributes.quasi_identifiers):
        codes = released.quasi[place]
        if quasi.domain.kind == "category":
            noted[place] = np.stack([np.unique(codes)] * 4)
        elif assigned.regions is not None:
            noted[place] = _ends(codes, *assigned.regions[:, place])
    cells = np.unique(released.cell)
    for place, sensitive in enumerate(attributes.sensitive, len(attributes.quasi_identifiers)):
        if sensitive.hierarchy is not None:
            noted[place] = np.stack([np.unique(attributes.cells[cells, sensitive.column])] * 4)
    places = np.repeat(
        np.array([*noted], dtype=np.int64),
        [found.shape[1] for found in noted.values()],
    )
    columns = np.concatenate([np.zeros((4, 0), dtype=np.int64), *noted.values()], axis=1)
    return pa.table(
        [pa.array(column, pa.int64()) for column in (places, *columns)],
        names=VALUES_SCHEMA.names,
    )


def _ends(codes: IntArray, low: IntArray, high: IntArray) -> IntArray:
    """The regions of several values that label rows of these codes: see Released."""
    wide = low < high
    codes = codes[wide]
    low = low[wide]
    high = high[wide]
    order = np.lexsort([high, low])
    codes = codes[order]
    low = low[order]
    high = high[order]
    first = np.flatnonzero(
        (np.diff(low, prepend=low[:1]) != 0) | (np.diff(high, prepend=high[:1]) != 0),
    )
    if not len(codes):
        return np.zeros((4, 0), dtype=np.int64)
    starts = np.append(0, first)
    return np.stack([low[starts], high[starts], *ranges(codes, starts)])


def read_values(table: Table) -> Released:
    """The notes of all tasks, added up."""
    keys = ["place", "low", "high"]
    noted = collect(combine(table, keys, {"lowest": "min", "highest": "max"}))
    noted = noted.sort_by([(key, "ascending") for key in keys])
    places, *columns = (noted[name].to_numpy() for name in VALUES_SCHEMA.names)
    regions = np.stack(columns)
    return {int(place): regions[:, places == place] for place in np.unique(places)}


@dataclass(frozen=True, kw_only=True)
class PublicNames:
    """The names in the labels of a release with suppressed rows.

    quasi: the quasi-identifiers with labels that name released values only; their codes do not
        change.
    ends: for numbers with regions, those of several values, with the released codes at which their
        labels end.
    hierarchies: built ones as the release may show them, by column.
    differs: whether any label changes.
    """

    quasi: tuple[ResolvedQuasi, ...]
    ends: Released
    hierarchies: Mapping[str, Hierarchy]
    differs: bool

    @staticmethod
    def of(spec: ReleaseSpec, attributes: ResolvedAttributes, released: Released) -> PublicNames:
        """The names for a release with these values. The hierarchy of a sensitive attribute does
        not change if classes are compared with the input, whose distribution is public.

        Raises:
            UnreachableError: if released rows have no value of a column with a hierarchy.
        """
        built = built_columns(spec.attributes)
        public = dict[str, Hierarchy]()
        differs = False
        quasi = []
        ends = {}
        for place, q in enumerate(attributes.quasi_identifiers):
            regions = released.get(place, np.zeros((4, 0), dtype=np.int64))
            present = regions[0][regions[0] != MISSING]
            if q.name in built and q.hierarchy is not None:
                found = _named(spec, q.name, q.hierarchy, present)
                public[q.name], differs = found.public, differs or found.renames(q.hierarchy)
                q = replace(q, hierarchy=found.in_place, labeller=HierarchyLabels(found.in_place))
            elif isinstance(q.labeller, SetLabels) and len(present) < len(q.labeller.values):
                differs = True
                q = replace(q, labeller=replace(q.labeller, whole=len(present)))
            elif isinstance(q.labeller, NumericLabels) and place in released:
                ends[place], differs = regions, differs or _moved(q.labeller, regions)
            quasi.append(q)
        for place, a in enumerate(attributes.sensitive, len(attributes.quasi_identifiers)):
            if a.name in built and a.hierarchy is not None and spec.privacy.of == "released":
                public[a.name] = _named(spec, a.name, a.hierarchy, released[place][0]).public
        return PublicNames(quasi=tuple(quasi), ends=ends, hierarchies=public, differs=differs)

    def shrink(self, assigned: ClassAssignment) -> ClassAssignment:
        """The assignment with regions of numbers that end at released values."""
        if assigned.regions is None or not self.ends:
            return assigned
        low, high = assigned.regions.copy()
        for place, regions in self.ends.items():
            wide = np.flatnonzero(low[place] < high[place])
            if len(wide):
                found = _find(regions, low[place, wide], high[place, wide])
                low[place, wide], high[place, wide] = regions[2:, found]
        return replace(assigned, regions=np.stack([low, high]))


def _moved(labeller: NumericLabels, regions: IntArray) -> bool:
    """Whether a region's label changes if it ends at released values."""
    before, after = (labeller.cover(*ends) for ends in (regions[:2], regions[2:]))
    return [before[1][i] for i in before[0]] != [after[1][i] for i in after[0]]


def _find(regions: IntArray, low: IntArray, high: IntArray) -> IntArray:
    """The places of these regions among all of a column, shape (n,)."""
    lows = np.unique(regions[0])
    highs = np.unique(regions[1])

    def keys(low: IntArray, high: IntArray) -> IntArray:
        return np.searchsorted(lows, low) * len(highs) + np.searchsorted(highs, high)

    return np.searchsorted(keys(regions[0], regions[1]), keys(low, high))


def _named(spec: ReleaseSpec, name: str, tree: Hierarchy, codes: IntArray) -> ReleasedHierarchy:
    builder, key = built_columns(spec.attributes)[name]
    return ReleasedHierarchy.of(builder, tree, {tree.leaves[code] for code in codes.tolist()}, key)


def public_labels(
    spec: ReleaseSpec,
    trees: Mapping[str, Hierarchy],
    public: Mapping[str, Hierarchy],
) -> dict[str, Hierarchy]:
    """Hierarchies by column with all values and codes, and the labels of the public ones."""
    built = built_columns(spec.attributes)
    return {
        name: tree
        if public[name] == tree
        else ReleasedHierarchy.of(
            built[name][0],
            tree,
            public[name].leaf_set - {MISSING_LEAF},
            built[name][1],
        ).in_place
        for name, tree in trees.items()
    }
