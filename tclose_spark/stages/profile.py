"""The one pass over the input: domains, ranges, the histogram of the sensitive attributes, the fingerprint; the rows
are staged meanwhile.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tclose_spark.errors import InputError, Offending
from tclose_spark.io.reading import Opened, check_text, explained, holds_damage, is_damaged, malformed_rows
from tclose_spark.io.shuffles import sized_shuffles
from tclose_spark.io.tables import (
    MALFORMED,
    NO_VALUE,
    check_columns,
    integral_columns,
    judged_column,
    not_of_type,
    prepared,
    prepared_name,
    quoted,
)
from tclose_spark.measures.distinct import REGISTERS as PLACES
from tclose_spark.measures.distinct import estimate
from tclose_spark.runfile.attributes import QuasiIdentifier
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.stages.staging import DIGEST, REGISTERS, ROWS, StagedColumns, stage_rows, staged_tallies
from tclose_spark.stages.warnings import NEARLY_UNIQUE
from tclose_spark.table.building import build_hierarchies
from tclose_spark.table.domains import (
    MOST_VALUES,
    Profile,
    QuasiDomain,
    TupleCounts,
    categorical_domain,
    marginal,
    sensitive_domain,
)
from tclose_spark.table.fingerprint import Fingerprint
from tclose_spark.table.hierarchy import Hierarchy
from tclose_spark.table.labels import LEAST, MOST, NumericLabels

MOST_TOLD = 1000  # values that are wrong, that are written down for who has to mend them


def profile_table(
    table: DataFrame,
    spec: ReleaseSpec,
    hierarchies: Mapping[str, Hierarchy],
    staged: str,
    secret: str,
    version: int | None = None,
) -> tuple[Profile, dict[str, Hierarchy]]:
    """The profile of a raw table, whose rows are staged at the path `staged` on the way; and its hierarchies, by
    column: those that are given, and those that the run file has built of the values. One pass.

    Raises:
        InputError: naming the column and what is wrong with it: see `tables.check_columns` and below.
    """
    check_columns(table, spec)
    _check_text(table, spec)
    observation, opened = Observation(), Opened(table, spec.input, spec.attributes.published)
    with explained(opened):
        if table.isEmpty():
            raise InputError(f"input.path: {spec.input.path} has no rows")
        columns = StagedColumns.of(table, spec)
        stage_rows(columns.select(_people(table, spec, observation), spec), columns, secret, staged)
    histograms, fingerprint, distinct_rows = _tallied(table, spec, staged)
    figures = observation.get
    rows = int(figures["rows"])
    if fingerprint.rows != rows:
        raise InputError(
            f"{fingerprint.rows} rows are staged of the {rows} that were read: a retry disturbed the run; run it again"
        )
    if figures["malformed"]:
        raise malformed_rows(opened, figures["malformed"], rows)
    if figures["damaged"] or any(holds_damage(value) for counts in histograms for key in counts for value in key):
        check_text(opened)
    _check_figures(table, figures, spec)
    quasi, sensitive = spec.attributes.quasi_identifiers, spec.attributes.sensitive_attributes
    values = {name: {key[0]: n for key, n in counts.items()} for name, counts in zip(quasi, histograms, strict=False)}
    values |= {name: dict(marginal(histograms[-1], i)) for i, name in enumerate(sensitive)}
    trees = {**hierarchies, **build_hierarchies(spec.attributes, values)}
    integral = integral_columns(table, list(quasi))
    numeric, domains = _numeric(spec), []
    for name in quasi:
        if quasi[name].is_numeric:
            kind = "integer" if name in integral or quasi[name].calendar else "double"
            domain = replace(_numeric_domain(name, figures, numeric.index(name), kind), calendar=quasi[name].calendar)
            domains.append(_in_range(domain, quasi[name], table))
            if quasi[name].numeric_output == "bounds" and domains[-1].missing:
                raise InputError(
                    f"quasi-identifier {name!r} is missing in {domains[-1].missing} rows, which bounds cannot say; "
                    "use numeric_output: interval"
                )
        else:
            sets = quasi[name].generalization == "set"
            domains.append(categorical_domain(name, values[name], trees.get(name), sets))
    tuples = histograms[-1]
    attributes = []
    for name in sensitive:
        is_text = isinstance(table.schema[name].dataType, T.StringType)
        attributes.append(sensitive_domain(name, values[name], sensitive[name], trees.get(name), is_text))
    places = [{value: code for code, value in enumerate(attribute.values)} for attribute in attributes]
    cells = sorted((tuple(place[v] for place, v in zip(places, key, strict=True)), n) for key, n in tuples.items())
    profile = Profile(
        rows=rows,
        quasi=tuple(domains),
        sensitive=tuple(attributes),
        cells=tuple(cell for cell, _ in cells),
        cell_counts=tuple(n for _, n in cells),
        distinct_rows=distinct_rows,
        fingerprint=str(fingerprint),
        version=version,
    )
    return profile, trees


def _check_text(table: DataFrame, spec: ReleaseSpec) -> None:
    """Raises InputError if a column that has text options is no text."""
    for role in ("quasi_identifiers", "sensitive_attributes"):
        for name, settings in getattr(spec.attributes, role).items():
            kind = table.schema[name].dataType
            if settings.text is not None and not isinstance(kind, T.StringType):
                raise InputError(
                    f"attributes.{role}.{name}.text: the column is of type {kind.simpleString()}; expected text, or "
                    "no such key"
                )


def _people(table: DataFrame, spec: ReleaseSpec, observation: Observation) -> DataFrame:
    """The prepared rows, observed."""
    numeric, quasi = _numeric(spec), spec.attributes.quasi_identifiers
    malformed = quoted(MALFORMED) if MALFORMED in table.columns else F.lit(False)
    return table.select(
        *prepared(table, spec),
        *[not_of_type(table, name, quasi[name]).alias(f"wrong{i}") for i, name in enumerate(numeric)],
        malformed.alias("malformed"),
        _damaged(table, spec).alias("damaged"),
    ).observe(observation, *_figures(spec, numeric))


def _tallied(table: DataFrame, spec: ReleaseSpec, staged: str) -> tuple[list[TupleCounts], Fingerprint, int]:
    """What was counted while the rows were staged: counts of the values of each quasi-identifier (none for a number),
    and last of the sensitive tuples; the fingerprint; about how many rows are different.
    """
    quasi, sensitive = list(spec.attributes.quasi_identifiers), spec.attributes.sensitive_attributes
    with sized_shuffles(table.sparkSession, MOST_VALUES):  # what is shuffled is counts of values
        counts = staged_tallies(table.sparkSession, staged).limit(MOST_VALUES + PLACES + 3).toArrow()
    histograms: list[dict[tuple[str | None, ...], int]] = [{} for _ in (*quasi, sensitive)]
    registers, whole = np.zeros(PLACES, dtype=np.int64), dict[int, int]()
    for tally, key, n in zip(*(column.to_pylist() for column in counts.columns), strict=True):
        if tally >= 0:
            histograms[tally][tuple(key)] = n
        elif tally == REGISTERS:
            registers[int(key[0])] = n
        else:
            whole[tally] = n
    if sum(map(len, histograms)) > MOST_VALUES:
        largest = max(range(len(histograms)), key=lambda place: len(histograms[place]))
        names = list(sensitive) if largest == len(quasi) else [quasi[largest]]
        raise InputError(
            f"{' and '.join(names)}: more than {MOST_VALUES:,} distinct values between all columns, most of them here; "
            "expected a domain that a table can be published by (type: numeric, coarser values, or another role)"
        )
    return list(histograms), Fingerprint(whole[ROWS], whole[DIGEST]), estimate(registers)


def _damaged(table: DataFrame, spec: ReleaseSpec) -> Column:
    """Whether an insensitive attribute holds text that may be damaged; of the others the histograms tell."""
    names = [
        name for name in spec.attributes.insensitive_attributes if isinstance(table.schema[name].dataType, T.StringType)
    ]
    return reduce(lambda either, name: either | is_damaged(quoted(name)), names, F.lit(False))


def column_places(spec: ReleaseSpec) -> dict[str, str]:
    """What each published column is called among the prepared ones."""
    return {name: prepared_name(place) for place, name in enumerate(spec.attributes.published)}


def _figures(spec: ReleaseSpec, numeric: Sequence[str]) -> list[Column]:
    """What is observed while the rows pass: figures of a column are numbered by its place among those of its kind."""
    place = column_places(spec)
    figures = [
        F.count(F.lit(1)).alias("rows"),
        *[F.sum(F.col(mark).cast("bigint")).alias(mark) for mark in ("malformed", "damaged")],
    ]
    for i, name in enumerate(numeric):
        column = F.col(place[name])
        figures += [
            F.sum(F.col(f"wrong{i}").cast("bigint")).alias(f"wrong{i}"),
            F.sum(column.isNull().cast("bigint")).alias(f"missing{i}"),
            F.min(column).alias(f"low{i}"),
            F.max(column).alias(f"high{i}"),
        ]
    for i, name in enumerate(spec.attributes.insensitive_attributes):
        figures.append(F.approx_count_distinct(F.xxhash64(place[name]), 0.02).alias(f"distinct{i}"))
    return figures


def _check_figures(table: DataFrame, figures: Mapping[str, Any], spec: ReleaseSpec) -> None:
    """Raises InputError for what a column may not hold."""
    rows = int(figures["rows"])
    for i, name in enumerate(_numeric(spec)):
        quasi = spec.attributes.quasi_identifiers[name]
        if figures[f"wrong{i}"]:
            raise InputError(
                f"quasi-identifier {name!r} is type: {quasi.type}, but {figures[f'wrong{i}']} of {rows} rows hold "
                f"{NO_VALUE[quasi.type]} (blanks around one count); mend them, or use type: categorical",
                values=_not_of_type(table, name, quasi),
            )
        if figures[f"low{i}"] is None:
            raise InputError(f"quasi-identifier {name!r} is missing in all {rows} rows; leave it out")
    for i, name in enumerate(spec.attributes.insensitive_attributes):
        distinct = int(figures[f"distinct{i}"])
        if distinct > NEARLY_UNIQUE * rows and name not in spec.attributes.allow_unique:
            raise InputError(
                f"insensitive attribute {name!r} is nearly unique (about {distinct} values in {rows} rows): published "
                "as it is, it links rows to people; drop it, give it another role, or name it in "
                "attributes.allow_unique"
            )


def _not_of_type(table: DataFrame, name: str, quasi: QuasiIdentifier) -> Offending:
    """The values of a quasi-identifier that are no numbers, dates or times, those of most rows first; at most MOST_TOLD
    of them.
    """
    value = quoted(name).cast("string").alias("value")
    wrong = table.where(not_of_type(table, name, quasi)).groupBy(value).agg(F.count(F.lit(1)).alias("n"))
    offending = wrong.orderBy(F.desc("n"), "value").limit(MOST_TOLD).collect()
    return Offending(name, NO_VALUE[quasi.type], {row["value"]: row["n"] for row in offending})


def _numeric(spec: ReleaseSpec) -> list[str]:
    """The quasi-identifiers that are read as numbers, dates or times, in order."""
    quasi = spec.attributes.quasi_identifiers
    return [name for name in quasi if quasi[name].reads_numbers or quasi[name].calendar]


def _in_range(domain: QuasiDomain, settings: QuasiIdentifier, table: DataFrame) -> QuasiDomain:
    """The domain over the range that the run file says, if it says one.

    Raises:
        InputError: if a value lies outside.
    """
    limits = settings.limits
    if limits is None:
        return domain
    low, high = limits[0] * domain.scale, limits[1] * domain.scale
    if Fraction(str(domain.low)) < low or Fraction(str(domain.high)) > high:
        raise _outside(table, domain, settings, low, high)
    if domain.kind == "integer":
        ends: tuple[float, float] = max(math.floor(low), LEAST + 1), min(math.ceil(high), MOST)
    else:
        ends = min(float(low), domain.low), max(float(high), domain.high)
    return replace(domain, low=ends[0], high=ends[1], known=True)


def _outside(
    table: DataFrame, domain: QuasiDomain, settings: QuasiIdentifier, low: Fraction, high: Fraction
) -> InputError:
    """What is told of values whose codes are outside of a range: how many."""
    name, write = domain.name, NumericLabels(domain.kind == "integer", None, domain.calendar).write
    numbers = judged_column(table, name, settings).alias("value")
    counted = table.select(numbers).groupBy("value").count().limit(MOST_VALUES).collect()
    lost: dict[str | None, int] = {
        write(row["value"]): row["count"]
        for row in counted
        if row["value"] is not None and not low <= Fraction(str(row["value"])) <= high
    }
    told = dict(sorted(lost.items(), key=lambda item: -item[1])[:MOST_TOLD])
    return InputError(
        f"attributes.quasi_identifiers.{name}.range: {len(lost)} values in {sum(lost.values())} rows lie outside of "
        f"{' to '.join(settings.range or ())}; mend them, or widen the range",
        values=Offending(name, "outside of its range", told),
    )


def _numeric_domain(name: str, figures: Mapping[str, Any], i: int, kind: str) -> QuasiDomain:
    return QuasiDomain(
        name=name, kind=kind, missing=int(figures[f"missing{i}"]), low=figures[f"low{i}"], high=figures[f"high{i}"]
    )
