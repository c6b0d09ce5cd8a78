"""The fingerprint of a table: a hash of its rows as a multiset, which tells a lost, doubled or altered row.

It is no secret and guards against accidents only; what decides ties is keyed (`table.row_hash`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, Row
from pyspark.sql import functions as F


def content_hash(columns: Sequence[Column], purpose: str) -> Column:
    """A 64-bit hash of a row's content, a different one for each purpose; it is no secret. NULLs count by their place
    (xxhash64 alone skips them).
    """
    nulls = [
        sum(
            (F.when(c.isNull(), F.lit(1 << i)).otherwise(F.lit(0)) for i, c in enumerate(part)), F.lit(0).cast("bigint")
        )
        for part in (columns[i : i + 60] for i in range(0, len(columns), 60))
    ]
    return F.xxhash64(F.lit(purpose), *nulls, *columns)


@dataclass(frozen=True)
class Fingerprint:
    """A fingerprint of the rows of a table as a multiset: their number, and the sum of their hashes modulo 2^64."""

    rows: int
    digest: int

    @staticmethod
    def columns(columns: Sequence[Column], prefix: str, where: Column | None = None) -> list[Column]:
        """Aggregates that `of` reads back; with `where` of these rows only. The sum wraps around, whatever the order of
        the rows (see `session.SETTINGS`).
        """
        one, digest = F.lit(1), content_hash(columns, "multiset")
        if where is not None:
            one, digest = F.when(where, one), F.when(where, digest)
        return [F.count(one).alias(f"{prefix}_rows"), F.sum(digest).alias(f"{prefix}_digest")]

    @staticmethod
    def of(figures: Mapping[str, Any] | Row, prefix: str) -> Fingerprint:
        """The fingerprint in a row (or an observation) that holds `columns`."""
        return Fingerprint(int(figures[f"{prefix}_rows"]), int(figures[f"{prefix}_digest"] or 0))

    def __str__(self) -> str:
        return f"{self.rows:x}-{self.digest % 2**64:016x}"
