"""The audit of a table made by any tool: k, l, t and (n, t), the attacks, and the utility."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from tclose_spark.auditing.inputs import prepare_inputs
from tclose_spark.auditing.parts.attacks import Attacks
from tclose_spark.auditing.parts.background import Background
from tclose_spark.auditing.parts.class_file import ClassFile
from tclose_spark.auditing.parts.households import HouseholdCounts
from tclose_spark.auditing.parts.part import AuditPart, tallied
from tclose_spark.auditing.parts.population import PopulationRisk
from tclose_spark.auditing.parts.rare_cells import RareCellsSearch
from tclose_spark.auditing.parts.reading import Reading
from tclose_spark.auditing.parts.requirements import Requirements, guarantees_of, judge
from tclose_spark.auditing.parts.several_releases import SeveralReleases
from tclose_spark.auditing.parts.special_uniques import UniquesSearch
from tclose_spark.auditing.parts.subjects import SubjectsNotes
from tclose_spark.auditing.parts.supersets import SupersetSearch
from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.auditing.result import AuditResult
from tclose_spark.auditing.tables import AuditTables
from tclose_spark.checks.classes.class_table import class_table
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import keep, session_of, sized_shuffles
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

PARTS: Sequence[type[AuditPart]] = (
    ClassFile,
    Reading,
    SubjectsNotes,
    SupersetSearch,
    Attacks,
    Requirements,
    Background,
    UniquesSearch,
    HouseholdCounts,
    RareCellsSearch,
    PopulationRisk,
    SeveralReleases,
)
"""In the order of their columns in the class table, and of their notes."""


def audit_table(
    table: Table,
    question: AuditQuestion,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    reference: Table | None = None,
    background: Table | None = None,
    population: Table | None = None,
    earlier: Sequence[Table] = (),
) -> AuditResult:
    """The audit of a table. The other tables are those of `AuditTables`.

    hierarchies: by column; by default read from the question's files.

    Raises:
        ConfigurationError: if options contradict one another.
        InputError: naming the column and what is wrong with it.
    """
    tables = AuditTables(
        table=table,
        reference=reference,
        background=background,
        population=population,
        earlier=earlier,
    )
    parts = [part() for part in PARTS]
    for part in parts:
        part.check(question, tables)
    inputs = prepare_inputs(question, tables)
    with ExitStack() as stack:
        stack.enter_context(sized_shuffles(session_of(table), inputs.rows))
        by_class = stack.enter_context(tallied(inputs, hierarchies))
        columns = [column for part in parts for column in part.columns(by_class)]
        classes = stack.enter_context(
            keep(class_table(by_class.tallies, by_class.quasi, by_class.judged, columns))
        )
        for part in parts:
            extended = part.extended(classes, by_class)
            classes = classes if extended is None else stack.enter_context(keep(extended))
        audited = judge(
            by_class, classes, [criterion for part in parts for criterion in part.criteria()]
        )
        result = AuditResult(
            question=inputs.question, figures=audited.figures, guarantees=guarantees_of(audited)
        )
        for part in parts:
            result = part.measure(audited, result)
        return result
