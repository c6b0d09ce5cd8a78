"""The values of a column that it may not hold, for whoever corrects them. Few come to the driver,
however many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, combine, map_batches, select
from tclose_spark.errors import MOST_LISTED, Offending
from tclose_spark.table.dictionaries import decoded

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
    table: Table, column: str, problem: str, texts_of: Callable[[pa.Array], pa.Array]
) -> WrongValues:
    """The wrong values of a column. texts_of: from values of the column to the texts of the wrong
    ones.
    """

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            counted = decoded(texts_of(batch.column(0))).value_counts()
            yield pa.RecordBatch.from_arrays(
                [counted.field("values"), counted.field("counts")], schema=VALUES
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
            RANKED
        )
        kept = ranked.slice(0, MOST_LISTED)
        rest = ranked.slice(MOST_LISTED)
        others = others + rest.num_rows
        rows = rows + (pc.sum(rest["n"]).as_py() or 0)
    rest = pa.table(
        {"value": pa.nulls(1, pa.string()), "n": [rows], "values": [others]}, schema=FOUND
    )
    marked = kept.append_column("values", pa.array([0] * kept.num_rows, pa.int64())).cast(FOUND)
    yield from (
        pa.concat_tables([marked, rest.slice(0, 1 if others else 0)]).combine_chunks().to_batches()
    )
