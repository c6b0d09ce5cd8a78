"""`tclose_spark.hierarchy`: a hierarchy beside the values of a column, before a release uses it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from tclose_spark.api.specs import Table, in_memory
from tclose_spark.api.work import working
from tclose_spark.auditing.hierarchy import count_column, outline_lines, tree_of
from tclose_spark.errors import ConfigurationError
from tclose_spark.report.notebook import printed
from tclose_spark.runfile.attributes import QuasiIdentifier
from tclose_spark.runfile.hierarchies import HierarchyBuilder
from tclose_spark.runfile.loading import explain, resolve
from tclose_spark.table.hierarchies.building import hierarchy_csv
from tclose_spark.table.hierarchies.outline import Outline

MOST = 10  # children of a node that are shown


@dataclass(frozen=True, repr=False)
class Preview:
    """A hierarchy with the rows of a table on it; Jupyter shows its tree. Internal: it shows values of people.

    outline: the tree, the values' rows, and what has no leaf.
    """

    column: str
    outline: Outline

    @property
    def lost(self) -> Mapping[str, int]:
        """Values that the hierarchy has no leaf for, and their rows: with any, a release is refused."""
        return self.outline.lost

    @property
    def csv(self) -> str:
        """As a file that a run file can name."""
        return hierarchy_csv(self.outline.hierarchy, self.column)

    def __repr__(self) -> str:
        return printed(outline_lines(self.outline, self.column, None, MOST))

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def hierarchy(
    table: Table,
    column: str,
    of: HierarchyBuilder | Mapping[str, Any] | str | PathLike[str],
    type: Literal["categorical", "numeric"] = "categorical",
) -> Preview:
    """Looks at a hierarchy beside a table: its tree with counts, and the values that it has no leaf for.

    table: a table in memory, or a path.
    of: how it is built, such as `{"prefix": 1}`; or a CSV file, which is checked.
    type: of the column, as a quasi-identifier.

    Raises:
        ConfigurationError: if the hierarchy is none.
        InputError: if the table has no such column.
    """
    source = resolve(fspath(of), "of", Path.cwd()) if isinstance(of, str | PathLike) else of
    try:
        settings = QuasiIdentifier.model_validate({"type": type, "hierarchy": source})
    except ValidationError as error:
        raise ConfigurationError(explain(error)) from None
    given = table if in_memory(table) else fspath(table)
    with working("tclose hierarchy", table, given if isinstance(given, str) else "") as session:
        from tclose_spark.auditing.tables import open_table

        counts = count_column(open_table(session, given, [column], None, {}).table, column, settings)
        return Preview(column, Outline(tree_of(settings, counts, column, session), counts))
