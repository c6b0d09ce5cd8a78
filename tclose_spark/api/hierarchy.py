"""`tclose_spark.hierarchy`: a hierarchy beside the values of a column, before a release uses it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ValidationError

from tclose_spark.api.arguments import Spec, Table, path_of, reader_options, tree_of
from tclose_spark.api.audit import held_table
from tclose_spark.api.engine_choice import asked_engine
from tclose_spark.api.session import choose, on_engine, working
from tclose_spark.api.signatures import verb
from tclose_spark.auditing.hierarchy import (
    Outline,
    Settings,
    count_column,
    hierarchy_of,
    outline_lines,
)
from tclose_spark.engine.protocol import Session
from tclose_spark.engine.sources import errors_translated, require_paths
from tclose_spark.errors import ConfigurationError
from tclose_spark.io.input.files import as_typed, source_of
from tclose_spark.report.notebook import printed
from tclose_spark.runfile.attributes import QuasiIdentifier, SensitiveAttribute
from tclose_spark.runfile.hierarchies import HierarchyBuilder
from tclose_spark.runfile.loading import explain_error, resolve, spec_of
from tclose_spark.runfile.spec import AUTO, FRAME, Input, ReleaseSpec
from tclose_spark.table.hierarchies.building import hierarchy_csv

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

MOST = 10  # children of a node that a notebook shows


@dataclass(frozen=True, repr=False)
class Preview:
    """A hierarchy with the rows of a table on it; Jupyter shows its tree. Internal: it shows values
    of people.

    outline: the tree, the rows of each value, and the values without a leaf.
    """

    column: str
    outline: Outline

    @property
    def lost(self) -> Mapping[str, int]:
        """Values without a leaf, and their rows: with any, a release is refused."""
        return self.outline.lost

    @property
    def csv(self) -> str:
        """The text of a file that a run file can name."""
        return hierarchy_csv(self.outline.hierarchy, self.column)

    def lines(self, depth: int | None = None, most: int = MOST) -> Iterator[Text | Tree]:
        """The tree as lines, with so many levels below the root, and so many children of each
        node.
        """
        return outline_lines(self.outline, self.column, depth, most)

    def __repr__(self) -> str:
        return printed(self.lines())

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


@verb
def hierarchy(
    table: Table,
    column: str,
    of: HierarchyBuilder | Mapping[str, Any] | str | PathLike[str] | None = None,
    type: Literal["categorical", "numeric"] | None = None,
    *,
    spec: Spec | None = None,
    overrides: Sequence[str] = (),
    format: str | None = None,
    options: Mapping[str, Any] | None = None,
    engine: str | None = None,
) -> Preview:
    """Shows a hierarchy beside a table: its tree with counts, and the values without a leaf.

    table: a table in memory, a path, or None for the input of the spec.
    of: how to build it, such as `{"prefix": 1}`; or a CSV file (leaf first, * last); by default the
        spec's.
    type: of the column, as a quasi-identifier; by default the spec's, or categorical.
    spec, overrides: a run file that describes the column.
    format, options: of a path, as in a run file.
    engine: see `release`.

    Raises:
        ConfigurationError: if the hierarchy is not valid.
        InputError: if the table has no such column.
    """
    run_file = None if spec is None else spec_of(tree_of(spec, overrides))
    settings = _settings(column, of, type, run_file)
    held = held_table(table)
    how = reader_options(options)
    of_run = table is None and run_file is not None
    path = run_file.input.path if table is None and run_file is not None else path_of(table)
    with as_typed():
        source = (
            source_of(path, format, how)
            if path and not of_run
            else Input(path=FRAME, format="table")
        )

    def work(on: str) -> Preview:
        with working("tclose hierarchy", held, path, on) as session:
            require_paths(session, {"the hierarchy": settings.hierarchy})
            with _opened(session, held, column, run_file, format, how) as opened:
                counts = count_column(opened, column, settings)
            return Preview(column, Outline(hierarchy_of(settings, counts, column, session), counts))

    asked = asked_engine(engine, AUTO if run_file is None else run_file.engine)
    return on_engine(
        choose("hierarchy", asked, run_file, None if path else held, source=source),
        work,
    )


def _settings(column: str, of: Any, type: str | None, spec: ReleaseSpec | None) -> Settings:
    """The settings of the column, with the hierarchy and the type that were given."""
    given: dict[str, object] = {} if type is None else {"type": type}
    if of is not None:
        given["hierarchy"] = (
            resolve(fspath(of), "--check", Path.cwd()) if isinstance(of, str | PathLike) else of
        )
    own: Settings | None = None
    if spec is not None:
        attributes = spec.attributes
        own = attributes.quasi_identifiers.get(column) or attributes.sensitive_attributes.get(
            column,
        )
        if own is None:
            raise ConfigurationError(
                f"{column!r} is neither a quasi-identifier nor sensitive in the run file",
            )
    kept = {} if own is None else own.own_settings
    if isinstance(own, SensitiveAttribute) and of is not None:
        kept["distance"] = "hierarchical"
    section = SensitiveAttribute if isinstance(own, SensitiveAttribute) else QuasiIdentifier
    try:
        settings: Settings = section.model_validate({**kept, **given})
    except ValidationError as error:
        raise ConfigurationError(explain_error(error)) from None
    if settings.hierarchy is None:
        raise ConfigurationError(
            f"{column!r}: which hierarchy? Give --build, such as --build 'prefix: 1', or --check "
            "FILE",
        )
    return settings


@contextmanager
def _opened(
    session: Session,
    table: Table,
    column: str,
    spec: ReleaseSpec | None,
    kind: str | None,
    options: Mapping[str, str],
) -> Iterator[Any]:
    """The table, or the input of the spec. Errors of its files end here. kind, options: of a path,
    if it is that of a table.
    """
    from tclose_spark.auditing.tables import open_source
    from tclose_spark.engine.sources import open_table

    with as_typed():
        if table is None and spec is not None:
            opened = open_source(session, spec, [column])
        else:
            opened = open_table(session, table, [column], kind, options)
        with errors_translated(opened):
            yield opened.table
