"""A hierarchy beside the values of a column, for previews and checks. Internal, because it shows
values of people.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np
import pyarrow as pa
from rich.text import Text
from rich.tree import Tree

from tclose_spark.engine.protocol import Session, Table
from tclose_spark.engine.tables import collect, combine, map_batches, schema_of, select
from tclose_spark.errors import InputError
from tclose_spark.io.input.files import read_hierarchies
from tclose_spark.io.tables.check_columns import check_readable
from tclose_spark.runfile.attributes import QuasiIdentifier, SensitiveAttribute
from tclose_spark.runfile.hierarchies import HierarchyBuilder
from tclose_spark.table.column_names.names import instead_of
from tclose_spark.table.columns.preparing import as_text, judged_values, no_value, not_of_type
from tclose_spark.table.columns.spark_types import is_unsupported, type_name
from tclose_spark.table.dictionaries import coded, codes_of
from tclose_spark.table.domains import MOST_VALUES, Counts
from tclose_spark.table.hierarchies.building import build_hierarchy
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

INTERNAL = "note: internal, because it shows values of people"
Settings = QuasiIdentifier | SensitiveAttribute
VALUES = pa.schema([("value", pa.string()), ("n", pa.int64()), ("wrong", pa.int64())])
"""The rows of each value, and of those that its type does not allow."""


def count_column(table: Table, column: str, settings: Settings) -> Counts:
    """The rows of each value of a column, as a release reads it.

    Raises:
        InputError: if the column is missing, has too many values, or values that its type does not
            allow.
    """
    names = schema_of(table).names
    if column not in names:
        raise InputError(
            f"column {column!r} is not in the table; {instead_of(column, names, {column})}",
        )
    field = schema_of(table).field(column)
    check_readable(field)
    if is_unsupported(field.type):
        raise InputError(f"column {column!r} is of type {type_name(field)}; expected single values")
    typed = None
    if isinstance(settings, QuasiIdentifier) and (settings.reads_numbers or settings.calendar):
        typed = settings

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            values = batch.column(0)
            wrong = np.zeros(len(values)) if typed is None else not_of_type(values, typed)
            texts = coded(as_text(judged_values(values, settings)))
            sums = [
                np.bincount(codes_of(texts), weights, len(texts.dictionary))
                for weights in (None, wrong)
            ]
            columns = [texts.dictionary, *(pa.array(each.astype(np.int64)) for each in sums)]
            yield pa.RecordBatch.from_arrays(columns, schema=VALUES)

    counted = combine(
        map_batches(select(table, [column]), count, VALUES),
        ["value"],
        {"n": "sum", "wrong": "sum"},
    )
    rows = collect(counted, MOST_VALUES + 1)
    if rows.num_rows > MOST_VALUES:
        raise InputError(
            f"{column!r} has more than {MOST_VALUES:,} values; expected at most that many",
        )
    values, n, wrong = (column.to_pylist() for column in rows.columns)
    if typed is not None and any(wrong):
        raise InputError(f"{column!r}: {sum(wrong):,} rows hold {no_value(typed)}; correct them")
    return dict(zip(values, n, strict=True))


def hierarchy_of(settings: Settings, counts: Counts, column: str, session: Session) -> Hierarchy:
    """The hierarchy of a column with these values: built from them, or read."""
    if isinstance(settings.hierarchy, HierarchyBuilder):
        numeric = isinstance(settings, QuasiIdentifier) and settings.reads_numbers
        return build_hierarchy(settings.hierarchy, counts, column, "hierarchy", numeric)
    if isinstance(settings, SensitiveAttribute):
        return read_hierarchies({}, {column: settings}, session)[column].without_missing()
    return read_hierarchies({column: settings}, {}, session)[column]


def outline_lines(
    outline: Outline,
    column: str,
    depth: int | None,
    most: int,
) -> Iterator[Text | Tree]:
    """A preview: the column, its levels, the tree, and a note that it is internal."""
    missing = outline.counts.get(None, 0)
    present = sum(value is not None for value in outline.counts)
    yield Text(f"{column}: {present:,} values in {outline.rows:,} rows, missing in {missing:,}")
    labels = ", ".join(f"{n:,}" for n in outline.labels)
    yield Text(f"levels 0 to {outline.hierarchy.height}, labels: {labels}")
    if outline.unused:
        yield Text(f"leaves that no row has: {outline.unused:,}")
    if outline.lost:
        yield Text(
            f"values without a leaf: {len(outline.lost):,} in {sum(outline.lost.values()):,} rows",
        )
    yield _tree(outline.root, depth, most)
    yield Text(INTERNAL)


def _tree(node: OutlineNode, depth: int | None, most: int) -> Tree:
    """A node and the tree below it, limited to `depth` levels and `most` children per node."""
    values = f", {node.leaves:,} value{'' if node.leaves == 1 else 's'}" if node.children else ""
    what = f"{node.label}  {node.rows:,} rows{values}"
    tree = Tree(Text(what))
    if depth == 0:
        return tree
    for child in node.children[:most]:
        tree.add(_tree(child, None if depth is None else depth - 1, most))
    rest = node.children[most:]
    if rest:
        tree.add(Text(f".. {len(rest):,} more, {sum(child.rows for child in rest):,} rows"))
    return tree


@dataclass(frozen=True)
class OutlineNode:
    """A node of a hierarchy: its label, the leaves and rows below it, and its children."""

    label: str
    leaves: int
    rows: int
    children: tuple[OutlineNode, ...]


@dataclass(frozen=True)
class Outline:
    """A hierarchy beside the values of a column and their rows."""

    hierarchy: Hierarchy
    counts: Counts

    @property
    def rows(self) -> int:
        """The number of rows with a value."""
        return sum(n for value, n in self.counts.items() if value is not None)

    @cached_property
    def lost(self) -> dict[str, int]:
        """Values without a leaf, with their rows, most rows first."""
        lost = {
            v: n
            for v, n in self.counts.items()
            if v is not None and v not in self.hierarchy.leaf_set
        }
        return dict(sorted(lost.items(), key=lambda item: (-item[1], item[0])))

    @property
    def unused(self) -> int:
        """Leaves without rows."""
        return sum(leaf not in self.counts for leaf in self.hierarchy.leaves)

    @property
    def labels(self) -> tuple[int, ...]:
        """The number of labels of each level, from the leaves to the root."""
        return tuple(int(node[-1]) + 1 for node in self.hierarchy.nodes)

    @property
    def root(self) -> OutlineNode:
        """The whole tree. A label that repeats directly above itself appears once.

        >>> cities = Hierarchy((("Bonn", "Bonn", "*"), ("Pisa", "Italy", "*"), ("Siena", "Italy", "*")))
        >>> root = Outline(cities, {"Pisa": 3, "Bonn": 1, None: 2}).root
        >>> [(node.label, node.leaves, node.rows, len(node.children)) for node in (root, *root.children)]
        [('*', 3, 4, 2), ('Bonn', 1, 1, 0), ('Italy', 2, 3, 2)]
        """
        return self._node(self.hierarchy.paths, self.hierarchy.height)

    def _node(self, paths: Sequence[tuple[str, ...]], height: int) -> OutlineNode:
        label = paths[0][height]
        while height > 0 and all(path[height - 1] == label for path in paths):
            height -= 1
        parts = groupby(paths, key=lambda path: path[height - 1]) if height else ()
        return OutlineNode(
            label=label,
            leaves=len(paths),
            rows=sum(self.counts.get(path[0], 0) for path in paths),
            children=tuple(self._node(list(part), height - 1) for _, part in parts),
        )
