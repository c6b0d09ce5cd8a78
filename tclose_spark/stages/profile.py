"""One aggregation pass over the input: domains, ranges, the histogram of the sensitive attributes, the fingerprint."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tclose_spark.domains import Counts, Profile, QuasiDomain, categorical_domain, sensitive_domain
from tclose_spark.errors import InputError
from tclose_spark.hierarchy import Hierarchy
from tclose_spark.spec import ReleaseSpec, StackAndDeal
from tclose_spark.tables import MALFORMED, Multiset, check_columns, content_hash, integral_columns, not_numbers, prepared, quoted
from tclose_spark.workers import Mapper, map_batches

MOST_VALUES = 2_000_000  # distinct values, of all domains together, that a driver is asked to hold
NEARLY_UNIQUE = 0.5  # distinct values a row from which an insensitive column is taken to point at people
COUNTED = "group int, key array<string>, n bigint"

Histogram = dict[tuple[str | None, ...], int]
"""How many rows hold each tuple of values, as text."""


def profile_table(table: DataFrame, spec: ReleaseSpec, hierarchies: Mapping[str, Hierarchy], version: int | None = None) -> Profile:
    """The profile of a raw table. One aggregation pass.

    Raises:
        InputError: naming the column and what is wrong with it: see `tables.check_columns` and below.
    """
    check_columns(table, spec)
    observation = Observation()
    try:
        if table.isEmpty():
            raise InputError(f"input.path: {spec.input.path} has no rows")
        histograms = _histograms(table, spec, observation)
    except (PySparkException, Py4JJavaError) as error:
        if "CSV header" not in str(error):
            raise
        raise InputError(
            f"input.path: the files in {spec.input.path} have different headers; expected the same columns in one order"
        ) from None
    figures = observation.get
    rows = int(figures["rows"])
    _check_figures(figures, spec)
    if rows < spec.privacy.k and isinstance(spec.method, StackAndDeal):  # other methods say so when they plan
        raise InputError(f"privacy.k is {spec.privacy.k}, but the table has {rows} rows; no class of {spec.privacy.k} can be made")
    quasi, sensitive = spec.attributes.quasi_identifiers, spec.attributes.sensitive_attributes
    integral = integral_columns(table, list(quasi))
    domains = []
    for name, counts in zip(quasi, histograms, strict=False):
        if quasi[name].is_numeric:
            domains.append(_numeric_domain(name, figures, "integer" if name in integral else "double"))
            if quasi[name].numeric_output == "bounds" and domains[-1].missing:
                raise InputError(
                    f"quasi-identifier {name!r} is missing in {domains[-1].missing} rows, which bounds cannot say; use numeric_output: interval"
                )
        else:
            sets = quasi[name].generalization == "set"
            domains.append(categorical_domain(name, {key[0]: n for key, n in counts.items()}, hierarchies.get(name), sets))
    tuples = histograms[-1]
    attributes = []
    for i, name in enumerate(sensitive):
        is_text = isinstance(table.schema[name].dataType, T.StringType)
        attributes.append(sensitive_domain(name, _marginal(tuples, i), sensitive[name], hierarchies.get(name), is_text))
    places = [{value: code for code, value in enumerate(attribute.values)} for attribute in attributes]
    cells = sorted((tuple(place[v] for place, v in zip(places, key, strict=True)), n) for key, n in tuples.items())
    return Profile(
        rows=rows,
        quasi=tuple(domains),
        sensitive=tuple(attributes),
        cells=tuple(cell for cell, _ in cells),
        cell_counts=tuple(n for _, n in cells),
        distinct_rows=int(figures["distinct rows"]),
        fingerprint=str(Multiset.of(figures, "input")),
        version=version,
    )


def _histograms(table: DataFrame, spec: ReleaseSpec, observation: Observation) -> list[Histogram]:
    """Counts of the values of each quasi-identifier (none for a number), and last of the sensitive tuples."""
    quasi, sensitive = spec.attributes.quasi_identifiers, spec.attributes.sensitive_attributes
    numeric = [name for name in quasi if quasi[name].is_numeric]
    malformed = quoted(MALFORMED) if MALFORMED in table.columns else F.lit(False)
    people = table.select(
        *prepared(table, spec),
        *[not_numbers(table, name).alias(f"_wrong {name}") for name in numeric],
        malformed.alias("_malformed"),
    ).observe(observation, *_figures(spec, numeric))
    groups = [[] if quasi[name].is_numeric else [name] for name in quasi] + [list(sensitive)]
    tallied = people.select(*[quoted(name).cast("string").alias(str(i)) for i, name in enumerate(n for group in groups for n in group)])
    found = (
        map_batches(tallied, _tally([len(group) for group in groups]), COUNTED)
        .groupBy("group", "key")
        .agg(F.sum("n").alias("n"))
        .limit(MOST_VALUES + 1)
        .toArrow()
    )
    histograms: list[Histogram] = [{} for _ in groups]
    for group, key, n in zip(*(column.to_pylist() for column in found.columns), strict=True):
        histograms[group][tuple(key)] = n
    if found.num_rows > MOST_VALUES:
        largest = max(range(len(groups)), key=lambda g: len(histograms[g]))
        raise InputError(
            f"{' and '.join(groups[largest])}: more than {MOST_VALUES:,} distinct values between all columns, most of them here; "
            "expected a domain that a table can be published by (type: numeric, coarser values, or another role)"
        )
    return histograms


def _figures(spec: ReleaseSpec, numeric: Sequence[str]) -> list[Column]:
    """What is observed while the rows pass."""
    figures = [F.count(F.lit(1)).alias("rows"), F.sum(quoted("_malformed").cast("bigint")).alias("malformed")]
    for name in numeric:
        column = quoted(name)
        figures += [
            F.sum(quoted(f"_wrong {name}").cast("bigint")).alias(f"wrong {name}"),
            F.sum(column.isNull().cast("bigint")).alias(f"missing {name}"),
            F.min(column).alias(f"low {name}"),
            F.max(column).alias(f"high {name}"),
        ]
    for name in spec.attributes.insensitive_attributes:
        figures.append(F.approx_count_distinct(F.xxhash64(quoted(name)), 0.02).alias(f"distinct {name}"))
    published = [quoted(name) for name in spec.attributes.published]
    figures.append(F.approx_count_distinct(content_hash(published, "multiset")).alias("distinct rows"))
    return figures + Multiset.columns(published, "input")


def _tally(sizes: Sequence[int]) -> Mapper:
    """Counts, in each task, the distinct tuples of consecutive groups of columns of these sizes."""

    def tally(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found: list[pa.Table | None] = [None] * len(sizes)
        for batch in batches:
            first = 0
            for group, size in enumerate(sizes):
                names = [str(i) for i in range(first, first + size)]
                first += size
                if names:
                    counted = pa.Table.from_batches([batch]).group_by(names, use_threads=False).aggregate([([], "count_all")])
                    counted = counted.rename_columns([*names, "n"])
                    if (before := found[group]) is not None:
                        both = pa.concat_tables([before, counted]).group_by(names, use_threads=False)
                        counted = both.aggregate([("n", "sum")]).rename_columns([*names, "n"])
                    found[group] = counted
        for group, table in enumerate(found):
            if table is not None:
                keys = [list(key) for key in zip(*(column.to_pylist() for column in table.columns[:-1]), strict=True)]
                numbers = pa.array([group] * len(keys), pa.int32())
                yield pa.RecordBatch.from_arrays(
                    [numbers, pa.array(keys, pa.list_(pa.string())), table["n"].combine_chunks()], names=["group", "key", "n"]
                )

    return tally


def _check_figures(figures: Mapping[str, Any], spec: ReleaseSpec) -> None:
    """Raises InputError for what a column may not hold."""
    rows = int(figures["rows"])
    if figures["malformed"]:
        raise InputError(
            f"input.path: {figures['malformed']} of {rows} rows are malformed (too few or too many fields, or unreadable); "
            "mend them, or set input.options (sep, quote, escape, multiLine, encoding)"
        )
    for name, quasi in spec.attributes.quasi_identifiers.items():
        if quasi.is_numeric and figures[f"wrong {name}"]:
            raise InputError(
                f"quasi-identifier {name!r} is type: numeric, but {figures[f'wrong {name}']} of {rows} rows hold no finite number of "
                "at most 15 digits (blanks around a number count); mend them, or use type: categorical"
            )
        if quasi.is_numeric and figures[f"low {name}"] is None:
            raise InputError(f"quasi-identifier {name!r} is missing in all {rows} rows; leave it out")
    for name in spec.attributes.insensitive_attributes:
        distinct = int(figures[f"distinct {name}"])
        if distinct > NEARLY_UNIQUE * rows and name not in spec.attributes.allow_unique:
            raise InputError(
                f"insensitive attribute {name!r} is nearly unique (about {distinct} values in {rows} rows): published as it is, it links "
                "rows to people; drop it, give it another role, or name it in attributes.allow_unique"
            )


def _numeric_domain(name: str, figures: Mapping[str, Any], kind: str) -> QuasiDomain:
    return QuasiDomain(name, kind, int(figures[f"missing {name}"]), low=figures[f"low {name}"], high=figures[f"high {name}"])


def _marginal(tuples: Histogram, i: int) -> Counts:
    """Counts of one attribute in the histogram of the tuples."""
    counts: dict[str | None, int] = {}
    for key, n in tuples.items():
        counts[key[i]] = counts.get(key[i], 0) + n
    return counts
