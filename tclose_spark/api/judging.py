"""`tclose_spark.audit` and `tclose_spark.explain`: any table, made by anyone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tclose_spark.api.specs import Spec, Table, in_memory, tree_of
from tclose_spark.api.work import working
from tclose_spark.auditing.question import AuditQuestion, question_from_columns, question_from_run_file
from tclose_spark.errors import ConfigurationError
from tclose_spark.runfile.loading import resolve, spec_of
from tclose_spark.runfile.section import Section

if TYPE_CHECKING:
    from tclose_spark.auditing.result import Audit, Explanation

Columns = Sequence[str] | Mapping[str, Any]
"""Names of columns; or their settings, as in a run file, by name: of a sensitive attribute its distance will do."""

Options = Mapping[str, Any] | None
"""Of Spark's reader, such as {"sep": ";"}."""


def audit(
    table: Table,
    quasi_identifiers: Columns = (),
    sensitive: Columns = (),
    k: int | None = None,
    t: Any = None,
    *,
    n: int | None = None,
    gain: Any = "0.2",
    spec: Spec | None = None,
    hierarchies: Mapping[str, str | PathLike[str]] | None = None,
    reference: Table | None = None,
    background: Table | None = None,
    classes_output: str | PathLike[str] | None = None,
    supersets: int = 100_000,
    attacks: bool = True,
    format: str | None = None,
    options: Options = None,
) -> Audit:
    """Judges a table that is there already, whoever made it: k, l, t and (n, t) exactly, the attacks, what it is worth.

        tclose_spark.audit(published, ["age", "zip"], {"salary": {"distance": "ordered"}}, k=5, t="0.2").holds

    table: a DataFrame of Spark, pandas or polars, a pyarrow table, or a path (CSV, Parquet, Delta).
    quasi_identifiers: the columns that say which class a record is in.
    sensitive: the columns that nothing should be learned of: `{"salary": "ordered"}`, or settings as in a run file.
    k, t: what is asked; t is of the attributes that have none of their own. What is not asked is told.
    n: asks (n, t)-closeness: t to a natural superset of n records.
    gain: a class is exposed to an attack if it raises a belief by more.
    spec: a run file that says which columns are what, in place of both.
    hierarchies: of quasi-identifiers, files by column.
    reference: a table whose distribution the classes are compared with.
    background: people that an attacker knows, by their raw quasi-identifiers.
    classes_output: where the class table is written, as Delta.
    supersets: boxes of labels that are looked at for (n, t).
    attacks: whether attacks are looked at.
    format, options: what the table is, where its path does not say it, and for Spark's reader.

    Raises:
        ConfigurationError: naming what is asked wrong.
        InputError: naming the column and what is wrong with it.
    """
    question = _question(quasi_identifiers, sensitive, hierarchies, spec, k=k, t=t, n=n, gain=gain)
    target = None if classes_output is None else resolve(fspath(classes_output), "classes_output", Path.cwd())
    with working("tclose audit", table, _path(table)) as session:
        from tclose_spark.auditing.audit import audit_table
        from tclose_spark.auditing.tables import opened_tables

        how: Any = {"kind": format, "options": _texts(options)}
        with opened_tables(session, question, *map(_plain, (table, reference, background)), **how) as tables:
            judged, compared, people = tables
            found = audit_table(judged, question, None, compared, people, target, supersets, attacks)
            return replace(found, name=_path(table) or "the table")


def explain(
    table: Table,
    quasi_identifiers: Columns = (),
    sensitive: Columns = (),
    t: Any = None,
    *,
    attribute: str | None = None,
    labels: Mapping[str, str | None] | None = None,
    spec: Spec | None = None,
    hierarchies: Mapping[str, str | PathLike[str]] | None = None,
    reference: Table | None = None,
    format: str | None = None,
    options: Options = None,
) -> Explanation:
    """Explains one class: both distributions side by side, their distance, and which mass moves where at what cost.

    attribute: which sensitive attribute; by default the one that is nearest to its t.
    labels: which class, `{"age": "[20, 29]"}`, None for missing; by default the one that is farthest from the table.
    See `audit` for the rest.

    Raises:
        ConfigurationError: naming what is asked wrong.
        InputError: if the table has no such class, or several.
    """
    question = _question(quasi_identifiers, sensitive, hierarchies, spec, k=None, t=t, n=None, gain="0.2")
    with working("tclose explain", table, _path(table)) as session:
        from tclose_spark.auditing.explain import explain_class
        from tclose_spark.auditing.tables import opened_tables

        how: Any = {"kind": format, "options": _texts(options)}
        with opened_tables(session, question, *map(_plain, (table, reference)), **how) as (judged, compared, _):
            return explain_class(judged, question, attribute, labels, None, compared)


def _question(
    quasi_identifiers: Columns,
    sensitive: Columns,
    hierarchies: Mapping[str, str | PathLike[str]] | None,
    spec: Spec | None,
    **asked: Any,
) -> AuditQuestion:
    """What is asked; of the columns of a spec, where one is given."""
    if spec is not None:
        if quasi_identifiers or sensitive or hierarchies:
            raise ConfigurationError(
                "spec says which columns are what; leave out quasi_identifiers, sensitive and hierarchies"
            )
        tree = {"name": "audit", "input": {"path": "-"}, "output": {"path": "/-"}, **tree_of(spec)}
        return question_from_run_file(spec_of(tree), asked["k"], asked["t"], asked["n"], asked["gain"])
    if not quasi_identifiers:
        raise ConfigurationError(
            "which columns are quasi-identifiers? Give quasi_identifiers=['age', 'zip'], or spec= with a run file"
        )
    quasi = _settings(quasi_identifiers, "quasi_identifiers")
    for name, path in (hierarchies or {}).items():
        if name not in quasi:
            raise ConfigurationError(f"hierarchies: {name!r} is no quasi-identifier ({', '.join(quasi)})")
        quasi[name] = {**quasi[name], "hierarchy": fspath(path)}
    attributes = _settings(sensitive, "sensitive")
    for role, columns in (("quasi_identifiers", quasi), ("sensitive", attributes)):
        for name, settings in columns.items():
            if isinstance(settings.get("hierarchy"), str):
                settings["hierarchy"] = resolve(settings["hierarchy"], f"{role}.{name}.hierarchy", Path.cwd())
    return question_from_columns(quasi, attributes, asked["k"], asked["t"], asked["n"], asked["gain"])


def _settings(columns: Columns, what: str) -> dict[str, dict[str, Any]]:
    """Settings by column."""
    if isinstance(columns, str):
        raise ConfigurationError(f"{what} is a text; expected a list of columns, or a dict of their settings")
    if not isinstance(columns, Mapping):
        if len(set(columns)) < len(columns):
            raise ConfigurationError(f"{what}: a column stands twice")
        return {name: {} for name in columns}
    return {name: _setting(value) for name, value in columns.items()}


def _setting(value: Any) -> dict[str, Any]:
    if isinstance(value, Section):
        given = {key: getattr(value, key) for key in value.model_fields_set}
        return {key: part for key, part in given.items() if part is not None}
    return {"distance": value} if isinstance(value, str) else dict(value or {})


def _path(table: Table) -> str:
    """The path of a table that is at one; else empty."""
    return fspath(table) if isinstance(table, str | PathLike) else ""


def _plain(table: Table) -> Any:
    """A path as text, a table in memory as it is.

    Raises:
        ConfigurationError: if it is neither.
    """
    if table is None or in_memory(table):
        return table
    if not isinstance(table, str | PathLike):
        raise ConfigurationError(
            f"a table is of type {type(table).__name__}; expected a DataFrame of Spark, pandas or polars, a pyarrow "
            "table, or a path"
        )
    return fspath(table)


def _texts(options: Options) -> dict[str, str]:
    """Options as Spark's reader takes them."""
    return {
        key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in (options or {}).items()
    }
