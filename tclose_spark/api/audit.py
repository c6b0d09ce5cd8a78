"""`tclose_spark.audit` and `tclose_spark.explain`: any table, made by anyone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from tclose_spark.api.arguments import (
    Number,
    Table,
    as_python,
    in_memory,
    path_of,
    reader_options,
    tree_of,
)
from tclose_spark.api.engine_choice import asked_engine
from tclose_spark.api.errors import on_command_line
from tclose_spark.api.session import choose, on_engine, working
from tclose_spark.api.signatures import require_type, verb, with_options
from tclose_spark.auditing.options import AuditOptions, Columns, ExplainOptions, TableOptions
from tclose_spark.auditing.question import (
    AuditQuestion,
    question_from_columns,
    question_from_run_file,
)
from tclose_spark.auditing.result import AuditResult, ClassExplanation
from tclose_spark.auditing.short_forms import parse_household, parse_person, parse_population
from tclose_spark.auditing.tables import AuditTables, opened_tables
from tclose_spark.engine.sources import require_paths
from tclose_spark.errors import ConfigurationError, GuaranteeError
from tclose_spark.io.input.arrow_frames import read_once
from tclose_spark.io.input.files import as_typed, source_of
from tclose_spark.io.input.sniffing import LEFT_OUT, told
from tclose_spark.report.notebook import in_frame, printed
from tclose_spark.runfile.loading import resolve, spec_of
from tclose_spark.runfile.privacy import JointCloseness, Population
from tclose_spark.runfile.section import Section
from tclose_spark.runfile.spec import FRAME, Input, ReleaseSpec

if TYPE_CHECKING:
    from rich.console import RenderableType

Result = TypeVar("Result")
NAMED = {"ReleaseSpec": ReleaseSpec, "JointCloseness": JointCloseness}
ASKED = {"t", "missing"} | set(AuditOptions.__annotations__) & set(AuditQuestion.model_fields)
ASKED -= {"quasi_identifiers"}
"""The options that the question of an audit is made from."""


class Audit(AuditResult):
    """The result of an audit; Jupyter shows it as a page."""

    def lines(self) -> Iterator[RenderableType]:
        """The result as text and tables."""
        from tclose_spark.auditing.views import audit_lines

        return audit_lines(self, self.name)

    @property
    def page(self) -> str:
        """The result as HTML, in one self-contained text."""
        from tclose_spark.auditing.views import audit_page

        return audit_page(self, self.name)

    def require_holds(self) -> None:
        """Raises GuaranteeError if a requirement does not hold."""
        if not self.holds:
            broken = [
                f"{g.measure}{f' of {g.attribute}' if g.attribute else ''}"
                for g in self.judged
                if not g.holds
            ]
            raise GuaranteeError(f"{self.name} does not meet the requirements: {', '.join(broken)}")

    def __repr__(self) -> str:
        return printed(self.lines())

    def _repr_html_(self) -> str:
        return in_frame(self.page, "Audit")


@dataclass(frozen=True, kw_only=True, repr=False)
class Explanation(ClassExplanation):
    """One class and a sensitive attribute; Jupyter shows them as a page.

    name: the table's name for display.
    """

    name: str = "a table"

    def lines(self) -> Iterator[RenderableType]:
        """The result as text and tables."""
        from tclose_spark.auditing.views import explanation_lines

        return explanation_lines(self)

    @property
    def page(self) -> str:
        """The result as HTML, in one self-contained text."""
        from tclose_spark.auditing.views import explanation_page

        return explanation_page(self, self.name)

    def __repr__(self) -> str:
        return printed(self.lines())

    def _repr_html_(self) -> str:
        return in_frame(self.page, "Explanation")


@verb
@with_options(AuditOptions, ("quasi_identifiers", "sensitive", "k", "t"), NAMED)
def audit(table: Table, *described: Any, **options: Unpack[AuditOptions]) -> Audit:
    """Audits a published table, whoever made it: k, l, t and (n, t) exactly, attacks, and
    information loss.

        salary = {"salary": {"distance": "ordered"}}
        tclose_spark.audit(published, ["age", "zip"], salary, k=5, t="0.2").holds

    Measures without a threshold are reported.

    table: a DataFrame of Spark, pandas or polars, a pyarrow table, or a path (CSV, Parquet, Delta).
    [options]

    Raises:
        ConfigurationError: naming the argument that is wrong.
        InputError: naming the column and what is wrong with it.
    """
    joint = options["joint"]
    earlier = options["earlier"]
    output = options["classes_output"]
    population, listed = _population(options["population"])
    asked = {name: value for name, value in options.items() if name in ASKED}
    asked["population"] = population
    asked["person"] = parse_person(options["person"])
    asked["household"] = parse_household(options["household"])
    asked["joint"] = (joint,) if isinstance(joint, str) else tuple(joint)
    if output is not None:
        asked["classes_output"] = resolve(fspath(output), "--classes-output", Path.cwd())
    question = _question(options, **asked)
    tables = AuditTables(
        table=table,
        reference=options["reference"],
        background=options["background"],
        raw=options["raw"],
        population=listed,
        earlier=earlier
        if isinstance(earlier, list | tuple)
        else []
        if earlier is None
        else [earlier],
    )

    def judge(question: AuditQuestion, opened: AuditTables) -> AuditResult:
        from tclose_spark.auditing.audit import audit_table
        from tclose_spark.auditing.linkage import with_linkage

        found = audit_table(opened, question)
        found = found if opened.raw is None else with_linkage(found, opened.table, opened.raw)
        return replace(found, notes=(*found.notes, *dict.fromkeys(left_out)))

    left_out: list[str] = []
    found = _on_engine("audit", question, tables, judge, options, left_out)
    return Audit(**{**vars(found), "name": path_of(table) or "the table"})


@verb
@with_options(ExplainOptions, ("quasi_identifiers", "sensitive", "t"), NAMED)
def explain(table: Table, *described: Any, **options: Unpack[ExplainOptions]) -> Explanation:
    """Explains one class: both distributions side by side, their distance, and which mass moves
    where at what cost.

    table: see `audit`.
    [options]

    Raises:
        ConfigurationError: naming the argument that is wrong.
        InputError: if the table has no such class, or several.
    """
    question = _question(options, t=options["t"])

    def explained(question: AuditQuestion, opened: AuditTables) -> ClassExplanation:
        from tclose_spark.auditing.explain import explain_class

        named = options["attribute"], options["labels"]
        return explain_class(opened.table, question, *named, None, opened.reference)

    tables = AuditTables(table=table, reference=options["reference"])
    found = _on_engine("explain", question, tables, explained, options, [])
    return Explanation(**vars(found), name=path_of(table) or "a table")


def _on_engine(
    verb: str,
    question: AuditQuestion,
    tables: AuditTables,
    judge: Callable[[AuditQuestion, AuditTables], Result],
    options: TableOptions,
    left_out: list[str],
) -> Result:
    """What `judge` finds in the tables, of the question as `opened_tables` completes it, on the
    chosen engine.

    left_out: gets the notes about lines of files that are no rows.
    """
    path = path_of(tables.table)
    kind = options["format"]
    how = reader_options(options["options"])
    with as_typed():
        source = source_of(path, kind, how) if path else Input(path=FRAME, format="table")
        single = {name: held_table(one) for name, one in vars(tables).items() if name != "earlier"}
        # A stream is read once only.
        held = AuditTables(**single, earlier=[held_table(one) for one in tables.earlier])

    def work(on: str) -> Result:
        with (
            working(f"tclose {verb}", held.table, path, on) as session,
            as_typed(),
            _noting(left_out),
        ):
            places = {
                f"the hierarchy of {name!r}": settings.hierarchy
                for columns in (question.quasi_identifiers, question.sensitive_attributes)
                for name, settings in columns.items()
            }
            require_paths(session, {**places, "--classes-output": question.classes_output})
            with opened_tables(session, question, held, kind, how) as opened:
                return judge(*opened)

    asked = asked_engine(options["engine"], question.engine_of_run_file)
    choice = choose(verb, asked, table=None if path else held.table, source=source)
    return on_engine(choice, work)


@contextmanager
def _noting(left_out: list[str]) -> Iterator[None]:
    """Keeps the notes about lines of files that are no rows, which are printed as well."""
    pass_on = told.get()

    def tell(line: str) -> None:
        if LEFT_OUT in line:
            left_out.append(line.removeprefix("note: ").removesuffix(". In a run file:"))
        pass_on(line)

    token = told.set(tell)
    try:
        yield
    finally:
        told.reset(token)


def held_table(table: Table) -> Any:
    """A path as text, and a table in memory as Arrow, unless it is one of Spark.

    Raises:
        ConfigurationError: if it is neither.
    """
    return path_of(table) or (None if table is None else read_once(table))


def _population(said: Any) -> tuple[Population | None, Table | None]:
    """(what is said of the population, its table)."""
    if said is None:
        return None, None
    if in_memory(said):
        return Population(table=FRAME), said
    require_type("population", said, Number | Population)
    population = said if isinstance(said, Population) else parse_population(str(said), Path.cwd())
    return population, population.table


def _question(options: TableOptions, **asked: Any) -> AuditQuestion:
    """The question about the columns that the options name, or about those of a spec."""
    quasi_identifiers = options["quasi_identifiers"]
    sensitive = options["sensitive"]
    hierarchies = options["hierarchies"]
    spec = options["spec"]
    asked = {key: as_python(value) for key, value in asked.items()}
    if spec is not None:
        if quasi_identifiers or sensitive or hierarchies:
            raise ConfigurationError(
                "--config says which columns are what; leave out --quasi-identifiers, --sensitive "
                "and --hierarchy",
            )
        tree = {"name": "audit", "input": {"path": "-"}, "output": {"path": "/-"}, **tree_of(spec)}
        return question_from_run_file(spec_of(tree), **asked)
    if not quasi_identifiers:
        raise ConfigurationError(
            "which columns are quasi-identifiers? Give "
            + (
                "--quasi-identifiers age,zip,sex"
                if on_command_line()
                else "quasi_identifiers=['age', 'zip']"
            )
            + ", or --config with a run file",
        )
    quasi = _settings(quasi_identifiers, "quasi_identifiers")
    for name, path in (hierarchies or {}).items():
        if name not in quasi:
            raise ConfigurationError(
                f"hierarchies: {name!r} is not a quasi-identifier ({', '.join(quasi)})",
            )
        quasi[name] = {**quasi[name], "hierarchy": fspath(path)}
    attributes = _settings(sensitive, "sensitive")
    for role, columns in (("quasi_identifiers", quasi), ("sensitive", attributes)):
        for name, settings in columns.items():
            file = settings.get("hierarchy")
            if isinstance(file, str):
                settings["hierarchy"] = resolve(file, f"{role}.{name}.hierarchy", Path.cwd())
    return question_from_columns(quasi, attributes, **asked)


def _settings(columns: Columns, what: str) -> dict[str, dict[str, object]]:
    """Settings by column."""
    if columns is None:
        return {}
    if isinstance(columns, str) or not isinstance(columns, Collection):
        given = "a text" if isinstance(columns, str) else f"of type {type(columns).__name__}"
        raise ConfigurationError(
            f"{what} is {given}; expected a list of columns, or a dict of their settings",
        )
    if not isinstance(columns, Mapping):
        if len(set(columns)) < len(columns):
            raise ConfigurationError(f"{what}: a column is listed twice")
        return {name: {} for name in columns}
    return {name: _setting(value, f"{what}.{name}") for name, value in columns.items()}


def _setting(value: Any, what: str) -> dict[str, object]:
    if isinstance(value, Section):
        return value.own_settings
    if not isinstance(value, str | Mapping | None):
        raise ConfigurationError(
            f"{what} is of type {type(value).__name__}; expected a distance, or a dict of settings",
        )
    return {"distance": value} if isinstance(value, str) else dict(value or {})
