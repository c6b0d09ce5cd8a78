"""Brings the rows of a person together, and recognizes people of earlier releases.

`PeopleMaker` writes `internal/people`: every row as it is published, and whose it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, gather, map_batches, schema_of, select
from tclose_spark.errors import InputError
from tclose_spark.io.output_folders import PEOPLE
from tclose_spark.io.run import Run
from tclose_spark.io.run_state import EarlierRecord, PeopleRecord
from tclose_spark.io.tables.check_columns import SUPPRESSED
from tclose_spark.options.lines.earlier import EarlierRelease, earlier_release
from tclose_spark.options.lines.membership import members_of, with_atoms
from tclose_spark.options.lines.requirements import (
    column_types,
    ground_distances,
    kept_note,
    line_notes,
    members_line,
    recognized_notes,
    require_another_input,
    require_known_people,
    require_same_types,
)
from tclose_spark.runfile.columns import Person, Unknown
from tclose_spark.runfile.release_form import RELEASE
from tclose_spark.stages.input_reader import InputReader
from tclose_spark.stages.preparation import NOBODY
from tclose_spark.stages.release_maker import ReleaseMaker, Tables, TaskPart
from tclose_spark.stages.staging.batches import StagedColumns
from tclose_spark.stages.staging.resuming import sealed_secret
from tclose_spark.stages.staging.tallies import Counted
from tclose_spark.table.domains import Profile, marginal
from tclose_spark.table.entities.grouping import LARGEST, placeholder_rows
from tclose_spark.table.fingerprint import Fingerprint, RowHash
from tclose_spark.table.people import (
    LONE,
    PERSON,
    SPELLING,
    CountedOwners,
    Members,
    People,
    apart_from_equals,
    hash_people,
    hash_spellings,
    knows_person,
    person_hash,
)

UNKNOWN = pa.schema([("rows", pa.int64())])


def by_person(
    table: Table,
    secret: str,
    unknown: Unknown | None = None,
    members: Table | None = None,
    records: Table | None = None,
) -> Table:
    """The rows of a table whose last column identifies a person, those of a person one after
    another. The column becomes PERSON, its keyed hash, missing where it is missing or empty;
    SPELLING is before it if it is text. Other columns are numbered.

    unknown: what becomes of rows without a person; without it they keep none.
    members, records: of earlier releases, if the release continues one: see `with_atoms`.
    """
    *types, kind_of_person = [field.type for field in schema_of(table)]
    spelling = [(SPELLING, pa.int64())] if pa.types.is_string(kind_of_person) else []
    schema = pa.schema(
        [*((f"c{i}", kind) for i, kind in enumerate(types)), *spelling, (PERSON, pa.int64())],
    )
    met = (
        schema.insert(len(schema) - 1, pa.field(LONE, pa.bool_())) if unknown == "alone" else schema
    )
    keyed = person_hash(secret)
    of_rows = RowHash.of(f"row without a person {secret}", len(types))

    def hashed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            *columns, person = batch.columns
            known = knows_person(person)
            whose = hash_people(person, keyed)
            own = columns
            if spelling:
                own = [*own, pc.if_else(known, hash_spellings(person, secret), None)]
            if unknown == "alone":
                whose = pc.if_else(known, whose, pa.array(of_rows.of_rows(columns).view("int64")))
                own = [*own, pc.invert(known)]
            rows = pa.RecordBatch.from_arrays([*own, whose], schema=met)
            yield rows.filter(known) if unknown == "drop" else rows

    rows = map_batches(table, hashed, met)
    if unknown == "alone":
        numbered = RowHash.of(f"person of one row {secret}", 2)
        return map_batches(
            gather(rows, [PERSON]),
            lambda batches: apart_from_equals(batches, numbered),
            schema,
        )
    return gather(rows, [PERSON]) if members is None else with_atoms(rows, members, records)


def unknown_rows(table: Table, column: str) -> int:
    """How many rows of a table have no person. One pass over the column."""

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            missing = pc.sum(pc.invert(knows_person(batch.column(0)))).as_py()
            yield pa.RecordBatch.from_arrays([pa.array([missing], pa.int64())], schema=UNKNOWN)

    return int(
        pc.sum(collect(map_batches(select(table, [column]), count, UNKNOWN))["rows"]).as_py() or 0,
    )


def _placeholders(counted: Counted, place: int) -> tuple[int, int] | None:
    """(how many values have far more rows than all others, their rows), if some have. place: of the
    number of rows of the row's person in the keys of the last histogram.
    """
    rows = marginal(counted.histograms[-1], place)
    sizes = sorted(rows, reverse=True)
    people = [min(LARGEST, rows[size] // size) for size in sizes]
    largest = np.repeat(sizes, people)[:LARGEST]
    found = largest[largest >= placeholder_rows(largest, sum(rows.values()))]
    return (len(found), int(found.sum())) if len(found) else None


class PeopleReader(InputReader):
    """earlier: the release that this one continues. members: how many people of it there are, once
    rows are staged.
    unknown: how many rows of the input have no person, if the run file says what becomes of them.
    """

    earlier: EarlierRelease | None = None
    members: Callable[[], Members] | None = None
    unknown = 0

    def __init__(self, run: Run, may_continue: bool) -> None:
        super().__init__(run, may_continue)
        if not may_continue:
            return
        self.earlier = earlier_release(run)
        self.continued = self.earlier is not None
        self.keeps = self.continued and self.spec.output.leavers == "keep"
        for note in line_notes(run, self.continued):
            run.announce(f"note: {note}")

    @property
    def _person(self) -> Person:
        assert self.spec.attributes.person is not None
        return self.spec.attributes.person

    def rows(self, table: Table, raw: Table, columns: StagedColumns) -> Table:
        how = self._person.unknown
        if how is not None:
            self.unknown = unknown_rows(table, self._person.column)
        if self.earlier is None:
            return by_person(raw, self.secret, how)
        require_same_types(column_types(schema_of(table), self.spec), self.spec, self.earlier.types)
        records = self.earlier.records(self.spec, columns) if self.keeps else None
        found, self.members = members_of(
            table,
            self.spec,
            self.secret,
            self.earlier.atoms(),
            records,
        )
        return by_person(raw, self.secret, how, found, records)

    def problems(self, counted: Counted) -> Iterator[InputError]:
        if nobody := counted.marked.get(NOBODY):
            yield InputError(
                f"attributes.person: column {self._person.column!r} is missing in {nobody} of "
                f"{counted.fingerprint.rows} rows; expected a value in every row, or "
                "attributes.person.unknown: drop (leave these rows out) or alone (each is a "
                "person)",
            )
        elif self._person.placeholders is None and (
            found := _placeholders(counted, len(self.spec.attributes.sensitive_attributes))
        ):
            values, rows = found
            which = "one value" if values == 1 else f"each of {values} values"
            yield InputError(
                f"attributes.person: {which} of {self._person.column!r} has far more rows than "
                f"others ({rows:,} of {counted.fingerprint.rows:,}), so it stands for no person; "
                "list it in attributes.person.placeholders, with unknown: drop or alone (or "
                "placeholders: [] if it is a person)",
            )

    @property
    def cause(self) -> str:
        """See InputReader: an error may name values of rows that are kept."""
        kept = 0 if self.members is None else self.members().kept
        return kept_note(kept) if kept else ""

    def count_owners(self, counted: Counted, owners: CountedOwners) -> CountedOwners:
        attributes = self.spec.attributes
        members = None if self.members is None else self.members()
        if members is not None:
            require_known_people(members)
        sensitive = len(attributes.sensitive_attributes)
        tuples = counted.histograms[-1]
        sizes = marginal(tuples, sensitive)
        first = marginal(tuples, sensitive + 1)
        people = People(
            people=first[1],
            sizes=tuple(sorted(sizes)),
            varying=tuple(counted.varying) if attributes.keeps_people_together else (),
            members=members,
            unknown=self.unknown,
        )
        return owners._replace(people=people)

    def record(self, run: Run, table: Table, profile: Profile) -> Mapping[str, object]:
        record = PeopleRecord(
            secret_of_people=sealed_secret(run.secret),
            distances=ground_distances(run),
            types=column_types(schema_of(table), run.spec),
        )
        members = profile.members
        if self.earlier is None or members is None:
            return record.to_json()
        require_another_input(run, self.earlier.made_from, profile)
        run.announce(members_line(members))
        for note in recognized_notes(members):
            run.announce(f"note: {note}")
        releases = list(self.earlier.history)
        atoms = str(self.earlier.fingerprint())
        earlier = EarlierRecord(releases=releases, atoms=atoms)
        return record.having({"earlier": earlier}).to_json()


class PeopleMaker(ReleaseMaker):
    """The table PEOPLE has every row: the released columns, PERSON, and SUPPRESSED. Households are
    written likewise.

    table: its name. owner: the column of whose a row is.
    """

    table = PEOPLE
    owner = PERSON
    sums = ("people_rows", "people_digest")

    def schemas(self, tables: dict[str, pa.Schema], labels: int) -> dict[str, pa.Schema]:
        return {
            **tables,
            self.table: pa.schema(
                [*tables[RELEASE], (self.owner, pa.int64()), (SUPPRESSED, pa.bool_())],
            ),
        }

    def tables(self, part: TaskPart, made: Tables) -> None:
        made[self.table] = [*part.published, pa.array(part.rows.owners[self.owner]), part.left_out]

    def add_up(self, part: TaskPart, made: Tables) -> list[int]:
        found = Fingerprint.of(made[self.table])
        return [found.rows, found.digest]

    def written(self, sums: Mapping[str, int], published: int) -> Mapping[str, object]:
        return {self.table: str(Fingerprint(*(sums[name] for name in self.sums)))}
