"""The one pass over the input: rows are staged, and their tallies become the profile of the table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from typing import Any

import pyarrow as pa
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
from tclose_spark.io.input.input_state import commit_of, input_state
from tclose_spark.io.input.reading import read_table
from tclose_spark.io.run import Run
from tclose_spark.io.spark.shuffles import sized_shuffles
from tclose_spark.io.spark.workers import Mapper, map_batches
from tclose_spark.io.storage.folders import for_spark
from tclose_spark.io.tables.check_columns import check_columns
from tclose_spark.io.tables.columns import INTEGRAL, MALFORMED, UNREADABLE, UNSUPPORTED, quoted
from tclose_spark.io.tables.delta import LARGE_VALUES
from tclose_spark.io.tables.prepared import NO_VALUE, judged_column, not_of_type, plain, prepared
from tclose_spark.runfile.attributes import QuasiIdentifier
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.stages.insensitive import guard_insensitive
from tclose_spark.stages.staging.area import PROFILE, STAGED_COLUMNS, STAGED_ROWS, drop_rows, resolved_attributes
from tclose_spark.stages.staging.batches import HASH, STAGED, StagedColumns, write_batch
from tclose_spark.stages.staging.tallies import Counted, NumberRange, TaskTallies, read_tallies, staged_tallies
from tclose_spark.stages.warnings import NEARLY_UNIQUE, profile_warnings, repetition_warning
from tclose_spark.table.column_names.hints import hint_of, least_uniqueness
from tclose_spark.table.dictionaries import coded
from tclose_spark.table.domains import (
    MOST_VALUES,
    Profile,
    QuasiDomain,
    categorical_domain,
    marginal,
    sensitive_domain,
)
from tclose_spark.table.hierarchies.building import build_hierarchies
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.labels import LEAST, MOST, NumericLabels
from tclose_spark.table.row_hash import RowHash

BROKEN, DAMAGED = "broken", "damaged"
"""Marks of malformed rows, and of rows whose text may be damaged."""
SHORT_INTEGERS = (T.ByteType, T.ShortType, T.IntegerType)
"""Types whose values are all numbers that codes have."""
MOST_LISTED = 1000  # wrong values that are written down for whoever corrects them


def profile_input(run: Run, record: dict[str, Any]) -> None:
    """Profiles and stages the input of a run. record: gets its version, state, fingerprint and warnings."""
    source = run.spec.input
    commit = commit_of(run.spark, source)
    version = None if commit is None else commit.version
    state = input_state(run.spark, source, commit)
    table = read_table(run.spark, source, version)
    try:
        path = run.staging.path(STAGED_ROWS)
        profile, trees = profile_table(table, run.spec, run.hierarchies, path, run.secret, version)
        built = run.write_hierarchies(trees)
        attributes = resolved_attributes(run.with_hierarchies(trees), profile)
        insensitive = guard_insensitive(table, run.spec, profile, attributes.quasi_identifiers)
    except BaseException:
        drop_rows(run)
        raise
    run.staging.write(PROFILE, profile.to_json())
    run.staging.write(STAGED_COLUMNS, StagedColumns.of(table, run.spec).to_json())
    record["input"] = {
        "path": source.path,
        "rows": profile.rows,
        "version": version,
        "state": state,
        "fingerprint": profile.fingerprint,
    }
    record |= {"hierarchies": built} if built else {}
    record |= {"insensitive": insensitive} if insensitive else {}
    record["warnings"] = list(profile_warnings(profile, run.spec))
    record["repeated"] = [repetition_warning(one) for one in profile.repeated]
    for warning in record["warnings"]:
        run.announce(f"note: {warning}")


def profile_table(
    table: DataFrame,
    spec: ReleaseSpec,
    hierarchies: Mapping[str, Hierarchy],
    staged: str,
    secret: str,
    version: int | None = None,
) -> tuple[Profile, dict[str, Hierarchy]]:
    """The profile of a raw table, and its hierarchies by column: the given ones, and those built from its values. One
    pass over the table, which stages the rows at the path `staged`.

    Raises:
        InputError: if a column is missing or its values do not fit the run file; the message names the column.
    """
    check_columns(table, spec)
    _check_text(table, spec)
    source = SourceTable(table, spec.input, spec.attributes.published)
    identifiers = _identifiers(table, spec)
    with translate_read_errors(source):
        if table.isEmpty():
            raise InputError(f"input.path: {spec.input.path} has no rows")
        _stage_rows(table, spec, list(identifiers), secret, staged)
    with sized_shuffles(table.sparkSession, MOST_VALUES):  # counts of values are shuffled
        tallies = staged_tallies(table.sparkSession, staged, len(identifiers)).limit(2 * MOST_VALUES).toArrow()
    counted = read_tallies(tallies, spec.attributes, identifiers)
    if counted.marked.get(BROKEN):
        raise malformed_rows(source, counted.marked[BROKEN], counted.fingerprint.rows)
    values = (value for histogram in counted.histograms for key in histogram for value in key)
    if counted.marked.get(DAMAGED) or any(map(holds_damage, values)):
        check_text(source)
    _check_counted(table, counted, spec)
    return _profile_of(table, spec, counted, hierarchies, version)


def _profile_of(
    table: DataFrame, spec: ReleaseSpec, counted: Counted, hierarchies: Mapping[str, Hierarchy], version: int | None
) -> tuple[Profile, dict[str, Hierarchy]]:
    """The profile and hierarchies of a table with these tallies."""
    quasi, sensitive = spec.attributes.quasi_identifiers, spec.attributes.sensitive_attributes
    *histograms, tuples = counted.histograms
    values = {name: {key[0]: n for key, n in counts.items()} for name, counts in zip(quasi, histograms, strict=True)}
    values |= {name: dict(marginal(tuples, i)) for i, name in enumerate(sensitive)}
    trees = {**hierarchies, **build_hierarchies(spec.attributes, values)}
    domains = [
        _numeric_domain(name, counted.ranges[name], table, settings)
        if settings.is_numeric
        else categorical_domain(name, values[name], trees.get(name), settings.generalization == "set")
        for name, settings in quasi.items()
    ]
    attributes = []
    for name, settings in sensitive.items():
        is_text = isinstance(table.schema[name].dataType, T.StringType)
        attributes.append(sensitive_domain(name, values[name], settings, trees.get(name), is_text))
    places = [{value: code for code, value in enumerate(attribute.values)} for attribute in attributes]
    cells = sorted((tuple(place[v] for place, v in zip(places, key, strict=True)), n) for key, n in tuples.items())
    profile = Profile(
        rows=counted.fingerprint.rows,
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


def _stage_rows(table: DataFrame, spec: ReleaseSpec, identifiers: Sequence[str], secret: str, path: str) -> None:
    """Stages the prepared rows with their keyed hashes, and their tallies."""
    columns, marks = StagedColumns.of(table, spec), _marks(table, spec)
    more = marks | {f"identifier{place}": _hashes(table, name) for place, name in enumerate(identifiers)}
    people = table.select(*prepared(table, spec), *[column.alias(name) for name, column in more.items()])
    stager = _stager(columns, list(marks), len(identifiers), secret)
    staged = map_batches(columns.select(people, spec, list(more)), stager, STAGED)
    staged.write.options(**LARGE_VALUES).parquet(for_spark(path))


def _stager(columns: StagedColumns, marks: Sequence[str], identifiers: int, secret: str) -> Mapper:
    """Stages batches of the columns, marks, and hashes of identifiers; then the tallies of the task."""
    width = len(columns.names)

    def stage(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tallies = TaskTallies(columns, marks, identifiers)
        keyed = RowHash.of(secret, len(columns.keyed(columns.names)))
        for batch in batches:
            if batch.num_rows:
                given = batch.columns[:width]
                held = [coded(column) if pa.types.is_string(column.type) else column for column in given]
                tallies.add(held, batch.columns[width : width + len(marks)], batch.columns[width + len(marks) :])
                hashes = pa.array(keyed.of_rows(columns.keyed(held)))
                rows = pa.RecordBatch.from_arrays([*map(_narrow, held), hashes], names=[*columns.names, HASH])
                yield staged(write_batch(rows), [None], [None], [None])
        yield staged(None, *zip(*tallies.rows(), strict=True))

    def staged(batch: bytes | None, *tallies: Sequence[Any]) -> pa.RecordBatch:
        kinds = (pa.int32(), pa.list_(pa.string()), pa.int64())
        arrays = [pa.array(values, kind) for values, kind in zip(tallies, kinds, strict=True)]
        batches = pa.array([batch] * len(arrays[0]), pa.binary())
        return pa.RecordBatch.from_arrays([batches, *arrays], names=["batch", "tally", "key", "n"])

    return stage


def _narrow(column: pa.Array) -> pa.Array:
    """A dictionary column with the smallest index type; other columns unchanged."""
    if not pa.types.is_dictionary(column.type):
        return column
    size = len(column.dictionary)
    kind = pa.int8() if size < 2**7 else pa.int16() if size < 2**15 else pa.int32()
    return pa.DictionaryArray.from_arrays(column.indices.cast(kind), column.dictionary)


def _check_text(table: DataFrame, spec: ReleaseSpec) -> None:
    """Raises InputError if a column with text options is not text."""
    for role in ("quasi_identifiers", "sensitive_attributes"):
        for name, settings in getattr(spec.attributes, role).items():
            kind = table.schema[name].dataType
            if settings.text is not None and not isinstance(kind, T.StringType):
                raise InputError(
                    f"attributes.{role}.{name}.text: the column is of type {kind.simpleString()}; expected text, or "
                    "no such key"
                )


def _marks(table: DataFrame, spec: ReleaseSpec) -> dict[str, Column]:
    """By mark, whether a row is BROKEN, DAMAGED, or has a value that is not of its type."""
    marks = {
        _wrong_type(place): not_of_type(table, name, quasi)
        for place, (name, quasi) in enumerate(spec.attributes.quasi_identifiers.items())
        if _holds_numbers(quasi) and not isinstance(table.schema[name].dataType, SHORT_INTEGERS)
    }
    if MALFORMED in table.columns:
        marks[BROKEN] = quoted(MALFORMED)
    insensitive = spec.attributes.insensitive_attributes  # histograms show damage in other columns
    texts = [name for name in insensitive if isinstance(table.schema[name].dataType, T.StringType)]
    if texts:
        marks[DAMAGED] = reduce(Column.__or__, [is_damaged(quoted(name)) for name in texts])
    return marks


def _identifiers(table: DataFrame, spec: ReleaseSpec) -> dict[str, float]:
    """The columns that may identify a person, of those that are direct, insensitive or left out, with the least share
    of distinct values that makes them identifiers. Names decide; a direct identifier whose name is unknown is one if it
    is nearly unique.
    """
    attributes, lower = spec.attributes, [name.lower() for name in table.columns]
    judged = {*attributes.quasi_identifiers, *attributes.sensitive_attributes, MALFORMED}
    found = {}
    for name in table.columns:
        least = least_uniqueness(name)
        if name in attributes.direct_identifiers and least is None and hint_of(name).concept is None:
            least = NEARLY_UNIQUE
        if least is None or name in judged or lower.count(name.lower()) > 1:
            continue
        field = table.schema[name]
        if not isinstance(field.dataType, UNSUPPORTED) and UNREADABLE not in field.metadata:
            found[name] = least
    return found


def _hashes(table: DataFrame, name: str) -> Column:
    """The hashes of a column's values, NULL for missing or empty ones."""
    column = plain(table, name)
    return F.when(column.cast("string") != "", F.xxhash64(column))


def _wrong_type(place: int) -> str:
    """The mark of values of a quasi-identifier that are not of its type."""
    return f"wrong{place}"


def _check_counted(table: DataFrame, counted: Counted, spec: ReleaseSpec) -> None:
    """Raises InputError for values that a column may not hold."""
    rows = counted.fingerprint.rows
    for place, (name, quasi) in enumerate(spec.attributes.quasi_identifiers.items()):
        if wrong := counted.marked.get(_wrong_type(place)):
            raise InputError(
                f"quasi-identifier {name!r} is type: {quasi.type}, but {wrong} of {rows} rows hold "
                f"{NO_VALUE[quasi.type]} (blanks count); correct them, or use type: categorical",
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
    """At most MOST_LISTED values of a quasi-identifier that are not of its type, most frequent first."""
    value = quoted(name).cast("string").alias("value")
    wrong = table.where(not_of_type(table, name, quasi)).groupBy(value).agg(F.count(F.lit(1)).alias("n"))
    offending = wrong.orderBy(F.desc("n"), "value").limit(MOST_LISTED).collect()
    return Offending(name, NO_VALUE[quasi.type], {row["value"]: row["n"] for row in offending})


def _holds_numbers(quasi: QuasiIdentifier) -> bool:
    """Whether its values are read as numbers, dates or times."""
    return quasi.reads_numbers or quasi.calendar is not None


def _numeric_domain(name: str, found: NumberRange, table: DataFrame, settings: QuasiIdentifier) -> QuasiDomain:
    """The domain of numbers, over the range of the run file if it gives one.

    Raises:
        InputError: if a value is outside that range, or a value is missing and bounds are to be published.
    """
    is_whole = settings.calendar is not None or isinstance(table.schema[name].dataType, INTEGRAL)
    domain = QuasiDomain(
        name=name,
        kind="integer" if is_whole else "double",
        missing=found.missing,
        low=found.low,
        high=found.high,
        calendar=settings.calendar,
    )
    if settings.limits is not None:
        low, high = (end * domain.scale for end in settings.limits)
        if Fraction(str(domain.low)) < low or Fraction(str(domain.high)) > high:
            raise _outside(table, domain, settings, low, high)
        ends: tuple[float, float] = min(float(low), domain.low), max(float(high), domain.high)
        if is_whole:
            ends = max(math.floor(low), LEAST + 1), min(math.ceil(high), MOST)
        domain = replace(domain, low=ends[0], high=ends[1], known=True)
    if settings.numeric_output == "bounds" and domain.missing:
        raise InputError(
            f"quasi-identifier {name!r} is missing in {domain.missing} rows, which bounds cannot express; "
            "use numeric_output: interval"
        )
    return domain


def _outside(
    table: DataFrame, domain: QuasiDomain, settings: QuasiIdentifier, low: Fraction, high: Fraction
) -> InputError:
    """The error about values outside of a range of codes."""
    name, write = domain.name, NumericLabels(domain.kind == "integer", None, domain.calendar).write
    numbers = judged_column(table, name, settings).alias("value")
    counted = table.select(numbers).groupBy("value").count().limit(MOST_VALUES).collect()
    outside: dict[str | None, int] = {
        write(row["value"]): row["count"]
        for row in counted
        if row["value"] is not None and not low <= Fraction(str(row["value"])) <= high
    }
    listed = dict(sorted(outside.items(), key=lambda item: -item[1])[:MOST_LISTED])
    return InputError(
        f"attributes.quasi_identifiers.{name}.range: {len(outside)} values in {sum(outside.values())} rows are outside "
        f"of {' to '.join(settings.range or ())}; correct them, or widen the range",
        values=Offending(name, "outside of its range", listed),
    )
