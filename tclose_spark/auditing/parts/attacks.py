"""Attacks on classes, and the closeness of tuples of all sensitive attributes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from rich.table import Table
from rich.text import Text

from tclose_spark.auditing.attacks.exposures import (
    AttackColumns,
    Exposure,
    KnownAttributeColumns,
    measure_attacks,
)
from tclose_spark.auditing.parts.audited import AttackMeasures, AuditedTable, TalliedTable
from tclose_spark.auditing.result import AuditResult
from tclose_spark.auditing.texts import class_text, labels_text, table_lines, value_text
from tclose_spark.checks.classes.tuples import all_together


def attack_measures(table: TalliedTable) -> AttackMeasures:
    """The columns on attacks that the class table needs; none if the question is not about them."""
    question = table.question
    attributes = table.attributes
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
    measures = table.attacks
    figures = table.figures
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


def attack_lines(attacks: Iterable[Exposure]) -> Iterator[Table | Text]:
    """The attacks, and below them when a class is exposed, and their worst classes."""
    rows = []
    below = []
    for e in attacks:
        name = f"{e.attack}, {e.attribute}"
        rows.append([name, f"{e.classes:,}", f"{e.people:,}", f"{e.before:.3f} -> {e.after:.3f}"])
        if e.worst is None:
            worst = f"mean over rows, knowing {e.about}"
        elif e.worst:
            worst = f"worst {value_text(e.about)} in {labels_text(e.worst)}"
        else:
            worst = f"worst class {class_text({}, e.size)}"
        below.append(Text(f"{name}: {e.criterion}; {worst}"))
    title = "Attacks (belief: without and with the table's class)"
    yield from table_lines(title, ["attack", "classes", "rows", "belief"], rows)
    yield from below
