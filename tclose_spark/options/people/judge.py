"""Whether classes hold over people, whose rows are in `internal/people`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tclose_spark.checks.classes.class_table import RequiredMeasure
from tclose_spark.checks.classes.figures import ClassFigures
from tclose_spark.checks.classes.people import JudgedPeople, expect_people
from tclose_spark.checks.judged_release import JudgedRelease, ReleaseJudge
from tclose_spark.checks.release_figures import reached
from tclose_spark.checks.written import ReleasedPeople, WrittenRelease, released_people
from tclose_spark.engine.protocol import Table
from tclose_spark.io.output_folders import PEOPLE
from tclose_spark.options.people.words import PeopleFigures
from tclose_spark.requirements.criterion import OVER_PEOPLE
from tclose_spark.requirements.expectation import Expectation
from tclose_spark.table.people import PERSON


class PeopleJudge(ReleaseJudge):
    """table: `internal/people`. whose: what was tallied of it. required: what is required of the
    people of classes.
    """

    makes = PeopleFigures
    table: Table
    whose: ReleasedPeople
    required: JudgedPeople

    def open(self, written: WrittenRelease) -> None:
        self.table = written.run_files.owned_rows(PEOPLE, PERSON)

    def private(self) -> Iterable[str]:
        return [self.spec.attributes.owners["person"]]

    def measures(self, release: JudgedRelease) -> list[RequiredMeasure]:
        whose = release.held.enter_context(
            released_people(self.table, release.labels, release.names)
        )
        assert whose is not None
        self.whose = whose
        self.required = self.whose.judged(release.judged, release.shows_left_out)
        recorded = release.written.evidence.written.people
        self.whose.require_rows(release.rows.fingerprint, recorded)
        return [self.required]

    def tallies(self) -> Table:
        return self.whose.tallied.classes

    def left_out_class(self, release: JudgedRelease) -> ClassFigures:
        return self.whose.suppressed_class(self.spec.privacy.k, release.attributes, self.required)

    def problems(self, release: JudgedRelease) -> Iterator[str]:
        yield from self.whose.apart() if self.spec.attributes.keeps_people_together else ()

    def expectations(self, release: JudgedRelease) -> list[Expectation]:
        return expect_people(self.spec.privacy.k, release.judged)

    def report(self, release: JudgedRelease) -> PeopleFigures:
        """The people of the input, and what classes achieve over people."""
        smallest = release.figures.of(f"k-anonymity{OVER_PEOPLE}")
        counted = release.figures.people
        assert smallest is not None
        assert counted is not None
        profiled = release.written.profile.people
        return PeopleFigures(
            people=sum(self.whose.sizes.values()),
            most_rows=max(self.whose.sizes),
            unknown=0 if profiled is None else profiled.unknown,
            smallest_class=int(smallest.achieved),
            in_classes=counted.in_classes,
            largest_share=float(counted.share),
            attributes={a.name: reached(release.figures, a, OVER_PEOPLE) for a in release.judged},
        )
