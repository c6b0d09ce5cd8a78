"""The audit of a table made by any tool: k, l, t and (n, t), the attacks, and the utility."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from tclose_spark.auditing.attacks.background import BackgroundJoin, join_background
from tclose_spark.auditing.attacks.differences import Differences, find_differences
from tclose_spark.auditing.attacks.exposures import AttackColumns, KnownAttributeColumns, measure_attacks
from tclose_spark.auditing.attacks.intersection_attack import Intersection, LabelledRelease, intersect_releases
from tclose_spark.auditing.attacks.minimality_attack import guess_people
from tclose_spark.auditing.attacks.several_releases import (
    LATEST,
    EarlierTable,
    judge_together,
    labelled_releases,
    prepare_earlier,
)
from tclose_spark.auditing.attacks.uniques import MOST_CLASSES, find_special_uniques
from tclose_spark.auditing.inputs import (
    AuditInputs,
    hierarchies_of,
    judged_attributes,
    mixed_missing_notes,
    prepare_inputs,
)
from tclose_spark.auditing.labels import judge_labels
from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.auditing.result import AuditResult
from tclose_spark.checks.classes.cells import CellFigures, PeopleOfRelease
from tclose_spark.checks.classes.class_table import ClassMeasure, JudgedQuasi, class_table
from tclose_spark.checks.classes.figures import ClassFigures, class_figures
from tclose_spark.checks.classes.people import JudgedPeople, expect_people
from tclose_spark.checks.classes.population import PopulationRisks, measure_risks
from tclose_spark.checks.classes.tallies import count_values, tally_classes
from tclose_spark.checks.classes.tuples import TupleCloseness, all_together, joint_attributes
from tclose_spark.checks.labels.regions import MOST_COMPARED, are_disjoint
from tclose_spark.checks.labels.wildcards import alike_guarantee
from tclose_spark.checks.released_people import released_people
from tclose_spark.checks.supersets import expect_supersets, find_supersets, near_supersets, without_t
from tclose_spark.checks.warnings import padded_order
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import keep, schema_of, session_of, sized_shuffles, write_delta
from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.io.storage.folders import private
from tclose_spark.measures.disclosure.special_uniques import MOST_COMBINATIONS, SpecialUniques
from tclose_spark.measures.supersets.box_search import MOST_BOXES
from tclose_spark.requirements.criterion import Guarantee
from tclose_spark.requirements.expectation import Expectation, expect_some_rows
from tclose_spark.requirements.judge import JudgedAttribute
from tclose_spark.requirements.registry import expectations_of
from tclose_spark.runfile.joint import covered
from tclose_spark.runfile.release_form import COUNT
from tclose_spark.runfile.text import count_spellings
from tclose_spark.table.domains import Counts
from tclose_spark.table.hierarchies.hierarchy import Hierarchy


@dataclass(frozen=True, kw_only=True)
class AuditMeasures:
    """What is measured of every class.

    quasi, attributes: the columns, with information loss and distances.
    judged: the attributes, and the tuples of them that must be close.
    attacks: one per attribute; empty if attacks are not measured.
    known: with several attributes, the attack that knows one of them.
    tuples: the closeness of tuples of all attributes; None if there is one attribute, a reference, or too many tuples.
    notes: on labels and values that affect how to read the figures.
    """

    quasi: Sequence[JudgedQuasi]
    attributes: Sequence[JudgedAttribute]
    judged: Sequence[JudgedAttribute]
    attacks: Sequence[AttackColumns]
    known: KnownAttributeColumns | None
    tuples: TupleCloseness | None
    notes: Sequence[str]

    @property
    def columns(self) -> list[ClassMeasure]:
        """The measures that the class table has beside k, l and t."""
        return [*self.attacks, *(one for one in (self.known, self.tuples) if one is not None)]


def audit_table(
    table: Table,
    question: AuditQuestion,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    reference: Table | None = None,
    background: Table | None = None,
    classes_output: str | None = None,
    supersets: int = MOST_BOXES,
    attacks: bool = True,
    special_uniques: int | None = None,
    combinations: int = MOST_COMBINATIONS,
    population: Table | None = None,
    earlier: Sequence[Table] = (),
) -> AuditResult:
    """The audit of a table.

    hierarchies: by column; by default read from the question's files.
    reference: the table whose distribution classes are compared with; the domain is the union of both.
    background: people that an adversary knows, by their raw quasi-identifiers.
    classes_output: the path to write the class table to, as Delta.
    supersets: how many boxes of labels the (n, t)-closeness search examines.
    attacks: whether to measure attacks, and the tuples of several attributes.
    special_uniques: the largest minimal sample unique to search for; None to search for none.
    combinations: how many combinations of quasi-identifiers that search examines.
    population: a row for each person of the population, if the question says that a table is it.
    earlier: earlier releases of the same people, oldest first, to judge together with the table.

    Raises:
        ConfigurationError: if options contradict one another.
        InputError: naming the column and what is wrong with it.
    """
    _check_options(question, reference, background, classes_output)
    if earlier and question.person is None and question.aggregates:
        raise ConfigurationError(
            "--earlier: with method.representative, labels do not show whom they cover; give --person COLUMN, which "
            "all tables have"
        )
    if earlier and question.joint:
        raise ConfigurationError("--joint and --earlier: several releases are not judged by tuples; leave out one")
    _check_special_uniques(question, special_uniques)
    former = prepare_earlier(question, earlier, table)
    inputs = prepare_inputs(question, table, reference, background, population)
    trees = hierarchies_of(inputs.question, session_of(table), hierarchies)
    question = inputs.question
    with ExitStack() as stack:
        stack.enter_context(sized_shuffles(session_of(table), max([inputs.rows, *(one.rows for one in former)])))
        names = list(question.sensitive_attributes)
        of_people = None if question.person is None else inputs.table
        whose = stack.enter_context(released_people(of_people, question.labels, names))
        tallied = tally_classes(inputs.table, question.labels, names) if whose is None else whose.tallied.classes
        tallies = stack.enter_context(keep(tallied))
        measures = _measures(inputs, tallies, trees, attacks)
        notes = [*measures.notes, *_missing_notes(question), *_count_notes(question, table)]
        required = None if whose is None else whose.judged(measures.judged, with_suppressed=False)
        more = [*measures.columns, *([] if required is None else [required])]
        classes = class_table(tallies, measures.quasi, measures.judged, more)
        classes = stack.enter_context(keep(classes))
        if question.n is not None:
            extended, search_notes = find_supersets(
                classes, tallies, measures.quasi, measures.attributes, question.n, supersets
            )
            classes = stack.enter_context(keep(extended))
            notes += search_notes
        if classes_output is not None:
            with private(classes_output):
                write_delta(classes, classes_output)
        tuples = [measures.tuples.criterion] if measures.tuples else []
        alike = _alike(classes, question, measures.quasi)
        strict = question.k if alike is None else None
        of_whole = measures.judged if question.n is None else without_t(measures.judged)
        figures = class_figures(classes, strict, measures.quasi, of_whole, more=tuples, people=required)
        notes += _tuple_notes(measures, inputs)
        notes += _unprotected_notes(question)
        if question.unjudged_person is not None:
            notes.append(
                "k, l and t are judged over rows only, although the run file counts people: a release has no column of "
                "them, and (n, t)-closeness and weights of a population are about rows"
            )
        joined = None
        if inputs.background is not None:
            joined, join_notes = _join(classes, tallies, inputs, measures, trees)
            notes += join_notes
        uniques = None
        if special_uniques is not None:
            uniques = find_special_uniques(tallies, inputs.question, special_uniques, combinations)
            notes += _uniques_notes(uniques, combinations)
        disjoint = _are_disjoint(classes, figures.classes, inputs, measures)
        risks = _risks(classes, inputs, measures, trees, disjoint)
        notes += _presence_notes(risks)
        revealed = _together(former, inputs, tallies, measures, trees, required)
        notes += _together_notes(former, revealed, question)
        suite = suite_of(question, strict, measures.judged)
        return AuditResult(
            question=question,
            figures=figures,
            guarantees=_with_alike(_guarantees(classes, figures, question, measures.attributes), alike),
            attacks=tuple(measure_attacks(classes, measures.attacks, measures.known, figures.rows)),
            background=joined,
            risks=risks,
            notes=tuple(notes),
            expectations=tuple(suite),
            people=None if whose is None else whose.sizes,
            special_uniques=uniques,
            together=revealed,
        )


def suite_of(question: AuditQuestion, k: int | None, attributes: Sequence[JudgedAttribute]) -> list[Expectation]:
    """The expectations over the class table that state the requirements. k: that classes of equal labels must have."""
    if question.n is None:
        of_people = [] if question.person is None else expect_people(k, attributes)
        return [expect_some_rows(), *expectations_of(k, attributes), *of_people]
    reported = expectations_of(k, without_t(attributes))
    return [expect_some_rows(), *reported, *expect_supersets(attributes)]


def _check_options(
    question: AuditQuestion, reference: Table | None, background: Table | None, classes_output: str | None
) -> None:
    """Raises ConfigurationError or InputError if options contradict one another or the columns' names."""
    if question.n is not None and reference is not None:
        raise ConfigurationError(
            "--n and --reference: natural supersets are parts of the table, and the reference is another table; give "
            "one of the two"
        )
    if question.joint and reference is not None:
        raise ConfigurationError(
            "--joint and --reference: tuples are compared with those of the table itself; leave out one"
        )
    if question.person is not None and reference is not None:
        raise ConfigurationError(
            "--person and --reference: people are compared with the people of the table itself; give one of the two"
        )
    is_listed = question.population is not None and not question.population.is_estimated
    if question.aggregates and (background is not None or is_listed):
        option = "--population" if background is None else "--background"
        raise ConfigurationError(
            f"{option}: people are joined by labels that cover their values, but with method.representative the "
            "table has aggregates, which cover nobody; leave it out"
        )
    for column in (*question.labels, *question.sensitive_attributes) if classes_output is not None else ():
        if set(column) & set(" ,;{}()\n\t="):
            raise InputError(
                f"--classes-output: a Delta table cannot hold the column name {column!r}; rename it (no blanks or , ; "
                f"{{ }} ( ) =)"
            )


def _check_special_uniques(question: AuditQuestion, size: int | None) -> None:
    """Raises ConfigurationError if special uniques of this size cannot be searched for."""
    if size is not None and size < 1:
        raise ConfigurationError(f"--special-uniques: found {size}; expected at least 1 quasi-identifier")
    if size is not None and question.person is not None:
        raise ConfigurationError(
            "--special-uniques and --person: special uniques are rows, and a person with several rows may be unique by "
            "values that no row has alone; leave out one of the two"
        )


def _uniques_notes(found: SpecialUniques | None, combinations: int) -> list[str]:
    """A note if not all special uniques were searched for."""
    if found is None:
        return [f"special uniques are not measured: there are more than {MOST_CLASSES:,} classes"]
    if found.complete:
        return []
    return [
        f"special uniques of more than {found.searched} quasi-identifiers are not measured: there are more than "
        f"{combinations:,} combinations; --combinations examines more"
    ]


def _measures(inputs: AuditInputs, tallies: Table, trees: Mapping[str, Hierarchy], attacks: bool) -> AuditMeasures:
    """What to measure of every class, from the tallies of a table."""
    question, names = inputs.question, list(inputs.question.sensitive_attributes)
    quasi, label_notes = judge_labels(tallies, question, trees)
    counts, tuple_counts = count_values(tallies, names)
    attributes = judged_attributes(inputs.table, counts, question, trees, inputs.reference)
    several = len(attributes) > 1 and attacks
    notes = [
        *inputs.notes,
        *mixed_missing_notes(inputs.table, question),
        *label_notes,
        *_spelling_notes(names, counts),
        *[note for a, own in zip(attributes, counts, strict=True) for note in padded_order(a, own)],
    ]
    return AuditMeasures(
        quasi=quasi,
        attributes=attributes,
        judged=[*attributes, *joint_attributes(tuple_counts, attributes, question.joint)],
        attacks=[AttackColumns(a, question.gain, trees.get(a.name)) for a in attributes if attacks],
        known=KnownAttributeColumns(tuple(names)) if several else None,
        tuples=all_together(tuple_counts, attributes) if several and inputs.reference is None else None,
        notes=notes,
    )


def _guarantees(
    classes: Table, figures: ClassFigures, question: AuditQuestion, attributes: Sequence[JudgedAttribute]
) -> tuple[Guarantee, ...]:
    """The guarantees; with n, (n, t)-closeness is required, and t-closeness to the whole table only reported."""
    near = [] if question.n is None else near_supersets(classes, attributes, question.n)
    return (*figures.guarantees, *(each.guarantee for each in near), *figures.more)


def _alike(classes: Table, question: AuditQuestion, quasi: Sequence[JudgedQuasi]) -> Guarantee | None:
    """k with missing labels as any value, if the question is about it. k of people is of equal labels only."""
    if question.person is not None or not any(q.missing_any for q in quasi):
        return None
    return alike_guarantee(classes, quasi, question.k)


def _missing_notes(question: AuditQuestion) -> list[str]:
    """What is measured if missing quasi-identifiers could be any value."""
    if not any(q.missing == "any" for q in question.quasi_identifiers.values()):
        return []
    if question.person is not None:
        return ["missing: any is in the joins with lists of people only; k, l and t are of classes with equal labels"]
    return ["missing: any is in k and in the joins with lists of people; l and t are of classes with equal labels"]


def _count_notes(question: AuditQuestion, table: Table) -> list[str]:
    """A note on a column that says how many rows a row stands for, as in the tables of an anatomy."""
    used = {*question.labels, *question.sensitive_attributes}
    if COUNT in used or COUNT not in schema_of(table).names:
        return []
    return [f"the column {COUNT} is not read: each row of the table is one row, also if it stands for several"]


def _with_alike(guarantees: tuple[Guarantee, ...], alike: Guarantee | None) -> tuple[Guarantee, ...]:
    """The guarantees with that one after k."""
    return guarantees if alike is None else (guarantees[0], alike, *guarantees[1:])


def _join(
    classes: Table,
    tallies: Table,
    inputs: AuditInputs,
    measures: AuditMeasures,
    trees: Mapping[str, Hierarchy],
) -> tuple[BackgroundJoin, list[str]]:
    """(the join with the background table and, if attacks are measured, the minimality attack; notes)."""
    question, background = inputs.question, inputs.background
    assert background is not None
    joined = join_background(
        classes, background, measures.quasi, trees, None if question.person is None else inputs.table
    )
    if not measures.attacks:
        return joined, []
    guesses = guess_people(
        tallies, question.labels, background, measures.quasi, trees, measures.attributes, question.gain
    )
    skipped = (
        "the minimality attack is not measured: too many classes, labels that are sets of values, or missing values "
        "that could be any"
    )
    return replace(joined, guesses=guesses), [skipped] if len(guesses) < len(measures.attributes) else []


def _are_disjoint(classes: Table, number: int, inputs: AuditInputs, measures: AuditMeasures) -> bool:
    """Whether each person of a listed population fits one class at most, if that is to be known."""
    population = inputs.question.population
    if population is None or population.is_estimated or number > MOST_COMPARED:
        return False
    return not any(q.missing_any for q in measures.quasi) and are_disjoint(classes, measures.quasi)


def _presence_notes(risks: PopulationRisks | None) -> list[str]:
    """A note if the population is listed and delta-presence is not measured."""
    population = None if risks is None else risks.population
    if risks is None or population is None or population.is_estimated or risks.presence is not None:
        return []
    return [
        "delta-presence is not measured: a person may fit several classes, because their regions overlap, a missing "
        f"value could be any, or there are more than {MOST_COMPARED:,} classes"
    ]


def _risks(
    classes: Table, inputs: AuditInputs, measures: AuditMeasures, trees: Mapping[str, Hierarchy], disjoint: bool
) -> PopulationRisks | None:
    """The risks of re-identification if the question is about them."""
    question = inputs.question
    if question.population is None and question.threshold is None:
        return None
    counted = "size" if question.person is None else "people"
    population, at_risk = question.population, question.at_risk
    return measure_risks(
        classes,
        counted,
        population,
        at_risk,
        measures.quasi,
        trees,
        table=inputs.table,
        listed=inputs.population,
        disjoint=disjoint,
    )


def _together(
    earlier: Sequence[EarlierTable],
    inputs: AuditInputs,
    tallies: Table,
    measures: AuditMeasures,
    trees: Mapping[str, Hierarchy],
    people: JudgedPeople | None,
) -> CellFigures | Intersection | Differences | None:
    """What the releases reveal together: exactly if people are counted, otherwise by their labels, with the people of
    the background table if there is one. None without earlier releases.
    """
    question, attributes = inputs.question, measures.attributes
    if not earlier:
        return None
    if people is not None:
        latest = PeopleOfRelease(
            name=LATEST, rows=inputs.table, labels=question.labels, attributes=attributes, people=people
        )
        return judge_together(latest, earlier, trees, question.k)
    by_labels = LabelledRelease(name=LATEST, quasi=measures.quasi, labels=question.labels, tallies=tallies)
    with labelled_releases(by_labels, earlier, trees) as releases:
        if inputs.background is not None:
            return intersect_releases(releases, inputs.background, trees, attributes, question.k)
        return find_differences(releases, trees, list(question.sensitive_attributes), question.k)


def _together_notes(
    earlier: Sequence[EarlierTable],
    revealed: CellFigures | Intersection | Differences | None,
    question: AuditQuestion,
) -> list[str]:
    """What is not measured of several releases."""
    notes = [note for one in earlier for note in one.notes]
    if isinstance(revealed, Intersection) and question.sensitive_attributes and not revealed.values:
        notes.append("the values left for listed people are not measured: there are too many classes and values")
    if isinstance(revealed, Differences):
        notes.append(
            "several releases are judged by their differences only: --person COLUMN, or --background TABLE with people "
            "who are in all of them, measures what they reveal of people"
        )
    return notes


def _tuple_notes(measures: AuditMeasures, inputs: AuditInputs) -> list[str]:
    """A note if the closeness of tuples is not measured."""
    if measures.known is None or measures.tuples is not None:
        return []
    if inputs.reference is not None:
        return ["t-closeness of tuples of all sensitive attributes is not measured with a reference"]
    return ["t-closeness of tuples of all sensitive attributes is not measured: there are too many tuples"]


def _unprotected_notes(question: AuditQuestion) -> list[str]:
    """A note on each sensitive attribute that the verdict does not cover."""
    settings, together = question.sensitive_attributes, covered(question.joint)
    if question.k is None and not together and not any(own.limited for own in settings.values()):
        return []
    return [
        f"the verdict does not cover {name}: neither t, l nor beta is required of it"
        for name, own in settings.items()
        if not own.limited and name not in together
    ]


def _spelling_notes(names: Sequence[str], counts: Sequence[Counts]) -> list[str]:
    """A note on each sensitive attribute that has a value in several spellings."""
    spellings = {name: count_spellings(values) for name, values in zip(names, counts, strict=True)}
    return [
        f"{name}: {many} of its values differ from another only by case, spaces, width or Unicode form; they count as "
        "different values in l and in every distance"
        for name, many in spellings.items()
        if many
    ]
