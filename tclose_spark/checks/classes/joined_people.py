"""The people of several releases, each with the classes that hold them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.checks.classes.tallies import texts
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import gather, map_batches, select, union
from tclose_spark.io.tables.check_columns import SUPPRESSED
from tclose_spark.table.arrays import IntArray, Mapper
from tclose_spark.table.dictionaries import decoded, group_equal
from tclose_spark.table.people import PERSON, whole_people

PLACE = "place"  # of a release among the others


def join_people(releases: Sequence[tuple[Table, Sequence[str]]], sensitive: Sequence[str]) -> Table:
    """The rows of each person in the first release that has the person, with the person's class in
    every release.

    releases: rows with PERSON, and their published columns.

    Columns: PLACE, of that release; `l0`.. by release, in how many classes the person is ("0" if it
        has no row), and the labels of the class; `v0`.. the sensitive values as text; PERSON;
        SUPPRESSED, which no row is. If a person is in several classes of a release, a label is the
        list of theirs, as JSON.
    """
    most = max(len(labels) for _, labels in releases)
    sizes = [len(labels) for _, labels in releases]
    columns = [*(f"l{i}" for i in range(most)), *(f"v{i}" for i in range(len(sensitive)))]
    tagged = pa.schema(
        [(PLACE, pa.int32()), *((name, pa.string()) for name in columns), (PERSON, pa.int64())]
    )

    def tag(place: int) -> Mapper:
        def tag(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                written = [decoded(texts(column)) for column in batch.columns[:-1]]
                unused = [pa.nulls(len(batch), pa.string())] * (most - sizes[place])
                labels = written[: sizes[place]]
                values = written[sizes[place] :]
                places = pa.repeat(pa.scalar(place, pa.int32()), len(batch))
                arrays = [places, *labels, *unused, *values, batch.columns[-1]]
                yield pa.RecordBatch.from_arrays(arrays, schema=tagged)

        return tag

    rows = [
        map_batches(select(table, [*labels, *sensitive, PERSON]), tag(place), tagged)
        for place, (table, labels) in enumerate(releases)
    ]
    schema = _joined_schema(sum(sizes) + len(sizes), len(sensitive))
    return map_batches(gather(union(rows), [PERSON]), _join(sizes, most, schema), schema)


def _join(sizes: Sequence[int], most: int, schema: pa.Schema) -> Mapper:
    """See `join_people`. sizes: the number of labels in each release. most: the largest."""

    def join(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in whole_people(batches):
            people, person = np.unique(batch[PERSON].to_numpy(), return_inverse=True)
            place = batch[PLACE].to_numpy()
            first = np.full(len(people), len(sizes), dtype=np.int32)
            np.minimum.at(first, person, place)
            kept = pa.array(np.flatnonzero(place == first[person]))
            whose = pa.array(person).take(kept)
            labels: list[pa.Array] = []
            for number, size in enumerate(sizes):
                rows = np.flatnonzero(place == number)
                of = [column.take(pa.array(rows)) for column in batch.columns[1 : 1 + size]]
                labels += [column.take(whose) for column in _classes(of, person[rows], len(people))]
            values = [column.take(kept) for column in batch.columns[1 + most : -1]]
            arrays = [pa.array(first).take(whose), *labels, *values, batch[PERSON].take(kept)]
            yield pa.RecordBatch.from_arrays([*arrays, pa.repeat(False, len(kept))], schema=schema)

    return join


def _classes(labels: Sequence[pa.Array], person: IntArray, people: int) -> list[pa.Array]:
    """The number of classes of each person, and their labels, shape (people,) each. labels: of some
    rows. person: whose each row is, a number below `people`.
    """
    group, first = group_equal(labels)
    owner, of = np.unique(np.stack([person, group]), axis=1)
    several = np.bincount(owner, minlength=people)
    start = np.searchsorted(owner, np.arange(people))
    row = np.full(people, -1)
    row[several > 0] = first[of[start[several > 0]]]
    found = [column.take(pa.array(row, mask=row < 0)) for column in labels]
    listed = {
        who: sorted(
            ([column[int(i)].as_py() for column in labels] for i in first[of[at : at + n]]),
            key=repr,
        )
        for who, at, n in zip(
            *(x[several > 1].tolist() for x in (np.arange(people), start, several)), strict=True
        )
    }
    if listed:
        for i, column in enumerate(found):
            written = column.to_pylist()
            for who, classes in listed.items():
                written[who] = json.dumps([each[i] for each in classes])
            found[i] = pa.array(written, pa.string())
    return [pa.array(several).cast(pa.string()), *found]


def _joined_schema(labels: int, sensitive: int) -> pa.Schema:
    named = [*(f"l{i}" for i in range(labels)), *(f"v{i}" for i in range(sensitive))]
    own = [
        (PLACE, pa.int32()),
        *((name, pa.string()) for name in named),
        (PERSON, pa.int64()),
        (SUPPRESSED, pa.bool_()),
    ]
    return pa.schema(own)


def _shown_first(place: int) -> Mapper:
    """The rows of people whose first release is at this place."""

    def only(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return (batch.filter(pc.equal(batch[PLACE], place)) for batch in batches)

    return only
