"""What is required of classes: k, l and t over rows and over people, (n, t)-closeness, and
households; and what a suite of expectations states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tclose_spark.auditing.parts.audited import AttackMeasures, AuditedTable, TalliedTable
from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.auditing.result import AuditResult
from tclose_spark.auditing.tables import AuditTables
from tclose_spark.checks.classes.class_table import ClassRequirements
from tclose_spark.checks.classes.figures import class_figures
from tclose_spark.checks.classes.people import expect_people, households_of_classes, tally_owners
from tclose_spark.checks.labels.known_people import with_people
from tclose_spark.checks.labels.wildcards import alike_guarantee
from tclose_spark.checks.supersets import expect_supersets, near_supersets, without_t
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import select
from tclose_spark.errors import ConfigurationError
from tclose_spark.requirements.criterion import Guarantee
from tclose_spark.requirements.expectation import Expectation, expect_some_rows
from tclose_spark.requirements.judge import JudgedAttribute
from tclose_spark.requirements.registry import expectations_of
from tclose_spark.runfile.attributes import Diversity, SensitiveAttribute
from tclose_spark.runfile.privacy import covered
from tclose_spark.table.people import HOUSEHOLD


def check_requirements(question: AuditQuestion, tables: AuditTables) -> None:
    """Raises ConfigurationError if supersets, tuples or people are compared with another table."""
    if question.n is not None and tables.reference is not None:
        raise ConfigurationError(
            "--n and --reference: natural supersets are parts of the table, and the reference "
            "is another table; give one of the two",
        )
    if question.joint and tables.reference is not None:
        raise ConfigurationError(
            "--joint and --reference: tuples are compared with those of the table itself; "
            "leave out one",
        )
    if question.persons and tables.reference is not None:
        raise ConfigurationError(
            "--person and --reference: people are compared with the people of the table "
            "itself; give one of the two",
        )


def add_requirements(table: AuditedTable, result: AuditResult) -> AuditResult:
    """The result with what is required of every class, and notes on what the verdict does not cover."""
    question = table.question
    strict = question.k if table.alike is None else None
    return replace(
        result,
        people=table.sizes,
        expectations=tuple(suite_of(question, strict, table.judged)),
        notes=(*result.notes, *_unprotected_notes(question), *_unjudged_notes(question)),
    )


def judge(
    table: TalliedTable,
    classes: Table,
    attacks: AttackMeasures,
    untried: Sequence[str],
) -> AuditedTable:
    """The table with the figures of its classes. untried: notes on supersets."""
    question = table.question
    alike = None  # k of people is of equal labels only
    if not question.persons and any(q.missing_any for q in table.quasi):
        alike = alike_guarantee(classes, table.quasi, question.k)
    of_whole = table.judged if question.n is None else without_t(table.judged)
    strict = question.k if alike is None else None
    more = [] if attacks.tuples is None else [attacks.tuples.criterion]
    required = ClassRequirements(strict, table.quasi, of_whole, table.units)
    figures = class_figures(classes, required, more=more)
    return AuditedTable(
        **vars(table),
        classes=classes,
        figures=figures,
        alike=alike,
        attacks=attacks,
        untried=untried,
    )


def guarantees_of(table: AuditedTable) -> tuple[Guarantee, ...]:
    """k, that with missing labels as any value, l and t."""
    found = table.figures.guarantees
    return found if table.alike is None else (found[0], table.alike, *found[1:])


def suite_of(
    question: AuditQuestion,
    k: int | None,
    attributes: Sequence[JudgedAttribute],
) -> list[Expectation]:
    """The expectations over the class table that state the requirements. k: that classes of equal
    labels must have.
    """
    if question.n is None:
        of_people = expect_people(k, attributes) if question.persons else []
        return [expect_some_rows(), *expectations_of(k, attributes), *of_people]
    reported = expectations_of(k, without_t(attributes))
    return [expect_some_rows(), *reported, *expect_supersets(attributes)]


def _unprotected_notes(question: AuditQuestion) -> list[str]:
    """A note on each sensitive attribute that the verdict does not cover."""
    settings = question.sensitive_attributes
    together = covered(question.joint)
    if question.k is None and not together and not any(own.limited for own in settings.values()):
        return []
    return [
        f"the verdict does not cover {name}: {_unlimited(own)}"
        for name, own in settings.items()
        if not own.limited and name not in together
    ]


def _unlimited(settings: SensitiveAttribute) -> str:
    """Why the requirements of an attribute, if there are any, limit nothing."""
    if settings.t is None and settings.l == Diversity():
        return "neither t, l nor beta is required of it"
    return "every class meets what is required of it (a t of 1 or more, an l of 1)"


def _unjudged_notes(question: AuditQuestion) -> list[str]:
    """A note if people are not judged, although a run file counts them."""
    if question.unjudged_person is None:
        return []
    return [
        "k, l and t are judged over rows only, although the run file counts people: a release has "
        "no column of them, and (n, t)-closeness and weights of a population are about rows",
    ]


def add_supersets(table: AuditedTable, result: AuditResult) -> AuditResult:
    """The result with (n, t)-closeness, if the question is about it. t-closeness to the whole table
    is only reported then.
    """
    n = table.question.n
    if n is None:
        return result
    near = [one.guarantee for one in near_supersets(table.classes, table.attributes, n)]
    return replace(
        result,
        guarantees=(*result.guarantees, *near),
        notes=(*result.notes, *table.untried),
    )


def add_households(table: AuditedTable, result: AuditResult) -> AuditResult:
    """The result with how many households the classes have, if the question is about them."""
    rows = households_of(table)
    asked = table.question.household
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
