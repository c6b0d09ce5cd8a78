"""The people of a list: their raw quasi-identifiers, in the form in which a release has them, and
the published classes that they fit.

In tables that say whose a row is, the person's column becomes a hash, by which the rows of a person
come together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.checks.classes.class_table import JudgedQuasi
from tclose_spark.checks.classes.tallies import texts
from tclose_spark.checks.labels.boxes import (
    MOST_JOINED,
    Axis,
    axis_codes,
    class_boxes,
    label_axes,
    published_label,
    require_covering,
)
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import (
    collect,
    combine,
    gather,
    keep,
    map_batches,
    schema_of,
    select,
)
from tclose_spark.errors import InputError
from tclose_spark.io.tables.check_columns import SUPPRESSED
from tclose_spark.measures.disclosure.reidentification import count_inside, count_people_inside
from tclose_spark.runfile.attributes import QuasiIdentifier, SensitiveAttribute, Text
from tclose_spark.runfile.columns import Unknown
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.columns.preparing import iso_text
from tclose_spark.table.dictionaries import coded, decoded, group_equal
from tclose_spark.table.fingerprint import RowHash
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.people import (
    LONE,
    PERSON,
    apart_from_equals,
    hash_people,
    knows_person,
    whole_people,
)


def joined_quasi(quasi: Sequence[JudgedQuasi], background: Table) -> list[JudgedQuasi]:
    """The quasi-identifiers whose raw values a table of people has."""
    return [q for q in quasi if q.name in schema_of(background).names]


def normal_texts(
    table: Table,
    columns: Sequence[str],
    settings: Mapping[str, QuasiIdentifier | SensitiveAttribute],
) -> Table:
    """Those of these columns that a table has, with their options applied to texts, and dates of
    their form as ISO; its first column if it has none.
    """
    schema = schema_of(table)
    names = [name for name in dict.fromkeys(columns) if name in schema.names] or schema.names[:1]
    schema = pa.schema([schema.field(name) for name in names])
    options: dict[str, Callable[[str], str]] = {
        name: one.text.of
        for name, one in settings.items()
        if one.text is not None and one.text != Text()
    }
    options |= {
        name: partial(iso_text, settings=one)
        for name, one in settings.items()
        if isinstance(one, QuasiIdentifier) and one.date_format is not None
    }
    asked = {
        name: options[name]
        for name in names
        if name in options and pa.types.is_string(schema.field(name).type)
    }
    table = select(table, names)
    if not asked:
        return table

    def normal(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = dict(zip(names, batch.columns, strict=True))
            for name, written in asked.items():
                column = coded(columns[name])
                made = [
                    None if value is None else written(value)
                    for value in column.dictionary.to_pylist()
                ]
                columns[name] = pa.array(made, pa.string()).take(column.indices)
            yield pa.RecordBatch.from_arrays(list(columns.values()), schema=schema)

    return map_batches(table, normal, schema)


def distinct_people(background: Table, names: Sequence[str]) -> Table:
    """The distinct tuples of these columns as texts `q0`.., and how many people have each:
    `people`.
    """
    keys = [f"q{i}" for i in range(len(names))]
    schema = pa.schema([*[(key, pa.string()) for key in keys], ("people", pa.int64())])

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                columns = [texts(column) for column in batch.columns]
                group, first = group_equal(columns)
                distinct = [decoded(column).take(pa.array(first)) for column in columns]
                yield pa.RecordBatch.from_arrays(
                    [*distinct, pa.array(np.bincount(group))],
                    schema=schema,
                )

    return combine(map_batches(select(background, names), count, schema), keys, {"people": "sum"})


def known_people(background: Table, names: Sequence[str]) -> Table:
    """What an adversary knows of people: see `distinct_people`. With PERSON, the rows of each
    person one after another, in columns `q0`.. and PERSON.
    """
    if PERSON not in schema_of(background).names:
        return distinct_people(background, names)
    keys = [f"q{i}" for i in range(len(names))]
    schema = pa.schema([*[(key, pa.string()) for key in keys], (PERSON, pa.int64())])

    def text(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            *columns, person = batch.columns
            yield pa.RecordBatch.from_arrays(
                [*(decoded(texts(column)) for column in columns), person],
                schema=schema,
            )

    return gather(map_batches(select(background, [*names, PERSON]), text, schema), [PERSON])


KEYED = RowHash.of("person", 1)
WITHOUT = pa.schema([("rows", pa.int64())])


def with_people(
    table: Table,
    person: str,
    what: str,
    key: str = "--person",
    owner: str = PERSON,
    unknown: Unknown | None = None,
) -> Table:
    """The table with PERSON (or another `owner`, such as HOUSEHOLD), and SUPPRESSED (no row is), in
    place of its last column, which identifies people. unknown: what becomes of rows without a
    person.

    Raises:
        InputError: if rows have no person, and `unknown` is not given.
    """
    fields = list(schema_of(table))[:-1]
    schema = pa.schema([*fields, (owner, pa.int64()), (SUPPRESSED, pa.bool_())])
    if unknown == "alone":
        return _with_lone_people(table, schema)

    def hashed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            *columns, whose = batch.columns
            kept = pa.repeat(False, len(batch))
            rows = pa.RecordBatch.from_arrays(
                [*columns, hash_people(whose, KEYED), kept],
                schema=schema,
            )
            yield rows.filter(knows_person(whose))

    if unknown is None and (missing := rows_without(table, person)):
        raise InputError(
            f"{key}: {missing:,} rows of {what} have no {person!r}; expected a value in each row, "
            "or unknown: drop (leave them out) or alone (each is a person)",
        )
    return map_batches(table, hashed, schema)


def rows_without(table: Table, person: str) -> int:
    """How many rows of a table have no person. One pass over the column."""

    def without(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            missing = hash_people(batch.column(0), KEYED).null_count
            yield pa.RecordBatch.from_arrays([pa.array([missing], pa.int64())], schema=WITHOUT)

    return int(
        pc.sum(collect(map_batches(select(table, [person]), without, WITHOUT))["rows"]).as_py()
        or 0,
    )


def _with_lone_people(table: Table, schema: pa.Schema) -> Table:
    """The rows of a table, with a person of its own for each row without one. schema: of
    `with_people`.
    """
    fields = list(schema)[:-2]
    met = pa.schema([*fields, (LONE, pa.bool_()), (PERSON, pa.int64())])
    content = RowHash.of("row without a person", len(fields))
    numbered = RowHash.of("person of one row", 2)

    def hashed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            *columns, whose = batch.columns
            known = knows_person(whose)
            own = pa.array(content.of_rows(columns).view("int64"))
            owner = pc.if_else(known, hash_people(whose, KEYED), own)
            yield pa.RecordBatch.from_arrays([*columns, pc.invert(known), owner], schema=met)

    def apart(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in apart_from_equals(batches, numbered):
            yield pa.RecordBatch.from_arrays(
                [*batch.columns, pa.repeat(False, len(batch))],
                schema=schema,
            )

    return map_batches(gather(map_batches(table, hashed, met), [PERSON]), apart, schema)


FITS = pa.schema([("class", pa.int64()), ("people", pa.int64())])
"""The people who fit each class."""
# In place of a class: those who fit some class, and all.
CANDIDATES = -2
PEOPLE = -1


@dataclass(frozen=True, kw_only=True)
class FittingPeople:
    """The people of a list who fit each class.

    sizes: of the classes, in records or people, shape (classes,). population: who fits each, shape
        (classes,).
    people: those of the list; each row is one, unless it says whose it is.
    candidates: those that fit some class.
    members: those that fit a class with as many records as people who fit it.
    """

    sizes: IntArray
    population: IntArray
    people: int
    candidates: int
    members: int


def fitting_people(
    sized: Table,
    listed: Table,
    joined: Sequence[JudgedQuasi],
    hierarchies: Mapping[str, Hierarchy],
    source: str,
) -> FittingPeople:
    """The people of a list who fit each class, by these of its raw quasi-identifiers, which it has
    under their names.

    A person of a list with PERSON fits a class if one of the person's rows does.
    sized: the classes by these quasi-identifiers (`records_of_classes`, or `people_of_classes`).
    source: what an error names the list.

    Raises:
        InputError: if it has no rows; if a label does not show which values it covers; or if there
            are more than MOST_JOINED distinct classes.
    """
    names = [q.name for q in joined]
    labels, sizes = _boxes(sized, source)
    require_covering(joined, labels, hierarchies, source)
    with keep(known_people(listed, names)) as people:
        axes = label_axes(joined, labels, hierarchies, people)
        low, high, owner = class_boxes(labels, axes, source)
        fits = _fits(people, axes, low, high, owner, sizes)
        if not fits.get(PEOPLE):
            raise InputError(f"{source}: the table has no rows")
        population = np.zeros(len(sizes), dtype=np.int64)
        matched = [number for number in fits if number >= 0]
        population[matched] = [fits[number] for number in matched]
        seen = np.isin(owner, np.flatnonzero(population <= sizes))
        members = _fits(people, axes, low[seen], high[seen], owner[seen], sizes)
    return FittingPeople(
        sizes=sizes,
        population=population,
        people=fits[PEOPLE],
        candidates=fits[CANDIDATES],
        members=members[CANDIDATES],
    )


def _boxes(classes: Table, what: str) -> tuple[list[list[str | None]], IntArray]:
    """(the labels of each distinct class, one list per quasi-identifier; its size). classes: its
    labels, and size.
    """
    listed = collect(classes, MOST_JOINED + 1)
    if listed.num_rows > MOST_JOINED:
        raise InputError(
            f"{what}: more than {MOST_JOINED:,} distinct classes; join by fewer quasi-identifiers",
        )
    return [column.to_pylist() for column in listed.columns[:-1]], listed["size"].to_numpy().astype(
        np.int64,
    )


def records_of_classes(
    classes: Table,
    quasi: Sequence[JudgedQuasi],
    counted: str = "size",
) -> Table:
    """The records of each class by these quasi-identifiers, from the class table. counted: its
    column of sizes.
    """
    schema = _sized(quasi)

    def label(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            held = batch["quasi_identifiers"]
            published = dict(zip([each.name for each in held.type], held.flatten(), strict=True))
            labels = [published_label([published[column] for column in q.columns]) for q in quasi]
            yield pa.RecordBatch.from_arrays([*labels, batch[counted]], schema=schema)

    labelled = map_batches(select(classes, ["quasi_identifiers", counted]), label, schema)
    return combine(labelled, schema.names[:-1], {"size": "sum"})


def people_of_classes(table: Table, quasi: Sequence[JudgedQuasi]) -> Table:
    """The people of each class by these quasi-identifiers, from rows with PERSON."""
    sized = _sized(quasi)
    schema = pa.schema([*list(sized)[:-1], (PERSON, pa.int64()), sized.field("size")])
    columns = [column for q in quasi for column in q.columns]

    def label(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            published = {name: decoded(texts(batch[name])) for name in columns}
            labels = [published_label([published[column] for column in q.columns]) for q in quasi]
            one = pa.repeat(pa.scalar(1, pa.int64()), len(batch))
            yield pa.RecordBatch.from_arrays([*labels, batch[PERSON], one], schema=schema)

    labelled = map_batches(select(table, [*columns, PERSON]), label, schema)
    people = combine(labelled, schema.names[:-1], {"size": "min"})
    return combine(people, sized.names[:-1], {"size": "sum"})


def _sized(quasi: Sequence[JudgedQuasi]) -> pa.Schema:
    return pa.schema([*[(f"l{i}", pa.string()) for i in range(len(quasi))], ("size", pa.int64())])


def _fits(
    people: Table,
    axes: Sequence[Axis],
    low: IntArray,
    high: IntArray,
    owner: IntArray,
    sizes: IntArray,
) -> dict[int, int]:
    """How many people fit each class, by its number; and how many PEOPLE there are, and CANDIDATES.
    owner: the class of each box, ascending. sizes: of the classes.
    """
    whose = PERSON in schema_of(people).names

    def locate(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in whole_people(batches) if whose else batches:
            *columns, last = batch.columns
            points = np.stack(
                [axis_codes(axis, column) for axis, column in zip(axes, columns, strict=True)],
                axis=1,
            )
            if whose:
                fits = count_people_inside(points, last.to_numpy(), low, high, owner, sizes)
                counts = np.ones(len(fits.records), dtype=np.int64)
                of_class = fits.people
            else:
                counts = last.to_numpy()
                of_class = np.zeros(len(sizes), dtype=np.int64)
                fits = count_inside(points, counts, low, high, sizes[owner])
                np.add.at(of_class, owner, fits.people)
            matched = np.flatnonzero(of_class)
            places = np.append([CANDIDATES, PEOPLE], matched)
            found = np.append([counts[fits.records > 0].sum(), counts.sum()], of_class[matched])
            yield pa.RecordBatch.from_arrays([pa.array(places), pa.array(found)], schema=FITS)

    located = collect(combine(map_batches(people, locate, FITS), ["class"], {"people": "sum"}))
    return dict(zip(located["class"].to_pylist(), located["people"].to_pylist(), strict=True))
