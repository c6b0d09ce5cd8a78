"""What the parts of an audit know of the audited table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from tclose_spark.auditing.attacks.exposures import AttackColumns, KnownAttributeColumns
from tclose_spark.auditing.attacks.intersection_attack import LabelledRelease
from tclose_spark.auditing.inputs import LATEST, AuditInputs, hierarchies_of, judged_attributes
from tclose_spark.auditing.labels import judge_labels
from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.checks.classes.class_table import ClassMeasure, JudgedQuasi
from tclose_spark.checks.classes.figures import ClassFigures
from tclose_spark.checks.classes.people import JudgedPeople
from tclose_spark.checks.classes.tallies import count_values, tally_classes
from tclose_spark.checks.classes.tuples import TupleCloseness, joint_attributes
from tclose_spark.checks.released_people import released_people
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import keep, session_of
from tclose_spark.requirements.criterion import Guarantee
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
    inputs: AuditInputs, hierarchies: Mapping[str, Hierarchy] | None
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
