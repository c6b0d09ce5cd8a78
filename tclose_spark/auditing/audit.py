"""The audit of a table made by any tool: k, l, t and (n, t), the attacks, and the utility."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack

from tclose_spark.auditing.inputs import prepare_inputs
from tclose_spark.auditing.parts.attacks import (
    add_attacks,
    add_background,
    attack_measures,
    check_background,
)
from tclose_spark.auditing.parts.audited import AuditedTable, add_reading, add_subjects, tallied
from tclose_spark.auditing.parts.population import add_population, check_population
from tclose_spark.auditing.parts.rare_cells import (
    add_cells,
    add_uniques,
    check_cells,
    check_uniques,
)
from tclose_spark.auditing.parts.requirements import (
    add_households,
    add_requirements,
    add_supersets,
    check_requirements,
    guarantees_of,
    judge,
)
from tclose_spark.auditing.parts.several_releases import add_releases, check_releases
from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.auditing.result import AuditResult
from tclose_spark.auditing.tables import AuditTables
from tclose_spark.checks.classes.class_table import class_table
from tclose_spark.checks.supersets import find_supersets
from tclose_spark.engine.tables import keep, session_of, sized_shuffles, write_delta
from tclose_spark.errors import InputError
from tclose_spark.io.storage.folders import private
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

CHECKS: Sequence[Callable[[AuditQuestion, AuditTables], None]] = (
    check_requirements,
    check_background,
    check_uniques,
    check_cells,
    check_population,
    check_releases,
)
"""Each raises ConfigurationError or InputError if options contradict one another."""

PARTS: Sequence[Callable[[AuditedTable, AuditResult], AuditResult]] = (
    add_reading,
    add_subjects,
    add_supersets,
    add_attacks,
    add_requirements,
    add_background,
    add_uniques,
    add_households,
    add_cells,
    add_population,
    add_releases,
)
"""Each returns the result with the figures and notes of its part, in the order of the notes."""


def audit_table(
    tables: AuditTables,
    question: AuditQuestion,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> AuditResult:
    """The audit of a table, beside the others that are opened.

    hierarchies: by column; by default read from the question's files.

    Raises:
        ConfigurationError: if options contradict one another.
        InputError: naming the column and what is wrong with it.
    """
    _require_names(question)
    for check in CHECKS:
        check(question, tables)
    inputs = prepare_inputs(question, tables)
    with ExitStack() as stack:
        stack.enter_context(sized_shuffles(session_of(tables.table), inputs.rows))
        by_class = stack.enter_context(tallied(inputs, hierarchies))
        attacks = attack_measures(by_class)
        columns = [*attacks.columns, *by_class.units]
        classes = stack.enter_context(
            keep(class_table(by_class.tallies, by_class.quasi, by_class.judged, columns)),
        )
        untried: list[str] = []
        if question.n is not None:
            extended, untried = find_supersets(
                classes,
                by_class.tallies,
                by_class.quasi,
                by_class.attributes,
                question.n,
                question.supersets,
            )
            classes = stack.enter_context(keep(extended))
        audited = judge(by_class, classes, attacks, untried)
        if question.classes_output is not None:
            with private(question.classes_output):
                write_delta(classes, question.classes_output)
        result = AuditResult(
            question=inputs.question,
            figures=audited.figures,
            guarantees=guarantees_of(audited),
        )
        for add in PARTS:
            result = add(audited, result)
        return result


def _require_names(question: AuditQuestion) -> None:
    """Raises InputError if a Delta table cannot hold the class table that the question asks for."""
    if question.classes_output is None:
        return
    for column in (*question.labels, *question.sensitive_attributes):
        if set(column) & set(" ,;{}()\n\t="):
            raise InputError(
                f"--classes-output: a Delta table cannot hold the column name {column!r}; "
                "rename it (no blanks or , ; { } ( ) =)",
            )
