"""Facts of a column, as figures: what is judged by. No value of a person is among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.runfile.attributes import Text
from tclose_spark.runfile.text import count_spellings
from tclose_spark.suggesting.patterns import (
    BOOLEAN,
    CODED_NUMBER,
    DATE,
    count_matching,
    identifying,
    placeholders,
)
from tclose_spark.table.arrays import IntArray

Kind = Literal["integer", "decimal", "text", "date", "timestamp", "boolean", "other"]

SPELLINGS: tuple[Mapping[str, str | bool], ...] = (
    {"strip": True},
    {"case": "fold"},
    {"strip": True, "case": "fold"},
    {"normal_form": "NFKC", "strip": True, "case": "fold"},
)
"""The text options that are tried, the mildest first, until those spellings are one that a reader takes for one."""


@dataclass(frozen=True, kw_only=True)
class WholeCounts:
    """Of a column in the whole table: what a sample cannot say.

    rows: of the table; missing: NULL, NaN or empty; distinct: about, without missing.
    not_numbers: values that are no finite number of at most 15 digits.
    marked: texts that a release gives another meaning (`*`, `{..}`).
    iso_dates: texts that are dates as 2020-12-31.
    """

    rows: int
    missing: int
    distinct: int
    not_numbers: int
    marked: int
    iso_dates: int = 0

    @property
    def present(self) -> int:
        """Rows with a value."""
        return self.rows - self.missing


@dataclass(frozen=True, kw_only=True)
class ColumnFacts:
    """A column as figures; those of `whole` are of the table, the others of the sample.

    unusable: why it cannot be published as it is, "" if it can.
    sampled: rows of the sample; present: those with a value.
    alone: share of the sample's rows whose value no other row has.
    fewest, most: rows of its rarest and of its most frequent value.
    entropy: in bits, of its values with missing as one.
    length: of its texts, on average; lengths: whether all texts have one.
    identifying, placeholders: rows by what they look like, and by the word they hold.
    dates, booleans, coded: rows that look like it.
    twice: texts that are the same number as another.
    spellings: values that differ from another only to a machine; text: the options that make them one.
    span: highest less lowest number.
    """

    name: str
    kind: Kind
    whole: WholeCounts
    unusable: str = ""
    sampled: int
    present: int
    distinct: int
    alone: float
    fewest: int
    most: int
    entropy: float
    length: float = 0.0
    lengths: bool = False
    identifying: Mapping[str, int]
    placeholders: Mapping[str, int]
    dates: int = 0
    booleans: int = 0
    coded: int = 0
    twice: int = 0
    spellings: int = 0
    text: Mapping[str, str | bool]
    span: float = 0.0

    @property
    def is_number(self) -> bool:
        """Whether every value in the table is a number that may be read as one."""
        readable = self.kind in ("integer", "decimal") or (self.kind == "text" and not self.coded and not self.twice)
        return readable and self.whole.present > 0 and not self.whole.not_numbers

    @property
    def is_date(self) -> bool:
        """Whether every value of the sample is a date or a time."""
        return self.kind in ("date", "timestamp") or (self.kind == "text" and 0 < self.present == self.dates)

    @property
    def is_calendar(self) -> bool:
        """Whether every value of the table is a date or a time of which a hierarchy can be built."""
        in_iso = self.kind == "text" and 0 < self.whole.present == self.whole.iso_dates
        return self.kind in ("date", "timestamp") or in_iso

    @property
    def uniqueness(self) -> float:
        """Distinct values for each row that has one, in the table: 1 where all differ."""
        return min(1.0, self.whole.distinct / self.whole.present) if self.whole.present else 0.0


@dataclass(frozen=True)
class TableFacts:
    """A table's columns as facts.

    rows: of the whole table. codes: of the sample's rows, a number for each value, by column.
    """

    rows: int
    facts: tuple[ColumnFacts, ...]
    codes: Mapping[str, IntArray]


def facts_of(
    name: str, kind: Kind, column: pa.ChunkedArray | pa.Array, whole: WholeCounts, unusable: str = ""
) -> ColumnFacts:
    """The facts of one column of a sample.

    column: its values, missing as null; of numbers as numbers, of all others as text.
    """
    counted = pc.value_counts(pc.drop_null(column))
    counted = counted.combine_chunks() if isinstance(counted, pa.ChunkedArray) else counted
    values, counts = counted.field(0), counted.field(1)
    rows, missing = len(column), column.null_count
    sizes = np.append(counts.to_numpy(), [missing] if missing else [])
    shares = sizes / rows if rows else sizes
    none: dict[str, Any] = {"identifying": {}, "placeholders": {}, "text": {}}
    texts = _texts(values, counts) if kind == "text" and len(values) else none
    number = bool(len(values)) and (kind in ("integer", "decimal") or (kind == "text" and not whole.not_numbers))
    numbers = [float(value) for value in values.to_pylist()] if number else [0.0]
    return ColumnFacts(
        name=name,
        kind=kind,
        whole=whole,
        unusable=unusable,
        sampled=rows,
        present=rows - missing,
        distinct=len(values),
        alone=float((sizes == 1).sum() / rows) if rows else 0.0,
        fewest=int(sizes.min()) if len(sizes) else 0,
        most=int(sizes.max()) if len(sizes) else 0,
        entropy=float(-(shares * np.log2(shares)).sum()) if rows else 0.0,
        span=max(numbers) - min(numbers),
        twice=len(values) - len(set(numbers)) if number else 0,
        **texts,
    )


def _texts(values: pa.Array, counts: pa.Array) -> dict[str, Any]:
    """What is counted of texts only."""
    rows = int(pc.sum(counts).as_py())
    lengths = pc.utf8_length(values)
    spelled, options = _spellings(values.to_pylist())
    return {
        "length": float(pc.sum(pc.multiply(lengths, counts)).as_py() / rows),
        "lengths": pc.count_distinct(lengths).as_py() == 1,
        "identifying": identifying(values, counts),
        "placeholders": placeholders(values, counts),
        "dates": count_matching(values, counts, DATE),
        "booleans": count_matching(values, counts, BOOLEAN),
        "coded": count_matching(values, counts, CODED_NUMBER),
        "spellings": spelled,
        "text": options,
    }


def _spellings(values: list[str]) -> tuple[int, Mapping[str, str | bool]]:
    """How many values are other spellings, and the mildest options that make as many one as any of SPELLINGS do."""
    spelled = count_spellings(values)
    if not spelled:
        return 0, {}
    made = [len({Text.model_validate(options).of(value) for value in values}) for options in SPELLINGS]
    return spelled, SPELLINGS[made.index(min(made))] if min(made) < len(values) else {}
