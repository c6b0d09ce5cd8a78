"""The profile of a table from the tallies of its staged rows, with all values that columns may not hold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

import pyarrow as pa

from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import map_batches, schema_of
from tclose_spark.errors import InputError, Problems
from tclose_spark.runfile.attributes import QuasiIdentifier
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.stages.input_reader import InputReader
from tclose_spark.stages.insensitive import OF_WEIGHTS
from tclose_spark.stages.preparation import ROUNDED_AWAY, holds_numbers, wrong_type
from tclose_spark.stages.staging.batches import read_batches
from tclose_spark.stages.staging.tallies import Counted, NumberRange
from tclose_spark.stages.warnings import NEARLY_UNIQUE
from tclose_spark.stages.wrong_values import wrong_values
from tclose_spark.table.columns.preparing import as_text, no_value, not_of_type
from tclose_spark.table.domains import (
    Profile,
    QuasiDomain,
    SensitiveDomain,
    TupleCounts,
    categorical_domain,
    marginal,
    sensitive_domain,
)
from tclose_spark.table.far_numbers import far_numbers
from tclose_spark.table.hierarchies.building import build_hierarchies
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.labels import LEAST, MOST, NumericLabels
from tclose_spark.table.people import Households, People


def profile_of(
    table: Table,
    spec: ReleaseSpec,
    counted: Counted,
    hierarchies: Mapping[str, Hierarchy],
    version: int | None,
    staged: Table,
    readers: Sequence[InputReader],
) -> tuple[Profile, dict[str, Hierarchy]]:
    """The profile and hierarchies of a table with these tallies. staged: its staged batches.

    Raises:
        InputError: with all values that columns may not hold.
    """
    schema, quasi, sensitive = schema_of(table), spec.attributes.quasi_identifiers, spec.attributes.sensitive_attributes
    *histograms, tuples = counted.histograms
    trees, domains, attributes = dict(hierarchies), list[QuasiDomain](), list[SensitiveDomain]()
    problems = Problems()
    for problem in (one for reader in readers for one in reader.problems(counted)):
        problems.add(problem)
    for place, (name, settings) in enumerate(quasi.items()):
        values = {key[0]: n for key, n in histograms[place].items()}
        with problems.gathered():
            _check_quasi(table, staged, name, place, settings, counted)
            trees |= build_hierarchies(spec.attributes, {name: values})
            domains.append(
                replace(_numeric_domain(name, counted, table, settings), drawn=counted.drawn[name].by_code())
                if settings.is_numeric
                else categorical_domain(
                    name, values, trees.get(name), settings.generalization == "set", settings.missing == "any"
                )
            )
    for place, (name, attribute) in enumerate(sensitive.items()):
        values = dict(marginal(tuples, place))
        with problems.gathered():
            trees |= build_hierarchies(spec.attributes, {name: values})
            is_text = pa.types.is_string(schema.field(name).type)
            attributes.append(sensitive_domain(name, values, attribute, trees.get(name), is_text))
    for name in spec.attributes.insensitive:
        with problems.gathered():
            _check_repeating(name, counted, spec)
    problems.raise_found()
    people = _people(tuples, counted, spec)
    places = [{value: code for code, value in enumerate(attribute.values)} for attribute in attributes]
    places += [] if people is None else [{str(size): i for i, size in enumerate(people.sizes)}, {"0": 0, "1": 1}]
    households = _households(tuples, spec)
    places += [] if households is None else [{str(size): i for i, size in enumerate(households.sizes)}]
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
        people=people,
        households=households,
        rounded_away=counted.marked.get(ROUNDED_AWAY, 0),
        far=tuple(
            found
            for name, rows in counted.far.items()
            if quasi[name].limits is None
            and (found := far_numbers(name, rows, counted.fingerprint.rows - counted.ranges[name].missing))
        ),
        weights=tuple(
            tuple(totals.get(value, 0) for value in attribute.values)
            for attribute, totals in zip(attributes, counted.weights, strict=False)
        ),
    )
    return profile, trees


def _people(tuples: TupleCounts, counted: Counted, spec: ReleaseSpec) -> People | None:
    """The people of the input, if they are counted."""
    if spec.attributes.person is None:
        return None
    *_, sizes, first = (marginal(tuples, i) for i in range(len(spec.attributes.sensitive_attributes) + 2))
    varying = tuple(counted.varying) if spec.attributes.person.rows == "together" else ()
    return People(people=first["1"], sizes=tuple(sorted(int(str(size)) for size in sizes)), varying=varying)


def _households(tuples: TupleCounts, spec: ReleaseSpec) -> Households | None:
    """The households of the input, if classes need several."""
    if spec.attributes.least_households < 2:
        return None
    rows = {int(str(size)): n for size, n in marginal(tuples, -1).items()}
    return Households(households=sum(n // size for size, n in rows.items()), sizes=tuple(sorted(rows)))


def _check_repeating(name: str, counted: Counted, spec: ReleaseSpec) -> None:
    """Raises InputError if an insensitive column is nearly unique."""
    distinct, rows = counted.distinct[name], counted.fingerprint.rows
    if distinct > NEARLY_UNIQUE * rows and name not in spec.attributes.allow_unique:
        is_weight = name == spec.attributes.published_weight
        raise InputError(
            f"{'weight' if is_weight else 'insensitive attribute'} {name!r} is nearly unique (about {distinct} "
            f"values in {rows} rows): published as it is, it links rows to people; "
            f"{OF_WEIGHTS if is_weight else 'drop it, give it another role'}, or name it in attributes.allow_unique"
        )


def _check_quasi(table: Table, staged: Table, name: str, place: int, quasi: QuasiIdentifier, counted: Counted) -> None:
    """Raises InputError if values of a quasi-identifier are not of its type or outside of its range, if all are
    missing, or if some are and bounds are to be published.
    """
    rows, wrong, problems = counted.fingerprint.rows, counted.marked.get(wrong_type(place), 0), Problems()
    if wrong:
        error = InputError(
            f"quasi-identifier {name!r} is type: {quasi.type}, but {wrong} of {rows} rows hold "
            f"{no_value(quasi)} (blanks count); correct them, "
            f"{'give the right date_format, ' if quasi.calendar else ''}or use type: categorical",
            values=wrong_values(table, name, no_value(quasi), partial(_texts_not_of_type, quasi)).listed,
        )
        problems.add(error)
    absent = counted.ranges[name].missing if quasi.is_numeric else counted.histograms[place].get((None,), 0)
    missing = absent - wrong  # values of another type were staged as missing
    if holds_numbers(quasi) and missing == rows:
        problems.add(InputError(f"quasi-identifier {name!r} is missing in all {rows} rows; leave it out"))
    elif quasi.is_numeric and absent < rows:
        with problems.gathered():
            _check_range(_domain_of_values(name, counted.ranges[name], table, quasi), quasi, staged, f"q{place}")
        if quasi.numeric_output == "bounds" and missing and quasi.missing == "value":
            error = InputError(
                f"quasi-identifier {name!r} is missing in {missing} rows, which bounds cannot express; "
                "use numeric_output: interval, or missing: any"
            )
            problems.add(error)
    problems.raise_found()


def _texts_not_of_type(quasi: QuasiIdentifier, column: pa.Array) -> pa.Array:
    return as_text(column.filter(pa.array(not_of_type(column, quasi))))


def _domain_of_values(name: str, found: NumberRange, table: Table, settings: QuasiIdentifier) -> QuasiDomain:
    """The domain of numbers, from the lowest to the highest present."""
    is_whole = settings.calendar is not None or pa.types.is_integer(schema_of(table).field(name).type)
    return QuasiDomain(
        name=name,
        kind="integer" if is_whole else "double",
        missing=found.missing,
        low=found.low,
        high=found.high,
        calendar=settings.calendar,
    )


def _numeric_domain(name: str, counted: Counted, table: Table, settings: QuasiIdentifier) -> QuasiDomain:
    """The domain of numbers, over the range of the run file if it gives one."""
    domain = _domain_of_values(name, counted.ranges[name], table, settings)
    if settings.limits is None:
        return domain
    low, high = (end * domain.scale for end in settings.limits)
    ends: tuple[float, float] = min(float(low), domain.low), max(float(high), domain.high)
    if domain.kind == "integer":
        ends = max(math.floor(low), LEAST + 1), min(math.ceil(high), MOST)
    return replace(domain, low=ends[0], high=ends[1], known=True)


def _check_range(domain: QuasiDomain, settings: QuasiIdentifier, staged: Table, column: str) -> None:
    """Raises InputError if values are outside of the range of the run file. domain: of the values. staged: batches with
    them, in this column.
    """
    if settings.limits is None:
        return
    low, high = (end * domain.scale for end in settings.limits)
    if low <= Fraction(str(domain.low)) and Fraction(str(domain.high)) <= high:
        return
    write = NumericLabels(domain.kind == "integer", None, domain.calendar).write

    def numbers(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in read_batches(batch.column(0) for batch in batches):
            yield pa.RecordBatch.from_arrays([batch[column]], names=[domain.name])

    def outside(numbers: pa.Array) -> pa.Array:
        wrong = {x: write(x) for x in numbers.unique().drop_null().to_pylist() if not low <= Fraction(str(x)) <= high}
        return pa.array([wrong[x] for x in numbers.to_pylist() if x in wrong], pa.string())

    schema = pa.schema([(domain.name, pa.int64() if domain.kind == "integer" else pa.float64())])
    found = wrong_values(map_batches(staged, numbers, schema), domain.name, "outside of its range", outside)
    raise InputError(
        f"attributes.quasi_identifiers.{domain.name}.range: {found.values} values in {found.rows} rows are outside "
        f"of {' to '.join(settings.range or ())}; correct them, or widen the range",
        values=found.listed,
    )
