"""Brings the rows of a person together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, gather, map_batches, schema_of, select
from tclose_spark.options.lines.membership import with_atoms
from tclose_spark.runfile.columns import Unknown
from tclose_spark.table.fingerprint import RowHash
from tclose_spark.table.people import (
    LONE,
    PERSON,
    SPELLING,
    apart_from_equals,
    hash_people,
    hash_spellings,
    knows_person,
    person_hash,
)

UNKNOWN = pa.schema([("rows", pa.int64())])


def by_person(
    table: Table,
    secret: str,
    unknown: Unknown | None = None,
    members: Table | None = None,
    records: Table | None = None,
) -> Table:
    """The rows of a table whose last column identifies a person, those of a person one after
    another. The column becomes PERSON, its keyed hash, missing where it is missing or empty;
    SPELLING is before it if it is text. Other columns are numbered.

    unknown: what becomes of rows without a person; without it they keep none.
    members, records: of earlier releases, if the release continues one: see `with_atoms`.
    """
    *types, kind_of_person = [field.type for field in schema_of(table)]
    spelling = [(SPELLING, pa.int64())] if pa.types.is_string(kind_of_person) else []
    schema = pa.schema(
        [*((f"c{i}", kind) for i, kind in enumerate(types)), *spelling, (PERSON, pa.int64())]
    )
    met = (
        schema.insert(len(schema) - 1, pa.field(LONE, pa.bool_())) if unknown == "alone" else schema
    )
    keyed = person_hash(secret)
    of_rows = RowHash.of(f"row without a person {secret}", len(types))

    def hashed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            *columns, person = batch.columns
            known = knows_person(person)
            whose = hash_people(person, keyed)
            own = columns
            if spelling:
                own = [*own, pc.if_else(known, hash_spellings(person, secret), None)]
            if unknown == "alone":
                whose = pc.if_else(known, whose, pa.array(of_rows.of_rows(columns).view("int64")))
                own = [*own, pc.invert(known)]
            rows = pa.RecordBatch.from_arrays([*own, whose], schema=met)
            yield rows.filter(known) if unknown == "drop" else rows

    rows = map_batches(table, hashed, met)
    if unknown == "alone":
        numbered = RowHash.of(f"person of one row {secret}", 2)
        return map_batches(
            gather(rows, [PERSON]), lambda batches: apart_from_equals(batches, numbered), schema
        )
    return gather(rows, [PERSON]) if members is None else with_atoms(rows, members, records)


def unknown_rows(table: Table, column: str) -> int:
    """How many rows of a table have no person. One pass over the column."""

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            missing = pc.sum(pc.invert(knows_person(batch.column(0)))).as_py()
            yield pa.RecordBatch.from_arrays([pa.array([missing], pa.int64())], schema=UNKNOWN)

    return int(
        pc.sum(collect(map_batches(select(table, [column]), count, UNKNOWN))["rows"]).as_py() or 0
    )
