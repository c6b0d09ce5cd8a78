"""The face of a part of an audit, and what parts know of the audited table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from tclose_spark.auditing.inputs import AuditInputs, hierarchies_of, judged_attributes
from tclose_spark.auditing.labels import judge_labels
from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.auditing.result import AuditResult
from tclose_spark.auditing.tables import AuditTables
from tclose_spark.checks.classes.class_table import ClassMeasure, JudgedQuasi
from tclose_spark.checks.classes.figures import ClassFigures
from tclose_spark.checks.classes.people import JudgedPeople
from tclose_spark.checks.classes.tallies import count_values, tally_classes
from tclose_spark.checks.classes.tuples import joint_attributes
from tclose_spark.checks.released_people import released_people
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import keep, session_of
from tclose_spark.requirements.criterion import Criterion, Guarantee
from tclose_spark.requirements.judge import JudgedAttribute
from tclose_spark.table.domains import Counts, TupleCounts
from tclose_spark.table.hierarchies.hierarchy import Hierarchy


@dataclass(frozen=True, kw_only=True)
class TalliedTable:
    """An audited table by its classes.

    inputs: the tables and the question. trees: hierarchies by column.
    tallies: the rows of each class by sensitive values.
    quasi, attributes: the columns, with information loss and distances.
    judged: the attributes, and the tuples of them that must be close.
    counts, tuples: the rows with each value of each attribute; with each tuple, None if there are
        too many.
    units: what is required over others than rows: of people, if they are counted.
    sizes: how many people have each number of rows.
    label_notes: on labels that affect how to read the figures.
    """

    inputs: AuditInputs
    trees: Mapping[str, Hierarchy]
    tallies: Table
    quasi: Sequence[JudgedQuasi]
    attributes: Sequence[JudgedAttribute]
    judged: Sequence[JudgedAttribute]
    counts: Sequence[Counts]
    tuples: TupleCounts | None
    units: Sequence[JudgedPeople]
    sizes: Mapping[int, int]
    label_notes: Sequence[str]

    @property
    def question(self) -> AuditQuestion:
        """The question, with every pair of bounds as one quasi-identifier."""
        return self.inputs.question


@dataclass(frozen=True, kw_only=True)
class AuditedTable(TalliedTable):
    """An audited table with the figures of its classes.

    classes: the class table, with the columns of all parts. figures: of all classes.
    alike: k with missing labels as any value, if the question is about it.
    """

    classes: Table
    figures: ClassFigures
    alike: Guarantee | None


class AuditPart:
    """A part of an audit. It is made for one audit, and has the methods that it needs; these here
    do nothing.
    """

    def check(self, question: AuditQuestion, tables: AuditTables) -> None:
        """Raises ConfigurationError or InputError if options contradict one another, or the
        columns' names.
        """

    def columns(self, table: TalliedTable) -> Sequence[ClassMeasure]:
        """The measures that the class table has for this part, beside k, l and t."""
        return ()

    def criteria(self) -> Sequence[Criterion]:
        """What is reported of these columns beside k, l and t."""
        return ()

    def extended(self, classes: Table, table: TalliedTable) -> Table | None:
        """The class table with columns that depend on other classes; None without any."""
        return None

    def measure(self, table: AuditedTable, result: AuditResult) -> AuditResult:
        """The result with the figures and notes of this part."""
        return result


@contextmanager
def tallied(
    inputs: AuditInputs, hierarchies: Mapping[str, Hierarchy] | None
) -> Iterator[TalliedTable]:
    """The table by its classes. hierarchies: by column; by default read from the question's files.

    Raises:
        ConfigurationError, InputError: naming the column and what is wrong with it.
    """
    question, names = inputs.question, list(inputs.question.sensitive_attributes)
    trees = hierarchies_of(question, session_of(inputs.table), hierarchies)
    with ExitStack() as stack:
        of_people = inputs.table if question.persons else None
        whose = stack.enter_context(released_people(of_people, question.labels, names))
        by_class = (
            tally_classes(inputs.table, question.labels, names)
            if whose is None
            else whose.tallied.classes
        )
        tallies = stack.enter_context(keep(by_class))
        quasi, notes = judge_labels(tallies, question, trees, inputs.reference)
        counts, tuples = count_values(tallies, names)
        attributes = judged_attributes(inputs.table, counts, question, trees, inputs.reference)
        judged = [*attributes, *joint_attributes(tuples, attributes, question.joint)]
        yield TalliedTable(
            inputs=inputs,
            trees=trees,
            tallies=tallies,
            quasi=quasi,
            attributes=attributes,
            judged=judged,
            counts=counts,
            tuples=tuples,
            units=[] if whose is None else [whose.judged(judged, with_suppressed=False)],
            sizes={} if whose is None else whose.sizes,
            label_notes=notes,
        )
