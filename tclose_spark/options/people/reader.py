"""Brings the rows of a person together, and recognizes people of earlier releases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import schema_of
from tclose_spark.errors import InputError
from tclose_spark.io.run import Run
from tclose_spark.io.run_state import EarlierRecord, PeopleRecord
from tclose_spark.options.lines.earlier import EarlierRelease, earlier_release, note_successor
from tclose_spark.options.lines.membership import members_of
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
from tclose_spark.options.people.by_person import by_person, unknown_rows
from tclose_spark.runfile.columns import Person
from tclose_spark.stages.input_reader import InputReader
from tclose_spark.stages.preparation import NOBODY
from tclose_spark.stages.staging.batches import StagedColumns
from tclose_spark.stages.staging.resuming import sealed_secret
from tclose_spark.stages.staging.tallies import Counted
from tclose_spark.table.domains import Profile, marginal
from tclose_spark.table.entities.grouping import LARGEST, placeholder_rows
from tclose_spark.table.people import Members


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

    @property
    def _person(self) -> Person:
        assert self.spec.attributes.person is not None
        return self.spec.attributes.person

    def begin(self, run: Run) -> None:
        self.earlier = earlier_release(run)
        self.continued = self.earlier is not None
        self.keeps = self.continued and self.spec.output.leavers == "keep"
        for note in line_notes(run, self.continued):
            run.announce(f"note: {note}")

    def rows(self, table: Table, raw: Table, columns: StagedColumns) -> Table:
        how = self._person.unknown
        if how is not None:
            self.unknown = unknown_rows(table, self._person.column)
        if self.earlier is None:
            return by_person(raw, self.secret, how)
        require_same_types(column_types(schema_of(table), self.spec), self.spec, self.earlier.types)
        records = self.earlier.records(self.spec, columns) if self.keeps else None
        found, self.members = members_of(
            table, self.spec, self.secret, self.earlier.atoms(), records
        )
        return by_person(raw, self.secret, how, found, records)

    def problems(self, counted: Counted) -> Iterator[InputError]:
        if nobody := counted.marked.get(NOBODY):
            yield InputError(
                f"attributes.person: column {self._person.column!r} is missing in {nobody} of "
                f"{counted.fingerprint.rows} rows; expected a value in every row, or "
                "attributes.person.unknown: drop (leave these rows out) or alone (each is a "
                "person)"
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
                "placeholders: [] if it is a person)"
            )

    def explain(self, error: InputError) -> None:
        if self.members is not None and (kept := self.members().kept):
            error.reword(lambda text: f"{text}. {kept_note(kept)}")

    def profiled(self, profile: Profile) -> Profile:
        if self.unknown and profile.people is not None:
            profile = replace(profile, people=replace(profile.people, unknown=self.unknown))
        if self.members is None or profile.people is None:
            return profile
        require_known_people(self.members())
        return replace(profile, people=replace(profile.people, members=self.members()))

    def record(self, run: Run, table: Table, profile: Profile) -> Mapping[str, object]:
        record = PeopleRecord(
            secret_of_people=sealed_secret(run.secret),
            distances=ground_distances(run),
            types=column_types(schema_of(table), run.spec),
        )
        if self.earlier is None or profile.people is None or profile.people.members is None:
            return record.to_json()
        require_another_input(run, self.earlier.made_from, profile)
        run.announce(members_line(profile.people.members))
        for note in recognized_notes(profile.people.members):
            run.announce(f"note: {note}")
        releases = list(self.earlier.history)
        atoms = str(self.earlier.fingerprint())
        earlier = EarlierRecord(releases=releases, atoms=atoms)
        return record.having({"earlier": earlier}).to_json()

    def publish(self, run: Run) -> None:
        note_successor(run)
