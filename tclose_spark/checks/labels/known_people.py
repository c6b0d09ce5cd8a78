"""What a list says of people: their raw quasi-identifiers, in the form in which a release has
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from tclose_spark.checks.classes.class_table import JudgedQuasi
from tclose_spark.checks.classes.tallies import texts
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import combine, gather, map_batches, schema_of, select
from tclose_spark.runfile.attributes import QuasiIdentifier, SensitiveAttribute, Text
from tclose_spark.table.columns.preparing import iso_text
from tclose_spark.table.dictionaries import coded, decoded, group_equal
from tclose_spark.table.people import PERSON


def joined_quasi(quasi: Sequence[JudgedQuasi], background: Table) -> list[JudgedQuasi]:
    """The quasi-identifiers whose raw values a table of people has."""
    return [q for q in quasi if q.name in schema_of(background).names]


def normal_texts(
    table: Table,
    columns: Sequence[str],
    settings: Mapping[str, QuasiIdentifier | SensitiveAttribute],
) -> Table:
    """Those of these columns that a table has, with their options applied to texts, and dates of
    their form as ISO; its first column if it has none.
    """
    schema = schema_of(table)
    names = [name for name in dict.fromkeys(columns) if name in schema.names] or schema.names[:1]
    schema = pa.schema([schema.field(name) for name in names])
    options: dict[str, Callable[[str], str]] = {
        name: one.text.of
        for name, one in settings.items()
        if one.text is not None and one.text != Text()
    }
    options |= {
        name: partial(iso_text, settings=one)
        for name, one in settings.items()
        if isinstance(one, QuasiIdentifier) and one.date_format is not None
    }
    asked = {
        name: options[name]
        for name in names
        if name in options and pa.types.is_string(schema.field(name).type)
    }
    table = select(table, names)
    if not asked:
        return table

    def normal(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = dict(zip(names, batch.columns, strict=True))
            for name, written in asked.items():
                column = coded(columns[name])
                made = [
                    None if value is None else written(value)
                    for value in column.dictionary.to_pylist()
                ]
                columns[name] = pa.array(made, pa.string()).take(column.indices)
            yield pa.RecordBatch.from_arrays(list(columns.values()), schema=schema)

    return map_batches(table, normal, schema)


def distinct_people(background: Table, names: Sequence[str]) -> Table:
    """The distinct tuples of these columns as texts `q0`.., and how many people have each:
    `people`.
    """
    keys = [f"q{i}" for i in range(len(names))]
    schema = pa.schema([*[(key, pa.string()) for key in keys], ("people", pa.int64())])

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                columns = [texts(column) for column in batch.columns]
                group, first = group_equal(columns)
                distinct = [decoded(column).take(pa.array(first)) for column in columns]
                yield pa.RecordBatch.from_arrays(
                    [*distinct, pa.array(np.bincount(group))], schema=schema
                )

    return combine(map_batches(select(background, names), count, schema), keys, {"people": "sum"})


def known_people(background: Table, names: Sequence[str]) -> Table:
    """What an adversary knows of people: see `distinct_people`. With PERSON, the rows of each
    person one after another, in columns `q0`.. and PERSON.
    """
    if PERSON not in schema_of(background).names:
        return distinct_people(background, names)
    keys = [f"q{i}" for i in range(len(names))]
    schema = pa.schema([*[(key, pa.string()) for key in keys], (PERSON, pa.int64())])

    def text(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            *columns, person = batch.columns
            yield pa.RecordBatch.from_arrays(
                [*(decoded(texts(column)) for column in columns), person], schema=schema
            )

    return gather(map_batches(select(background, [*names, PERSON]), text, schema), [PERSON])
