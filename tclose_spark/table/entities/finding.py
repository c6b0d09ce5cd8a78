"""Whom rows are about: the columns that group rows like persons and households, and signs of
persons without a key.

Agreement within the values of a column shows that it groups rows. The names of the columns that
agree show what the groups are: sex and education are those of a person, a place is that of a
household, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tclose_spark.table.arrays import IntArray, tuple_codes
from tclose_spark.table.column_names.hints import Hint
from tclose_spark.table.entities.grouping import (
    CountedCells,
    Grouping,
    SampledValues,
    agreement_by_chance,
    counted_cells,
)
from tclose_spark.table.entities.whole_values import MISSING, WholeValues

INDIVIDUAL = frozenset(["sex", "age", "education", "marital status", "what is seen"])
"""Concepts of columns that are constant within a person, and not within a household."""
CHANGING = frozenset(["age", "marital status"])
"""Concepts of these that may change over time."""
SHARED = frozenset(["place", "household", "ethnicity", "origin", "household number"])
"""Concepts of columns that are constant within a household."""
LASTING = frozenset(["sex", "ethnicity", "origin", "education", "place"])
"""Concepts of columns that hardly change over time."""
SEX = frozenset(["sex"])
DEFINED = frozenset(["age", "place"])
"""Concepts whose values are the same for many people, unless their name says number or key."""
NAME = "person's name"
"""A concept of columns that show the sex, though several persons may have the same value."""
VARYING = 0.5  # lift below which a column varies within groups
MOST_MEMBERS = 8  # of a household on average; more are those of a class, a firm or a place
FEWEST_CONSTANT = 2  # columns constant within a person, unless one shows a person by its name
MOST_HOUSEHOLDS = 3  # columns whose members may be numbered by another one
MOST_SITES = 12  # likewise, of those that do not group rows by themselves
FILLED = 0.5  # of all ages and sexes together, from which a column with a value for each follows
UNIQUE = 0.999  # distinct values a row of an identifier of rows

FEWEST_GROUPS = 20  # of rows that look like one person each
MOST_WAVES = 60  # values of a column of times
# Of the expected differences between times, below which the same persons are observed.
TOO_EQUAL = 0.25
FEWEST_FREE = 20  # degrees of freedom from which differences between times are judged
TOO_OFTEN = 10  # times as many equal rows as by chance
MOSTLY = 0.5  # share of rows in groups, from which combinations recur
FEWEST_COUNTS = 3  # different values of a column that counts

Kind = Literal["person", "household"]


@dataclass(frozen=True, kw_only=True)
class Entity:
    """A column that groups the rows of a person or a household.

    columns: its name; or two names, which group the rows together.
    values, rows_each: about.
    constant: the columns that are constant within its values.
    same: other columns with the same groups.
    """

    columns: tuple[str, ...]
    kind: Kind
    values: int
    rows_each: float
    constant: tuple[str, ...]
    same: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class UnnamedPersons:
    """Rows that look like the rows of persons whose identifier is not in the table.

    groups: about how many persons. rows_each: of a person, about. columns: those that show it.
    """

    groups: int
    rows_each: float
    columns: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Subjects:
    """Whom the rows of a table are about.

    entities: persons first, the likeliest of each kind first.
    unnamed: only if no entity is a person.
    refuted: columns within whose values people differ, so that they identify no person.
    cells: what shows that rows are cells of a table of counts.
    """

    entities: tuple[Entity, ...] = ()
    unnamed: UnnamedPersons | None = None
    refuted: tuple[str, ...] = ()
    cells: CountedCells | None = None

    @property
    def pairs(self) -> tuple[Entity, ...]:
        """The entities that two columns group together."""
        return tuple(one for one in self.entities if len(one.columns) > 1)

    def of(self, column: str) -> Entity | None:
        """The entity that a column groups by itself; None if it groups none."""
        return next((one for one in self.entities if one.columns == (column,)), None)

    def with_other(self, column: str) -> Entity | None:
        """The entity that a column groups together with another one; None if it groups none."""
        return next((one for one in self.pairs if column in one.columns), None)

    def first(self, kind: Kind) -> Entity | None:
        """The likeliest entity of a kind."""
        return next((one for one in self.entities if one.kind == kind), None)


NO_SUBJECTS = Subjects()


def find_subjects(sample: WholeValues, names: Sequence[str], hints: Sequence[Hint]) -> Subjects:
    """Whom the rows of a table are about.

    sample: of the whole table. names, hints: of its columns, in the order of the sample.
    """
    values = SampledValues.of(sample.reduced().ordered())
    table = _Table(values=values, names=names, hints=hints)
    compared = list(values.groupings())
    found = [one for one in compared if one.constant]
    persons = [one for one in found if table.is_person(one)] or list(table.numbered_members(found))
    households = [
        one
        for one in found
        if one not in persons
        and (table.is_household(one) or any(table.has_members(one, pair) for pair in persons))
    ]
    entities = [
        *(table.entity(one, "person") for one in sorted(persons, key=table.likeliest)),
        *(table.entity(one, "household") for one in sorted(households, key=table.likeliest)),
    ]
    return Subjects(
        entities=tuple(entities),
        unnamed=None if persons else table.unnamed(),
        refuted=tuple(
            names[one.columns[0]]
            for one in compared
            if one not in persons and table.is_refuted(one)
        ),
        cells=table.cells(),
    )


@dataclass(frozen=True, kw_only=True)
class _Table:
    """A table's sample, with the names of its columns and what they suggest."""

    values: SampledValues
    names: Sequence[str]
    hints: Sequence[Hint]

    def is_person(self, found: Grouping) -> bool:
        """Whether a column groups rows like the identifier of a person.

        Where the table has the sex, it is constant within persons. So is another individual column,
        or the column is called a number. Of tables without individual columns that last, several
        constant columns show it. There the column is called a number, or individual columns may
        change and no time recurs for a person.
        """
        if self._is_contradicted(found) or self._follows_from_sex_or_age(found):
            return False
        every = range(len(self.names))
        individual = self._of(INDIVIDUAL, found.constant)
        several = self._has_several_constant(found)
        if individual:
            return several or bool(self._of(SEX, individual))
        if self._of(INDIVIDUAL - CHANGING, every):
            return False
        if self._of(CHANGING, every):
            return several and self._is_followed(found)
        return several and self._are_numbered(found)

    def _is_contradicted(self, found: Grouping) -> bool:
        """Whether the names show that a column is no identifier of a person, or its rows do: they
        differ in their sex, or a row has a number of its own while the age varies.
        """
        sexes = self._of(SEX, self._compared(found))
        if sexes and not self._of(SEX, found.constant):
            return True
        if self._age_varies(found) and self._has_row_numbers(found):
            return True
        described = [place for place in found.columns if self._is_described(place)]
        if described and not sexes:
            return True
        if any(self._concept(place) in DEFINED for place in described):
            return True
        if any(self._is_weight(place) or self.hints[place].of_group for place in found.columns):
            return True
        return NAME in map(self._concept, found.columns) and not self._has_several_constant(found)

    def _has_several_constant(self, found: Grouping) -> bool:
        """Whether several columns are constant within the values, or the only one compared is."""
        return len(found.constant) >= min(FEWEST_CONSTANT, len(found.agreements))

    def _are_numbered(self, found: Grouping) -> bool:
        """Whether the name of a column says that it numbers persons."""
        return any(self._numbers_persons(place) for place in found.columns)

    def _follows_from_sex_or_age(self, found: Grouping) -> bool:
        """Whether a column may follow from the sex or the age, as a title or a premium does, so
        that what is constant within its values shows no person.

        Only the sex is constant within a title, and the age varies. A premium has one value for
        each age and sex, and they fill their table.
        """
        either = SEX | {"age"}
        if len(self._of(either, found.constant)) < len(found.constant):
            return False
        known = self._of(either, (*found.constant, *found.spellings))
        if not self._of(frozenset(["age"]), known):
            return self._age_varies(found) and not self._are_numbered(found)
        codes = [self.values.columns[place] - MISSING for place in known]
        cells = len(np.unique(tuple_codes(codes)))
        largest = math.prod(self.values.distinct(place) for place in known)
        return FILLED * largest <= found.values <= cells

    def is_refuted(self, found: Grouping) -> bool:
        """Whether people differ within the values of a column: in their sex, or in all that is
        individual and lasts.
        """
        if self._of(SEX, self._compared(found)):
            return not self._of(SEX, found.constant) or (
                self._age_varies(found) and self._has_row_numbers(found)
            )
        lasting = self._of(INDIVIDUAL - CHANGING, self._compared(found))
        return bool(lasting) and not self._of(INDIVIDUAL, found.constant)

    def is_household(self, found: Grouping) -> bool:
        """Whether a column groups rows like the identifier of a household."""
        return self._is_shared(found) and found.rows_each <= MOST_MEMBERS

    def has_members(self, found: Grouping, pair: Grouping) -> bool:
        """Whether a column groups the rows of few persons, whom it identifies with their number."""
        is_first = len(pair.columns) > 1 and pair.columns[0] == found.columns[0]
        few = found.rows_each <= MOST_MEMBERS * pair.rows_each
        return is_first and few and self._is_shared(found)

    def _is_shared(self, found: Grouping) -> bool:
        """Whether what members of a household share is constant within the values of a column, and
        what is individual varies.
        """
        compared = self._of(INDIVIDUAL, self._compared(found))
        varying = [place for place in compared if (found.lift(place) or 0.0) < VARYING]
        shared = self._of(SHARED, found.constant)
        return (
            not any(map(self._is_described, found.columns))
            and bool(shared)
            and 0 < len(compared) == len(varying)
        )

    def entity(self, found: Grouping, kind: Kind) -> Entity:
        """The entity of a grouping column."""
        return Entity(
            columns=tuple(self.names[place] for place in found.columns),
            kind=kind,
            values=found.values_of_table,
            rows_each=found.rows_each,
            constant=tuple(self.names[place] for place in found.constant),
            same=tuple(self.names[place] for place in found.spellings),
        )

    def likeliest(self, found: Grouping) -> tuple[bool, int, bool, int]:
        """A sort key: identifiers of other people last; most constant columns first, then numbers,
        then the order of the table.
        """
        first = found.columns[0]
        hint = self.hints[first]
        return hint.of_others, -len(found.constant), not hint.numbers, first

    def numbered_members(self, found: Sequence[Grouping]) -> Iterator[Grouping]:
        """The pairs of a household, a site or a block and the number of its member that group rows
        like the identifier of a person.
        """
        unknown = [place for place in range(len(self.names)) if self._is_unknown(place)]
        shared = [one for one in found if self._is_shared(one)]
        households = [one.columns[0] for one in sorted(shared, key=self.likeliest)]
        sites = [
            place
            for place in range(len(self.names))
            if place not in households
            and (place in unknown or self._concept(place) in SHARED)
            and not self.values.measured[place]
        ]
        for first in households[:MOST_HOUSEHOLDS]:
            pairs = self.values.pair_groupings(first, unknown)
            yield from (pair for pair in pairs if self.is_person(pair))
        for first in sites[:MOST_SITES]:
            larger = [
                place
                for place in unknown
                if self.values.distinct(place) > self.values.distinct(first)
            ]
            pairs = self.values.pair_groupings(first, larger)
            yield from (pair for pair in pairs if self.is_person(pair))

    def _is_unknown(self, place: int) -> bool:
        """Whether the name shows neither what a column describes nor that it is a time."""
        return self._concept(place) is None and not self.hints[place].technical

    def cells(self) -> CountedCells | None:
        """What shows that rows are cells of a table of counts; None if they are not."""
        named = [place for place, hint in enumerate(self.hints) if hint.counted]
        counts = [
            self.names[place] for place in named if self.values.distinct(place) >= FEWEST_COUNTS
        ]
        if not counts:
            return None
        others = {
            name: self.values.columns[place] - MISSING
            for place, name in enumerate(self.names)
            if place not in named and not self._is_direct(place) and not self.values.measured[place]
        }
        return counted_cells(counts, others)

    def _is_direct(self, place: int) -> bool:
        """Whether the name says that the column identifies people."""
        concept = self.hints[place].concept
        return concept is not None and concept.role == "direct"

    def unnamed(self) -> UnnamedPersons | None:
        """Rows that look like those of persons without an identifier; None if they do not, or the
        sample is no whole table.
        """
        if self.values.sample.level or not self.values.rows:
            return None
        return next(iter([*self._observed_again(), *self._recurring()]), None)

    def _observed_again(self) -> Iterator[UnnamedPersons]:
        """Persons who are observed at several times: columns that last have nearly the same values
        at all times.
        """
        lasting = self._of(LASTING, range(len(self.names)))
        for place, hint in enumerate(self.hints):
            time = self.values.columns[place]
            waves = np.bincount(time[time >= 0], minlength=1)
            if not _is_time(hint) or not 1 < len(waves) <= MOST_WAVES:
                continue
            judged = [
                _differences(time, self.values.columns[other])
                for other in lasting
                if other != place
            ]
            births = [
                _differences(time, self.values.columns[other])
                for other in self._of(frozenset(["age"]), range(len(self.names)))
            ]
            if any(map(_too_equal, [_added(judged), *births])):
                groups = int(waves.max())
                columns = tuple(
                    self.names[other] for other in (place, *lasting) if other in (place, *lasting)
                )
                yield UnnamedPersons(
                    groups=groups,
                    rows_each=float(waves.sum()) / groups,
                    columns=columns,
                )

    def _recurring(self) -> Iterator[UnnamedPersons]:
        """Persons whose birth, sex and place recur: their combinations are equal far more often
        than by chance.
        """
        places = self._finest_of_each(LASTING | {"age"})
        codes = [self.values.columns[place] for place in places]
        known = np.all([one >= 0 for one in codes], axis=0) if codes else np.zeros(0, dtype=bool)
        rows = int(np.count_nonzero(known))
        if len(codes) < 2 or rows < FEWEST_GROUPS:
            return
        chance = float(np.prod([agreement_by_chance(one[known]) for one in codes]))
        _, sizes = np.unique(np.stack(codes)[:, known], axis=1, return_counts=True)
        groups = sizes[sizes > 1]
        others = float((sizes * (sizes - 1)).sum() / rows)  # equal rows of a row
        if (
            len(groups) >= FEWEST_GROUPS
            and groups.sum() >= MOSTLY * rows
            and others > TOO_OFTEN * chance * rows
        ):
            yield UnnamedPersons(
                groups=len(sizes),
                rows_each=rows / len(sizes),
                columns=tuple(self.names[place] for place in places),
            )

    def _finest_of_each(self, concepts: frozenset[str]) -> list[int]:
        """Of each of these concepts the column with most values, so that none follows from
        another.
        """
        finest: dict[str | None, int] = {}
        for place in self._of(concepts, range(len(self.names))):
            concept = self._concept(place)
            if concept not in finest or self.values.distinct(place) > self.values.distinct(
                finest[concept],
            ):
                finest[concept] = place
        return list(finest.values())

    def _of(self, concepts: frozenset[str], places: Sequence[int] | range) -> list[int]:
        """The columns of these whose names have one of these concepts, of the person in the row."""
        return [
            place
            for place in places
            if self._concept(place) in concepts and not self.hints[place].of_others
        ]

    def _concept(self, place: int) -> str | None:
        concept = self.hints[place].concept
        return None if concept is None else concept.name

    def _numbers_persons(self, place: int) -> bool:
        """Whether the name is a word for people, or says number or key and not of a thing."""
        hint = self.hints[place]
        return hint.of_person or (hint.numbers and not (hint.of_thing and hint.concept is None))

    def _is_described(self, place: int) -> bool:
        """Whether the name says that the column describes people, or weighs rows, so that it is no
        key.
        """
        concept = self.hints[place].concept
        if concept is not None and concept.name in DEFINED:
            return not self.hints[place].numbers
        is_household = concept is not None and concept.name == "household"
        described = concept is not None and concept.role != "direct" and not is_household
        return self._is_weight(place) or described

    def _is_weight(self, place: int) -> bool:
        """Whether the name says that the column is a weight, of a body or of a row."""
        return self.hints[place].weight or self._concept(place) == "survey weight"

    def _compared(self, found: Grouping) -> list[int]:
        return [one.column for one in found.agreements]

    def _age_varies(self, found: Grouping) -> bool:
        """Whether an age varies within the values of a column."""
        ages = self._of(frozenset(["age"]), self._compared(found))
        return any((found.lift(place) or 0.0) < VARYING for place in ages)

    def _is_followed(self, found: Grouping) -> bool:
        """Whether a column of times has another value in each row of a group."""
        return any(one.within == 0 and _is_time(self.hints[one.column]) for one in found.agreements)

    def _has_row_numbers(self, found: Grouping) -> bool:
        """Whether another column is called the number of a person, and is different in each row."""
        return any(
            hint.numbers and place not in found.columns and self._differs_in_each_row(place)
            for place, hint in enumerate(self.hints)
        )

    def _differs_in_each_row(self, place: int) -> bool:
        return self.values.distinct(place) >= UNIQUE * self.values.rows


def _is_time(hint: Hint) -> bool:
    """Whether the name says when, and not of a birth."""
    return hint.technical or (hint.concept is not None and hint.concept.name == "event")


def _added(judged: Sequence[tuple[float, int]]) -> tuple[float, int]:
    """The sum of differences, and of their degrees of freedom."""
    return sum(found for found, _ in judged), sum(free for _, free in judged)


def _too_equal(judged: tuple[float, int]) -> bool:
    """Whether values differ less between times than those of different people do."""
    found, free = judged
    return free >= FEWEST_FREE and found < TOO_EQUAL * free


def _differences(time: IntArray, codes: IntArray) -> tuple[float, int]:
    """(chi-squared of the values at several times, its degrees of freedom). Codes below 0 are
    missing.
    """
    known = (time >= 0) & (codes >= 0)
    time = time[known]
    codes = codes[known]
    if not len(time):
        return 0.0, 0
    width = int(codes.max()) + 1
    table = np.bincount(time * width + codes, minlength=(int(time.max()) + 1) * width).reshape(
        -1,
        width,
    )
    expected = table.sum(axis=1, keepdims=True) * (table.sum(axis=0, keepdims=True) / table.sum())
    used = expected > 0
    found = float(((table - expected)[used] ** 2 / expected[used]).sum())
    times, values = (int(np.count_nonzero(table.sum(axis=axis))) for axis in (1, 0))
    return found, (times - 1) * (values - 1)
