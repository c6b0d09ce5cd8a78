"""The risk of re-identification, given the population that the table is a sample of."""

from __future__ import annotations

from dataclasses import replace

from tclose_spark.auditing.parts.audited import AuditedTable
from tclose_spark.auditing.parts.background import require_labels
from tclose_spark.auditing.parts.households import households_of
from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.auditing.result import AuditResult
from tclose_spark.auditing.tables import AuditTables
from tclose_spark.checks.classes.population import PopulationRisks, measure_risks
from tclose_spark.checks.labels.regions import MOST_COMPARED, are_disjoint
from tclose_spark.errors import ConfigurationError


def check_population(question: AuditQuestion, tables: AuditTables) -> None:
    """Raises ConfigurationError if the question needs another population."""
    if question.reidentified is not None and (
        question.population is None or not question.population.is_estimated
    ):
        raise ConfigurationError(
            "--reidentified: the individual risk is of a sample; expected --population, a "
            "fraction or weight:COLUMN"
        )
    if question.population is not None and not question.population.is_estimated:
        require_labels(question, "--population")


def add_population(table: AuditedTable, result: AuditResult) -> AuditResult:
    """The result with the risks, if the question is about them."""
    question = table.question
    if question.population is None and question.threshold is None and question.household is None:
        return result
    found = measure_risks(
        table.classes,
        question.population,
        question.at_risk,
        table.quasi,
        table.trees,
        table=table.inputs.table,
        listed=table.inputs.population,
        disjoint=_are_disjoint(table),
        stated=question.reidentified,
        households=None if question.persons else households_of(table),
    )
    return replace(result, risks=found, notes=(*result.notes, *_presence_notes(found)))


def _are_disjoint(table: AuditedTable) -> bool:
    """Whether each person of a listed population fits one class at most, if that is to be known."""
    population = table.question.population
    if population is None or population.is_estimated or table.figures.classes > MOST_COMPARED:
        return False
    return not any(q.missing_any for q in table.quasi) and are_disjoint(table.classes, table.quasi)


def _presence_notes(risks: PopulationRisks) -> list[str]:
    """A note if the population is listed and delta-presence is not measured."""
    if risks.population is None or risks.population.is_estimated or risks.presence is not None:
        return []
    return [
        "delta-presence is not measured: a person may fit several classes, because their regions "
        f"overlap, a missing value could be any, or there are more than {MOST_COMPARED:,} classes"
    ]
