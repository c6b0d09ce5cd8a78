"""Which people of the input stay in their atom (see `table.atoms`), and which have to wait."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.engine.protocol import Mapper, Table
from tclose_spark.engine.tables import gather, map_batches, observe, schema_of, select, union
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.stages.staging.batches import KEPT
from tclose_spark.table.atoms import ATOM, NEWCOMER, VALUES, WITHHELD, hash_values, values_by_person
from tclose_spark.table.columns.preparing import judged_values
from tclose_spark.table.people import PERSON, Members, hash_people, person_hash, whole_people

MET = pa.schema([(PERSON, pa.int64()), (ATOM, pa.int64()), (VALUES, pa.int64())])
"""Rows of the input, whose ATOM is missing; people of earlier releases; and rows of records, with
PERSON alone.
"""
LEFT = "left"
CHANGED = "changed"
STAYED = "stayed"
KEPT_BACK = "withheld"
RECORDED = "recorded"
COMPARED = pa.schema([(name, pa.int64()) for name in (PERSON, ATOM, LEFT, CHANGED, RECORDED)])
MEMBERS = pa.schema([(PERSON, pa.int64()), (ATOM, pa.int64()), (KEPT, pa.int64())])
"""People who were published before, with their atom, or WITHHELD in its place. KEPT is 1 if the
person's record of the earlier release is published, not that of the input.
"""
COUNTED = pa.schema([*MEMBERS, (STAYED, pa.int64()), (KEPT_BACK, pa.int64())])
KIND = "kind"
OF_INPUT = 0
OF_MEMBER = 1
OF_RECORD = 2


def members_of(
    table: Table,
    spec: ReleaseSpec,
    secret: str,
    atoms: Table,
    records: Table | None,
) -> tuple[Table, Callable[[], Members]]:
    """(MEMBERS; a function that returns how many there are, once they are computed).

    An atom is whole if each of its people is in the input with the sensitive values that the person
    had, or has a record of the earlier release, which is then kept. It is published if any of its
    people is in the input. People of other atoms are withheld.

    table: the raw input.
    atoms: `internal/atoms` of the earlier release.
    records: its rows, with PERSON; None to keep none.
    """
    names = [*spec.attributes.sensitive_attributes, spec.attributes.owners["person"]]
    here = map_batches(select(table, names), _values_now(spec, secret), MET)
    known = [] if records is None else [map_batches(select(records, [PERSON]), _alone, MET)]
    met = union([here, select(atoms, MET.names), *known])
    compared = map_batches(gather(met, [PERSON]), _compare, COMPARED)
    compared, gone = observe(compared, {LEFT: "sum", CHANGED: "sum"})
    decided, there = observe(
        map_batches(gather(compared, [ATOM]), _decide, COUNTED),
        {STAYED: "sum", KEPT_BACK: "sum", KEPT: "sum"},
    )
    return select(decided, MEMBERS.names), lambda: Members(
        **{name: int(n or 0) for name, n in {**gone(), **there()}.items()},
    )


def _values_now(spec: ReleaseSpec, secret: str) -> Mapper:
    settings = spec.attributes.sensitive_attributes
    keyed = person_hash(secret)

    def now(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            *sensitive, whose = batch.columns
            prepared = [
                judged_values(raw, one)
                for raw, one in zip(sensitive, settings.values(), strict=True)
            ]
            values = pa.array(hash_values(prepared))
            rows = [hash_people(whose, keyed), pa.nulls(len(batch), pa.int64()), values]
            yield pa.RecordBatch.from_arrays(rows, schema=MET).filter(rows[0].is_valid())

    return now


def _alone(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        nothing = pa.nulls(len(batch), pa.int64())
        yield pa.RecordBatch.from_arrays([batch[PERSON], nothing, nothing], schema=MET)


def _compare(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Each person of earlier releases, with whether the person left, has other values, and has a
    record.

    batches: sorted by PERSON.
    """
    for batch in whole_people(batches):
        in_atom = batch[ATOM].is_valid()
        valued = batch[VALUES].is_valid()
        now = batch.filter(pc.and_not(valued, in_atom))
        before = batch.filter(in_atom)
        recorded = pc.is_in(before[PERSON], batch.filter(pc.invert(valued))[PERSON])
        people, values = values_by_person(now[PERSON].to_numpy(), now[VALUES].to_numpy())
        whose = before[PERSON].to_numpy()
        place = np.searchsorted(people, whose)
        there = place < len(people)
        there[there] = people[place[there]] == whose[there]
        same = there.copy()
        same[there] = values[place[there]] == before[VALUES].to_numpy()[there]
        flags = [pa.array((~there).astype(np.int64)), pa.array((there & ~same).astype(np.int64))]
        known = recorded.cast(pa.int64())
        yield pa.RecordBatch.from_arrays(
            [before[PERSON], before[ATOM], *flags, known],
            schema=COMPARED,
        )


def _decide(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """See `members_of`. batches: sorted by ATOM."""
    for batch in whole_people(batches, ATOM):
        person, atom, left, changed, recorded = (column.to_numpy() for column in batch.columns)
        _, whose = np.unique(atom, return_inverse=True)
        other = left + changed
        broken = np.bincount(whose, weights=other * (1 - recorded))[whose] > 0
        some_here = np.bincount(whose, weights=1 - left)[whose] > 0
        kept = np.where(broken, 0, other)
        stays = (~broken & (kept == 0)).astype(np.int64)
        columns = [person, np.where(broken, WITHHELD, atom), kept, stays, broken.astype(np.int64)]
        here = np.where(broken, left == 0, some_here)
        yield pa.RecordBatch.from_arrays(
            [pa.array(column[here]) for column in columns],
            schema=COUNTED,
        )


def with_atoms(table: Table, members: Table, records: Table | None) -> Table:
    """The rows of a table with PERSON as its last column, those of a person one after another: its
    columns, those of records, whether a row is KEPT, ATOM (that of MEMBERS, or NEWCOMER) and
    PERSON. Kept rows are records, in place of the rows of their person in the table; others have no
    values in the columns of records.

    records: rows of earlier releases, with PERSON as the last column; None if none is kept.
    """
    fields = list(schema_of(table))[:-1]
    more = (
        []
        if records is None
        else [pa.field(f"k{i}", f.type) for i, f in enumerate(list(schema_of(records))[:-1])]
    )
    own = [(ATOM, pa.int64()), (PERSON, pa.int64())]
    mixed = pa.schema([*fields, *more, (KEPT, pa.int64()), (KIND, pa.int64()), *own])
    schema = pa.schema([*fields, *more, (KEPT, pa.bool_()), *own])

    def wide(kind: int) -> Mapper:
        def widen(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                columns = [pa.nulls(len(batch), field.type) for field in mixed]
                columns[-3] = pa.array(np.full(len(batch), kind))
                columns[-1] = batch[PERSON]
                if kind == OF_MEMBER:
                    columns[-4] = batch[KEPT]
                    columns[-2] = batch[ATOM]
                else:
                    first = 0 if kind == OF_INPUT else len(fields)
                    columns[first : first + batch.num_columns - 1] = batch.columns[:-1]
                yield pa.RecordBatch.from_arrays(columns, schema=mixed)

        return widen

    def attach(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in whole_people(batches):
            kind = batch[KIND].to_numpy()
            listed = batch.filter(pa.array(kind == OF_MEMBER))
            place = pc.index_in(batch[PERSON], listed[PERSON])
            kept = listed[KEPT].take(place).fill_null(0).to_numpy() == 1
            shown = pa.array(((kind == OF_INPUT) & ~kept) | ((kind == OF_RECORD) & kept))
            atom = listed[ATOM].take(place).fill_null(NEWCOMER)
            columns = [*batch.columns[:-4], pa.array(kept), atom, batch[PERSON]]
            yield pa.RecordBatch.from_arrays(columns, schema=schema).filter(shown)

    parts = [
        (table, OF_INPUT),
        (members, OF_MEMBER),
        *([] if records is None else [(records, OF_RECORD)]),
    ]
    return map_batches(
        gather(union([map_batches(part, wide(kind), mixed) for part, kind in parts]), [PERSON]),
        attach,
        schema,
    )
