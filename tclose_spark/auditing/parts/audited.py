"""What the parts of an audit know of the audited table, and how it is read, in notes: its labels
and values, and whom its rows are about, by columns that group them like persons or households.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from tclose_spark.auditing.attacks.exposures import AttackColumns, KnownAttributeColumns
from tclose_spark.auditing.attacks.intersection_attack import LabelledRelease
from tclose_spark.auditing.inputs import (
    LATEST,
    AuditInputs,
    hierarchies_of,
    judged_attributes,
    mixed_missing_notes,
)
from tclose_spark.auditing.labels import judge_labels
from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.auditing.result import AuditResult
from tclose_spark.checks.classes.class_table import ClassMeasure, JudgedQuasi
from tclose_spark.checks.classes.figures import ClassFigures
from tclose_spark.checks.classes.people import JudgedPeople
from tclose_spark.checks.classes.tallies import count_values, tally_classes
from tclose_spark.checks.classes.tuples import TupleCloseness, joint_attributes
from tclose_spark.checks.warnings import padded_order
from tclose_spark.checks.written import released_people
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.sampling import sample_table
from tclose_spark.engine.tables import keep, schema_of, session_of
from tclose_spark.requirements.criterion import Guarantee
from tclose_spark.requirements.judge import JudgedAttribute
from tclose_spark.runfile.release_form import COUNT
from tclose_spark.runfile.text import count_spellings
from tclose_spark.table.column_names.hints import hint_of
from tclose_spark.table.columns.spark_types import readable
from tclose_spark.table.domains import Counts, TupleCounts
from tclose_spark.table.entities.finding import Subjects, find_subjects
from tclose_spark.table.entities.wording import Remedies, SubjectsWords
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

    @property
    def labelled(self) -> LabelledRelease:
        """The table by its labels alone."""
        labels = self.question.labels
        return LabelledRelease(name=LATEST, quasi=self.quasi, labels=labels, tallies=self.tallies)


@dataclass(frozen=True, kw_only=True)
class AttackMeasures:
    """What the class table has on attacks.

    of_attributes: an attack column for each. known: with several attributes, the attack that knows
        one of them.
    tuples: the closeness of tuples; None if there is one attribute, a reference, or too many
        tuples.
    """

    of_attributes: Sequence[AttackColumns] = ()
    known: KnownAttributeColumns | None = None
    tuples: TupleCloseness | None = None

    @property
    def columns(self) -> list[ClassMeasure]:
        """All of them, in the order of the class table."""
        more = [one for one in (self.known, self.tuples) if one is not None]
        return [*self.of_attributes, *more]


@dataclass(frozen=True, kw_only=True)
class AuditedTable(TalliedTable):
    """An audited table with the figures of its classes.

    classes: the class table, with the columns of all parts. figures: of all classes.
    alike: k with missing labels as any value, if the question is about it.
    attacks: the columns on attacks.
    untried: notes on natural supersets that were not tried.
    """

    classes: Table
    figures: ClassFigures
    alike: Guarantee | None
    attacks: AttackMeasures
    untried: Sequence[str]


@contextmanager
def tallied(
    inputs: AuditInputs,
    hierarchies: Mapping[str, Hierarchy] | None,
) -> Iterator[TalliedTable]:
    """The table by its classes. hierarchies: by column; by default read from the question's files.

    Raises:
        ConfigurationError, InputError: naming the column and what is wrong with it.
    """
    question = inputs.question
    names = list(inputs.question.sensitive_attributes)
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


OPTIONS = Remedies(person="--person", alone="this note does not matter", household="--household")


def add_reading(table: AuditedTable, result: AuditResult) -> AuditResult:
    """The result with notes on bounds, labels, missing values, spellings, and orders."""
    notes = [
        *table.inputs.notes,
        *mixed_missing_notes(table.inputs.table, table.question),
        *table.label_notes,
        *_value_notes(table),
        *_missing_notes(table.question),
        *_count_notes(table),
    ]
    understated = [
        q.name for q in table.quasi if q.covers and (q.loss.unknown or q.loss.understated)
    ]
    return replace(result, notes=tuple(notes), understated=tuple(understated))


def _count_notes(table: AuditedTable) -> list[str]:
    """A note if a column says how many rows a row stands for, as in the tables of an anatomy."""
    read = (*table.question.labels, *table.question.sensitive_attributes)
    if COUNT in read or COUNT not in schema_of(table.inputs.opened).names:
        return []
    return [
        f"the column {COUNT} is not read: each row of the table is one row, also if it stands "
        "for several",
    ]


def _value_notes(table: AuditedTable) -> Iterator[str]:
    """A note on each sensitive attribute that has a value in several spellings, or unused values in
    its order.
    """
    for a, values in zip(table.attributes, table.counts, strict=True):
        many = count_spellings(values)
        if many:
            yield (
                f"{a.name}: {many} of its values differ from another only by case, spaces, width "
                "or Unicode form; they count as different values in l and in every distance"
            )
    for a, values in zip(table.attributes, table.counts, strict=True):
        yield from padded_order(a, values)


def _missing_notes(question: AuditQuestion) -> list[str]:
    """What is measured if missing quasi-identifiers could be any value."""
    if not any(q.missing == "any" for q in question.quasi_identifiers.values()):
        return []
    if question.persons:
        return [
            "missing: any is in the joins with lists of people only; k, l and t are of classes "
            "with equal labels",
        ]
    return [
        "missing: any is in k and in the joins with lists of people; l and t are of classes with "
        "equal labels",
    ]


def add_subjects(table: AuditedTable, result: AuditResult) -> AuditResult:
    """The result with notes on whom rows are about, over all columns of the table, unless people
    are counted.
    """
    question = table.question
    opened = table.inputs.opened
    if question.persons or question.rows_are_persons:
        return result
    names = readable(schema_of(opened))
    sample = sample_table(opened, names, table.inputs.rows)
    found = find_subjects(sample, names, list(map(hint_of, names)))
    subjects = _beside({*question.labels, *question.quasi_identifiers}, found)
    notes = SubjectsWords(remedies=OPTIONS).notes(subjects, bool(question.households))
    return replace(result, notes=(*notes, *result.notes))


def _beside(labels: set[str], found: Subjects) -> Subjects:
    """Those that other columns than these show: labels of a class determine one another, and
    recur.
    """
    entities = tuple(one for one in found.entities if not labels & {*one.columns})
    unnamed = found.unnamed
    if unnamed is not None and labels & {*unnamed.columns}:
        unnamed = None
    return Subjects(entities=entities, unnamed=unnamed)
