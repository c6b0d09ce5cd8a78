"""The risk of re-identification, given the population that the table is a sample of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rich.table import Table
from rich.text import Text

from tclose_spark.auditing.parts.attacks import require_labels
from tclose_spark.auditing.parts.audited import AuditedTable
from tclose_spark.auditing.parts.requirements import households_of
from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.auditing.result import AuditResult
from tclose_spark.auditing.tables import AuditTables
from tclose_spark.auditing.texts import number_text, table_lines
from tclose_spark.checks.classes.population import (
    ClassesAtRisk,
    PopulationRisks,
    RiskQuestion,
    measure_risks,
)
from tclose_spark.checks.labels.regions import MOST_COMPARED, are_disjoint
from tclose_spark.errors import ConfigurationError
from tclose_spark.measures.disclosure.population import HouseholdRisk, IndividualRisk, Presence
from tclose_spark.measures.disclosure.population_uniques import PopulationUniques

UNIQUES_BY = {"pitman": "Pitman", "zayatz": "Zayatz", "snb": "the slide negative binomial"}


def check_population(question: AuditQuestion, tables: AuditTables) -> None:
    """Raises ConfigurationError if the question needs another population."""
    if question.reidentified is not None and (
        question.population is None or not question.population.is_estimated
    ):
        raise ConfigurationError(
            "--reidentified: the individual risk is of a sample; expected --population, a "
            "fraction or weight:COLUMN",
        )
    if question.population is not None and not question.population.is_estimated:
        require_labels(question, "--population")


def add_population(table: AuditedTable, result: AuditResult) -> AuditResult:
    """The result with the risks, if the question is about them."""
    question = table.question
    if question.population is None and question.threshold is None and question.household is None:
        return result
    published = ClassesAtRisk(
        classes=table.classes,
        quasi=table.quasi,
        hierarchies=table.trees,
        table=table.inputs.table,
        households=None if question.persons else households_of(table),
        disjoint=_are_disjoint(table),
    )
    wanted = RiskQuestion(
        population=question.population,
        listed=table.inputs.population,
        threshold=question.at_risk,
        stated=question.reidentified,
    )
    found = measure_risks(published, wanted)
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
        f"overlap, a missing value could be any, or there are more than {MOST_COMPARED:,} classes",
    ]


def risk_lines(found: PopulationRisks) -> Iterator[Table | Text]:
    """The figures of each adversary, and below them how they came about, and the uniques."""
    above = number_text(float(found.threshold))
    rows = []
    for adversary, risk in found.risks.items():
        name = f"{adversary} (estimate)" if risk.estimate else adversary
        rows.append([name, *(f"{float(x):.6f}" for x in (risk.maximum, risk.mean, risk.share))])
    title = f"Risk of re-identification (share: of records with a risk above {above})"
    yield from table_lines(title, ["risk", "maximum", "mean", "share"], rows)
    yield Text(f"population: {population_text(found)}")
    yield from map(Text, individual_texts(found))
    if isinstance(of_households := found.risks.get("household"), HouseholdRisk):
        share = float(of_households.unique)
        whole = of_households.households
        yield Text(f"households: in {share:.2%} of {whole:,}, someone is alone in a class")
    if found.unmatched:
        yield Text(
            f"note: {found.unmatched:,} classes have more records than people of the population "
            "who fit them; they count as if so many people did",
        )
    yield Text(f"sample uniques: {found.alone:,} people are alone in their class")
    if found.unique is not None and found.alone:
        yield Text(
            f"of these, {found.unique:,} are the only one of the population who fits the class",
        )
    if found.presence is not None:
        yield Text(presence_text(found.presence))
    if found.uniques is not None:
        yield Text(
            f"population uniques, an estimate: {found.uniques.estimate:,.0f} "
            f"{uniques_text(found.uniques)}",
        )


def population_text(found: PopulationRisks) -> str:
    """The population, and where its size comes from."""
    population = found.population
    people = f"{float(found.people or 0):,.0f} people"
    if population is None:
        return "not known, so only the prosecutor's risk follows (--population)"
    if population.fraction is not None:
        return (
            f"an estimate, {people}: a class has its size divided by the sampling fraction "
            f"{population.fraction}"
        )
    if population.weight is not None:
        return f"an estimate, {people}: a class has the sum of {population.weight!r}"
    return f"counted, {people}: those of the table whose quasi-identifiers the labels cover"


def individual_texts(found: PopulationRisks) -> list[str]:
    """The expected number of re-identifications, if it is estimated, and the threshold for a stated
    share of them.
    """
    risk = found.risks.get("individual")
    if not isinstance(risk, IndividualRisk):
        return []
    expected = (
        f"expected re-identifications, an estimate: {risk.expected:,.2f} records, "
        f"{float(risk.mean):.4%}"
    )
    if risk.stated is None or risk.threshold is None:
        return [expected]
    stated = f"{float(risk.stated):g} of records are expected to be re-identified"
    if risk.threshold >= 1:
        return [expected, f"at most {stated}"]
    return [
        expected,
        f"if no record had an individual risk above {risk.threshold:.6f}, at most {stated}",
    ]


def presence_text(found: Presence) -> str:
    """The chances that people of the population are in the table."""
    return (
        "delta-presence: people of the population who fit a class are in the table with a chance "
        f"of {number_text(found.smallest)} to {number_text(found.largest)}; {found.outside:,} "
        "people fit none, and by this list are not in the table"
    )


def uniques_text(found: PopulationUniques) -> str:
    """How many of the population the estimate is, by which estimator, and what the others give."""
    each = {"Pitman": found.pitman, "Zayatz": found.zayatz, "slide negative binomial": found.snb}
    listed = ", ".join(
        f"{name} {'no solution' if x is None else f'{x:,.0f}'}" for name, x in each.items()
    )
    return (
        f"of {float(found.population):,.0f} people "
        f"({found.estimate / float(found.population):.2%}), by "
        f"{UNIQUES_BY[found.chosen or 'zayatz']} after the rule of Dankar et al. 2012 ({listed})"
    )
