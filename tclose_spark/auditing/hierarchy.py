"""A hierarchy beside the values of a column. Internal, because it shows values of people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.text import Text
from rich.tree import Tree

from tclose_spark.errors import InputError
from tclose_spark.runfile.attributes import QuasiIdentifier, SensitiveAttribute
from tclose_spark.runfile.hierarchies import HierarchyBuilder
from tclose_spark.table.domains import MOST_VALUES, Counts
from tclose_spark.table.hierarchies.building import build_hierarchy
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.hierarchies.outline import Outline, OutlineNode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

INTERNAL = "note: internal, because it shows values of people"
Settings = QuasiIdentifier | SensitiveAttribute


def count_column(table: DataFrame, column: str, settings: Settings) -> Counts:
    """The rows of each value of a column, as a release reads it.

    Raises:
        InputError: if the column is missing, has too many values, or values that its type does not allow.
    """
    from pyspark.sql import functions as F

    from tclose_spark.engine.tables import schema_of
    from tclose_spark.io.tables.check_columns import check_readable
    from tclose_spark.io.tables.prepared import NO_VALUE, judged_column, not_of_type
    from tclose_spark.table.column_names.names import instead_of

    if column not in table.columns:
        raise InputError(f"column {column!r} is not in the table; {instead_of(column, table.columns, {column})}")
    check_readable(schema_of(table).field(column))
    wrong, kind = F.lit(False), "categorical"
    if isinstance(settings, QuasiIdentifier) and (settings.reads_numbers or settings.calendar):
        wrong, kind = not_of_type(table, column, settings), settings.type
    value = judged_column(table, column, settings).cast("string")
    counted = table.select(value.alias("value"), wrong.alias("wrong")).groupBy("value", "wrong").count()
    rows = counted.limit(MOST_VALUES + 1).collect()
    if len(rows) > MOST_VALUES:
        raise InputError(f"{column!r} has more than {MOST_VALUES:,} values; expected at most that many")
    lost = sum(row["count"] for row in rows if row["wrong"])
    if lost:
        raise InputError(f"{column!r}: {lost:,} rows hold {NO_VALUE[kind]}; correct them")
    return {row["value"]: row["count"] for row in rows}


def hierarchy_of(settings: Settings, counts: Counts, column: str, spark: SparkSession) -> Hierarchy:
    """The hierarchy of a column with these values: built from them, or read."""
    from tclose_spark.io.input.files import read_hierarchies

    if isinstance(settings.hierarchy, HierarchyBuilder):
        numeric = isinstance(settings, QuasiIdentifier) and settings.reads_numbers
        return build_hierarchy(settings.hierarchy, counts, column, "hierarchy", numeric)
    if isinstance(settings, SensitiveAttribute):
        return read_hierarchies({}, {column: settings}, spark)[column].without_missing()
    return read_hierarchies({column: settings}, {}, spark)[column]


def outline_lines(outline: Outline, column: str, depth: int | None, most: int) -> Iterator[Text | Tree]:
    """A preview: the column, its levels, the tree, and a note that it is internal."""
    missing = outline.counts.get(None, 0)
    present = sum(value is not None for value in outline.counts)
    yield Text(f"{column}: {present:,} values in {outline.rows:,} rows, missing in {missing:,}")
    labels = ", ".join(f"{n:,}" for n in outline.labels)
    yield Text(f"levels 0 to {outline.hierarchy.height}, labels: {labels}")
    if outline.unused:
        yield Text(f"leaves that no row has: {outline.unused:,}")
    if outline.lost:
        yield Text(f"values without a leaf: {len(outline.lost):,} in {sum(outline.lost.values()):,} rows")
    yield _tree(outline.root, depth, most)
    yield Text(INTERNAL)


def _tree(node: OutlineNode, depth: int | None, most: int) -> Tree:
    """A node and the tree below it, limited to `depth` levels and `most` children per node."""
    what = f"{node.label}  {node.rows:,} rows" + (f", {node.leaves:,} values" if node.children else "")
    tree = Tree(Text(what))
    if depth == 0:
        return tree
    for child in node.children[:most]:
        tree.add(_tree(child, None if depth is None else depth - 1, most))
    rest = node.children[most:]
    if rest:
        tree.add(Text(f".. {len(rest):,} more, {sum(child.rows for child in rest):,} rows"))
    return tree
