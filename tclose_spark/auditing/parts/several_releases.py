"""What a table reveals together with earlier releases of the same people, who are known in each of
them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from rich.table import Table
from rich.text import Text

from tclose_spark.auditing.attacks.differences import Differences, find_differences
from tclose_spark.auditing.attacks.intersection_attack import (
    Intersection,
    LabelledRelease,
    intersect_releases,
)
from tclose_spark.auditing.inputs import LATEST, EarlierTable, judged_attributes
from tclose_spark.auditing.labels import judge_labels
from tclose_spark.auditing.parts.audited import AuditedTable
from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.auditing.result import AuditResult, Together
from tclose_spark.auditing.tables import AuditTables
from tclose_spark.auditing.texts import guarantee_lines, table_lines
from tclose_spark.checks.classes.cells import CellFigures, PeopleOfRelease, judge_cells
from tclose_spark.checks.classes.tallies import count_values, tally_classes
from tclose_spark.checks.written import released_people
from tclose_spark.engine.tables import keep
from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.table.hierarchies.hierarchy import Hierarchy


def check_releases(question: AuditQuestion, tables: AuditTables) -> None:
    """Raises ConfigurationError if several releases cannot be judged as the question says."""
    if tables.earlier and not question.persons and question.aggregates:
        raise ConfigurationError(
            "--earlier: with method.representative, labels do not show whom they cover; give "
            "--person COLUMN, which all tables have",
        )
    if tables.earlier and question.joint:
        raise ConfigurationError(
            "--joint and --earlier: several releases are not judged by tuples; leave out one",
        )


def add_releases(table: AuditedTable, result: AuditResult) -> AuditResult:
    """The result with the figures of all releases together, if there are earlier ones."""
    if not table.inputs.earlier:
        return result
    found = _together(table)
    notes = [note for one in table.inputs.earlier for note in one.notes]
    return replace(
        result,
        together=found,
        notes=(*result.notes, *notes, *_notes(found, table.question)),
    )


def _together(table: AuditedTable) -> Together:
    """Exactly if people are counted, otherwise by their labels, with the people of the background
    table if there is one.
    """
    question = table.question
    inputs = table.inputs
    trees = table.trees
    attributes = table.attributes
    if table.units:
        (people,) = table.units
        latest = PeopleOfRelease(
            name=LATEST,
            rows=inputs.table,
            labels=question.labels,
            attributes=attributes,
            people=people,
        )
        return judge_together(latest, inputs.earlier, trees, question.k)
    with labelled_releases(table.labelled, inputs.earlier, trees) as releases:
        if inputs.background is not None:
            return intersect_releases(releases, inputs.background, trees, attributes, question.k)
        return find_differences(releases, trees, list(question.sensitive_attributes), question.k)


def _notes(found: Together, question: AuditQuestion) -> list[str]:
    """What is not measured of several releases."""
    if isinstance(found, Intersection) and question.sensitive_attributes and not found.values:
        return [
            "the values left for listed people are not measured: there are too many classes and "
            "values",
        ]
    if isinstance(found, Differences):
        return [
            "several releases are judged by their differences only: --person COLUMN, or "
            "--background TABLE with people who are in all of them, measures what they reveal of "
            "people",
        ]
    return []


def judge_together(
    latest: PeopleOfRelease,
    earlier: Sequence[EarlierTable],
    trees: Mapping[str, Hierarchy],
    k: int | None,
) -> CellFigures:
    """The cells of the latest table and earlier ones.

    Raises:
        InputError: if a table has nobody in common with the others; or if sensitive values have no
            place in a domain.
    """
    releases = [*(_people_of(one, trees) for one in earlier), latest]
    figures = judge_cells(releases, k)
    for place, one in enumerate(releases):
        if not any(present[place] and sum(present) > 1 for present in figures.present):
            raise InputError(
                f"--earlier: nobody of {one.name} is in another table; expected tables of the same "
                "people, who are written alike (internal/people: releases with the same secret)",
            )
    return figures


def _people_of(earlier: EarlierTable, trees: Mapping[str, Hierarchy]) -> PeopleOfRelease:
    """An earlier release with its own distributions."""
    question = earlier.question
    names = list(earlier.question.sensitive_attributes)
    with released_people(earlier.table, question.labels, names) as whose:
        assert whose is not None
        counts, _ = count_values(whose.tallied.classes, names)
        try:
            attributes = judged_attributes(earlier.table, counts, question, trees, None)
        except InputError as error:
            raise InputError(f"{earlier.name}: {error}") from None
        people = whose.judged(attributes, with_suppressed=False)
    return PeopleOfRelease(
        name=earlier.name,
        rows=earlier.table,
        labels=question.labels,
        attributes=attributes,
        people=people,
    )


@contextmanager
def labelled_releases(
    latest: LabelledRelease,
    earlier: Sequence[EarlierTable],
    trees: Mapping[str, Hierarchy],
) -> Iterator[list[LabelledRelease]]:
    """Earlier releases by their labels, and the latest one."""
    with ExitStack() as stack:
        releases = []
        for one in earlier:
            question = one.question
            names = list(one.question.sensitive_attributes)
            tallies = stack.enter_context(keep(tally_classes(one.table, question.labels, names)))
            try:
                quasi, _ = judge_labels(tallies, question, trees)
            except InputError as error:
                raise InputError(f"{one.name}: {error}") from None
            releases.append(
                LabelledRelease(
                    name=one.name,
                    quasi=quasi,
                    labels=question.labels,
                    tallies=tallies,
                ),
            )
        yield [*releases, latest]


def releases_lines(found: Together) -> Iterator[Table | Text]:
    """The guarantees of several releases together, and below them their worst cells, and whose they
    are.
    """
    one = "cell" if isinstance(found, CellFigures) else "group"
    if found.guarantees:
        title = f"Several releases together ({one}s and people: that violate it)"
        yield from guarantee_lines(found.guarantees, title, (one, f"{one}s", "people"))
    else:
        yield Text("Several releases together", "bold")
    yield from map(Text, together_lines(found))
    if isinstance(found, Intersection) and found.values:
        title = (
            "Values that all releases leave (people with one value, and with none; the largest "
            "belief)"
        )
        yield from table_lines(
            title,
            ["attribute", "one value", "none", "belief"],
            values_left(found),
        )


def together_lines(found: Together) -> Iterator[str]:
    """What several releases reveal together, in sentences."""
    if isinstance(found, CellFigures):
        held = ", ".join(f"{n:,} in {release}" for release, n in found.by_release.items())
        yield (
            f"{found.people:,} people ({held}): {found.stayed:,} stayed, {found.arrived:,} "
            f"arrived, {found.left:,} left; they are in {found.cells:,} cells, and {found.alone:,} "
            "of them are alone in theirs"
        )
    elif isinstance(found, Intersection):
        yield (
            f"{found.people - found.outside:,} of {found.people:,} listed people fit a class of "
            f"every release, by {', '.join(found.joined)}; they fit {found.combinations:,} "
            f"combinations of classes, and {found.alone:,} of them are alone in theirs"
        )
    elif isinstance(found, Differences):
        yield (
            f"by {', '.join(found.joined)}, classes form {found.groups:,} groups that do not "
            "overlap"
        )
        for one in found.found:
            yield (
                f"{one.attribute}: {' and '.join(one.releases)} expose the values of those who "
                f"came or left (people: {one.people:,}, groups: {one.groups:,})"
            )


def values_left(found: Intersection) -> list[list[str]]:
    """A row for each sensitive attribute: its name, people with one value and with none, the
    largest belief.
    """
    return [
        [
            a.attribute,
            f"{a.certain:,}",
            f"{a.contradicted:,}",
            "" if a.belief is None else f"{a.belief:.3f}",
        ]
        for a in found.values
    ]
