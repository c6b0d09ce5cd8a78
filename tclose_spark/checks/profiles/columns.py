"""What the rules of a profile need of the columns of a written release: one pass, which sends counts, and the labels of
ages and areas.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.checks.classes.tallies import MOST_VALUES
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, combine, map_batches, select
from tclose_spark.errors import InputError
from tclose_spark.table.arrays import Mapper
from tclose_spark.table.columns.patterns import DATE, identifying
from tclose_spark.table.columns.preparing import as_text, plain
from tclose_spark.table.dictionaries import decoded

LABEL, PATTERN, FINE = "label", "pattern", "finer than a year"
FOUND = pa.schema([("column", pa.string()), ("kind", pa.string()), ("value", pa.string()), ("n", pa.int64())])

PART = r"[0-9]{4}-(0[1-9]|1[0-2]|Q[1-4]|H[12])"
"""A part of a year, as built hierarchies write it."""
FINER = rf"^({DATE}|{PART})$|^[\[({{]\s*\"?{PART}"
WHOLE_YEARS = r"^\[[0-9]{4}-01-01(T00:00:00(\.0+)?)?, [0-9]{4}-12-31(T23:59:59(\.9+)?)?\]$"


@dataclass(frozen=True)
class PublishedColumns:
    """What stands in the columns of a release, in rows.

    labels: of each label, by column of ages or areas. patterns: of values that look like each of `IDENTIFYING`, by
    column. finer: with a date or time that is finer than a year, by column.
    """

    labels: Mapping[str, Mapping[str, int]]
    patterns: Mapping[str, Mapping[str, int]]
    finer: Mapping[str, int]


def read_columns(release: Table, columns: Mapping[str, Sequence[str]], listed: Sequence[str]) -> PublishedColumns:
    """What stands in the columns of a release. columns: by attribute, its published column, or its two bounds, which
    count as one interval. listed: the attributes whose labels are needed.

    Raises:
        InputError: if these have more labels than a driver holds.
    """
    read = map_batches(select(release, [c for pair in columns.values() for c in pair]), _reader(columns, listed), FOUND)
    found = collect(combine(read, ["column", "kind", "value"], {"n": "sum"}), MOST_VALUES + 1)
    if found.num_rows > MOST_VALUES:
        raise InputError(f"{' and '.join(listed)}: more than {MOST_VALUES:,} values in all; use coarser ones")
    labels: dict[str, dict[str, int]] = defaultdict(dict)
    patterns: dict[str, dict[str, int]] = defaultdict(dict)
    finer: dict[str, int] = {}
    for row in sorted(found.to_pylist(), key=lambda row: [row[name] for name in FOUND.names[:3]]):
        if row["kind"] == FINE:
            finer |= {row["column"]: row["n"]} if row["n"] else {}
        else:
            (labels if row["kind"] == LABEL else patterns)[row["column"]][row["value"]] = row["n"]
    return PublishedColumns(dict(labels), dict(patterns), finer)


def finer_than_a_year(values: pa.Array) -> Any:
    """Whether each text is a date, a time or a part of a year, or an interval of these that is not of whole years.

    >>> finer_than_a_year(pa.array(["2024", "2020s", "2024-03", "[2020-01-01, 2021-12-31]", "7"])).to_pylist()
    [False, False, True, False, False]
    """
    return pc.and_not(pc.match_substring_regex(values, FINER), pc.match_substring_regex(values, WHOLE_YEARS))


def _reader(columns: Mapping[str, Sequence[str]], listed: Sequence[str]) -> Mapper:
    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            held = iter(batch.columns)
            for name, published in columns.items():
                counted = _label([next(held) for _ in published]).drop_null().value_counts()
                values, counts = counted.field("values"), counted.field("counts")
                found = [(PATTERN, pattern, n) for pattern, n in identifying(values, counts).items()]
                found.append((FINE, "", pc.sum(counts.filter(finer_than_a_year(values))).as_py() or 0))
                if name in listed:
                    found += [(LABEL, *pair) for pair in zip(values.to_pylist(), counts.to_pylist(), strict=True)]
                rows = [[name] * len(found), *map(list, zip(*found, strict=True))]
                arrays = [pa.array(part, field.type) for part, field in zip(rows, FOUND, strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, schema=FOUND)

    return read


def _label(columns: Sequence[pa.Array]) -> pa.Array:
    """The texts of a column, or of two bounds as an interval."""
    written = [decoded(as_text(plain(decoded(column)))) for column in columns]
    if len(written) == 1:
        return written[0]
    low, high = written
    return pc.binary_join_element_wise("[", low, ", ", high, "]", "")
