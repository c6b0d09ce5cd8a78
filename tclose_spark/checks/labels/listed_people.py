"""Tables that say whose a row is: the person's column becomes a hash, by which the rows of a person
come together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, gather, map_batches, schema_of, select
from tclose_spark.errors import InputError
from tclose_spark.io.tables.check_columns import SUPPRESSED
from tclose_spark.runfile.people import Unknown
from tclose_spark.table.fingerprint import RowHash
from tclose_spark.table.people import LONE, PERSON, apart_from_equals, hash_people, knows_person

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
                [*columns, hash_people(whose, KEYED), kept], schema=schema
            )
            yield rows.filter(knows_person(whose))

    if unknown is None and (missing := rows_without(table, person)):
        raise InputError(
            f"{key}: {missing:,} rows of {what} have no {person!r}; expected a value in each row, "
            "or unknown: drop (leave them out) or alone (each is a person)"
        )
    return map_batches(table, hashed, schema)


def rows_without(table: Table, person: str) -> int:
    """How many rows of a table have no person. One pass over the column."""

    def without(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            missing = hash_people(batch.column(0), KEYED).null_count
            yield pa.RecordBatch.from_arrays([pa.array([missing], pa.int64())], schema=WITHOUT)

    return int(
        pc.sum(collect(map_batches(select(table, [person]), without, WITHOUT))["rows"]).as_py() or 0
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
                [*batch.columns, pa.repeat(False, len(batch))], schema=schema
            )

    return map_batches(gather(map_batches(table, hashed, met), [PERSON]), apart, schema)
