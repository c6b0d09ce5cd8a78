"""Whether the published pseudonyms are keyed hashes, and no raw values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.checks.judged_release import JudgedRelease, ReleaseJudge
from tclose_spark.engine.tables import collect, map_batches, select
from tclose_spark.errors import GuaranteeError

PSEUDONYM = "^[0-9a-f]{32}$"
WRONG = pa.schema([("place", pa.int64()), ("rows", pa.int64())])


class PseudonymsJudge(ReleaseJudge):
    """A value of a pseudonym is missing, or a text of 32 hexadecimal digits."""

    def measure(self, release: JudgedRelease) -> None:
        columns = [*self.spec.attributes.pseudonym_names.values()]
        counted = collect(map_batches(select(release.table, columns), _count, WRONG))
        for place, column in enumerate(columns):
            if rows := pc.sum(counted["rows"].filter(pc.equal(counted["place"], place))).as_py():
                raise GuaranteeError(
                    f"column {column!r}: {rows} rows hold no pseudonym; nothing is published",
                )


def _count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The wrong values of each column."""
    for batch in batches:
        fits = [
            pc.match_substring_regex(column.cast(pa.string()), PSEUDONYM)
            for column in batch.columns
        ]
        counts = [
            pc.sum(pc.invert(of_rows), min_count=0).cast(pa.int64()).as_py() for of_rows in fits
        ]
        yield pa.RecordBatch.from_arrays([range(len(counts)), counts], schema=WRONG)
