"""Several releases of the same people: what they reveal together of people who are known in each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from tclose_spark.auditing.attacks.intersection_attack import LabelledRelease
from tclose_spark.auditing.inputs import EarlierTable, judged_attributes
from tclose_spark.auditing.labels import judge_labels
from tclose_spark.checks.classes.cells import CellFigures, PeopleOfRelease, judge_cells
from tclose_spark.checks.classes.tallies import count_values, tally_classes
from tclose_spark.checks.released_people import released_people
from tclose_spark.engine.tables import keep
from tclose_spark.errors import InputError
from tclose_spark.table.hierarchies.hierarchy import Hierarchy


def judge_together(
    latest: PeopleOfRelease, earlier: Sequence[EarlierTable], trees: Mapping[str, Hierarchy], k: int | None
) -> CellFigures:
    """The cells of the latest table and earlier ones.

    Raises:
        InputError: if a table has nobody in common with the others; or if sensitive values have no place in a domain.
    """
    releases = [*(_people_of(one, trees) for one in earlier), latest]
    figures = judge_cells(releases, k)
    for place, one in enumerate(releases):
        if not any(present[place] and sum(present) > 1 for present in figures.present):
            raise InputError(
                f"--earlier: nobody of {one.name} is in another table; expected tables of the same people, who are "
                "written alike (internal/people: releases with the same secret)"
            )
    return figures


def _people_of(earlier: EarlierTable, trees: Mapping[str, Hierarchy]) -> PeopleOfRelease:
    """An earlier release with its own distributions."""
    question, names = earlier.question, list(earlier.question.sensitive_attributes)
    with released_people(earlier.table, question.labels, names) as whose:
        assert whose is not None
        counts, _ = count_values(whose.tallied.classes, names)
        try:
            attributes = judged_attributes(earlier.table, counts, question, trees, None)
        except InputError as error:
            raise InputError(f"{earlier.name}: {error}") from None
        people = whose.judged(attributes, with_suppressed=False)
    return PeopleOfRelease(
        name=earlier.name, rows=earlier.table, labels=question.labels, attributes=attributes, people=people
    )


@contextmanager
def labelled_releases(
    latest: LabelledRelease, earlier: Sequence[EarlierTable], trees: Mapping[str, Hierarchy]
) -> Iterator[list[LabelledRelease]]:
    """Earlier releases by their labels, and the latest one."""
    with ExitStack() as stack:
        releases = []
        for one in earlier:
            question, names = one.question, list(one.question.sensitive_attributes)
            tallies = stack.enter_context(keep(tally_classes(one.table, question.labels, names)))
            try:
                quasi, _ = judge_labels(tallies, question, trees)
            except InputError as error:
                raise InputError(f"{one.name}: {error}") from None
            releases.append(LabelledRelease(name=one.name, quasi=quasi, labels=question.labels, tallies=tallies))
        yield [*releases, latest]
