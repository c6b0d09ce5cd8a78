"""`tclose_spark.audit` and `tclose_spark.explain`: any table, made by anyone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeVar

from tclose_spark.api.arguments import Number, Spec, Table, as_python, in_memory, path_of, reader_options, tree_of
from tclose_spark.api.errors import on_command_line
from tclose_spark.api.session import choose, on_engine, working
from tclose_spark.api.signatures import require_type, verb
from tclose_spark.auditing.question import (
    AuditQuestion,
    parse_population,
    question_from_columns,
    question_from_run_file,
)
from tclose_spark.auditing.result import AuditResult, ClassExplanation
from tclose_spark.engine.sources import require_paths
from tclose_spark.errors import ConfigurationError
from tclose_spark.io.input.arrow_frames import as_arrow, is_spark
from tclose_spark.io.input.table_argument import as_typed, source_of
from tclose_spark.report.notebook import in_frame, printed
from tclose_spark.runfile.attributes import QuasiIdentifier, SensitiveAttribute
from tclose_spark.runfile.joint import JointCloseness
from tclose_spark.runfile.loading import resolve, spec_of
from tclose_spark.runfile.population import Population
from tclose_spark.runfile.section import Section
from tclose_spark.runfile.spec import FRAME, Input

Columns = Collection[str] | Mapping[str, Any] | None
"""Names of columns; or their settings, as in a run file, by name. The distance alone is enough for a sensitive
attribute."""

Result = TypeVar("Result")
Options = Mapping[str, Any] | None
"""Of Spark's reader, such as {"sep": ";"}."""


class Audit(AuditResult):
    """The result of an audit; Jupyter shows it as a page."""

    def __repr__(self) -> str:
        from tclose_spark.auditing.views import audit_lines

        return printed(audit_lines(self, self.name))

    def _repr_html_(self) -> str:
        from tclose_spark.auditing.page import audit_page

        return in_frame(audit_page(self, self.name), "Audit")


class Explanation(ClassExplanation):
    """One class and a sensitive attribute; Jupyter shows them as a page."""

    def __repr__(self) -> str:
        from tclose_spark.auditing.views import explanation_lines

        return printed(explanation_lines(self))

    def _repr_html_(self) -> str:
        from tclose_spark.auditing.page import explanation_page

        return in_frame(explanation_page(self, "a table"), "Explanation")


@verb
def audit(
    table: Table,
    quasi_identifiers: Columns = (),
    sensitive: Columns = (),
    k: int | None = None,
    t: Number | None = None,
    *,
    n: int | None = None,
    person: str | None = None,
    gain: Number = "0.2",
    spec: Spec | None = None,
    hierarchies: Mapping[str, str | PathLike[str]] | None = None,
    reference: Table | None = None,
    background: Table | None = None,
    population: Any = None,
    threshold: Number | None = None,
    earlier: Table | Sequence[Table] | None = (),
    classes_output: str | PathLike[str] | None = None,
    supersets: int = 100_000,
    attacks: bool = True,
    special_uniques: int | None = None,
    combinations: int = 10_000,
    missing: str | None = None,
    joint: str | Sequence[str | Mapping[str, Any] | JointCloseness] = (),
    format: str | None = None,
    options: Options = None,
    engine: str | None = None,
) -> Audit:
    """Audits a published table, whoever made it: k, l, t and (n, t) exactly, attacks, and information loss.

        tclose_spark.audit(published, ["age", "zip"], {"salary": {"distance": "ordered"}}, k=5, t="0.2").holds

    table: a DataFrame of Spark, pandas or polars, a pyarrow table, or a path (CSV, Parquet, Delta).
    quasi_identifiers: the columns that determine the class of a record.
    sensitive: the columns to protect: `{"salary": "ordered"}`, or settings as in a run file.
    k, t: required; t is of the attributes without a t of their own. Measures without a threshold are reported.
    n: require (n, t)-closeness: t to a natural superset of n records.
    person: the column that identifies people, who may have several rows; k, l and t are then also judged over people.
    gain: a class is exposed to an attack that raises a belief by more than this.
    spec: a run file that describes the columns, in place of both.
    hierarchies: of quasi-identifiers, files by column.
    reference: a table to compare the distribution of the classes with.
    background: people whom an adversary knows, by their raw quasi-identifiers; with the person's column, several rows
        may be of one person.
    population: that the table is a sample of: the sampling fraction, such as "0.05"; "weight:COLUMN", the people that a
        row stands for; or "table:PATH" or a table with a row for each person. Adds the prosecutor's, journalist's and
        marketer's risk.
    threshold: the chance of re-identification above which a record counts as at risk; by default 0.09.
    earlier: earlier releases of the same people, oldest first, to judge together with the table: exactly with
        `person`; for the people of `background`, who are in all of them; otherwise by the labels of few who came or
        left.
    classes_output: where to write the class table, as Delta.
    supersets: the most boxes of labels to search for (n, t).
    attacks: measure attacks.
    special_uniques: search for special uniques, rows that are unique by up to so many quasi-identifiers (SUDA).
    combinations: of quasi-identifiers, the most to examine for special uniques.
    missing: "any" if a reader takes a missing quasi-identifier for any value, in k and among the people of a list;
        "value" if it equals only other missing ones. By default what the columns' settings say, else "value".
    joint: closeness of several sensitive attributes together: `["disease,income:0.3"]`, or as in a run file. By default
        what the spec says.
    format, options: of the table if its path does not name its format, and for Spark's reader.
    engine: see `release`.

    Raises:
        ConfigurationError: naming the argument that is wrong.
        InputError: naming the column and what is wrong with it.
    """
    whole, people_of = _population(population)
    asked: dict[str, Any] = {
        "k": k,
        "t": t,
        "n": n,
        "gain": gain,
        "person": person,
        "population": whole,
        "threshold": threshold,
    }
    asked |= {"missing": missing, "joint": (joint,) if isinstance(joint, str) else tuple(joint)}
    question = _question(quasi_identifiers, sensitive, hierarchies, spec, **asked)
    target = None if classes_output is None else resolve(fspath(classes_output), "--classes-output", Path.cwd())

    def judge(
        question: AuditQuestion, judged: Any, compared: Any, people: Any, population: Any, former: Any
    ) -> AuditResult:
        from tclose_spark.auditing.audit import audit_table

        options = (target, supersets, attacks, special_uniques, combinations)
        return audit_table(judged, question, None, compared, people, *options, population, former)

    tables = (table, reference, background, people_of)
    former = [*earlier] if isinstance(earlier, list | tuple) else [] if earlier is None else [earlier]
    found = _on_engine("audit", engine, question, tables, format, options, judge, target, former)
    return Audit(**{**vars(found), "name": path_of(table) or "the table"})


@verb
def explain(
    table: Table,
    quasi_identifiers: Columns = (),
    sensitive: Columns = (),
    t: Number | None = None,
    *,
    attribute: str | None = None,
    labels: Mapping[str, str | None] | None = None,
    spec: Spec | None = None,
    hierarchies: Mapping[str, str | PathLike[str]] | None = None,
    reference: Table | None = None,
    format: str | None = None,
    options: Options = None,
    engine: str | None = None,
) -> Explanation:
    """Explains one class: both distributions side by side, their distance, and which mass moves where at what cost.

    attribute: the sensitive attribute; by default the one that is nearest to its t.
    labels: of the class, such as `{"age": "[20, 29]"}`, None for missing; by default the class farthest from the table.
    See `audit` for the other arguments.

    Raises:
        ConfigurationError: naming the argument that is wrong.
        InputError: if the table has no such class, or several.
    """
    question = _question(quasi_identifiers, sensitive, hierarchies, spec, k=None, t=t, n=None, gain="0.2", person=None)

    def explained(question: AuditQuestion, judged: Any, compared: Any = None, *_: Any) -> ClassExplanation:
        from tclose_spark.auditing.explain import explain_class

        return explain_class(judged, question, attribute, labels, None, compared)

    found = _on_engine("explain", engine, question, (table, reference), format, options, explained)
    return Explanation(**vars(found))


def _on_engine(
    verb: str,
    engine: str | None,
    question: AuditQuestion,
    tables: Sequence[Table],
    format: str | None,
    options: Options,
    judge: Callable[..., Result],
    target: str | None = None,
    earlier: Sequence[Table] = (),
) -> Result:
    """What `judge` finds in the tables, of the question as `opened_tables` completes it, on the chosen engine. target:
    where it writes.
    """
    path, how = path_of(tables[0]), reader_options(options)
    with as_typed():
        source = source_of(path, format, how) if path else Input(path=FRAME, format="table")
        held = [held_table(table) for table in tables]  # once: a stream can be read once only
        former = [held_table(table) for table in earlier]

    def work(on: str) -> Result:
        with working(f"tclose {verb}", held[0], path, on) as session, as_typed():
            from tclose_spark.auditing.tables import opened_tables

            columns = list[tuple[str, QuasiIdentifier | SensitiveAttribute]](question.quasi_identifiers.items())
            columns += question.sensitive_attributes.items()
            places = {f"the hierarchy of {name!r}": settings.hierarchy for name, settings in columns}
            require_paths(session, {**places, "--classes-output": target})
            with opened_tables(session, question, *held, earlier=former, kind=format, options=how) as opened:
                return judge(*opened)

    return on_engine(choose(verb, engine, table=None if path else held[0], source=source), work)


def held_table(table: Table) -> Any:
    """A path as text, and a table in memory as Arrow, unless it is one of Spark.

    Raises:
        ConfigurationError: if it is neither.
    """
    return path_of(table) or (table if table is None or is_spark(table) else as_arrow(table))


def _population(said: Any) -> tuple[Population | None, Table | None]:
    """(what is said of the population, its table)."""
    if said is None:
        return None, None
    if in_memory(said):
        return Population(table=FRAME), said
    require_type("population", said, Number | Population)
    population = said if isinstance(said, Population) else parse_population(str(said), Path.cwd())
    return population, population.table


def _question(
    quasi_identifiers: Columns,
    sensitive: Columns,
    hierarchies: Mapping[str, str | PathLike[str]] | None,
    spec: Spec | None,
    **asked: Any,
) -> AuditQuestion:
    """The question about these columns, or about those of a spec."""
    asked = {key: as_python(value) for key, value in asked.items()}
    if spec is not None:
        if quasi_identifiers or sensitive or hierarchies:
            raise ConfigurationError(
                "--config says which columns are what; leave out --quasi-identifiers, --sensitive and --hierarchy"
            )
        tree = {"name": "audit", "input": {"path": "-"}, "output": {"path": "/-"}, **tree_of(spec)}
        return question_from_run_file(spec_of(tree), **asked)
    if not quasi_identifiers:
        raise ConfigurationError(
            "which columns are quasi-identifiers? Give "
            + ("--quasi-identifiers age,zip,sex" if on_command_line() else "quasi_identifiers=['age', 'zip']")
            + ", or --config with a run file"
        )
    quasi = _settings(quasi_identifiers, "quasi_identifiers")
    for name, path in (hierarchies or {}).items():
        if name not in quasi:
            raise ConfigurationError(f"hierarchies: {name!r} is not a quasi-identifier ({', '.join(quasi)})")
        quasi[name] = {**quasi[name], "hierarchy": fspath(path)}
    attributes = _settings(sensitive, "sensitive")
    for role, columns in (("quasi_identifiers", quasi), ("sensitive", attributes)):
        for name, settings in columns.items():
            if isinstance(settings.get("hierarchy"), str):
                settings["hierarchy"] = resolve(settings["hierarchy"], f"{role}.{name}.hierarchy", Path.cwd())
    return question_from_columns(quasi, attributes, **asked)


def _settings(columns: Columns, what: str) -> dict[str, dict[str, Any]]:
    """Settings by column."""
    if columns is None:
        return {}
    if isinstance(columns, str) or not isinstance(columns, Collection):
        given = "a text" if isinstance(columns, str) else f"of type {type(columns).__name__}"
        raise ConfigurationError(f"{what} is {given}; expected a list of columns, or a dict of their settings")
    if not isinstance(columns, Mapping):
        if len(set(columns)) < len(columns):
            raise ConfigurationError(f"{what}: a column is listed twice")
        return {name: {} for name in columns}
    return {name: _setting(value, f"{what}.{name}") for name, value in columns.items()}


def _setting(value: Any, what: str) -> dict[str, Any]:
    if isinstance(value, Section):
        given = {key: getattr(value, key) for key in value.model_fields_set}
        return {key: part for key, part in given.items() if part is not None}
    if not isinstance(value, str | Mapping | None):
        raise ConfigurationError(
            f"{what} is of type {type(value).__name__}; expected a distance, or a dict of settings"
        )
    return {"distance": value} if isinstance(value, str) else dict(value or {})
