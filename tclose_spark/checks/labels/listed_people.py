"""Tables that say whose a row is: the person's column becomes a hash, by which the rows of a person come together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, map_batches, schema_of, select
from tclose_spark.errors import InputError
from tclose_spark.io.tables.check_columns import SUPPRESSED
from tclose_spark.table.people import PERSON, hash_people
from tclose_spark.table.row_hash import RowHash

KEYED = RowHash.of("person", 1)
WITHOUT = pa.schema([("rows", pa.int64())])


def with_people(table: Table, person: str, what: str, key: str = "--person", owner: str = PERSON) -> Table:
    """The table with PERSON (or another `owner`, such as HOUSEHOLD), and SUPPRESSED (no row is), in place of its last
    column, which identifies people.

    Raises:
        InputError: if rows have no person.
    """
    schema = pa.schema([*list(schema_of(table))[:-1], (owner, pa.int64()), (SUPPRESSED, pa.bool_())])

    def hashed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            *columns, whose = batch.columns
            kept = pa.repeat(False, len(batch))
            yield pa.RecordBatch.from_arrays([*columns, hash_people(whose, KEYED), kept], schema=schema)

    def without(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            missing = hash_people(batch.column(0), KEYED).null_count
            yield pa.RecordBatch.from_arrays([pa.array([missing], pa.int64())], schema=WITHOUT)

    missing = pc.sum(collect(map_batches(select(table, [person]), without, WITHOUT))["rows"]).as_py()
    if missing:
        raise InputError(f"{key}: {missing:,} rows of {what} have no {person!r}; expected a value in each row")
    return map_batches(table, hashed, schema)
