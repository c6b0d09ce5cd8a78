"""Opens an undescribed table, and gathers facts: counts of the whole table, and a sample of its
rows.

Names that a release cannot have are replaced when it is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import chain, count
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.engine.protocol import OpenedTable, Session, Table
from tclose_spark.engine.sources import checked, frame_table, read_table
from tclose_spark.engine.tables import (
    collect,
    combine,
    map_batches,
    read_as_missing,
    schema_of,
    select,
    session_of,
    sized_shuffles,
)
from tclose_spark.errors import InputError
from tclose_spark.io.input.files import unread
from tclose_spark.io.input.sniffing import completed
from tclose_spark.io.tables.check_columns import plain_name
from tclose_spark.measures.sketches import REGISTERS, DistinctCount, estimate
from tclose_spark.runfile.columns import code_of
from tclose_spark.runfile.spec import Input
from tclose_spark.suggesting.codes import NUMBERS
from tclose_spark.suggesting.dictionary import NO_DICTIONARY, Dictionary
from tclose_spark.suggesting.facts import Kind, TableFacts, WholeCounts, facts_of, least_k
from tclose_spark.suggesting.unique_share import value_codes
from tclose_spark.table.arrays import Mapper
from tclose_spark.table.column_names.descriptions import telling_phrase
from tclose_spark.table.column_names.hints import Hint, hint_of
from tclose_spark.table.column_names.names import is_name, require_names, steps
from tclose_spark.table.columns.patterns import (
    CLOCKS,
    DATE_FORMATS,
    ISO_DATE,
    ISO_TIME,
    MARKED,
    count_dates,
    count_matching,
)
from tclose_spark.table.columns.preparing import NUMBER, as_text, judged_values, not_of_type
from tclose_spark.table.columns.spark_types import (
    MALFORMED,
    how_to_flatten,
    is_unsupported,
    type_name,
)
from tclose_spark.table.entities.finding import Entity, Subjects, find_subjects
from tclose_spark.table.entities.whole_values import Sampler, WholeValues
from tclose_spark.table.fingerprint import content_hash

SEED = 2026
LINES = 5000  # rows by which the names of columns are examined
KINDS: Mapping[Kind, Callable[[pa.DataType], bool]] = {
    "integer": pa.types.is_integer,
    "decimal": lambda kind: pa.types.is_floating(kind) or pa.types.is_decimal(kind),
    "text": pa.types.is_string,
    "date": pa.types.is_date,
    "timestamp": pa.types.is_timestamp,
    "boolean": pa.types.is_boolean,
}
NUMERAL = NUMBER.strip("^$")
WHOLE_VALUES = pa.field("whole values", pa.large_binary())
"""The sample of whole values of a task, beside its sample of rows."""
LINE_END = r"(\r\n|\n|\r)$"
"""What a text may end with, and counts for nothing, as when numbers are read."""
PARTS = (
    "rows",
    "missing",
    "not_numbers",
    "numerals",
    "marked",
    "iso_dates",
    "iso_times",
    *DATE_FORMATS,
    *CLOCKS,
)
TALLIES = pa.schema(
    [("column", pa.int32()), ("part", pa.int32()), ("n", pa.int64()), ("rank", pa.int64())],
)
"""What tasks count of the columns, by their place: the ranks that estimate distinct values, whose
parts are registers, and after those `n` of each of PARTS.
"""


def gather_facts(
    opened: OpenedTable,
    most: int | None,
    k: int | None = None,
    dictionary: Dictionary = NO_DICTIONARY,
) -> TableFacts:
    """The facts of every column under its new name, from one pass over the whole table and one over
    a sample.

    most: the approximate number of sampled rows; None for all. k: rows of a code that is named;
        None for `least_k`.
    dictionary: of the columns, under the names of the input.

    Raises:
        InputError: if the table has no rows.
    """
    fields = list(schema_of(opened.table))
    names = [opened.source.columns.get(field.name, field.name) for field in fields]
    read = [place for place, field in enumerate(fields) if not is_unsupported(field.type)] or [
        *range(len(fields)),
    ]
    table = select(opened.table, [fields[place].name for place in read])
    whole = dict(zip(read, _whole(table, len(read)), strict=True))
    rows = next(iter(whole.values())).rows if whole else 0
    if not rows:
        raise InputError("input.path: the table has no rows")
    share = 1.0 if most is None else min(1.0, most / rows)
    sample, whole_values = _drawn(table, {f"c{place}": fields[place].type for place in read}, share)
    if not sample.num_rows:
        raise InputError("--sample: no row was drawn; give a larger number")
    described = [dictionary.of(field.name) for field in fields]
    phrases = [telling_phrase(name, one.text) for name, one in zip(names, described, strict=True)]
    hints = [hint_of(phrases[place] or names[place]) for place in read]
    subjects = find_subjects(whole_values, [names[place] for place in read], hints)
    nothing = WholeCounts(rows=rows, missing=rows, distinct=0, not_numbers=0, numerals=0, marked=0)
    facts = []
    codes = {}
    columns = []
    hint_by_name = dict(zip((names[place] for place in read), hints, strict=True))
    for place, (field, name) in enumerate(zip(fields, names, strict=True)):
        column = sample[f"c{place}"] if place in whole else pa.nulls(sample.num_rows, pa.string())
        counts = _with_distinct(whole.get(place, nothing), column)
        found = facts_of(
            name,
            kind_of(field.type),
            column,
            counts,
            k or least_k(rows),
            phrases[place],
        )
        facts.append(
            replace(
                found,
                unusable=_unusable(field, name, names, counts),
                entity=_entity(subjects, name, hint_by_name.get(name)),
                refuted=name in subjects.refuted,
                marked=described[place].is_identifier,
            ),
        )
        codes[name] = value_codes(column)
        columns.append(column)
    return TableFacts(rows, tuple(facts), codes, pa.table(columns, names=names), subjects)


def _entity(subjects: Subjects, name: str, hint: Hint | None) -> Entity | None:
    """The entity that a column groups by itself, or with another one if its name shows no subject."""
    is_unknown = hint is not None and hint.concept is None
    return subjects.of(name) or (subjects.with_other(name) if is_unknown else None)


def _with_distinct(counts: WholeCounts, column: pa.ChunkedArray) -> WholeCounts:
    """The counts of a column with its different values: exact if the sample is the whole table."""
    sampled = pc.count_distinct(column, mode="only_valid").as_py()
    if len(column) == counts.rows:
        return replace(counts, distinct=sampled)
    distinct = min(max(counts.distinct, sampled), counts.present)
    return replace(counts, distinct=distinct, estimated=True)


def kind_of(type_: pa.DataType) -> Kind:
    """What a column of this type holds."""
    return next((kind for kind, is_a in KINDS.items() if is_a(type_)), "other")


def _whole(table: Table, columns: int) -> list[WholeCounts]:
    """The counts of each column, in one pass."""
    with sized_shuffles(session_of(table), columns * REGISTERS):
        tallies = map_batches(table, _tally(columns), TALLIES)
        tallied = collect(combine(tallies, ["column", "part"], {"n": "sum", "rank": "max"}))
    column, part, n, rank = (values.to_numpy() for values in tallied.columns)
    counts, ranks = np.zeros((2, columns, REGISTERS + len(PARTS)), dtype=np.int64)
    counts[column, part] = n
    ranks[column, part] = rank
    found = []
    for numbers, registers in zip(
        counts[:, REGISTERS:].tolist(),
        ranks[:, :REGISTERS],
        strict=True,
    ):
        parts = dict(zip(PARTS, numbers, strict=True))
        formatted = {form: parts.pop(form) for form in (*DATE_FORMATS, *CLOCKS)}
        found.append(WholeCounts(**parts, distinct=estimate(registers), formatted=formatted))
    return found


def _tally(columns: int) -> Mapper:
    """Tallies the columns of a task, as TALLIES."""

    def tally(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        counts = np.zeros((columns, len(PARTS)), dtype=np.int64)
        distinct = [DistinctCount.empty() for _ in range(columns)]
        for batch in batches:
            for place, column in enumerate(batch.columns):
                counted = pc.value_counts(_value(column).drop_null())
                counts[place] += _counts(column, *counted.flatten())
                distinct[place].add(content_hash([counted.field("values")]))
        for place, seen in enumerate(distinct):
            n = np.concatenate([np.zeros(REGISTERS, dtype=np.int64), counts[place]])
            rank = np.concatenate([seen.registers, np.zeros(len(PARTS), dtype=np.int64)])
            part = np.flatnonzero(n + rank)
            held = [
                np.full(len(part), place, dtype=np.int32),
                part.astype(np.int32),
                n[part],
                rank[part],
            ]
            yield pa.RecordBatch.from_arrays([pa.array(values) for values in held], schema=TALLIES)

    return tally


def _counts(column: pa.Array, values: pa.Array, rows: pa.Array) -> list[int]:
    """PARTS of a column. values, rows: its values, and the rows of each."""
    kind = kind_of(column.type)
    present = int(pc.sum(rows).as_py() or 0)
    is_read = kind in ("text", "integer", "decimal")
    not_numbers = int(np.count_nonzero(not_of_type(column, NUMBERS))) if is_read else present
    lines = pc.replace_substring_regex(values, LINE_END, "") if kind == "text" else None
    patterns = [
        0 if lines is None else count_matching(lines, rows, pattern)
        for pattern in (NUMERAL, MARKED, ISO_DATE, ISO_TIME)
    ]
    dated = kind in ("text", "integer")
    formatted = (
        count_dates(as_text(values), rows) if dated else dict.fromkeys((*DATE_FORMATS, *CLOCKS), 0)
    )
    if lines is None:
        patterns[0] = present - not_numbers
    return [len(column), len(column) - present, not_numbers, *patterns, *formatted.values()]


def _drawn(
    table: Table,
    types: Mapping[str, pa.DataType],
    share: float,
) -> tuple[pa.Table, WholeValues]:
    """(about this share of the rows, a sample of whole values), in one pass. types: of the columns,
    by name.
    """
    schema = pa.schema([(name, _value(pa.nulls(0, kind)).type) for name, kind in types.items()])
    both = schema.append(WHOLE_VALUES)
    drawn = collect(map_batches(table, _sampler(share, both), both))
    is_row = drawn[WHOLE_VALUES.name].is_null()
    parts = map(WholeValues.from_bytes, drawn[WHOLE_VALUES.name].drop_null().to_pylist())
    return drawn.filter(is_row).select(schema.names), reduce(
        add,
        parts,
        WholeValues.empty(len(schema)),
    )


def _sampler(share: float, schema: pa.Schema) -> Mapper:
    """Draws this share of the rows, with the values of their columns. What a task draws follows
    from its own rows. The last row of a task has its sample of whole values, as the last column of
    the schema, and nothing else.
    """

    def draw(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        generator = None
        whole_values = Sampler(len(schema) - 1)
        for batch in batches:
            values = [_value(column) for column in batch.columns]
            whole_values.add([_readable(column) for column in batch.columns])
            if share < 1:
                if generator is None:
                    generator = np.random.default_rng([SEED, int(content_hash(values).sum())])
                drawn = pa.array(generator.random(batch.num_rows) < share)
                values = [column.filter(drawn) for column in values]
            rows = len(values[0])
            yield pa.RecordBatch.from_arrays(
                [*values, pa.nulls(rows, WHOLE_VALUES.type)],
                schema=schema,
            )
        nothing = [pa.nulls(1, field.type) for field in schema][:-1]
        written = pa.array([whole_values.sample().to_bytes()], WHOLE_VALUES.type)
        yield pa.RecordBatch.from_arrays([*nothing, written], schema=schema)

    return draw


def _readable(column: pa.Array) -> pa.Array:
    """A column, or missing values in place of a type without a text."""
    return pa.nulls(len(column), pa.string()) if is_unsupported(column.type) else column


def _value(column: pa.Array) -> pa.Array:
    """A column as facts are computed from it: numbers as such, all others as text, missing values
    and types without a text as missing.
    """
    kind = kind_of(column.type)
    if kind in ("integer", "decimal"):
        numbers = judged_values(column, NUMBERS)
        return numbers if kind == "integer" else pc.if_else(pc.is_finite(numbers), numbers, None)
    if is_unsupported(column.type):
        return pa.nulls(len(column), pa.string())
    if pa.types.is_binary(column.type):
        return pa.array(content_hash([column])).cast(pa.string())
    return as_text(column)


def _unusable(field: pa.Field, name: str, names: Sequence[str], whole: WholeCounts) -> str:
    """Why a column cannot be released as it is; "" if it can. names: of all columns."""
    if is_unsupported(field.type) or pa.types.is_binary(field.type):
        name = type_name(field)
        return f"its type, {name.partition('<')[0]}, cannot be released; {how_to_flatten(name)}"
    if set(name) & DELTA_FORBIDS:
        return "a Delta table cannot hold its name; rename it (no blanks or , ; { } ( ) =)"
    if [other.lower() for other in names].count(name.lower()) > 1:
        return "another column has its name but for case; rename one"
    if whole.marked:
        return (
            f"{whole.marked:,} values are * or begin and end with braces, which a release gives a "
            "meaning"
        )
    return ""


def gather_described(
    opened: OpenedTable,
    most: int | None,
    k: int | None = None,
    dictionary: Dictionary = NO_DICTIONARY,
) -> TableFacts:
    """The facts of an opened table, with codes for missing values read as missing. most, k,
    dictionary: see `gather_facts`.
    """
    first = gather_facts(opened, most, k, dictionary)
    names = schema_of(opened.table).names
    _require_names(names, first.sample.slice(0, LINES))
    described = zip(names, first.facts, strict=True)
    codes = {name: [*map(code_of, one.codes.rows)] for name, one in described if one.codes.rows}
    if not codes:
        return first
    again = gather_facts(
        replace(opened, table=read_as_missing(opened.table, codes)),
        most,
        k,
        dictionary,
    )
    facts = [
        replace(one, codes=found.codes) for one, found in zip(again.facts, first.facts, strict=True)
    ]
    return replace(again, facts=tuple(facts))


def _require_names(names: Sequence[str], sample: pa.Table) -> None:
    """See `require_names`. Files in this process's reach are examined before; other tables by their
    sample.
    """
    texts = [pc.fill_null(column.cast(pa.string()), "").to_pylist() for column in sample.columns]
    require_names(
        names,
        [*zip(*texts, strict=True)],
        "input.path: the names of the columns",
        "give them names",
    )


DELTA_FORBIDS = frozenset(" ,;{}()\n\t=")


def open_unknown_table(session: Session, source: Input) -> OpenedTable:
    """The table, with the options that its file needs in its source (`completed`). New names are in
    the `columns` of its source.

    Raises:
        InputError: if it cannot be read, or its header may be a record.
    """
    try:
        source = completed(source, may_leave_out=True)
        table = read_table(session, source)
        names = [name for name in schema_of(table).names if name != MALFORMED]
    except InputError as error:
        raise unread(error, source) from None
    header = source.format == "csv" and source.options.get("header", "").lower() == "true"
    odd = [place for place, name in enumerate(names) if not is_name(name)]
    if header and 2 * len({*odd} - steps(names)) >= len(names):
        raise InputError(
            f"input.path: the first line of {source.path} looks like a record, not like column "
            "names; if it is one, give --option header=false",
        )
    opened = OpenedTable(table, source, names)
    return _with_plain_names(checked(opened))


def open_frame(session: Session, table: Any, source: Input) -> OpenedTable:
    """A table in memory, under the name that a source gives it, as `open_unknown_table` opens
    others.
    """
    frame = frame_table(session, table)
    return _with_plain_names(OpenedTable(frame, source, schema_of(frame).names))


def _with_plain_names(opened: OpenedTable) -> OpenedTable:
    """The table whose source has new names for columns that Delta cannot hold."""
    columns = dict[str, str]()
    taken = {name.lower() for name in opened.columns}
    for name in opened.columns:
        new_name = plain_name(name)
        if (
            new_name != name
            and [other.lower() for other in opened.columns].count(name.lower()) == 1
        ):
            new = next(
                made
                for made in chain([new_name], (f"{new_name}_{i}" for i in count(2)))
                if made.lower() not in taken
            )
            columns[name] = new
            taken.add(new.lower())
    return (
        replace(opened, source=opened.source.model_copy(update={"columns": columns}))
        if columns
        else opened
    )
