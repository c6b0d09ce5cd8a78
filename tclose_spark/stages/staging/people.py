"""Rows of a person, one after another, while they are staged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import gather, map_batches, schema_of
from tclose_spark.stages.line.membership import with_atoms
from tclose_spark.stages.staging.batches import ROWS_OF_HOUSEHOLD, StagedColumns
from tclose_spark.table.arrays import HashArray
from tclose_spark.table.people import (
    HOUSEHOLD,
    PERSON,
    SPELLING,
    PersonRows,
    hash_people,
    hash_spellings,
    household_hash,
    person_hash,
    ranks,
    whole_people,
)


def by_person(table: Table, secret: str, members: Table | None = None, records: Table | None = None) -> Table:
    """The rows of a table whose last column identifies a person, those of a person one after another. The column
    becomes PERSON, its keyed hash, missing where it is missing or empty; SPELLING is before it if it is text. Other
    columns are numbered.

    members, records: of earlier releases, if the release continues one: see `with_atoms`.
    """
    *types, kind_of_person = [field.type for field in schema_of(table)]
    spelling = [(SPELLING, pa.int64())] if pa.types.is_string(kind_of_person) else []
    schema = pa.schema([*((f"c{i}", kind) for i, kind in enumerate(types)), *spelling, (PERSON, pa.int64())])
    keyed = person_hash(secret)

    def hashed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            *columns, person = batch.columns
            columns += [hash_spellings(person, secret)] if spelling else []
            yield pa.RecordBatch.from_arrays([*columns, hash_people(person, keyed)], schema=schema)

    rows = map_batches(table, hashed, schema)
    return gather(rows, [PERSON]) if members is None else with_atoms(rows, members, records)


def with_households(table: Table, place: int, secret: str, counted: bool) -> Table:
    """The rows of a table whose column at `place` identifies a household. It becomes HOUSEHOLD, its keyed hash, missing
    where it is missing or empty; if rows are `counted`, those of the household follow it. Other columns are numbered.
    """
    kinds, keyed = [field.type for field in schema_of(table)], household_hash(secret)
    names = [HOUSEHOLD if i == place else f"c{i}" for i in range(len(kinds))]
    schema = pa.schema(zip(names, [pa.int64() if i == place else kind for i, kind in enumerate(kinds)], strict=True))

    def hashed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = [hash_people(one, keyed) if i == place else one for i, one in enumerate(batch.columns)]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def sized(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in whole_people(batches, HOUSEHOLD):
            if batch.num_rows:
                _, of, rows = np.unique(batch[HOUSEHOLD].fill_null(0), return_inverse=True, return_counts=True)
                yield batch.add_column(place + 1, ROWS_OF_HOUSEHOLD, pa.array(rows[of].astype(np.int32)))

    rows = map_batches(table, hashed, schema)
    with_size = schema.insert(place + 1, pa.field(ROWS_OF_HOUSEHOLD, pa.int32()))
    return map_batches(gather(rows, [HOUSEHOLD]), sized, with_size) if counted else rows


def person_columns(
    columns: StagedColumns,
    held: Sequence[pa.Array],
    person: Sequence[pa.Array],
    hashes: HashArray,
    atom: Sequence[pa.Array] = (),
) -> tuple[list[pa.Array], list[int]]:
    """(the columns `of_person` of whole people's rows; by quasi-identifier, how many people have several values).
    person: PERSON, or nothing if a row is taken for a person. atom: ATOM, or nothing if people have none.
    """
    if not person:
        return [], []
    known, quasi = person[0].fill_null(0), columns.quasi(held)
    rows = PersonRows.of(known.to_numpy(), columns.texts(held), [*map(ranks, quasi), hashes.view(np.int64)])
    made = [known, pa.array(rows.size, pa.int32()), pa.array(rows.first), *atom]
    if columns.person == "apart":
        return made, []
    lead = pa.array(rows.lead)
    return [*made, *(column.take(lead) for column in quasi)], [rows.varying(column) for column in quasi]
