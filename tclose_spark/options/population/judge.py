"""The risk of re-identification in the population."""

from __future__ import annotations

from collections.abc import Iterator

from tclose_spark.checks.classes.population import PopulationRisks, measure_risks
from tclose_spark.checks.judged_release import JudgedRelease, ReleaseJudge
from tclose_spark.checks.written import WrittenRelease
from tclose_spark.engine.protocol import Table
from tclose_spark.io.output_folders import HOUSEHOLDS
from tclose_spark.options.population.listed import opened_population
from tclose_spark.options.population.words import PopulationFigures
from tclose_spark.runfile.privacy import THRESHOLD
from tclose_spark.table.people import HOUSEHOLD


class PopulationJudge(ReleaseJudge):
    """risks: once they are measured. households: `internal/households`, if the risk of households
    is measured.
    """

    makes = PopulationFigures
    risks: PopulationRisks
    households: Table | None = None

    def open(self, written: WrittenRelease) -> None:
        if self.spec.measures_households:
            self.households = written.run_files.owned_rows(HOUSEHOLDS, HOUSEHOLD)

    def measure(self, release: JudgedRelease) -> None:
        privacy = self.spec.privacy
        files = release.written.files
        listed = None if files is None else release.held.enter_context(opened_population(files.run))
        self.risks = measure_risks(
            release.classes,
            privacy.population,
            THRESHOLD if privacy.risk is None else privacy.risk.threshold,
            release.quasi,
            release.written.hierarchies,
            table=release.table,
            listed=listed,
            what="privacy.population",
            households=self.households,
            stated=None
            if privacy.risk is None or privacy.risk.individual is None
            else privacy.risk.individual.mean,
        )

    def problems(self, release: JudgedRelease) -> Iterator[str]:
        yield from (
            () if self.spec.privacy.risk is None else self.risks.broken(self.spec.privacy.risk)
        )

    def report(self, release: JudgedRelease) -> PopulationFigures:
        return PopulationFigures(risks=self.risks.to_json())
