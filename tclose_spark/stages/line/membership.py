"""Which people of the input stay in their atom (see `table.atoms`), and which have to wait."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.engine.protocol import Mapper, Table
from tclose_spark.engine.tables import gather, map_batches, observe, schema_of, select, union
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.atoms import ATOM, NEWCOMER, VALUES, WITHHELD, hash_values, values_by_person
from tclose_spark.table.columns.preparing import judged_values
from tclose_spark.table.people import PERSON, Members, hash_people, person_hash, whole_people

MET = pa.schema([(PERSON, pa.int64()), (ATOM, pa.int64()), (VALUES, pa.int64())])
"""Rows of the input, whose ATOM is missing, and people of earlier releases."""
LEFT, CHANGED, STAYED, KEPT_BACK = "left", "changed", "stayed", "withheld"
COMPARED = pa.schema([(PERSON, pa.int64()), (ATOM, pa.int64()), (LEFT, pa.int64()), (CHANGED, pa.int64())])
MEMBERS = pa.schema([(PERSON, pa.int64()), (ATOM, pa.int64())])
"""People of the input who were published before, with their atom, or WITHHELD in its place."""


def members_of(table: Table, spec: ReleaseSpec, secret: str, atoms: Table) -> tuple[Table, Callable[[], Members]]:
    """(MEMBERS; a function that returns how many there are, once they are computed).

    An atom can be published if all its people are in the input with the sensitive values that they had. Otherwise the
    people of the atom who are there are withheld.

    table: the raw input. atoms: `internal/atoms` of the earlier release.
    """
    person = spec.attributes.person
    assert person is not None
    names = [*spec.attributes.sensitive_attributes, person.column]
    here = map_batches(select(table, names), _values_now(spec, secret), MET)
    before = select(atoms, MET.names)
    compared = map_batches(gather(union([here, before]), [PERSON]), _compare, COMPARED)
    compared, gone = observe(compared, {LEFT: "sum", CHANGED: "sum"})
    counted = pa.schema([*MEMBERS, (STAYED, pa.int64()), (KEPT_BACK, pa.int64())])
    decided, there = observe(
        map_batches(gather(compared, [ATOM]), _decide(counted), counted), {STAYED: "sum", KEPT_BACK: "sum"}
    )
    return select(decided, MEMBERS.names), lambda: Members(
        **{name: int(n or 0) for name, n in {**gone(), **there()}.items()}
    )


def _values_now(spec: ReleaseSpec, secret: str) -> Mapper:
    settings, keyed = spec.attributes.sensitive_attributes, person_hash(secret)

    def now(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            *sensitive, whose = batch.columns
            prepared = [judged_values(raw, one) for raw, one in zip(sensitive, settings.values(), strict=True)]
            values = pa.array(hash_values(prepared))
            rows = [hash_people(whose, keyed), pa.nulls(len(batch), pa.int64()), values]
            yield pa.RecordBatch.from_arrays(rows, schema=MET).filter(rows[0].is_valid())

    return now


def _compare(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Each person of earlier releases, with whether the person left, or has other values. batches: sorted by PERSON."""
    for batch in whole_people(batches):
        published = batch[ATOM].is_valid()
        now, before = batch.filter(pc.invert(published)), batch.filter(published)
        people, values = values_by_person(now[PERSON].to_numpy(), now[VALUES].to_numpy())
        whose = before[PERSON].to_numpy()
        place = np.searchsorted(people, whose)
        there = place < len(people)
        there[there] = people[place[there]] == whose[there]
        same = there.copy()
        same[there] = values[place[there]] == before[VALUES].to_numpy()[there]
        flags = [pa.array((~there).astype(np.int64)), pa.array((there & ~same).astype(np.int64))]
        yield pa.RecordBatch.from_arrays([before[PERSON], before[ATOM], *flags], schema=COMPARED)


def _decide(schema: pa.Schema) -> Mapper:
    def decide(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """batches: sorted by ATOM."""
        for batch in whole_people(batches, ATOM):
            person, atom, left, changed = (column.to_numpy() for column in batch.columns)
            _, whose = np.unique(atom, return_inverse=True)
            broken = np.bincount(whose, weights=left + changed)[whose] > 0
            columns = [person, np.where(broken, WITHHELD, atom), (~broken).astype(np.int64), broken.astype(np.int64)]
            here = np.flatnonzero(left == 0)
            yield pa.RecordBatch.from_arrays([pa.array(column[here]) for column in columns], schema=schema)

    return decide


def with_atoms(table: Table, of_people: Table) -> Table:
    """The rows of a table with PERSON as its last column, those of a person one after another, and ATOM before PERSON:
    the person's in MEMBERS, or NEWCOMER.
    """
    *fields, person = schema_of(table)
    schema = pa.schema([*fields, (ATOM, pa.int64()), person])

    def wide(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            *columns, whose = batch.columns
            yield pa.RecordBatch.from_arrays([*columns, pa.nulls(len(batch), pa.int64()), whose], schema=schema)

    def member(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            empty = [pa.nulls(len(batch), field.type) for field in fields]
            yield pa.RecordBatch.from_arrays([*empty, batch[ATOM], batch[PERSON]], schema=schema)

    def attach(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in whole_people(batches):
            known = batch[ATOM].is_valid()
            listed, rows = batch.filter(known), batch.filter(pc.invert(known))
            place = pc.index_in(rows[PERSON], listed[PERSON])
            atom = listed[ATOM].take(place).fill_null(NEWCOMER)
            yield pa.RecordBatch.from_arrays([*rows.columns[:-2], atom, rows[PERSON]], schema=schema)

    both = union([map_batches(table, wide, schema), map_batches(of_people, member, schema)])
    return map_batches(gather(both, [PERSON]), attach, schema)
