"""Whether classes hold over people, whose rows are in `internal/people`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tclose_spark.checks.classes.class_table import RequiredMeasure
from tclose_spark.checks.classes.people import expect_people
from tclose_spark.checks.judged_release import JudgedRelease, ReleaseJudge
from tclose_spark.checks.release_figures import reached
from tclose_spark.checks.written import ReleasedPeople, WrittenRelease
from tclose_spark.options.people.words import PeopleFigures
from tclose_spark.requirements.criterion import OVER_PEOPLE
from tclose_spark.requirements.expectation import Expectation


class PeopleJudge(ReleaseJudge):
    """See `JudgedRelease.people`."""

    makes = PeopleFigures

    def open(self, written: WrittenRelease) -> None:
        _ = written.run_files.people  # if it is missing, no other error comes first

    def private(self) -> Iterable[str]:
        return [self.spec.attributes.owners["person"]]

    def measures(self, release: JudgedRelease) -> list[RequiredMeasure]:
        required = release.judged_people
        recorded = release.written.evidence.written.people
        people_of(release).require_rows(release.rows.fingerprint, recorded)
        return [required]

    def problems(self, release: JudgedRelease) -> Iterator[str]:
        together = self.spec.attributes.keeps_people_together
        yield from people_of(release).apart() if together else ()

    def expectations(self, release: JudgedRelease) -> list[Expectation]:
        return expect_people(self.spec.privacy.k, release.judged)

    def report(self, release: JudgedRelease) -> PeopleFigures:
        """The people of the input, and what classes achieve over people."""
        smallest = release.figures.of(f"k-anonymity{OVER_PEOPLE}")
        counted = release.figures.people
        assert smallest is not None
        assert counted is not None
        profiled = release.written.profile.people
        sizes = people_of(release).sizes
        return PeopleFigures(
            people=sum(sizes.values()),
            most_rows=max(sizes),
            unknown=0 if profiled is None else profiled.unknown,
            smallest_class=int(smallest.achieved),
            in_classes=counted.in_classes,
            largest_share=float(counted.share),
            attributes={a.name: reached(release.figures, a, OVER_PEOPLE) for a in release.judged},
        )


def people_of(release: JudgedRelease) -> ReleasedPeople:
    """The people of a release that counts them."""
    assert release.people is not None
    return release.people
