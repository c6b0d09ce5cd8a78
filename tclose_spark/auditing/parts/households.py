"""The households that have members in each class."""

from __future__ import annotations

from dataclasses import replace

from tclose_spark.auditing.parts.audited import AuditedTable, TalliedTable
from tclose_spark.auditing.result import AuditResult
from tclose_spark.checks.classes.households import households_of_classes
from tclose_spark.checks.classes.people import tally_owners
from tclose_spark.checks.labels.listed_people import with_people
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import select
from tclose_spark.requirements.criterion import Guarantee
from tclose_spark.table.people import HOUSEHOLD


def add_households(table: AuditedTable, result: AuditResult) -> AuditResult:
    """The result with how many households the classes have, if the question is about them."""
    rows, asked = households_of(table), table.question.household
    if rows is None or asked is None:
        return result
    found = households_of_classes(tally_owners(rows, table.question.labels, [], HOUSEHOLD), asked.k)
    guarantee = Guarantee(
        measure="households of a class",
        attribute=None,
        required=asked.k if asked.k > 1 else None,
        achieved=found.fewest,
        classes=found.classes,
        rows=found.rows,
        worst=dict(zip(table.question.labels, found.labels, strict=True)),
        size=found.size,
    )
    return replace(result, guarantees=(*result.guarantees, guarantee))


def households_of(table: TalliedTable) -> Table | None:
    """The rows with labels, weights, HOUSEHOLD and SUPPRESSED (no row is), if households are known.

    Raises:
        InputError: if rows have no household.
    """
    question = table.question
    if question.household is None:
        return None
    rows = select(table.inputs.table, [*question.labels, *question.weights, *question.households])
    return with_people(rows, question.household.column, "the table", "--household", HOUSEHOLD)
