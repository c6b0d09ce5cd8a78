"""Rows of a person, one after another, while they are staged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import gather, map_batches, schema_of
from tclose_spark.stages.line.membership import with_atoms
from tclose_spark.stages.staging.batches import StagedColumns
from tclose_spark.table.arrays import HashArray
from tclose_spark.table.people import PERSON, SPELLING, PersonRows, hash_people, hash_spellings, person_hash, ranks


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
