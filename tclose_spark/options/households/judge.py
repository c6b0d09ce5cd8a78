"""Whether classes have members of enough households (see `attributes.household`), by the rows in
`internal/households`.

`HouseholdsWords` puts the households of a class into the certificate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tclose_spark.checks.classes.people import (
    HouseholdsOfClasses,
    households_of_classes,
    tally_owners,
)
from tclose_spark.checks.judged_release import JudgedRelease, ReleaseJudge
from tclose_spark.checks.written import WrittenRelease, require_rows_of_release
from tclose_spark.engine.protocol import Table
from tclose_spark.io.output_folders import HOUSEHOLDS
from tclose_spark.report.certificate.guarantees import KOverHouseholds
from tclose_spark.report.certificate.sections import Certificate
from tclose_spark.report.option_words import Certified, OptionWords
from tclose_spark.requirements.figures import OptionFigures
from tclose_spark.table.people import HOUSEHOLD


@dataclass(frozen=True)
class HouseholdsFigures(OptionFigures):
    """required: None if they are only measured. achieved: the households of the class with the
    fewest.
    """

    key = "households"
    required: int | None
    achieved: int


class HouseholdsWords(OptionWords):
    """The required and achieved households of a class, if they are required."""

    def certify(self, made: Certified, certificate: Certificate) -> None:
        found = made.figures.of(HouseholdsFigures)
        certificate.guarantees.k.over_households = KOverHouseholds(
            required=found.required,
            achieved=found.achieved,
        )


class HouseholdsJudge(ReleaseJudge):
    """table: `internal/households`. found: how many households classes have."""

    makes = HouseholdsFigures
    table: Table
    found: HouseholdsOfClasses

    def open(self, written: WrittenRelease) -> None:
        self.table = written.run_files.owned_rows(HOUSEHOLDS, HOUSEHOLD)

    def private(self) -> Iterable[str]:
        return [self.spec.attributes.owners["household"]]

    def measure(self, release: JudgedRelease) -> None:
        tallied = tally_owners(self.table, release.labels, [], HOUSEHOLD)
        self.found = households_of_classes(tallied, self.spec.attributes.least_households)
        recorded = release.written.evidence.written.households
        require_rows_of_release(tallied, release.rows.fingerprint, recorded, HOUSEHOLDS)

    def problems(self, release: JudgedRelease) -> Iterator[str]:
        yield from self.found.problems(self.spec.attributes.least_households)

    def report(self, release: JudgedRelease) -> HouseholdsFigures:
        least = self.spec.attributes.least_households
        return HouseholdsFigures(required=least if least > 1 else None, achieved=self.found.fewest)
