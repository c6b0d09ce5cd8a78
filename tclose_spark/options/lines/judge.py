"""Whether a release continues its line: from the written atoms, the history, the records and
earlier versions.
"""

from __future__ import annotations

from collections.abc import Iterator

from tclose_spark.checks.classes.people import JudgedPeople
from tclose_spark.checks.judged_release import JudgedRelease, ReleaseJudge
from tclose_spark.checks.written import WrittenRelease
from tclose_spark.engine.protocol import Table
from tclose_spark.io.output_folders import ATOMS, PEOPLE
from tclose_spark.options.lines.atoms import JudgedLine, Line, judge_line
from tclose_spark.options.lines.evidence import (
    require_earlier_versions,
    require_records,
)
from tclose_spark.options.lines.words import LinesFigures
from tclose_spark.table.people import PERSON


class LinesJudge(ReleaseJudge):
    """line: the earlier releases that the run recorded; None if there are none. people:
    `internal/people`, if there are some. judged: once it is.
    """

    makes = LinesFigures
    people: Table
    line: Line | None = None
    judged: JudgedLine | None = None

    def open(self, written: WrittenRelease) -> None:
        files = written.run_files
        readable = files.versions.readable
        earlier = files.earlier
        require_earlier_versions(files.run, files.public, readable, earlier)
        require_records(files.run, files.internal)
        if earlier is not None:
            releases = tuple(entry.fingerprint for entry in earlier.releases)
            atoms = files.evidence(ATOMS)
            self.people = files.owned_rows(PEOPLE, PERSON)
            self.line = Line(
                atoms=atoms, releases=releases, before=earlier.atoms, versions=readable
            )

    def measure(self, release: JudgedRelease) -> None:
        if self.line is not None:
            k = self.spec.privacy.k
            quasi = release.quasi
            attributes = release.attributes
            required = release.measure_of(JudgedPeople)
            self.judged = judge_line(
                self.line, self.people, release.labels, k, quasi, attributes, required
            )

    def problems(self, release: JudgedRelease) -> Iterator[str]:
        yield from () if self.judged is None else self.judged.problems

    def report(self, release: JudgedRelease) -> LinesFigures | None:
        if self.line is None or self.judged is None:
            return None
        people = release.written.profile.people
        found = self.judged
        assert people is not None
        assert people.members is not None
        members = people.members
        newcomers = people.people - members.stayed - members.kept - members.withheld
        return LinesFigures(
            number=self.line.number,
            releases=list(self.line.releases),
            versions=list(self.line.versions),
            atoms=found.atoms,
            newcomers=found.newcomers,
            kept=members.kept,
            withheld=members.withheld,
            waiting=newcomers - found.newcomers["people"],
        )
