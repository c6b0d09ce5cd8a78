"""Attacks on classes, and the closeness of tuples of all sensitive attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tclose_spark.auditing.attacks.exposures import (
    AttackColumns,
    KnownAttributeColumns,
    measure_attacks,
)
from tclose_spark.auditing.parts.part import AuditedTable, AuditPart, TalliedTable
from tclose_spark.auditing.result import AuditResult
from tclose_spark.checks.classes.class_table import ClassMeasure
from tclose_spark.checks.classes.tuples import TupleCloseness, all_together
from tclose_spark.requirements.criterion import Criterion


class Attacks(AuditPart):
    """What each attack exposes.

    of_attributes: an attack column for each. known: with several attributes, the attack that knows
        one of them.
    tuples: the closeness of tuples; None if there is one attribute, a reference, or too many
        tuples.
    """

    of_attributes: Sequence[AttackColumns] = ()
    known: KnownAttributeColumns | None = None
    tuples: TupleCloseness | None = None

    def columns(self, table: TalliedTable) -> Sequence[ClassMeasure]:
        if not table.question.attacks:
            return ()
        self.of_attributes = [
            AttackColumns(a, table.question.gain, table.trees.get(a.name)) for a in table.attributes
        ]
        if len(table.attributes) > 1:
            self.known = KnownAttributeColumns(
                tuple(a.name for a in table.attributes),
                tuple(a.uninformative for a in table.attributes),
            )
            self.tuples = (
                all_together(table.tuples, table.attributes)
                if table.inputs.reference is None
                else None
            )
        return [*self.of_attributes, *(one for one in (self.known, self.tuples) if one is not None)]

    def criteria(self) -> Sequence[Criterion]:
        return () if self.tuples is None else (self.tuples.criterion,)

    def measure(self, table: AuditedTable, result: AuditResult) -> AuditResult:
        found = measure_attacks(table.classes, self.of_attributes, self.known, table.figures.rows)
        notes = (*result.notes, *self._notes(table))
        guarantees = (*result.guarantees, *table.figures.more)
        return replace(result, attacks=tuple(found), guarantees=guarantees, notes=notes)

    def _notes(self, table: TalliedTable) -> list[str]:
        """A note if the closeness of tuples is not measured."""
        if self.known is None or self.tuples is not None:
            return []
        if table.inputs.reference is not None:
            return [
                "t-closeness of tuples of all sensitive attributes is not measured with a reference"
            ]
        return [
            "t-closeness of tuples of all sensitive attributes is not measured: there are too "
            "many tuples"
        ]
