"""Whether classes hold over people (see `attributes.person`), by the rows in `internal/people`.

`PeopleWords` puts the people, and what classes achieve over them, into certificate and console.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tclose_spark.checks.classes.class_table import RequiredMeasure
from tclose_spark.checks.classes.people import expect_people
from tclose_spark.checks.judged_release import JudgedRelease, ReleaseJudge
from tclose_spark.checks.release_figures import reached
from tclose_spark.checks.written import ReleasedPeople, WrittenRelease
from tclose_spark.report.certificate.guarantees import Guarantees
from tclose_spark.report.certificate.sections import Certificate, CertifiedPeople, UnknownPeople
from tclose_spark.report.option_words import Certified, Lines, OptionWords
from tclose_spark.requirements.criterion import OVER_PEOPLE
from tclose_spark.requirements.expectation import Expectation
from tclose_spark.requirements.figures import OptionFigures, Plain
from tclose_spark.requirements.wording import entries_in

COUNTS = "k and l count people, once in each class, as well as rows. Other counts are rows."
TREATED = {"drop": "left out", "alone": "each a person of its own"}
"""What became of rows without a person."""


@dataclass(frozen=True, kw_only=True)
class PeopleFigures(OptionFigures):
    """people: of the input. most_rows: of one of them. unknown: rows without a person.
    smallest_class, in_classes, largest_share: of the certificate. attributes: what classes achieve
        over people.
    """

    key = "people"
    people: int
    most_rows: int
    unknown: int
    smallest_class: int
    in_classes: int
    largest_share: float
    attributes: Mapping[str, Plain]


class PeopleWords(OptionWords):
    """The people of the input, and of the smallest class, and what classes achieve over people."""

    def certify(self, made: Certified, certificate: Certificate) -> None:
        person = made.spec.attributes.person
        people = made.figures.of(PeopleFigures)
        assert person is not None
        unknown = None
        if person.unknown is not None:
            unknown = UnknownPeople(rows=people.unknown, treatment=person.unknown)
        certificate.people = CertifiedPeople(
            people=people.people,
            most_rows=people.most_rows,
            smallest_class=people.smallest_class,
            in_classes=people.in_classes,
            largest_share=people.largest_share,
            rows=made.rows,
            rows_of_a_person=person.rows,
            unknown=unknown,
        )
        certificate.counts = COUNTS
        guarantees = certificate.guarantees.to_json()
        guarantees["k"]["over_people"] = {"achieved": people.smallest_class}
        for _, name, entries in entries_in(guarantees):
            for words, entry in entries:
                entry["over_people"] = words.of_people(people.attributes[name][words.key])
        certificate.guarantees = Guarantees.read(guarantees)

    def lines(self, certificate: Certificate) -> Mapping[str, Lines]:
        if (people := certificate.people) is None:
            return {}
        of_input = " of the input" if certificate.input.rows > certificate.release.rows else ""
        lines = [(f"people{of_input}", f"{people.people:,}, one with {people.most_rows:,} rows")]
        if (unknown := people.unknown) is not None:
            treated = TREATED[unknown.treatment]
            lines.append(("rows without a person", f"{unknown.rows:,}, {treated}"))
        return {"rows": lines}


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
