"""What the table reveals together with earlier releases of the same people."""

from __future__ import annotations

from dataclasses import replace

from tclose_spark.auditing.attacks.differences import Differences, find_differences
from tclose_spark.auditing.attacks.intersection_attack import Intersection, LabelledRelease, intersect_releases
from tclose_spark.auditing.attacks.several_releases import judge_together, labelled_releases
from tclose_spark.auditing.inputs import LATEST
from tclose_spark.auditing.parts.part import AuditedTable, Part
from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.auditing.result import AuditResult, Together
from tclose_spark.auditing.tables import AuditTables
from tclose_spark.checks.classes.cells import PeopleOfRelease
from tclose_spark.errors import ConfigurationError


class SeveralReleases(Part):
    """The figures of all releases together, if there are earlier ones."""

    def check(self, question: AuditQuestion, tables: AuditTables) -> None:
        """See Part."""
        if tables.earlier and question.person is None and question.aggregates:
            raise ConfigurationError(
                "--earlier: with method.representative, labels do not show whom they cover; give --person COLUMN, "
                "which all tables have"
            )
        if tables.earlier and question.joint:
            raise ConfigurationError("--joint and --earlier: several releases are not judged by tuples; leave out one")

    def measure(self, table: AuditedTable, result: AuditResult) -> AuditResult:
        """See Part."""
        if not table.inputs.earlier:
            return result
        found = _together(table)
        notes = [note for one in table.inputs.earlier for note in one.notes]
        return replace(result, together=found, notes=(*result.notes, *notes, *_notes(found, table.question)))


def _together(table: AuditedTable) -> Together:
    """Exactly if people are counted, otherwise by their labels, with the people of the background table if there is
    one.
    """
    question, inputs, trees, attributes = table.question, table.inputs, table.trees, table.attributes
    if table.people is not None:
        latest = PeopleOfRelease(
            name=LATEST, rows=inputs.table, labels=question.labels, attributes=attributes, people=table.people[0]
        )
        return judge_together(latest, inputs.earlier, trees, question.k)
    by_labels = LabelledRelease(name=LATEST, quasi=table.quasi, labels=question.labels, tallies=table.tallies)
    with labelled_releases(by_labels, inputs.earlier, trees) as releases:
        if inputs.background is not None:
            return intersect_releases(releases, inputs.background, trees, attributes, question.k)
        return find_differences(releases, trees, list(question.sensitive_attributes), question.k)


def _notes(found: Together, question: AuditQuestion) -> list[str]:
    """What is not measured of several releases."""
    if isinstance(found, Intersection) and question.sensitive_attributes and not found.values:
        return ["the values left for listed people are not measured: there are too many classes and values"]
    if isinstance(found, Differences):
        return [
            "several releases are judged by their differences only: --person COLUMN, or --background TABLE with people "
            "who are in all of them, measures what they reveal of people"
        ]
    return []
