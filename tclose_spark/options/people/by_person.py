"""Brings the rows of a person together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import gather, map_batches, schema_of
from tclose_spark.options.lines.membership import with_atoms
from tclose_spark.table.people import PERSON, SPELLING, hash_people, hash_spellings, person_hash


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
