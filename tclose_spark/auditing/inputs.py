"""The tables of an audit, checked and normalized: columns, types, rows, hierarchies and
distributions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.auditing.tables import AuditTables
from tclose_spark.checks.classes.tallies import count_columns
from tclose_spark.checks.labels.known_people import normal_texts, rows_without, with_people
from tclose_spark.engine.protocol import Session, Table
from tclose_spark.engine.tables import collect, map_batches, schema_of, select
from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.io.input.files import read_hierarchies
from tclose_spark.io.tables.check_columns import SUPPRESSED, check_readable
from tclose_spark.requirements.judge import JudgedAttribute, judged_attribute
from tclose_spark.runfile.attributes import QuasiIdentifier, SensitiveAttribute
from tclose_spark.runfile.hierarchies import HierarchyBuilder
from tclose_spark.table.column_names.names import instead_of
from tclose_spark.table.columns.preparing import as_text, judged_values, plain
from tclose_spark.table.columns.spark_types import is_unsupported, type_name
from tclose_spark.table.domains import Counts
from tclose_spark.table.hierarchies.hierarchy import ROOT, Hierarchy
from tclose_spark.table.people import PERSON

COUNTS = pa.schema([("n", pa.list_(pa.int64()))])
BOUNDS = QuasiIdentifier(type="numeric", numeric_output="bounds")


LATEST = "the table"
"""The name of the audited table, which is the latest."""


@dataclass(frozen=True, kw_only=True)
class EarlierTable:
    """An earlier release, as `prepare_table` makes it.

    name: how figures and errors name it. question: about the quasi-identifiers that it has. rows:
        their number.
    lacking: the others.
    """

    name: str
    question: AuditQuestion
    table: Table
    rows: int
    lacking: tuple[str, ...]

    @property
    def notes(self) -> list[str]:
        """A note if it lacks quasi-identifiers."""
        if not self.lacking:
            return []
        return [
            f"{self.name} has no {', '.join(self.lacking)}: its classes are by the other "
            "quasi-identifiers",
        ]


@dataclass(frozen=True, kw_only=True)
class AuditInputs(AuditTables):
    """Checked tables of the columns in use, with texts after their `text` options.

    If people are counted, the table ends as `with_people` says, and so does a background or
    population table that has their column.

    question: with every pair of bounds as one quasi-identifier.
    opened: the audited table with all its columns.
    rows: of the largest table that classes are made of or joined with.
    notes: on pairs of bounds.
    earlier: earlier releases, oldest first.
    """

    question: AuditQuestion
    opened: Table
    rows: int
    notes: Sequence[str]
    earlier: Sequence[EarlierTable]


def prepare_inputs(question: AuditQuestion, tables: AuditTables) -> AuditInputs:
    """The tables, ready to tally. `text` options apply to sensitive values everywhere, and to the
    quasi-identifiers of the background and population table; labels stay as they are published.

    Raises:
        InputError: if a column is missing, ambiguous or of a nested type, or a table has no rows or
            malformed ones.
    """
    sensitive = question.sensitive_attributes
    known_of_people: dict[str, QuasiIdentifier | SensitiveAttribute] = {
        **question.quasi_identifiers,
        **sensitive,
    }
    earlier = prepare_earlier(question, tables.earlier, tables.table)
    question, notes = with_bounds(tables.table, question)
    person = question.person
    if person is not None and person.unknown is not None:
        lacking = rows_without(tables.table, person.column)
        treated = {"drop": "are left out", "alone": "are a person each"}[person.unknown]
        notes = [*notes, f"{lacking:,} rows have no {person.column!r}, and {treated}"]
    table, rows = prepare_table(question, tables.table, "the table")
    listed = []
    reference = tables.reference
    of_people = (
        (tables.background, "the background table"),
        (tables.population, "the table of the population"),
    )
    for people, what in of_people:
        if people is not None:
            known = [*question.quasi_identifiers, *known_of_people, *question.persons]
            people = normal_texts(people, known, known_of_people)
            rows = max(rows, count_rows(people, what))
            if person is not None and person.column in schema_of(people).names:
                people = with_people(people, person.column, what, unknown=person.unknown)
        listed.append(people)
    if reference is not None:
        check_columns(reference, {"sensitive attribute": list(sensitive)}, "the reference")
        reference = normal_texts(reference, [*sensitive, *question.labels], sensitive)
    return AuditInputs(
        question=question,
        opened=tables.table,
        table=table,
        reference=reference,
        background=listed[0],
        population=listed[1],
        earlier=earlier,
        rows=max([rows, *(one.rows for one in earlier)]),
        notes=notes,
    )


def prepare_earlier(
    question: AuditQuestion,
    tables: Sequence[Table],
    latest: Table,
) -> list[EarlierTable]:
    """Earlier releases, oldest first. question: before bounds are paired. latest: the table as it
    was opened.

    Raises:
        InputError: if one has none of the quasi-identifiers, or persons of another type than the
            latest; and see
        `prepare_table`.
    """
    found = []
    for place, table in enumerate(tables, start=1):
        name = f"earlier {place}"
        own, lacking = _own_question(question, table)
        prepared, rows = prepare_table(own, table, name)
        for column in question.persons:
            fields = [schema_of(one).field(column) for one in (table, latest)]
            if fields[0].type != fields[1].type and not all(
                pa.types.is_integer(field.type) for field in fields
            ):
                types = " and ".join(map(type_name, fields))
                raise InputError(
                    f"person {column!r} is {types} in {name} and in {LATEST}; expected the same "
                    "type",
                )
        found.append(
            EarlierTable(name=name, question=own, table=prepared, rows=rows, lacking=lacking),
        )
    return found


def _own_question(question: AuditQuestion, table: Table) -> tuple[AuditQuestion, tuple[str, ...]]:
    """(the question about the quasi-identifiers that a table has, the names of the others)."""
    names = schema_of(table).names
    intervals = {
        name: q.model_copy(update={"numeric_output": "interval"}) if name in names else q
        for name, q in question.quasi_identifiers.items()
    }
    own, _ = with_bounds(
        table,
        question.model_copy(update={"quasi_identifiers": intervals, "population": None}),
    )
    lacking = tuple(name for name, columns in own.columns.items() if not set(columns) <= set(names))
    if len(lacking) == len(own.columns):
        return own, ()  # which `prepare_table` refuses
    kept = {name: q for name, q in own.quasi_identifiers.items() if name not in lacking}
    return own.model_copy(update={"quasi_identifiers": kept}), lacking


def prepare_table(question: AuditQuestion, table: Table, what: str) -> tuple[Table, int]:
    """(a published table with the question's columns, ready to tally; its rows). what: names it in
    errors.

    Rows that `internal/people` marks as suppressed are left out: they are not published.

    Raises:
        InputError: if a column is missing, ambiguous or of a nested type, or the table has no rows
            or malformed ones.
    """
    sensitive = question.sensitive_attributes
    check_columns(table, question.roles, what)
    columns = [
        *question.labels,
        *sensitive,
        *question.weights,
        *question.households,
        *question.persons,
    ]
    table = normal_texts(_published(table, columns), columns, sensitive)
    rows = count_rows(table, what)
    if question.person is not None:
        table = with_people(table, question.person.column, what, unknown=question.person.unknown)
    return table, rows


def _published(table: Table, columns: Sequence[str]) -> Table:
    """The rows of a table, or of `internal/people`, that are published, with these columns."""
    schema = schema_of(table)
    place = schema.get_field_index(SUPPRESSED)
    if PERSON not in columns or place < 0 or not pa.types.is_boolean(schema.field(place).type):
        return table

    def only(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.filter(pc.invert(batch.columns[-1])).select(range(len(columns)))

    kept = pa.schema([schema.field(column) for column in columns])
    return map_batches(select(table, [*columns, SUPPRESSED]), only, kept)


def with_bounds(table: Table, question: AuditQuestion) -> tuple[AuditQuestion, list[str]]:
    """(the question with every pair of columns `<name>_min` and `<name>_max` that bounds a number
    (`numeric_output: bounds`) as one quasi-identifier, a note on each).

    Two columns are bounds if the question names both or, in place of a column that the table lacks,
    the number. Every row must have numbers in both, the first no larger than the second, or NULL,
    or `*`. As two separate columns they would appear to lose no information.
    """
    pairs = [name for name in _candidates(question, schema_of(table)) if not _broken(table, name)]
    quasi = dict(question.quasi_identifiers)
    for name in pairs:
        bounds = (f"{name}_min", f"{name}_max")
        place = next(column for column in quasi if column in (name, *bounds))
        quasi = {
            (name if key == place else key): (BOUNDS if key == place else q)
            for key, q in quasi.items()
            if key == place or key not in bounds
        }
    notes = [
        f"{name}: {name}_min and {name}_max are its bounds, and count as one quasi-identifier"
        for name in pairs
    ]
    return question.model_copy(update={"quasi_identifiers": quasi}), notes


def hierarchies_of(
    question: AuditQuestion,
    session: Session,
    given: Mapping[str, Hierarchy] | None,
) -> Mapping[str, Hierarchy]:
    """The hierarchies by column: the given ones, otherwise those of the question's files.

    Raises:
        ConfigurationError: if one that the question names is not given, or cannot be read.
    """
    settings: list[tuple[str, QuasiIdentifier | SensitiveAttribute]]
    settings = [*question.quasi_identifiers.items(), *question.sensitive_attributes.items()]
    built = [
        name
        for name, q in settings
        if isinstance(q.hierarchy, HierarchyBuilder) and name not in (given or ())
    ]
    if built:
        raise ConfigurationError(
            f"hierarchy of {built[0]!r}: an audit builds no hierarchy; expected a CSV (tclose "
            "hierarchy writes one)",
        )
    if given is None:
        return read_hierarchies(question.quasi_identifiers, question.sensitive_attributes, session)
    for name, asked in settings:
        if asked.hierarchy is not None and name not in given:
            raise ConfigurationError(
                f"hierarchies: the one of {name!r} is not among those given "
                f"({', '.join(given) or 'none'})",
            )
    leaf = [
        name
        for name, settings in question.sensitive_attributes.items()
        if settings.missing == "leaf"
    ]
    return {**given, **{name: given[name].with_missing(f"hierarchies: {name}") for name in leaf}}


def check_columns(table: Table, roles: Mapping[str, Sequence[str]], what: str) -> None:
    """Raises InputError if a column is missing, ambiguous, or of a nested type. roles: columns by
    role.
    """
    schema = schema_of(table)
    persons = roles.get("person", ())
    names = schema.names
    needed = [column for columns in roles.values() for column in columns]
    made = {PERSON, SUPPRESSED} & {column.lower() for column in needed if column not in persons}
    if persons and made:
        raise InputError(
            f"--person: {what} has a column {min(made)!r}, and so names its own; rename it",
        )
    for role, columns in roles.items():
        for column in columns:
            if column not in names:
                raise InputError(
                    f"{role} {column!r} is not in {what}; {instead_of(column, names, needed)}",
                )
            if (
                names.count(column) > 1
                or [name.lower() for name in names].count(column.lower()) > 1
            ):
                raise InputError(
                    f"{role} {column!r}: {what} has a duplicate, several columns of this name but "
                    "for case; rename them",
                )
            field = schema.field(column)
            check_readable(field)
            if is_unsupported(field.type) or pa.types.is_binary(field.type):
                raise InputError(
                    f"{role} {column!r} is of type {type_name(field)}; expected single values",
                )


def count_rows(table: Table, what: str) -> int:
    """The number of rows. Raises InputError if there are none."""
    (rows,) = _counted(table, schema_of(table).names[:1], lambda column: [len(column)]) or (0,)
    if not rows:
        raise InputError(f"{what} has no rows")
    return rows


def _counted(
    table: Table,
    names: Sequence[str],
    counts: Callable[[pa.Array], Sequence[int]],
) -> list[int]:
    """The sums of what `counts` gives of each of these columns."""

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_pydict(
                {"n": [[n for column in batch.columns for n in counts(column)]]},
                COUNTS,
            )

    parts = collect(map_batches(select(table, names), count, COUNTS))["n"].to_pylist()
    return [sum(each) for each in zip(*parts, strict=True)]


def mixed_missing_notes(table: Table, question: AuditQuestion) -> list[str]:
    """A note on each column that has both NaN and NULL: they count as one value, but a reader of
    Parquet distinguishes them.
    """
    schema = schema_of(table)
    columns = [*question.labels, *question.sensitive_attributes]
    columns = [name for name in columns if pa.types.is_floating(schema.field(name).type)]
    if not columns:
        return []
    counted = _counted(table, columns, lambda c: [pc.sum(pc.is_nan(c)).as_py() or 0, c.null_count])
    return [
        f"{name}: {nan:,} rows have NaN and {null:,} have NULL; both count as one value, missing, "
        "but a reader of Parquet distinguishes them: classes may be smaller and distances larger "
        "than reported"
        for name, nan, null in zip(columns, counted[::2], counted[1::2], strict=True)
        if nan and null
    ]


def judged_attributes(
    table: Table,
    values: Sequence[Counts],
    question: AuditQuestion,
    hierarchies: Mapping[str, Hierarchy],
    reference: Table | None,
) -> list[JudgedAttribute]:
    """The sensitive attributes with the distribution that classes are compared with: the table's
    (`values`, the counts of each attribute), or the reference's on the union of both domains.
    """
    known: Sequence[Counts | None] = [None] * len(values)
    if reference is not None:
        known = _counts_of(reference, table, list(question.sensitive_attributes))
    schemas = [schema_of(one) for one in (table, reference) if one is not None]
    attributes = []
    for (name, settings), own, others in zip(
        question.sensitive_attributes.items(),
        values,
        known,
        strict=True,
    ):
        is_text = any(pa.types.is_string(schema.field(name).type) for schema in schemas)
        tree = hierarchies.get(name)
        attribute = judged_attribute(
            name,
            settings,
            own,
            tree,
            is_text,
        )  # raises errors about the table's own values
        if others is not None:
            attribute = judged_attribute(
                name,
                settings,
                {**dict.fromkeys(own, 0), **others},
                tree,
                is_text,
            )
        attributes.append(attribute)
    return attributes


def _counts_of(
    reference: Table,
    table: Table,
    sensitive: Sequence[str],
) -> list[dict[str | None, int]]:
    """The values of the reference. Raises InputError if a sensitive attribute has another type than
    in the table.
    """
    for name in sensitive:
        fields = [schema_of(one).field(name) for one in (reference, table)]
        kinds = [field.type for field in fields]
        if kinds[0] != kinds[1] and not all(
            pa.types.is_integer(kind) or pa.types.is_string(kind) for kind in kinds
        ):
            types = " and ".join(map(type_name, fields))
            raise InputError(
                f"sensitive attribute {name!r} is {types} in the reference and in the table; "
                "expected the same type",
            )
    count_rows(reference, "the reference")
    return count_columns(reference, sensitive)


def _candidates(question: AuditQuestion, schema: pa.Schema) -> list[str]:
    """The quasi-identifiers that, by the columns' names, may be published as bounds."""
    columns = [field.name for field in schema if not is_unsupported(field.type)]
    plain_names = [
        name
        for name, settings in question.quasi_identifiers.items()
        if not settings.hierarchy and settings.numeric_output != "bounds"
    ]
    numbers = dict.fromkeys(
        name if name not in columns else name.removesuffix("_min") for name in plain_names
    )

    def may_be(name: str) -> bool:
        bounds = {f"{name}_min", f"{name}_max"}
        folded = [column.lower() for column in columns]
        named = name in plain_names or bounds <= set(plain_names)
        # Spark ignores case
        unambiguous = name.lower() not in folded and all(
            folded.count(bound.lower()) == 1 for bound in bounds
        )
        return (
            named
            and unambiguous
            and bounds <= set(columns)
            and not bounds & set(question.sensitive_attributes)
        )

    return [name for name in numbers if name and may_be(name)]


def _broken(table: Table, name: str) -> bool:
    """Whether some row's two values are no bounds."""
    schema = pa.schema([("broken", pa.bool_())])

    def find(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            (low, no_low), (high, no_high) = map(_bound, batch.columns)
            broken = pc.or_(pc.or_(no_low, no_high), pc.greater(low, high).fill_null(False))
            yield pa.RecordBatch.from_arrays([broken.filter(broken)], schema=schema)

    bounds = select(table, [f"{name}_min", f"{name}_max"])
    return bool(collect(map_batches(bounds, find, schema), 1).num_rows)


def _bound(column: pa.Array) -> tuple[pa.Array, pa.Array]:
    """(the numbers of a column, whether each value is neither a finite number, nor missing, nor
    `*`).
    """
    texts = as_text(plain(column))
    numbers = judged_values(pc.ascii_trim_whitespace(texts), BOUNDS)
    known = pc.or_(pc.is_finite(numbers).fill_null(False), pc.equal(texts, ROOT).fill_null(True))
    return numbers, pc.invert(known)
