"""The tables of an audit, checked and normalized: columns, types, rows, hierarchies and distributions."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.checks.classes.class_table import JudgedAttribute, judged_attribute
from tclose_spark.checks.classes.tallies import count_columns
from tclose_spark.engine.tables import schema_of
from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.io.input.files import read_hierarchies
from tclose_spark.io.tables.check_columns import check_readable
from tclose_spark.io.tables.columns import INTEGRAL, MALFORMED, UNSUPPORTED, quoted
from tclose_spark.io.tables.prepared import normal_texts, plain
from tclose_spark.runfile.attributes import QuasiIdentifier, SensitiveAttribute
from tclose_spark.runfile.hierarchies import HierarchyBuilder
from tclose_spark.table.column_names.names import instead_of
from tclose_spark.table.domains import Counts
from tclose_spark.table.hierarchies.hierarchy import ROOT, Hierarchy

BOUNDS = QuasiIdentifier(type="numeric", numeric_output="bounds")


@dataclass(frozen=True, kw_only=True)
class AuditInputs:
    """Checked tables, with texts after their `text` options.

    question: with every pair of bounds as one quasi-identifier.
    rows: of the largest table that classes are made of or joined with.
    notes: on pairs of bounds.
    """

    question: AuditQuestion
    table: DataFrame
    reference: DataFrame | None
    background: DataFrame | None
    rows: int
    notes: list[str]


def prepare_inputs(
    question: AuditQuestion, table: DataFrame, reference: DataFrame | None = None, background: DataFrame | None = None
) -> AuditInputs:
    """The tables, ready to tally. `text` options apply to sensitive values everywhere, and to the quasi-identifiers of
    the background table; labels stay as they are published.

    Raises:
        InputError: if a column is missing, ambiguous or of a nested type, or a table has no rows or malformed ones.
    """
    sensitive = question.sensitive_attributes
    known_of_people: dict[str, QuasiIdentifier | SensitiveAttribute] = {**question.quasi_identifiers, **sensitive}
    table = normal_texts(table, sensitive)
    question, notes = with_bounds(table, question)
    check_columns(table, question.labels, sensitive, "the table")
    rows = count_rows(table, "the table")
    if background is not None:
        background = normal_texts(background, known_of_people)
        rows = max(rows, count_rows(background, "the background table"))
    return AuditInputs(
        question=question,
        table=table,
        reference=None if reference is None else normal_texts(reference, sensitive),
        background=background,
        rows=rows,
        notes=notes,
    )


def with_bounds(table: DataFrame, question: AuditQuestion) -> tuple[AuditQuestion, list[str]]:
    """(the question with every pair of columns `<name>_min` and `<name>_max` that bounds a number (`numeric_output:
    bounds`) as one quasi-identifier, a note on each).

    Two columns are bounds if the question names both or, in place of a column that the table lacks, the number. Every
    row must have numbers in both, the first no larger than the second, or NULL, or `*`. As two separate columns they
    would appear to lose no information.
    """
    pairs = [name for name in _candidates(question, table.columns) if not _broken(table, name)]
    quasi = dict(question.quasi_identifiers)
    for name in pairs:
        bounds = (f"{name}_min", f"{name}_max")
        place = next(column for column in quasi if column in (name, *bounds))
        quasi = {
            (name if key == place else key): (BOUNDS if key == place else q)
            for key, q in quasi.items()
            if key == place or key not in bounds
        }
    notes = [f"{name}: {name}_min and {name}_max are its bounds, and count as one quasi-identifier" for name in pairs]
    return question.model_copy(update={"quasi_identifiers": quasi}), notes


def hierarchies_of(
    question: AuditQuestion, spark: SparkSession, given: Mapping[str, Hierarchy] | None
) -> Mapping[str, Hierarchy]:
    """The hierarchies by column: the given ones, otherwise those of the question's files.

    Raises:
        ConfigurationError: if one that the question names is not given, or cannot be read.
    """
    settings: list[tuple[str, QuasiIdentifier | SensitiveAttribute]]
    settings = [*question.quasi_identifiers.items(), *question.sensitive_attributes.items()]
    built = [name for name, q in settings if isinstance(q.hierarchy, HierarchyBuilder) and name not in (given or ())]
    if built:
        raise ConfigurationError(
            f"hierarchy of {built[0]!r}: an audit builds no hierarchy; expected a CSV (tclose hierarchy writes one)"
        )
    if given is None:
        return read_hierarchies(question.quasi_identifiers, question.sensitive_attributes, spark)
    for name, asked in settings:
        if asked.hierarchy is not None and name not in given:
            raise ConfigurationError(
                f"hierarchies: the one of {name!r} is not among those given ({', '.join(given) or 'none'})"
            )
    leaf = [name for name, settings in question.sensitive_attributes.items() if settings.missing == "leaf"]
    return {**given, **{name: given[name].with_missing(f"hierarchies: {name}") for name in leaf}}


def check_columns(table: DataFrame, labels: Sequence[str], sensitive: Iterable[str], what: str) -> None:
    """Raises InputError if a column is missing, ambiguous, or of a nested type."""
    names = [name for name in table.columns if name != MALFORMED]
    sensitive = list(sensitive)
    for role, columns in (("quasi-identifier", labels), ("sensitive attribute", sensitive)):
        for column in columns:
            if column not in names:
                raise InputError(
                    f"{role} {column!r} is not in {what}; {instead_of(column, names, [*labels, *sensitive])}"
                )
            if names.count(column) > 1 or [name.lower() for name in names].count(column.lower()) > 1:
                raise InputError(
                    f"{role} {column!r}: {what} has a duplicate, several columns of this name but for case; rename them"
                )
            check_readable(schema_of(table).field(column))
            kind = table.schema[column].dataType
            if isinstance(kind, (*UNSUPPORTED, T.BinaryType)):
                raise InputError(f"{role} {column!r} is of type {kind.simpleString()}; expected single values")


def count_rows(table: DataFrame, what: str) -> int:
    """The number of rows. Raises InputError if there are none, or malformed ones."""
    figures = [F.count(F.lit(1)).alias("rows")]
    if MALFORMED in table.columns:
        figures.append(F.sum(quoted(MALFORMED).cast("bigint")).alias("malformed"))
        names = [name for name in table.columns if name != MALFORMED]  # Spark cannot read the mark alone
        figures += [F.count(quoted(name)).alias(f"n{i}") for i, name in enumerate(names)]
    (counted,) = table.agg(*figures).collect()
    if not counted["rows"]:
        raise InputError(f"{what} has no rows")
    if MALFORMED in table.columns and counted["malformed"]:
        raise InputError(
            f"{what} has {counted['malformed']} malformed rows (too few or too many fields); repair them, or give "
            "--option (sep, quote)"
        )
    return int(counted["rows"])


def mixed_missing_notes(table: DataFrame, question: AuditQuestion) -> list[str]:
    """A note on each column that has both NaN and NULL: they count as one value, but a reader of Parquet distinguishes
    them.
    """
    columns = [*question.labels, *question.sensitive_attributes]
    columns = [name for name in columns if isinstance(table.schema[name].dataType, T.FloatType | T.DoubleType)]
    if not columns:
        return []
    tests = [test for name in columns for test in (F.isnan(quoted(name)), quoted(name).isNull())]
    (counted,) = table.select(*[F.count_if(test).alias(str(i)) for i, test in enumerate(tests)]).collect()
    return [
        f"{name}: {nan:,} rows have NaN and {null:,} have NULL; both count as one value, missing, but a reader of "
        "Parquet distinguishes them: classes may be smaller and distances larger than reported"
        for name, nan, null in zip(columns, counted[::2], counted[1::2], strict=True)
        if nan and null
    ]


def judged_attributes(
    table: DataFrame,
    values: Sequence[Counts],
    question: AuditQuestion,
    hierarchies: Mapping[str, Hierarchy],
    reference: DataFrame | None,
) -> list[JudgedAttribute]:
    """The sensitive attributes with the distribution that classes are compared with: the table's (`values`, the counts
    of each attribute), or the reference's on the union of both domains.
    """
    known: Sequence[Counts | None] = [None] * len(values)
    if reference is not None:
        known = _counts_of(reference, table, list(question.sensitive_attributes))
    attributes = []
    for (name, settings), own, others in zip(question.sensitive_attributes.items(), values, known, strict=True):
        kinds = [frame.schema[name].dataType for frame in (table, reference) if frame is not None]
        is_text, tree = any(isinstance(kind, T.StringType) for kind in kinds), hierarchies.get(name)
        attribute = judged_attribute(name, settings, own, tree, is_text)
        if others is not None:
            attribute = judged_attribute(name, settings, {**dict.fromkeys(own, 0), **others}, tree, is_text)
        attributes.append(attribute)
    return attributes


def _counts_of(reference: DataFrame, table: DataFrame, sensitive: Sequence[str]) -> list[dict[str | None, int]]:
    """The values of the reference. Raises InputError if it lacks a sensitive attribute, or has it with another type."""
    check_columns(reference, [], sensitive, "the reference")
    for name in sensitive:
        kinds = [frame.schema[name].dataType for frame in (reference, table)]
        if kinds[0] != kinds[1] and not all(isinstance(kind, (*INTEGRAL, T.StringType)) for kind in kinds):
            types = " and ".join(kind.simpleString() for kind in kinds)
            raise InputError(
                f"sensitive attribute {name!r} is {types} in the reference and in the table; expected the same type"
            )
    count_rows(reference, "the reference")
    return count_columns(reference, sensitive)


def _candidates(question: AuditQuestion, columns: Collection[str]) -> list[str]:
    """The quasi-identifiers that, by the columns' names, may be published as bounds."""
    plain_names = [
        name
        for name, settings in question.quasi_identifiers.items()
        if not settings.hierarchy and settings.numeric_output != "bounds"
    ]
    numbers = dict.fromkeys(name if name not in columns else name.removesuffix("_min") for name in plain_names)

    def may_be(name: str) -> bool:
        bounds, folded = {f"{name}_min", f"{name}_max"}, [column.lower() for column in columns]
        named = name in plain_names or bounds <= set(plain_names)
        # Spark ignores case
        unambiguous = name.lower() not in folded and all(folded.count(bound.lower()) == 1 for bound in bounds)
        return named and unambiguous and bounds <= set(columns) and not bounds & set(question.sensitive_attributes)

    return [name for name in numbers if name and may_be(name)]


def _broken(table: DataFrame, name: str) -> bool:
    """Whether some row's two values are no bounds."""
    texts = [plain(table, f"{name}_{end}").cast("string") for end in ("min", "max")]
    numbers = [F.trim(text).try_cast("double") for text in texts]
    no_number: list[Column] = [
        text.isNotNull() & (text != ROOT) & (number.isNull() | number.isin(math.inf, -math.inf))
        for text, number in zip(texts, numbers, strict=True)
    ]
    return not table.where(no_number[0] | no_number[1] | F.coalesce(numbers[0] > numbers[1], F.lit(False))).isEmpty()
