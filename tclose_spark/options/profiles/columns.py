"""What the rules of a profile need of the columns of a written release: one pass, which sends
counts, and the labels of ages and areas.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.checks.classes.tallies import MOST_VALUES
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, combine, map_batches, select
from tclose_spark.errors import InputError
from tclose_spark.options.profiles.forms import (
    finer_than_a_year,
    long_numbers,
    long_zips,
    unread_dates,
)
from tclose_spark.table.arrays import Mapper
from tclose_spark.table.columns.patterns import identifying
from tclose_spark.table.columns.preparing import as_text, plain
from tclose_spark.table.dictionaries import decoded

LABEL = "label"
PATTERN = "pattern"
LONG = "numbers of nine digits or more"
"""A pattern of values beside those of `IDENTIFYING`."""
FORMS = {"finer": finer_than_a_year, "unread": unread_dates, "zips": long_zips}
"""By field of PublishedColumns."""
FOUND = pa.schema(
    [("column", pa.string()), ("kind", pa.string()), ("value", pa.string()), ("n", pa.int64())]
)


@dataclass(frozen=True)
class PublishedColumns:
    """What stands in the columns of a release, in rows.

    labels: of each label, by column of ages or areas.
    patterns: of values that look like each of `IDENTIFYING`, by column.
    finer: with a date or time that is finer than a year, by column.
    unread: with digits in a form that is not known, by column.
    zips: with a ZIP code of more than three digits, by column.
    """

    labels: Mapping[str, Mapping[str, int]]
    patterns: Mapping[str, Mapping[str, int]]
    finer: Mapping[str, int]
    unread: Mapping[str, int] = field(default_factory=dict)
    zips: Mapping[str, int] = field(default_factory=dict)


def read_columns(
    release: Table, columns: Mapping[str, Sequence[str]], listed: Sequence[str]
) -> PublishedColumns:
    """What stands in the columns of a release. columns: by attribute, its published column, or its
    two bounds, which count as one interval. listed: the attributes whose labels are needed.

    Raises:
        InputError: if these have more labels than a driver holds.
    """
    read = map_batches(
        select(release, [c for pair in columns.values() for c in pair]),
        _reader(columns, listed),
        FOUND,
    )
    found = collect(combine(read, ["column", "kind", "value"], {"n": "sum"}), MOST_VALUES + 1)
    if found.num_rows > MOST_VALUES:
        raise InputError(
            f"{' and '.join(listed)}: more than {MOST_VALUES:,} values in all; use coarser ones"
        )
    labels: dict[str, dict[str, int]] = defaultdict(dict)
    patterns: dict[str, dict[str, int]] = defaultdict(dict)
    formed: dict[str, dict[str, int]] = {kind: {} for kind in FORMS}
    for row in sorted(found.to_pylist(), key=lambda row: [row[name] for name in FOUND.names[:3]]):
        if row["kind"] in FORMS:
            formed[row["kind"]] |= {row["column"]: row["n"]} if row["n"] else {}
        else:
            (labels if row["kind"] == LABEL else patterns)[row["column"]][row["value"]] = row["n"]
    return PublishedColumns(dict(labels), dict(patterns), **formed)


def _reader(columns: Mapping[str, Sequence[str]], listed: Sequence[str]) -> Mapper:
    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            held = iter(batch.columns)
            for name, published in columns.items():
                counted = _label([next(held) for _ in published]).drop_null().value_counts()
                values = counted.field("values")
                counts = counted.field("counts")
                found = [
                    (PATTERN, pattern, n) for pattern, n in identifying(values, counts).items()
                ]
                if n := pc.sum(counts.filter(long_numbers(values))).as_py():
                    found.append((PATTERN, LONG, n))
                found += [
                    (kind, "", pc.sum(counts.filter(of(values))).as_py() or 0)
                    for kind, of in FORMS.items()
                ]
                if name in listed:
                    found += [
                        (LABEL, *pair)
                        for pair in zip(values.to_pylist(), counts.to_pylist(), strict=True)
                    ]
                rows = [[name] * len(found), *map(list, zip(*found, strict=True))]
                arrays = [
                    pa.array(part, field.type) for part, field in zip(rows, FOUND, strict=True)
                ]
                yield pa.RecordBatch.from_arrays(arrays, schema=FOUND)

    return read


def _label(columns: Sequence[pa.Array]) -> pa.Array:
    """The texts of a column, or of two bounds as an interval."""
    written = [decoded(as_text(plain(decoded(column)))) for column in columns]
    if len(written) == 1:
        return written[0]
    low, high = written
    return pc.binary_join_element_wise("[", low, ", ", high, "]", "")
