"""The risk of re-identification in the population (see `privacy.population` and `privacy.risk`),
and the table of it that a run file names.

`PopulationWords` describes the risks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tclose_spark.checks.classes.population import (
    ClassesAtRisk,
    PopulationRisks,
    RiskQuestion,
    measure_risks,
)
from tclose_spark.checks.judged_release import JudgedRelease, ReleaseJudge
from tclose_spark.checks.labels.known_people import normal_texts, with_people
from tclose_spark.checks.written import WrittenRelease
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.sources import RunColumns, errors_translated, open_table
from tclose_spark.engine.tables import schema_of
from tclose_spark.errors import InputError
from tclose_spark.io.output_folders import HOUSEHOLDS
from tclose_spark.io.run import Run
from tclose_spark.report.certificate.risks import CertifiedRisks
from tclose_spark.report.certificate.sections import Certificate
from tclose_spark.report.option_words import Certified, OptionWords
from tclose_spark.requirements.figures import Figures, OptionFigures, Plain
from tclose_spark.requirements.words import BAR, MARK, GuaranteeRow
from tclose_spark.runfile.combinations import RISK_FIGURES
from tclose_spark.runfile.privacy import RISKS, THRESHOLD
from tclose_spark.table.people import HOUSEHOLD
from tclose_spark.table.writing import number


@dataclass(frozen=True)
class PopulationFigures(OptionFigures):
    """risks: by kind, with the population and who is unique in it (see
    `PopulationRisks.to_json`).
    """

    risks: Plain


class PopulationWords(OptionWords):
    """The risks by kind, with the limits that are required. Nobody is alone in a class: it has k
    people.
    """

    def certify(self, made: Certified, certificate: Certificate) -> None:
        required = [] if made.spec.privacy.risk is None else [*made.spec.privacy.risk.required()]
        risks = {
            key: entry
            for key, entry in made.figures.of(PopulationFigures).risks.items()
            if key != "uniques"
        }
        for adversary in RISKS:
            if adversary in risks:
                limits = {figure: float(limit) for of, figure, limit in required if of == adversary}
                risks[adversary] = {**risks[adversary], "required": limits}
        certificate.risks = CertifiedRisks.read(risks)

    def tables(self, certificate: Certificate, whole: str) -> Mapping[str, list[GuaranteeRow]]:
        return {"risks": [*_rows(certificate.risks)]}

    def parts(self, certificate: Certificate, figures: Figures) -> Mapping[str, str]:
        return {"guarantees": "population/risks.html.j2"} if certificate.risks else {}


def _rows(risks: CertifiedRisks | None) -> Iterator[GuaranteeRow]:
    """A row for each figure of each kind of risk."""
    for adversary in RISKS:
        entry: Any = getattr(risks, adversary, None)
        for figure in () if entry is None else RISK_FIGURES:
            limit = getattr(entry.required, figure)
            reached = getattr(entry, figure)
            yield GuaranteeRow(
                name=f"{adversary}, {figure}{' (estimate)' if entry.estimate else ''}",
                attribute="",
                meaning="",
                required="" if limit is None else f"at most {number(limit, reached)}",
                achieved=number(reached, limit),
                met=None if limit is None else reached <= limit,
                bar=None if not limit else min(BAR, MARK * reached / limit),
            )


@contextmanager
def opened_population(run: Run) -> Iterator[Table | None]:
    """The people of the population, by their raw quasi-identifiers; None if the run file names no
    table of them.

    A row is a person, unless the table has the column of `attributes.person`.

    Raises:
        InputError: if it cannot be read.
    """
    population = run.spec.privacy.population
    quasi = run.spec.attributes.quasi_identifiers
    if population is None or population.table is None:
        yield None
        return
    persons = [column for role, column in run.spec.attributes.owners.items() if role == "person"]
    known = [*quasi, *persons]
    try:
        changed = RunColumns(run.spec.input.columns, run.spec.missing_values)
        opened = open_table(run.session, population.table, known, population.format, {}, changed)
    except InputError as error:
        raise InputError(f"privacy.population.table: {error}", values=error.values) from None
    with errors_translated(opened):
        listed = normal_texts(opened.table, known, quasi)
        for column in persons:
            if column in schema_of(listed).names:
                listed = with_people(
                    listed,
                    column,
                    "the table of the population",
                    "privacy.population.table",
                )
        yield listed


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
        risk = privacy.risk
        individual = None if risk is None else risk.individual
        published = ClassesAtRisk(
            classes=release.classes,
            quasi=release.quasi,
            hierarchies=release.written.hierarchies,
            table=release.table,
            households=self.households,
        )
        wanted = RiskQuestion(
            population=privacy.population,
            listed=listed,
            source="privacy.population",
            threshold=THRESHOLD if risk is None else risk.threshold,
            stated=None if individual is None else individual.mean,
        )
        self.risks = measure_risks(published, wanted)

    def problems(self, release: JudgedRelease) -> Iterator[str]:
        yield from (
            () if self.spec.privacy.risk is None else self.risks.broken(self.spec.privacy.risk)
        )

    def report(self, release: JudgedRelease) -> PopulationFigures:
        return PopulationFigures(risks=self.risks.to_json())
