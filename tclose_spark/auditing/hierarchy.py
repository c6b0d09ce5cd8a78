"""`tclose hierarchy`: a hierarchy looked at beside a table, checked against it, or written as CSV. Internal: it shows
values of people.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.io.input.table_argument import as_typed, options_of
from tclose_spark.io.spark.driver import start_early
from tclose_spark.runfile.attributes import QuasiIdentifier, SensitiveAttribute
from tclose_spark.runfile.hierarchies import HierarchyBuilder
from tclose_spark.runfile.loading import explain, load_spec, parse_yaml, resolve
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.domains import MOST_VALUES, Counts
from tclose_spark.table.hierarchies.building import build_hierarchy, hierarchy_csv
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.hierarchies.outline import Outline, OutlineNode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RUN_FILES = (".yaml", ".yml")
INTERNAL = "note: this shows values of people: internal"
Settings = QuasiIdentifier | SensitiveAttribute


@dataclass(frozen=True, kw_only=True)
class HierarchyArguments:
    """What the command is given, as it is typed.

    source: a run file, or a table. build: a form of the run file, as YAML. check: a CSV. kind: the column's type.
    depth: levels below the root that are shown. most: children of a node that are shown.
    """

    source: str
    column: str
    build: str | None
    check: str | None
    kind: str | None
    output: Path | None
    format: str | None
    options: Sequence[str]
    overrides: Sequence[str]
    depth: int | None
    most: int
    values: bool

    @property
    def of_run_file(self) -> bool:
        """Whether a run file says where the table is."""
        return self.source.endswith(RUN_FILES)


def run_hierarchy(given: HierarchyArguments) -> None:
    """Builds or reads the hierarchy, prints it beside the table's values, and writes it where that is asked for.

    Raises:
        InputError: if it has no leaf for a value; the last thing that happens.
    """
    if given.output is not None and given.output.exists():
        raise ConfigurationError(f"--output: {given.output} exists already; give another path, or remove it")
    spec = load_spec(Path(given.source), given.overrides) if given.of_run_file else None
    settings = _settings(given, spec)
    start_early(spec.input.path if spec is not None else given.source)
    from tclose_spark.io.spark.session import get_session

    spark = get_session("tclose hierarchy")
    with _opened(given, spec, spark) as table:
        counts = count_column(table, given.column, settings)
    outline = Outline(tree_of(settings, counts, given.column, spark), counts)
    console = Console(highlight=False, emoji=False)
    for line in outline_lines(outline, given.column, given.depth, given.most):
        console.print(line, soft_wrap=True)
    if given.values:
        for value, rows in outline.lost.items():
            console.print(Text(f"  no leaf: {value!r}, {rows:,} rows"), soft_wrap=True)
    if given.output is not None:
        _write(given.output, hierarchy_csv(outline.hierarchy, "--output"))
        console.print(Text(f"written: {given.output}"), soft_wrap=True)
    if outline.lost:
        raise InputError(
            f"{given.column!r}: its hierarchy has no leaf for {len(outline.lost)} values in "
            f"{sum(outline.lost.values()):,} rows; add a row for each{'' if given.values else ' (--values shows them)'}"
        )


def _settings(given: HierarchyArguments, spec: ReleaseSpec | None) -> Settings:
    """What is known of the column, with the hierarchy that is asked for."""
    asked: dict[str, Any] = {}
    if given.build is not None and given.check is not None:
        raise ConfigurationError("--build makes a hierarchy, --check reads one; give one of them")
    if given.build is not None:
        asked["hierarchy"] = _form(given.build)
    if given.check is not None:
        asked["hierarchy"] = resolve(given.check, "--check", Path.cwd())
    if given.kind is not None:
        asked["type"] = given.kind
    settings: Settings | None = None
    if spec is not None:
        attributes = spec.attributes
        settings = attributes.quasi_identifiers.get(given.column) or attributes.sensitive_attributes.get(given.column)
        if settings is None:
            raise ConfigurationError(f"{given.column!r} is neither a quasi-identifier nor sensitive in {given.source}")
    try:
        if isinstance(settings, SensitiveAttribute):
            said = {key: getattr(settings, key) for key in settings.model_fields_set}
            hierarchical = {"distance": "hierarchical"} if "hierarchy" in asked else {}
            settings = SensitiveAttribute.model_validate({**said, **hierarchical, **asked})
        else:
            said = {} if settings is None else {key: getattr(settings, key) for key in settings.model_fields_set}
            settings = QuasiIdentifier.model_validate({**said, **asked})
    except ValidationError as error:
        raise ConfigurationError(explain(error)) from None
    if settings.hierarchy is None:
        raise ConfigurationError(
            f"{given.column!r}: which hierarchy? Give --build, such as --build 'prefix: 1', or --check FILE"
        )
    return settings


def _form(text: str) -> HierarchyBuilder:
    """The form that `--build` says, as a run file would."""
    tree = parse_yaml(text, "--build")
    if not isinstance(tree, dict):
        raise ConfigurationError(f"--build {text}: expected a form and what it takes, such as 'prefix: 1'")
    try:
        return HierarchyBuilder.model_validate(tree)
    except ValidationError as error:
        raise ConfigurationError(f"--build {text}: {explain(error)}") from None


@contextmanager
def _opened(given: HierarchyArguments, spec: ReleaseSpec | None, spark: SparkSession) -> Iterator[DataFrame]:
    """The table, of the run file or as it is typed. Errors of its files end here."""
    from tclose_spark.auditing.tables import open_table
    from tclose_spark.io.input.damaged_text import SourceTable, checked, translate_read_errors
    from tclose_spark.io.input.reading import read_table

    with as_typed():
        if spec is None:
            opened = open_table(spark, given.source, [given.column], given.format, options_of(given.options))
            table = opened.table
        else:
            opened = SourceTable(read_table(spark, spec.input), spec.input, [given.column])
            table = checked(opened)
        with translate_read_errors(opened):
            yield table


def count_column(table: DataFrame, column: str, settings: Settings) -> Counts:
    """How many rows have each value of a column, as a release would read it.

    Raises:
        InputError: if there is no such column, or it holds what its type does not.
    """
    from pyspark.sql import functions as F

    from tclose_spark.io.tables.check_columns import check_readable
    from tclose_spark.io.tables.prepared import NO_VALUE, judged_column, not_of_type
    from tclose_spark.table.column_names.names import instead_of

    if column not in table.columns:
        raise InputError(f"column {column!r} is not in the table; {instead_of(column, table.columns, {column})}")
    check_readable(table, column)
    wrong, kind = F.lit(False), "categorical"
    if isinstance(settings, QuasiIdentifier) and (settings.reads_numbers or settings.calendar):
        wrong, kind = not_of_type(table, column, settings), settings.type
    value = judged_column(table, column, settings).cast("string")
    counted = table.select(value.alias("value"), wrong.alias("wrong")).groupBy("value", "wrong").count()
    rows = counted.limit(MOST_VALUES + 1).collect()
    if len(rows) > MOST_VALUES:
        raise InputError(
            f"{column!r} has more than {MOST_VALUES:,} values; expected a domain that a table is published by"
        )
    lost = sum(row["count"] for row in rows if row["wrong"])
    if lost:
        raise InputError(f"{column!r}: {lost:,} rows hold {NO_VALUE[kind]}; mend them")
    return {row["value"]: row["count"] for row in rows}


def tree_of(settings: Settings, counts: Counts, column: str, spark: SparkSession) -> Hierarchy:
    """The hierarchy of a column with these values: built of them, or read."""
    from tclose_spark.io.input.files import read_hierarchies

    if isinstance(settings.hierarchy, HierarchyBuilder):
        numeric = isinstance(settings, QuasiIdentifier) and settings.reads_numbers
        return build_hierarchy(settings.hierarchy, counts, column, "hierarchy", numeric)
    if isinstance(settings, SensitiveAttribute):
        return read_hierarchies({}, {column: settings}, spark)[column].without_missing()
    return read_hierarchies({column: settings}, {}, spark)[column]


def outline_lines(outline: Outline, column: str, depth: int | None, most: int) -> Iterator[Text | Tree]:
    """What a preview says: the column, its levels, the tree, and that it is internal."""
    missing = outline.counts.get(None, 0)
    present = sum(value is not None for value in outline.counts)
    yield Text(f"{column}: {present:,} values in {outline.rows:,} rows, missing in {missing:,}")
    labels = ", ".join(f"{n:,}" for n in outline.labels)
    yield Text(f"levels 0 to {outline.hierarchy.height}, labels: {labels}")
    if outline.unused:
        yield Text(f"leaves that no row has: {outline.unused:,}")
    if outline.lost:
        yield Text(f"values without a leaf: {len(outline.lost):,} in {sum(outline.lost.values()):,} rows")
    yield _drawn(outline.root, depth, most)
    yield Text(INTERNAL)


def _drawn(node: OutlineNode, depth: int | None, most: int) -> Tree:
    """A node and what is below it, so many levels and so many children of each node."""
    what = f"{node.label}  {node.rows:,} rows" + (f", {node.leaves:,} values" if node.children else "")
    tree = Tree(Text(what))
    if depth == 0:
        return tree
    for child in node.children[:most]:
        tree.add(_drawn(child, None if depth is None else depth - 1, most))
    rest = node.children[most:]
    if rest:
        tree.add(Text(f".. {len(rest):,} more, {sum(child.rows for child in rest):,} rows"))
    return tree


def _write(path: Path, text: str) -> None:
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise ConfigurationError(f"--output: {path} cannot be written ({error.strerror})") from None
