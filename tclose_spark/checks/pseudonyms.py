"""Whether the published pseudonyms are keyed hashes, and no raw values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, map_batches, select
from tclose_spark.errors import GuaranteeError

PSEUDONYM = "^[0-9a-f]{32}$"
WRONG = pa.schema([("place", pa.int64()), ("rows", pa.int64())])


def require_pseudonyms(release: Table, columns: Sequence[str]) -> None:
    """Raises GuaranteeError if a value of these columns is neither missing nor a text of 32 hexadecimal digits."""

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            fits = [pc.match_substring_regex(column.cast(pa.string()), PSEUDONYM) for column in batch.columns]
            counts = [pc.sum(pc.invert(of_rows), min_count=0).cast(pa.int64()).as_py() for of_rows in fits]
            yield pa.RecordBatch.from_arrays([range(len(counts)), counts], schema=WRONG)

    counted = collect(map_batches(select(release, columns), count, WRONG)) if columns else WRONG.empty_table()
    for place, column in enumerate(columns):
        if rows := pc.sum(counted["rows"].filter(pc.equal(counted["place"], place))).as_py():
            raise GuaranteeError(f"column {column!r}: {rows} rows hold no pseudonym; nothing is published")
