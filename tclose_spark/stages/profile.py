"""The one pass over the input: domains, ranges, the histogram of the sensitive attributes, the fingerprint; the rows
are staged meanwhile.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tclose_spark.errors import InputError, Offending
from tclose_spark.io.input.damaged_text import (
    SourceTable,
    check_text,
    holds_damage,
    is_damaged,
    malformed_rows,
    translate_read_errors,
)
from tclose_spark.io.spark.shuffles import sized_shuffles
from tclose_spark.io.tables.columns import (
    INTEGRAL,
    MALFORMED,
    NO_VALUE,
    UNREADABLE,
    UNSUPPORTED,
    check_columns,
    judged_column,
    not_of_type,
    plain,
    prepared,
    prepared_name,
    quoted,
)
from tclose_spark.measures.sketches import REGISTERS as PLACES
from tclose_spark.measures.sketches import ValueSample, estimate
from tclose_spark.runfile.attributes import QuasiIdentifier
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.stages.staging import (
    DIGEST,
    MARK,
    NO_NUMBERS,
    PRESENT,
    RANGE,
    REGISTERS,
    ROWS,
    SAMPLED,
    NumberRange,
    StagedColumns,
    stage_rows,
    staged_tallies,
)
from tclose_spark.stages.warnings import NEARLY_UNIQUE
from tclose_spark.table.column_names.hints import hint_of, least_uniqueness
from tclose_spark.table.domains import (
    MOST_VALUES,
    Profile,
    QuasiDomain,
    Repetition,
    TupleCounts,
    categorical_domain,
    marginal,
    sensitive_domain,
)
from tclose_spark.table.fingerprint import Fingerprint
from tclose_spark.table.hierarchies.building import build_hierarchies
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.labels import LEAST, MOST, NumericLabels

BROKEN, DAMAGED = "broken", "damaged"
"""Marks of rows that are malformed, and of those with text that may be."""
SHORT_INTEGERS = (T.ByteType, T.ShortType, T.IntegerType)
"""Types of which every value is a number that codes have."""
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
    opened = SourceTable(table, spec.input, spec.attributes.published)
    with translate_read_errors(opened):
        if table.isEmpty():
            raise InputError(f"input.path: {spec.input.path} has no rows")
        columns, marks = StagedColumns.of(table, spec), _marks(table, spec)
        identifiers = _identifiers(table, spec)
        hashes = {f"identifier{place}": hashed(table, name) for place, name in enumerate(identifiers)}
        more = {**marks, **hashes}
        people = table.select(*prepared(table, spec), *[column.alias(name) for name, column in more.items()])
        stage_rows(columns.select(people, spec, list(more)), columns, secret, staged, list(marks))
    counted = _counted(table, spec, staged, identifiers)
    rows, histograms = counted.fingerprint.rows, counted.histograms
    if counted.marked.get(BROKEN):
        raise malformed_rows(opened, counted.marked[BROKEN], rows)
    if counted.marked.get(DAMAGED) or any(holds_damage(value) for of in histograms for key in of for value in key):
        check_text(opened)
    _check_counted(table, counted, spec)
    quasi, sensitive = spec.attributes.quasi_identifiers, spec.attributes.sensitive_attributes
    values = {name: {key[0]: n for key, n in counts.items()} for name, counts in zip(quasi, histograms, strict=False)}
    values |= {name: dict(marginal(histograms[-1], i)) for i, name in enumerate(sensitive)}
    trees = {**hierarchies, **build_hierarchies(spec.attributes, values)}
    domains = []
    for name in quasi:
        if quasi[name].is_numeric:
            domain = _numeric_domain(name, counted.ranges[name], table, quasi[name])
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
        distinct_rows=counted.distinct_rows,
        fingerprint=str(counted.fingerprint),
        version=version,
        repeated=counted.repeated,
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


def _marks(table: DataFrame, spec: ReleaseSpec) -> dict[str, Column]:
    """What may be wrong with a row, by mark: that it is BROKEN or DAMAGED, or has a value that is none of its type."""
    marks = {
        wrong_in(place): not_of_type(table, name, quasi)
        for place, (name, quasi) in enumerate(spec.attributes.quasi_identifiers.items())
        if _holds_numbers(quasi) and not isinstance(table.schema[name].dataType, SHORT_INTEGERS)
    }
    if MALFORMED in table.columns:
        marks[BROKEN] = quoted(MALFORMED)
    texts = [
        name for name in spec.attributes.insensitive_attributes if isinstance(table.schema[name].dataType, T.StringType)
    ]
    if texts:  # of other columns the histograms tell
        marks[DAMAGED] = reduce(Column.__or__, [is_damaged(quoted(name)) for name in texts])
    return marks


def _identifiers(table: DataFrame, spec: ReleaseSpec) -> dict[str, float]:
    """The columns whose name is that of a person's identifier, of those that are listed as direct or insensitive, or
    left out; and from how many different values a row on each is one. One that is listed as direct and whose name says
    nothing is one where it is nearly unique.
    """
    attributes, lower = spec.attributes, [name.lower() for name in table.columns]
    found = {}
    for name in table.columns:
        least = least_uniqueness(name)
        if name in attributes.direct_identifiers and least is None and hint_of(name).concept is None:
            least = NEARLY_UNIQUE
        judged = name in attributes.quasi_identifiers or name in attributes.sensitive_attributes or name == MALFORMED
        field = table.schema[name] if lower.count(name.lower()) == 1 else None
        readable = (
            field is not None and not isinstance(field.dataType, UNSUPPORTED) and UNREADABLE not in field.metadata
        )
        if least is not None and readable and not judged:
            found[name] = least
    return found


def hashed(table: DataFrame, name: str) -> Column:
    """The hashes of a column's values; NULL where one is missing or empty."""
    column = plain(table, name)
    return F.when(column.cast("string") != "", F.xxhash64(column))


def wrong_in(place: int) -> str:
    """The mark of values that are none of the type of the quasi-identifier at this place."""
    return f"wrong{place}"


@dataclass(frozen=True, kw_only=True)
class Counted:
    """What was counted while the rows were staged.

    histograms: rows by value of each quasi-identifier (none of a number), and last by sensitive tuple.
    ranges: of each number; marked: rows that have each of `_marks`.
    distinct: about how many values each insensitive attribute has; distinct_rows: how many rows are different.
    repeated: the identifiers that repeat.
    """

    fingerprint: Fingerprint
    histograms: list[TupleCounts]
    ranges: dict[str, NumberRange]
    marked: dict[str, int]
    distinct: dict[str, int]
    distinct_rows: int
    repeated: tuple[Repetition, ...]


def _counted(table: DataFrame, spec: ReleaseSpec, staged: str, identifiers: Mapping[str, float]) -> Counted:
    """What was counted of all rows. identifiers: see `_identifiers`.

    Raises:
        InputError: if there are more values than MOST_VALUES.
    """
    quasi, sensitive = list(spec.attributes.quasi_identifiers), spec.attributes.sensitive_attributes
    with sized_shuffles(table.sparkSession, MOST_VALUES):  # what is shuffled is counts of values
        counts = staged_tallies(table.sparkSession, staged, len(identifiers))
        tallies = counts.limit(2 * MOST_VALUES).toArrow()
    kinds = tallies["tally"].to_numpy()
    sizes = np.bincount(kinds[kinds >= 0], minlength=len(quasi) + 1)
    if sizes.sum() > MOST_VALUES:
        largest = int(sizes.argmax())
        names = list(sensitive) if largest == len(quasi) else [quasi[largest]]
        raise InputError(
            f"{' and '.join(names)}: more than {MOST_VALUES:,} distinct values between all columns, most of them here; "
            "expected a domain that a table can be published by (type: numeric, coarser values, or another role)"
        )
    histograms: list[dict[tuple[str | None, ...], int]] = [{} for _ in sizes]
    ranges: dict[str, NumberRange] = {}
    marked, whole, present = dict[str, int](), dict[int, int](), dict[int, int]()
    sampled = [dict[int, int]() for _ in identifiers]
    registers = {name: np.zeros(PLACES, dtype=np.int64) for name in ("", *spec.attributes.insensitive_attributes)}
    for tally, key, n in zip(*(column.to_pylist() for column in tallies.columns), strict=True):
        if tally >= 0:
            histograms[tally][tuple(key)] = n
        elif tally == REGISTERS:
            registers[key[0]][int(key[1])] = n
        elif tally == RANGE:
            name = quasi[int(key[0])]
            ranges[name] = ranges.get(name, NO_NUMBERS) | NumberRange.from_key(key[1:], n)
        elif tally == MARK:
            marked[key[0]] = n
        elif tally == PRESENT:
            present[int(key[0])] = n
        elif tally == SAMPLED:
            sampled[int(key[0])][int(key[1], 16)] = n
        else:
            whole[tally] = n
    distinct = {name: estimate(found) for name, found in registers.items()}
    return Counted(
        fingerprint=Fingerprint(whole[ROWS], whole[DIGEST]),
        histograms=[*histograms],
        ranges=ranges,
        marked=marked,
        distinct_rows=distinct.pop(""),
        distinct=distinct,
        repeated=tuple(_repeated(identifiers, present, sampled)),
    )


def _repeated(
    identifiers: Mapping[str, float], present: Mapping[int, int], sampled: Sequence[Mapping[int, int]]
) -> Iterator[Repetition]:
    """The identifiers of which a sample of values has one of several rows."""
    for place, (name, least) in enumerate(identifiers.items()):
        hashes, counts = np.array([*sampled[place]], dtype=np.uint64), np.array([*sampled[place].values()])
        sample = ValueSample.empty().add(hashes, counts)
        if sample.repeats and sample.distinct >= least * present[place]:
            yield Repetition(name, present[place], sample.distinct)


def column_places(spec: ReleaseSpec) -> dict[str, str]:
    """What each published column is called among the prepared ones."""
    return {name: prepared_name(place) for place, name in enumerate(spec.attributes.published)}


def _check_counted(table: DataFrame, counted: Counted, spec: ReleaseSpec) -> None:
    """Raises InputError for what a column may not hold."""
    rows = counted.fingerprint.rows
    for place, (name, quasi) in enumerate(spec.attributes.quasi_identifiers.items()):
        if wrong := counted.marked.get(wrong_in(place)):
            raise InputError(
                f"quasi-identifier {name!r} is type: {quasi.type}, but {wrong} of {rows} rows hold "
                f"{NO_VALUE[quasi.type]} (blanks around one count); mend them, or use type: categorical",
                values=_not_of_type(table, name, quasi),
            )
        missing = counted.ranges[name].missing if quasi.is_numeric else counted.histograms[place].get((None,), 0)
        if _holds_numbers(quasi) and missing == rows:
            raise InputError(f"quasi-identifier {name!r} is missing in all {rows} rows; leave it out")
    for name, distinct in counted.distinct.items():
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


def _holds_numbers(quasi: QuasiIdentifier) -> bool:
    """Whether its values are read as numbers, dates or times."""
    return quasi.reads_numbers or quasi.calendar is not None


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


def _numeric_domain(name: str, found: NumberRange, table: DataFrame, settings: QuasiIdentifier) -> QuasiDomain:
    is_whole = settings.calendar is not None or isinstance(table.schema[name].dataType, INTEGRAL)
    return QuasiDomain(
        name=name,
        kind="integer" if is_whole else "double",
        missing=found.missing,
        low=found.low,
        high=found.high,
        calendar=settings.calendar,
    )
