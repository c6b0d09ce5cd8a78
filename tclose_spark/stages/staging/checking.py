"""Values that the columns of an input may not hold, and the list of them for whoever corrects them.
Few come to the driver, however many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, combine, map_batches, schema_of, select
from tclose_spark.errors import MOST_LISTED, InputError, Offending, Problems
from tclose_spark.runfile.attributes import Attributes, QuasiIdentifier
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.stages.insensitive import OF_WEIGHTS
from tclose_spark.stages.preparation import holds_numbers, wrong_type
from tclose_spark.stages.staging.batches import read_batches
from tclose_spark.stages.staging.tallies import Counted, NumberRange
from tclose_spark.stages.warnings import NEARLY_UNIQUE
from tclose_spark.table.columns.patterns import count_dates, forms_of
from tclose_spark.table.columns.preparing import as_text, no_value, not_of_type
from tclose_spark.table.dictionaries import decoded
from tclose_spark.table.domains import QuasiDomain
from tclose_spark.table.entities.finding import Subjects
from tclose_spark.table.entities.wording import rounded
from tclose_spark.table.labels import NumericLabels


def check_repeating(name: str, counted: Counted, spec: ReleaseSpec) -> None:
    """Raises InputError if an insensitive column is nearly unique."""
    distinct = counted.distinct[name]
    rows = counted.fingerprint.rows
    if distinct > NEARLY_UNIQUE * rows and name not in spec.attributes.allow_unique:
        is_weight = name in spec.attributes.published_weights
        raise InputError(
            f"{'weight' if is_weight else 'insensitive attribute'} {name!r} is nearly unique "
            f"(about {distinct} values in {rows} rows): published as it is, it links rows to "
            f"people; {OF_WEIGHTS if is_weight else 'drop it, give it another role'}, or name it "
            "in attributes.allow_unique",
        )


def grouping_problems(subjects: Subjects, attributes: Attributes) -> Iterator[InputError]:
    """The published columns that group rows like persons, unless `allow_unique` names them: a
    person's number.
    """
    roles = {**dict.fromkeys(attributes.sensitive_attributes, "sensitive attribute")}
    roles |= dict.fromkeys(attributes.insensitive, "insensitive attribute")
    for found in subjects.entities:
        (column, *others) = found.columns
        if (
            found.kind == "person"
            and not others
            and column in roles
            and column not in attributes.allow_unique
        ):
            yield InputError(
                f"{roles[column]} {column!r} groups rows like persons (about "
                f"{rounded(found.values)} values with {rounded(found.rows_each)} rows each): "
                "published as it is, it links a person's rows; leave it out, or name it in "
                "attributes.allow_unique",
            )


def _form_of(rows: Mapping[str | None, int]) -> str:
    """What helps if dates are in the one form of these texts. rows: by text."""
    counts = count_dates(pa.array([*rows], pa.string()), pa.array([*rows.values()], pa.int64()))
    forms = forms_of(counts, sum(rows.values()))
    return f'set date_format: "{forms[0]}", ' if len(forms) == 1 else "give the right date_format, "


def check_quasi(
    table: Table,
    staged: Table,
    name: str,
    place: int,
    quasi: QuasiIdentifier,
    counted: Counted,
) -> None:
    """Raises InputError if values of a quasi-identifier are not of its type or outside of its
    range, if all are missing, or if some are and bounds are to be published.
    """
    rows = counted.fingerprint.rows
    wrong = counted.marked.get(wrong_type(place), 0)
    problems = Problems()
    if wrong:
        listed = wrong_values(
            table,
            name,
            no_value(quasi),
            partial(_texts_not_of_type, quasi),
        ).listed
        error = InputError(
            f"quasi-identifier {name!r} is type: {quasi.type}, but {wrong} of {rows} rows hold "
            f"{no_value(quasi)} (blanks count); correct them, "
            f"{_form_of(listed.rows) if quasi.calendar else ''}or use type: categorical",
            values=listed,
        )
        problems.add(error)
    absent = (
        counted.ranges[name].missing
        if quasi.is_numeric
        else counted.histograms[place].get((None,), 0)
    )
    missing = absent - wrong  # values of another type were staged as missing
    if holds_numbers(quasi) and missing == rows:
        problems.add(
            InputError(f"quasi-identifier {name!r} is missing in all {rows} rows; leave it out"),
        )
    elif quasi.is_numeric and absent < rows:
        with problems.gathered():
            _check_range(
                domain_of_values(name, counted.ranges[name], table, quasi),
                quasi,
                staged,
                f"q{place}",
            )
        if quasi.numeric_output == "bounds" and missing and quasi.missing == "value":
            error = InputError(
                f"quasi-identifier {name!r} is missing in {missing} rows, which bounds cannot "
                "express; use numeric_output: interval, or missing: any",
            )
            problems.add(error)
    problems.raise_found()


def _texts_not_of_type(quasi: QuasiIdentifier, column: pa.Array) -> pa.Array:
    return as_text(column.filter(pa.array(not_of_type(column, quasi))))


def domain_of_values(
    name: str,
    found: NumberRange,
    table: Table,
    settings: QuasiIdentifier,
) -> QuasiDomain:
    """The domain of numbers, from the lowest to the highest present."""
    is_whole = settings.calendar is not None or pa.types.is_integer(
        schema_of(table).field(name).type,
    )
    return QuasiDomain(
        name=name,
        kind="integer" if is_whole else "double",
        missing=found.missing,
        low=found.low,
        high=found.high,
        calendar=settings.calendar,
    )


def _check_range(
    domain: QuasiDomain,
    settings: QuasiIdentifier,
    staged: Table,
    column: str,
) -> None:
    """Raises InputError if values are outside of the range of the run file. domain: of the values.
    staged: batches with them, in this column.
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
        wrong = {
            x: write(x)
            for x in numbers.unique().drop_null().to_pylist()
            if not low <= Fraction(str(x)) <= high
        }
        return pa.array([wrong[x] for x in numbers.to_pylist() if x in wrong], pa.string())

    schema = pa.schema([(domain.name, pa.int64() if domain.kind == "integer" else pa.float64())])
    found = wrong_values(
        map_batches(staged, numbers, schema),
        domain.name,
        "outside of its range",
        outside,
    )
    raise InputError(
        f"attributes.quasi_identifiers.{domain.name}.range: {found.values} values in {found.rows} "
        f"rows are outside of {' to '.join(settings.range or ())}; correct them, or widen the "
        "range",
        values=found.listed,
    )


VALUES = pa.schema([("value", pa.string()), ("n", pa.int64())])
FOUND = pa.schema([*VALUES, ("values", pa.int64())])
"""A value and its rows (`values` is 0), or the number of the other values and of their rows."""
RANKED = [("n", "descending"), ("value", "ascending")]


@dataclass(frozen=True)
class WrongValues:
    """The values of a column that are wrong: how many there are, in how many rows, and the most
    frequent ones.
    """

    values: int
    rows: int
    listed: Offending


def wrong_values(
    table: Table,
    column: str,
    problem: str,
    texts_of: Callable[[pa.Array], pa.Array],
) -> WrongValues:
    """The wrong values of a column. texts_of: from values of the column to the texts of the wrong
    ones.
    """

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            counted = decoded(texts_of(batch.column(0))).value_counts()
            yield pa.RecordBatch.from_arrays(
                [counted.field("values"), counted.field("counts")],
                schema=VALUES,
            )

    counted = combine(map_batches(select(table, [column]), count, VALUES), ["value"], {"n": "sum"})
    found = collect(map_batches(counted, _most_frequent, FOUND))
    is_value = pc.equal(found["values"], 0)
    listed = found.filter(is_value)
    return WrongValues(
        values=listed.num_rows + (pc.sum(found["values"]).as_py() or 0),
        rows=pc.sum(found["n"]).as_py() or 0,
        listed=Offending(
            column,
            problem,
            dict(zip(*listed.select(VALUES.names).to_pydict().values(), strict=True)),
        ),
    )


def _most_frequent(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The MOST_LISTED values of most rows in a partition of counts, and the number of the
    others.
    """
    kept = VALUES.empty_table()
    others = rows = 0
    for batch in batches:
        ranked = pa.concat_tables([kept, pa.Table.from_batches([batch.cast(VALUES)])]).sort_by(
            RANKED,
        )
        kept = ranked.slice(0, MOST_LISTED)
        rest = ranked.slice(MOST_LISTED)
        others = others + rest.num_rows
        rows = rows + (pc.sum(rest["n"]).as_py() or 0)
    rest = pa.table(
        {"value": pa.nulls(1, pa.string()), "n": [rows], "values": [others]},
        schema=FOUND,
    )
    marked = kept.append_column("values", pa.array([0] * kept.num_rows, pa.int64())).cast(FOUND)
    yield from (
        pa.concat_tables([marked, rest.slice(0, 1 if others else 0)]).combine_chunks().to_batches()
    )
