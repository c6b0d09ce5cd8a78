"""Several releases of the same people: what they reveal together of people who are known in each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import pyarrow as pa

from tclose_spark.auditing.attacks.intersection_attack import LabelledRelease
from tclose_spark.auditing.inputs import judged_attributes, prepare_table, with_bounds
from tclose_spark.auditing.labels import judge_labels
from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.checks.classes.cells import CellFigures, PeopleOfRelease, judge_cells
from tclose_spark.checks.classes.tallies import count_values, tally_classes
from tclose_spark.checks.released_people import released_people
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import keep, schema_of
from tclose_spark.errors import InputError
from tclose_spark.table.columns.spark_types import type_name
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

LATEST = "the table"
"""The name of the audited table, which is the latest."""


@dataclass(frozen=True, kw_only=True)
class EarlierTable:
    """An earlier release, as `prepare_table` makes it.

    name: how figures and errors name it. question: about the quasi-identifiers that it has. rows: their number.
    lacking: the others.
    """

    name: str
    question: AuditQuestion
    table: Table
    rows: int
    lacking: tuple[str, ...]

    @property
    def notes(self) -> list[str]:
        """A note if it lacks quasi-identifiers."""
        if not self.lacking:
            return []
        return [f"{self.name} has no {', '.join(self.lacking)}: its classes are by the other quasi-identifiers"]


def prepare_earlier(question: AuditQuestion, tables: Sequence[Table], latest: Table) -> list[EarlierTable]:
    """Earlier releases, oldest first. question: before bounds are paired. latest: the table as it was opened.

    Raises:
        InputError: if one has none of the quasi-identifiers, or persons of another type than the latest; and see
        `prepare_table`.
    """
    found = []
    for place, table in enumerate(tables, start=1):
        name = f"earlier {place}"
        own, lacking = _own_question(question, table)
        prepared, rows = prepare_table(own, table, name)
        for column in question.persons:
            fields = [schema_of(one).field(column) for one in (table, latest)]
            if fields[0].type != fields[1].type and not all(pa.types.is_integer(field.type) for field in fields):
                types = " and ".join(map(type_name, fields))
                raise InputError(f"person {column!r} is {types} in {name} and in {LATEST}; expected the same type")
        found.append(EarlierTable(name=name, question=own, table=prepared, rows=rows, lacking=lacking))
    return found


def _own_question(question: AuditQuestion, table: Table) -> tuple[AuditQuestion, tuple[str, ...]]:
    """(the question about the quasi-identifiers that a table has, the names of the others)."""
    names = schema_of(table).names
    intervals = {
        name: q.model_copy(update={"numeric_output": "interval"}) if name in names else q
        for name, q in question.quasi_identifiers.items()
    }
    own, _ = with_bounds(table, question.model_copy(update={"quasi_identifiers": intervals, "population": None}))
    lacking = tuple(name for name, columns in own.columns.items() if not set(columns) <= set(names))
    if len(lacking) == len(own.columns):
        return own, ()  # which `prepare_table` refuses
    kept = {name: q for name, q in own.quasi_identifiers.items() if name not in lacking}
    return own.model_copy(update={"quasi_identifiers": kept}), lacking


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
