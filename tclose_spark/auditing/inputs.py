"""What an audit is given: tables with the columns, types and rows that it needs, and the distributions that they
have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tclose_spark.auditing.question import Question
from tclose_spark.checks.classes.class_table import JudgedAttribute, judged_attribute
from tclose_spark.checks.classes.tallies import count_columns
from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.io.input.files import read_hierarchies
from tclose_spark.io.tables.check_columns import check_readable
from tclose_spark.io.tables.columns import INTEGRAL, MALFORMED, UNSUPPORTED, quoted
from tclose_spark.io.tables.prepared import normal_texts
from tclose_spark.runfile.attributes import QuasiIdentifier, SensitiveAttribute
from tclose_spark.runfile.hierarchies import HierarchyBuilder
from tclose_spark.table.column_names.names import instead_of
from tclose_spark.table.domains import Counts
from tclose_spark.table.hierarchies.hierarchy import Hierarchy


def trees_of(question: Question, spark: SparkSession, given: Mapping[str, Hierarchy] | None) -> Mapping[str, Hierarchy]:
    """The hierarchies by column: as given, else read from where the question says.

    Raises:
        ConfigurationError: if one that the question names is not among those given, or cannot be read.
    """
    settings: list[tuple[str, QuasiIdentifier | SensitiveAttribute]]
    settings = [*question.quasi_identifiers.items(), *question.sensitive_attributes.items()]
    built = [name for name, q in settings if isinstance(q.hierarchy, HierarchyBuilder) and name not in (given or ())]
    if built:
        raise ConfigurationError(
            f"hierarchy of {built[0]!r}: one is built where a release is made; an audit needs a CSV (tclose hierarchy "
            "writes one)"
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
            check_readable(table, column)
            kind = table.schema[column].dataType
            if isinstance(kind, (*UNSUPPORTED, T.BinaryType)):
                raise InputError(f"{role} {column!r} is of type {kind.simpleString()}; expected single values")


def normal(
    question: Question, table: DataFrame, reference: DataFrame | None = None, background: DataFrame | None = None
) -> tuple[DataFrame, DataFrame | None, DataFrame | None]:
    """The tables with the spellings that `text` options make one: sensitive values everywhere, and people's
    quasi-identifiers. Labels stay as they are published.
    """
    sensitive = question.sensitive_attributes
    everything: dict[str, QuasiIdentifier | SensitiveAttribute] = {**question.quasi_identifiers, **sensitive}
    return (
        normal_texts(table, sensitive),
        None if reference is None else normal_texts(reference, sensitive),
        None if background is None else normal_texts(background, everything),
    )


def check_table(table: DataFrame, question: Question) -> int:
    """The rows of a table. Raises InputError if it lacks a column or has no rows, or malformed ones."""
    check_columns(table, question.labels, question.sensitive_attributes, "the table")
    return check_rows(table, "the table")


def check_rows(table: DataFrame, what: str) -> int:
    """The rows of a table. Raises InputError if there are none, or malformed ones."""
    figures = [F.count(F.lit(1)).alias("rows")]
    if MALFORMED in table.columns:
        figures.append(F.sum(quoted(MALFORMED).cast("bigint")).alias("malformed"))
        names = [name for name in table.columns if name != MALFORMED]  # Spark wants more than the mark to be read
        figures += [F.count(quoted(name)).alias(f"n{i}") for i, name in enumerate(names)]
    (counted,) = table.agg(*figures).collect()
    if not counted["rows"]:
        raise InputError(f"{what} has no rows")
    if MALFORMED in table.columns and counted["malformed"]:
        raise InputError(
            f"{what} has {counted['malformed']} malformed rows (too few or too many fields); mend them, or give "
            "--option (sep, quote)"
        )
    return int(counted["rows"])


def merged_missing(table: DataFrame, question: Question) -> list[str]:
    """A note on each column in which some rows have NaN and others NULL: they count as one, and readers of Parquet
    tell them apart.
    """
    columns = [*question.labels, *question.sensitive_attributes]
    columns = [name for name in columns if isinstance(table.schema[name].dataType, T.FloatType | T.DoubleType)]
    if not columns:
        return []
    counted = table.select(
        *[F.count_if(test).alias(f"{kind} {i}") for i, name in enumerate(columns) for kind, test in _missing(name)]
    ).first()
    counts = [(name, counted[f"nan {i}"], counted[f"null {i}"]) for i, name in enumerate(columns)] if counted else []
    return [
        f"{name}: {nan:,} rows have NaN and {null:,} have NULL; both count as missing here, one value, and a reader of "
        "Parquet tells them apart: classes may be smaller and distances larger than stated"
        for name, nan, null in counts
        if nan and null
    ]


def _missing(name: str) -> list[tuple[str, Column]]:
    return [("nan", F.isnan(quoted(name))), ("null", quoted(name).isNull())]


def judged_attributes(
    table: DataFrame,
    values: Sequence[Counts],
    question: Question,
    hierarchies: Mapping[str, Hierarchy],
    reference: DataFrame | None,
) -> list[JudgedAttribute]:
    """The sensitive attributes with the distribution that classes are compared with: the table's (its `values` and
    their records, for each attribute), or the reference's.
    """
    known: Sequence[Counts | None] = [None] * len(values)
    if reference is not None:
        known = _counts_of(reference, table, list(question.sensitive_attributes))
    judged = []
    for (name, settings), own, others in zip(question.sensitive_attributes.items(), values, known, strict=True):
        kinds = [frame.schema[name].dataType for frame in (table, reference) if frame is not None]
        kind, tree = next((k for k in kinds if isinstance(k, T.StringType)), kinds[0]), hierarchies.get(name)
        attribute = judged_attribute(name, settings, own, tree, kind)
        judged.append(
            attribute
            if others is None
            else judged_attribute(name, settings, {**dict.fromkeys(own, 0), **others}, tree, kind)
        )
    return judged


def _counts_of(reference: DataFrame, table: DataFrame, sensitive: Sequence[str]) -> list[dict[str | None, int]]:
    """The values of the reference. Raises InputError if it lacks a sensitive attribute or writes its values in another
    way.
    """
    check_columns(reference, [], sensitive, "the reference")
    for name in sensitive:
        kinds = [frame.schema[name].dataType for frame in (reference, table)]
        if kinds[0] != kinds[1] and not all(isinstance(kind, (*INTEGRAL, T.StringType)) for kind in kinds):
            types = " and ".join(kind.simpleString() for kind in kinds)
            raise InputError(
                f"sensitive attribute {name!r} is {types} in the reference and in the table; expected one type"
            )
    check_rows(reference, "the reference")
    return count_columns(reference, sensitive)
