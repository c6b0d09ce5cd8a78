"""Attacks on classes, the closeness of tuples of all sensitive attributes, and what an adversary
with a list of people learns: the join, and the minimality attack.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from rich.table import Table
from rich.text import Text

from tclose_spark.auditing.attacks.background import BackgroundJoin, join_background
from tclose_spark.auditing.attacks.exposures import (
    AttackColumns,
    Exposure,
    KnownAttributeColumns,
    measure_attacks,
)
from tclose_spark.auditing.attacks.minimality_attack import guess_people
from tclose_spark.auditing.parts.audited import AttackMeasures, AuditedTable, TalliedTable
from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.auditing.result import AuditResult
from tclose_spark.auditing.tables import AuditTables
from tclose_spark.auditing.texts import class_text, labels_text, share_text, table_lines, value_text
from tclose_spark.checks.classes.tuples import all_together
from tclose_spark.errors import ConfigurationError


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
            "t-closeness of tuples of all sensitive attributes is not measured with a reference",
        ]
    return [
        "t-closeness of tuples of all sensitive attributes is not measured: there are too many "
        "tuples",
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


SKIPPED = (
    "the minimality attack is not measured: too many classes, labels that are sets of values, or "
    "missing values that could be any"
)


def check_background(question: AuditQuestion, tables: AuditTables) -> None:
    """Raises ConfigurationError if people cannot be joined by labels."""
    if tables.background is not None:
        require_labels(question, "--background")


def add_background(table: AuditedTable, result: AuditResult) -> AuditResult:
    """The result with the join with the background table, if there is one, and guesses of its
    people if attacks are measured.
    """
    question = table.question
    background = table.inputs.background
    if background is None:
        return result
    whose = table.inputs.table if question.persons else None
    joined = join_background(table.classes, background, table.quasi, table.trees, whose)
    result = replace(result, notes=(*result.notes, *_notes_of_join(joined)))
    if not question.attacks or not table.attributes:
        return replace(result, background=joined)
    guesses = guess_people(table.labelled, background, table.trees, table.attributes, question.gain)
    notes = [SKIPPED] if len(guesses) < len(table.attributes) else []
    return replace(
        result,
        background=replace(joined, guesses=guesses),
        notes=(*result.notes, *notes),
    )


def _notes_of_join(joined: BackgroundJoin) -> list[str]:
    """What a list of people that does not fit the table means for the figures."""
    if not joined.candidates:
        return [
            "no row of the background table fits any class; check that it writes values as the "
            "table does",
        ]
    if joined.risks.unmatched:
        return [
            f"{joined.risks.unmatched:,} classes have more records than rows of the background "
            "table that fit them, so it does not list everyone",
        ]
    return []


def require_labels(question: AuditQuestion, option: str) -> None:
    """Raises ConfigurationError if the table has aggregates in place of labels, which this option
    needs.
    """
    if question.aggregates:
        raise ConfigurationError(
            f"{option}: people are joined by labels that cover their values, but with "
            "method.representative the table has aggregates, which cover nobody; leave it out",
        )


def background_lines(joined: BackgroundJoin) -> Iterator[Table | Text]:
    """The figures of each adversary, and below them what they mean."""
    risks = joined.risks
    figures = [
        (
            "prosecutor",
            f"{float(risks.prosecutor):.6f}",
            "worst chance to pick the record of a person known to be in the table (mean "
            f"{float(risks.prosecutor_mean):.6f})",
        ),
        ("journalist", share_text(risks.journalist), "worst chance to name the person of a record"),
        (
            "marketer",
            share_text(risks.marketer),
            "expected share of records whose person is named correctly",
        ),
        (
            "membership",
            f"{joined.members:,}",
            f"of {joined.people:,} rows of the background table, those of people who are "
            "recognizably in the table, if the background table contains everyone in it",
        ),
        (
            "no match",
            f"{joined.people - joined.candidates:,}",
            "rows of the background table that fit no class",
        ),
    ]
    for g in joined.guesses:
        meaning = (
            f"rows of the background table for which a value of {g.attribute} is guessed: they fit "
            "none of the narrow classes of their value, and these hold as much of it as any class"
        )
        if g.people:
            meaning += f"; their classes indicate it for {g.said:.3f}, the guess expects at least {g.at_least:.3f}"
        if g.right is not None:
            meaning += f", and is right for {g.right:.3f}"
        figures.append((f"minimality attack, {g.attribute}", f"{g.people:,}", meaning))
    title = f"Join with the background table, by {', '.join(joined.joined)}"
    yield from table_lines(
        title,
        ["adversary", "figure"],
        [[adversary, figure] for adversary, figure, _ in figures],
    )
    yield from (Text(f"{adversary}: {meaning}") for adversary, _, meaning in figures)
