"""Brings the rows of a person together, and recognizes people of earlier releases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import schema_of
from tclose_spark.errors import InputError
from tclose_spark.io.run import Run
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
from tclose_spark.options.people.by_person import by_person
from tclose_spark.stages.input_reader import InputReader
from tclose_spark.stages.preparation import NOBODY
from tclose_spark.stages.staging.batches import StagedColumns
from tclose_spark.stages.staging.counted import Counted
from tclose_spark.stages.staging.sealed_settings import sealed_secret
from tclose_spark.table.domains import Profile
from tclose_spark.table.people import Members


class PeopleReader(InputReader):
    """earlier: the release that this one continues. members: how many people of it there are, once rows are staged."""

    earlier: EarlierRelease | None = None
    members: Callable[[], Members] | None = None

    def begin(self, run: Run) -> None:
        self.earlier = earlier_release(run)
        self.continued = self.earlier is not None
        self.keeps = self.continued and self.spec.output.leavers == "keep"
        for note in line_notes(run, self.continued):
            run.announce(f"note: {note}")

    def rows(self, table: Table, raw: Table, columns: StagedColumns) -> Table:
        if self.earlier is None:
            return by_person(raw, self.secret)
        require_same_types(column_types(schema_of(table), self.spec), self.spec, self.earlier.types)
        records = self.earlier.records(self.spec, columns) if self.keeps else None
        found, self.members = members_of(table, self.spec, self.secret, self.earlier.atoms(), records)
        return by_person(raw, self.secret, found, records)

    def problems(self, counted: Counted) -> Iterator[InputError]:
        if nobody := counted.marked.get(NOBODY):
            column = None if self.spec.attributes.person is None else self.spec.attributes.person.column
            yield InputError(
                f"attributes.person: column {column!r} is missing in {nobody} of {counted.fingerprint.rows} rows; "
                "expected a value in every row"
            )

    def explain(self, error: InputError) -> None:
        if self.members is not None and (kept := self.members().kept):
            error.reword(lambda text: f"{text}. {kept_note(kept)}")

    def profiled(self, profile: Profile) -> Profile:
        if self.members is None or profile.people is None:
            return profile
        require_known_people(self.members())
        return replace(profile, people=replace(profile.people, members=self.members()))

    def record(self, run: Run, table: Table, profile: Profile) -> dict[str, Any]:
        types = column_types(schema_of(table), run.spec)
        sealed = {"secret_of_people": sealed_secret(run.secret), "distances": ground_distances(run), "types": types}
        if self.earlier is None or profile.people is None or profile.people.members is None:
            return sealed
        require_another_input(run, self.earlier.made_from, profile)
        run.announce(members_line(profile.people.members))
        for note in recognized_notes(profile.people.members):
            run.announce(f"note: {note}")
        earlier = {"releases": list(self.earlier.history), "atoms": str(self.earlier.fingerprint())}
        return {**sealed, "earlier": earlier}

    def publish(self, run: Run) -> None:
        note_successor(run)
