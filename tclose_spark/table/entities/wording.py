"""Notes on whom rows are about, for releases and audits. No note has a value of the table."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from tclose_spark.runfile.text import first_few
from tclose_spark.table.entities.finding import Entity, Subjects, UnnamedPersons
from tclose_spark.table.entities.grouping import CountedCells

UNPUBLISHED = "a column that is not published"
COUNTED = "rows are counted"
"""How the notes on persons begin."""
DIGITS = 2  # of a number that a note has


@dataclass(frozen=True, kw_only=True)
class Remedies:
    """What a reader of a note can do, as keys of the run file, or as options.

    person: counts people. alone: states that each row is a person. household: counts households.
    """

    person: str = "attributes.person"
    alone: str = "attributes.rows_are_persons: true"
    household: str = "attributes.household"


@dataclass(frozen=True, kw_only=True)
class SubjectsWords:
    """The notes on whom the rows of a table are about.

    remedies: None if a reader cannot change how rows are counted, as one of a published file.
    named: the columns that a note may name; None for all.
    """

    remedies: Remedies | None = Remedies()
    named: Collection[str] | None = None

    def notes(self, subjects: Subjects, household_known: bool = False) -> Iterator[str]:
        """The notes on a table of counts, and on the likeliest person and household.

        household_known: whether households are counted.
        """
        if subjects.cells is not None:
            yield self._on_cells(subjects.cells)
        person = subjects.first("person")
        household = subjects.first("household")
        if person is not None:
            yield self.on_person(person)
        elif subjects.unnamed is not None:
            yield self._on_unnamed(subjects.unnamed)
        if household is not None and not household_known:
            yield self._on_household(household)

    def on_person(self, found: Entity) -> str:
        """The note on a column that groups rows like persons."""
        groups = "group" if len(found.columns) > 1 else "groups"
        return (
            f"{COUNTED}, and {self._columns(found)} {groups} them: {self._figures(found)}; "
            f"{self._consequence()}"
        )

    def _on_cells(self, found: CountedCells) -> str:
        count = repr(found.count) if self._may_name(found.count) else UNPUBLISHED
        return (
            f"rows look like cells of a table of counts ({count} counts, and each combination of "
            f"{self._listed(found.dimensions)} occurs once); then k counts cells, not people"
        )

    def _on_household(self, found: Entity) -> str:
        note = (
            f"{self._columns(found)} groups rows like the members of households: "
            f"{self._figures(found)}"
        )
        remedies = self.remedies
        return (
            note
            if remedies is None
            else f"{note}; if they are households, {remedies.household} measures their risk"
        )

    def _on_unnamed(self, found: UnnamedPersons) -> str:
        return (
            f"{COUNTED}, and about {rounded(found.groups)} groups of {rounded(found.rows_each)} "
            f"rows look like one person each by {self._listed(found.columns)}; "
            f"{self._consequence()}"
        )

    def _consequence(self) -> str:
        told = "so k counts rows, not people"
        if self.remedies is None:
            return told
        return (
            f"{told}; if these are persons, use {self.remedies.person}; if each row is a person, "
            f"{self.remedies.alone}"
        )

    def _figures(self, found: Entity) -> str:
        constant = (
            f", within which {self._listed(found.constant)} are constant" if found.constant else ""
        )
        return (
            f"about {rounded(found.values)} values with {rounded(found.rows_each)} rows "
            f"each{constant}"
        )

    def _columns(self, found: Entity) -> str:
        shown = [repr(name) if self._may_name(name) else UNPUBLISHED for name in found.columns]
        return " and ".join(shown)

    def _listed(self, columns: Sequence[str]) -> str:
        named = [name for name in columns if self._may_name(name)]
        others = len(columns) - len(named)
        unnamed = {0: "", 1: UNPUBLISHED}.get(others, f"{others} columns that are not published")
        return " and ".join(part for part in (first_few(named), unnamed) if part)

    def _may_name(self, column: str) -> bool:
        return self.named is None or column in self.named


def rounded(number: float) -> str:
    """About this number, for a note.

    >>> rounded(595), rounded(304_767), rounded(3.42), rounded(10.0)
    ('600', '300,000', '3.4', '10')
    """
    about = float(f"{number:.{DIGITS}g}")
    return f"{about:,.0f}" if about >= 10 or about == round(about) else f"{about:g}"
