"""What public labels and hierarchies may name where rows are suppressed: the values that released rows have.

Which rows a method suppresses is known once all tasks are done. So rows are written first as they are profiled, tasks
note the values of the rows that they release, and if a label names a value that only suppressed rows have, the same
classes are written once more, with labels that do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from tclose_spark.methods.attributes import ResolvedAttributes, ResolvedQuasi
from tclose_spark.methods.method import Settled
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.building import built_columns
from tclose_spark.table.hierarchy import MISSING_LEAF, Hierarchy
from tclose_spark.table.labels import MISSING, HierarchyLabels, NumericLabels, SetLabels
from tclose_spark.table.released import ReleasedHierarchy
from tclose_spark.table.rows import Rows

VALUES = "values"
"""The table in which tasks note values, by the place of their column: quasi-identifiers, then sensitive attributes."""
NOTED = T.StructType([T.StructField("place", T.LongType()), T.StructField("code", T.LongType())])
Released = Mapping[int, IntArray]
"""The codes that released rows have, ascending, by the place of their column; of columns that need it."""


def note_values(rows: Rows, settled: Settled, attributes: ResolvedAttributes) -> pa.Table:
    """The values of released rows, as rows of NOTED: of categories, of sensitive attributes with a hierarchy, and of
    numbers whose labels say more than their class's values.
    """
    noted: dict[int, IntArray] = {}
    for place, quasi in enumerate(attributes.quasi_identifiers):
        if quasi.domain.kind == "category" or settled.regions is not None:
            noted[place] = np.unique(rows.quasi[place])
    cells = np.unique(rows.cell)
    for place, sensitive in enumerate(attributes.sensitive, len(attributes.quasi_identifiers)):
        if sensitive.hierarchy is not None:
            noted[place] = np.unique(attributes.cells[cells, sensitive.column])
    places = np.repeat(list(noted), [len(codes) for codes in noted.values()])
    codes = np.concatenate([*noted.values(), np.zeros(0, dtype=np.int64)])
    return pa.table([pa.array(places, pa.int64()), pa.array(codes, pa.int64())], names=NOTED.names)


def read_values(table: DataFrame) -> Released:
    """What all tasks noted."""
    noted = table.distinct().toArrow()
    places, codes = noted["place"].to_numpy(), noted["code"].to_numpy()
    return {int(place): np.sort(codes[places == place]) for place in np.unique(places)}


@dataclass(frozen=True, kw_only=True)
class PublicNames:
    """How a release is labelled where rows are suppressed.

    quasi: the quasi-identifiers with hierarchies and labels that name released values; codes are as before.
    ends: of each number whose labels say more than their class's values, the codes that such labels may end at.
    hierarchies: those that were built, as the release may show them, by column.
    differs: whether a label is another than it would be without this.
    """

    quasi: tuple[ResolvedQuasi, ...]
    ends: Released
    hierarchies: Mapping[str, Hierarchy]
    differs: bool

    @staticmethod
    def of(spec: ReleaseSpec, attributes: ResolvedAttributes, released: Released) -> PublicNames:
        """The names for a release with these values.

        The hierarchy of a sensitive attribute stays where classes are compared with the input, whose distribution is
        public.

        Raises:
            UnreachableError: if released rows have no value of a column with a hierarchy.
        """
        built, public, differs = built_columns(spec.attributes), dict[str, Hierarchy](), False
        quasi, ends = [], {}
        for place, q in enumerate(attributes.quasi_identifiers):
            codes = released.get(place, np.zeros(0, dtype=np.int64))
            present = codes[codes != MISSING]
            if q.name in built and q.hierarchy is not None:
                found = _named(spec, q.name, q.hierarchy, present)
                public[q.name], differs = found.public, differs or found.renames(q.hierarchy)
                q = replace(q, hierarchy=found.in_place, labeller=HierarchyLabels(found.in_place))
            elif isinstance(q.labeller, SetLabels) and len(present) < len(q.labeller.values):
                differs = True
                q = replace(q, labeller=replace(q.labeller, whole=len(present)))
            elif isinstance(q.labeller, NumericLabels) and place in released:
                ends[place], differs = codes, True
            quasi.append(q)
        for place, a in enumerate(attributes.sensitive, len(attributes.quasi_identifiers)):
            if a.name in built and a.hierarchy is not None and spec.privacy.of == "released":
                public[a.name] = _named(spec, a.name, a.hierarchy, released[place]).public
        return PublicNames(quasi=tuple(quasi), ends=ends, hierarchies=public, differs=differs)

    def shrink(self, settled: Settled) -> Settled:
        """What a task made of its rows, with regions of numbers that end at released values."""
        if settled.regions is None or not self.ends:
            return settled
        low, high = settled.regions.copy()
        for place, codes in self.ends.items():
            low[place] = codes[np.searchsorted(codes, low[place], side="left")]
            high[place] = codes[np.searchsorted(codes, high[place], side="right") - 1]
        return replace(settled, regions=np.stack([low, high]))


def _named(spec: ReleaseSpec, name: str, tree: Hierarchy, codes: IntArray) -> ReleasedHierarchy:
    builder, key = built_columns(spec.attributes)[name]
    return ReleasedHierarchy.of(builder, tree, {tree.leaves[code] for code in codes.tolist()}, key)


def in_place(
    spec: ReleaseSpec, trees: Mapping[str, Hierarchy], public: Mapping[str, Hierarchy]
) -> dict[str, Hierarchy]:
    """Hierarchies by column, of all values and with their codes, labelled as the public ones are."""
    built = built_columns(spec.attributes)
    return {
        name: tree
        if public[name] == tree
        else ReleasedHierarchy.of(built[name][0], tree, public[name].leaf_set - {MISSING_LEAF}, built[name][1]).in_place
        for name, tree in trees.items()
    }


def kept(settled: Settled, place: IntArray) -> Settled:
    """What a task made of its rows, of those at these places alone."""
    stay = np.isin(settled.here, place)
    regions = None if settled.regions is None else settled.regions[:, :, stay]
    return replace(settled, here=settled.here[stay], classes=settled.classes[stay], regions=regions)
