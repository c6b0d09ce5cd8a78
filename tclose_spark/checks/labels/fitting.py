"""The people of a list who fit each published class: those whose raw quasi-identifiers its labels
cover.

A class is a box, with a range of codes for each quasi-identifier, namely those that its label
covers. A person of the background table is a point. The points inside each box give the people who
fit each class and the records that each person fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tclose_spark.checks.classes.class_table import JudgedQuasi
from tclose_spark.checks.classes.tallies import texts
from tclose_spark.checks.labels.boxes import (
    MOST_JOINED,
    Axis,
    class_boxes,
    codes_of,
    label_axes,
    published_label,
    require_covering,
)
from tclose_spark.checks.labels.known_people import known_people
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, combine, keep, map_batches, schema_of, select
from tclose_spark.errors import InputError
from tclose_spark.measures.disclosure.reidentification import count_inside, count_people_inside
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.dictionaries import decoded
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.people import PERSON, whole_people

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
    classes: Table,
    listed: Table,
    joined: Sequence[JudgedQuasi],
    hierarchies: Mapping[str, Hierarchy],
    whose: Table | None = None,
    what: str = "--background",
    counted: str = "size",
) -> FittingPeople:
    """The people of a list who fit each class, by these of its raw quasi-identifiers, which it has
    under their names.

    A person of a list with PERSON fits a class if one of the person's rows does.
    whose: the published table with PERSON, if people are counted; sizes are then of people, not of
        records.
    what: what an error names the list.
    counted: the column of the class table with the size of a class.

    Raises:
        InputError: if it has no rows; if a label does not show which values it covers; or if there
            are more than MOST_JOINED distinct classes.
    """
    names = [q.name for q in joined]
    labels, sizes = _boxes(
        _class_sizes(classes, joined, counted) if whose is None else _class_people(whose, joined),
        what,
    )
    require_covering(joined, labels, hierarchies, what)
    with keep(known_people(listed, names)) as people:
        axes = label_axes(joined, labels, hierarchies, people)
        low, high, owner = class_boxes(labels, axes, what)
        fits = _fits(people, axes, low, high, owner, sizes)
        if not fits.get(PEOPLE):
            raise InputError(f"{what}: the table has no rows")
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
            f"{what}: more than {MOST_JOINED:,} distinct classes; join by fewer quasi-identifiers"
        )
    return [column.to_pylist() for column in listed.columns[:-1]], listed["size"].to_numpy().astype(
        np.int64
    )


def _class_sizes(classes: Table, quasi: Sequence[JudgedQuasi], counted: str) -> Table:
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


def _class_people(table: Table, quasi: Sequence[JudgedQuasi]) -> Table:
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
                [codes_of(axis, column) for axis, column in zip(axes, columns, strict=True)], axis=1
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
