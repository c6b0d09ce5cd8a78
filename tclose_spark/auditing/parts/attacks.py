"""Attacks on classes, and the closeness of tuples of all sensitive attributes."""

from __future__ import annotations

from dataclasses import replace

from tclose_spark.auditing.attacks.exposures import (
    AttackColumns,
    KnownAttributeColumns,
    measure_attacks,
)
from tclose_spark.auditing.parts.audited import AttackMeasures, AuditedTable, TalliedTable
from tclose_spark.auditing.result import AuditResult
from tclose_spark.checks.classes.tuples import all_together


def attack_measures(table: TalliedTable) -> AttackMeasures:
    """The columns on attacks that the class table needs; none if the question is not about them."""
    question, attributes = table.question, table.attributes
    if not question.attacks:
        return AttackMeasures()
    each = [AttackColumns(a, question.gain, table.trees.get(a.name)) for a in attributes]
    if len(attributes) < 2:
        return AttackMeasures(of_attributes=each)
    names = tuple(a.name for a in attributes)
    known = KnownAttributeColumns(names, tuple(a.uninformative for a in attributes))
    has_reference = table.inputs.reference is not None
    tuples = None if has_reference else all_together(table.tuples, attributes)
    return AttackMeasures(of_attributes=each, known=known, tuples=tuples)


def add_attacks(table: AuditedTable, result: AuditResult) -> AuditResult:
    """The result with what each attack exposes."""
    measures, figures = table.attacks, table.figures
    found = measure_attacks(table.classes, measures.of_attributes, measures.known, figures.rows)
    return replace(
        result,
        attacks=tuple(found),
        guarantees=(*result.guarantees, *figures.more),
        notes=(*result.notes, *_notes(table)),
    )


def _notes(table: AuditedTable) -> list[str]:
    """A note if the closeness of tuples is not measured."""
    if table.attacks.known is None or table.attacks.tuples is not None:
        return []
    if table.inputs.reference is not None:
        return [
            "t-closeness of tuples of all sensitive attributes is not measured with a reference"
        ]
    return [
        "t-closeness of tuples of all sensitive attributes is not measured: there are too many "
        "tuples"
    ]
