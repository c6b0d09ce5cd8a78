"""What the profile knows of the columns: domains, ranges, and the histogram of the sensitive
attributes.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from pydantic import TypeAdapter

from tclose_spark.errors import InputError, Offending, Problems
from tclose_spark.runfile.attributes import SensitiveAttribute
from tclose_spark.runfile.quantities import CODES_A_DAY, Calendar, parse_number
from tclose_spark.runfile.text import count_spellings, value_text
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.atoms import ATOM
from tclose_spark.table.entities.finding import NO_SUBJECTS, Subjects
from tclose_spark.table.far_numbers import FarNumbers
from tclose_spark.table.hierarchies.hierarchy import MISSING_LEAF, WHOLE, Hierarchy
from tclose_spark.table.people import (
    HOUSEHOLD,
    PERSON,
    CountedOwners,
    Households,
    Members,
    People,
)

DATE = re.compile(r"[+-]?\d{4,}-\d\d-\d\d([ T]\d\d:\d\d:\d\d(\.\d+)?)?$")
"""A date or a timestamp as Spark writes it: -0044-03-15, 2024-02-29 12:00:00.5, +10000-01-01."""

MOST_VALUES = 2_000_000
"""The largest number of distinct values, of all domains together, that the driver holds."""

Counts = Mapping[str | None, int]
"""How many rows hold each value, as text; None is a missing value."""

TupleCounts = Mapping[tuple[Any, ...], int]
"""How many rows hold each tuple of values of some columns: texts, None, and numbers that rows are
counted by.
"""


def marginal(tuples: TupleCounts, column: int) -> Mapping[Any, int]:
    """The number of rows with each value of one column.

    >>> marginal({("a", "x"): 2, ("b", "x"): 1, ("a", "y"): 4}, 0)
    {'a': 6, 'b': 1}
    """
    counts: dict[Any, int] = {}
    for values, rows in tuples.items():
        counts[values[column]] = counts.get(values[column], 0) + rows
    return counts


@dataclass(frozen=True, kw_only=True)
class QuasiDomain:
    """A quasi-identifier of the input.

    kind: "integer", "double" or "category".
    values: a category's domain in code order (the leaves of its hierarchy, if it has one).
    low, high: the range of a numeric column. known: whether the run file gives the range.
    present: the number of distinct values of a category's rows.
    spellings: how many of them are another spelling of one of the others (see `runfile.text`).
    missing: rows without a value.
    drawn: the codes from which missing values are drawn, ascending, each with its rows; none if a
        missing value is a value of its own.
    calendar: for dates (days since 1970) and times (microseconds since then).
    """

    name: str
    kind: str
    missing: int
    values: tuple[str, ...] = ()
    present: int = 0
    spellings: int = 0
    low: int | float = 0
    high: int | float = 0
    known: bool = False
    drawn: tuple[tuple[int, int], ...] = ()
    calendar: Calendar | None = None

    @property
    def scale(self) -> int:
        """The number of codes in one unit of labels; a unit is a day for dates and times."""
        return 1 if self.calendar is None else CODES_A_DAY[self.calendar]


@dataclass(frozen=True)
class SensitiveDomain:
    """A sensitive attribute of the input: its values in domain order (a code is a place here) and
    their rows.
    """

    name: str
    values: tuple[str | None, ...]
    counts: tuple[int, ...]

    @property
    def table(self) -> IntArray:
        """Rows by code, shape (m,)."""
        return np.array(self.counts, dtype=np.int64)


@dataclass(frozen=True)
class Repetition:
    """A column that looks like a personal identifier and repeats: its rows with a value, and about
    how many different values. Of the column of people: how many of them were compared, and how many
    spellings they have to a reader.
    """

    column: str
    rows: int
    values: int


@dataclass(frozen=True, kw_only=True)
class Profile:
    """What one pass over the input reports, in a size that does not grow with its rows.

    cells: the distinct tuples of sensitive codes, lexicographically sorted. If people are counted,
        or classes need several households, a tuple also has the place of each of the row's numbers
        among those of `counted`.
    cell_counts: their rows.
    distinct_rows: about how many different rows there are.
    fingerprint: of the prepared rows as a multiset. It stays internal.
    version: of a Delta input.
    subjects: whom the rows are about.
    repeated: columns without a role in classes that are known as a personal identifier and repeat,
        beside `subjects`.
    people: if they are counted.
    households: if classes need several.
    weights: millionths of people by code of each sensitive attribute, if rows have weights.
    rounded_away: rows whose weight is published as 0, but is none.
    far: few rows with numbers far from all others, by numeric quasi-identifier.
    """

    rows: int
    quasi: tuple[QuasiDomain, ...]
    sensitive: tuple[SensitiveDomain, ...]
    cells: tuple[tuple[int, ...], ...]
    cell_counts: tuple[int, ...]
    distinct_rows: int
    fingerprint: str
    version: int | None
    repeated: tuple[Repetition, ...]
    subjects: Subjects = NO_SUBJECTS
    people: People | None = None
    households: Households | None = None
    weights: tuple[tuple[int, ...], ...] = ()
    rounded_away: int = 0
    far: tuple[FarNumbers, ...] = ()

    @cached_property
    def cell_codes(self) -> IntArray:
        """The codes of each cell, shape (cells, columns): see `cells`."""
        columns = len(self.sensitive) + len(self.counted)
        return np.array(self.cells, dtype=np.int64).reshape(len(self.cells), columns)

    @cached_property
    def counted(self) -> dict[str, tuple[int, ...]]:
        """See `CountedOwners.counted`."""
        return CountedOwners(self.people, self.households).counted

    @property
    def counted_of_cells(self) -> dict[str, IntArray]:
        """The numbers of a row of each cell, shape (cells,), by staged column."""
        codes = self.cell_codes.T[len(self.sensitive) :]
        pairs = zip(self.counted.items(), codes, strict=True)
        return {name: np.array(numbers, dtype=np.int64)[code] for (name, numbers), code in pairs}

    @property
    def owners(self) -> tuple[str, ...]:
        """The staged columns of whose rows are, as far as cells know of them."""
        named = {PERSON: self.people, ATOM: self.members, HOUSEHOLD: self.households}
        return tuple(name for name, known in named.items() if known is not None)

    @property
    def leads(self) -> bool:
        """Whether people keep their rows together and their quasi-identifiers vary, so that rows
        have a `lead`.
        """
        return self.people is not None and any(self.people.varying)

    @cached_property
    def cell_table(self) -> IntArray:
        """The rows of each cell, shape (cells,)."""
        return np.array(self.cell_counts, dtype=np.int64)

    @property
    def members(self) -> Members | None:
        """The people of earlier releases, if the release continues one."""
        return None if self.people is None else self.people.members

    @property
    def continued(self) -> bool:
        """Whether the release continues an earlier one, so that people have atoms."""
        return self.members is not None

    def to_json(self) -> str:
        """The profile as text that `from_json` reads."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Profile:
        """The profile that `to_json` wrote.

        Raises:
            ValueError: if it is the profile of another version, or none.
        """
        return _PROFILE.validate_json(text)


_PROFILE = TypeAdapter(Profile)


def number_in_text(text: str) -> Fraction | None:
    """The exact number that a text denotes; None if it denotes none.

    >>> number_in_text("0.1"), number_in_text("ten")
    (Fraction(1, 10), None)
    """
    try:
        return parse_number(text)
    except ValueError:
        return None


def by_value(values: Sequence[str]) -> list[str]:
    """Values in natural order. Dates are ordered by time. Otherwise numbers come first, by size,
    then other texts.

    >>> by_value(["10", "9", "unknown", "-1"]), by_value(["2024-02-29", "0999-01-01"])
    (['-1', '9', '10', 'unknown'], ['0999-01-01', '2024-02-29'])
    """
    if values and all(map(DATE.match, values)):
        return sorted(values, key=_moment)
    numbers = {value: number_in_text(value) for value in values}
    return sorted(values, key=lambda value: (numbers[value] is None, numbers[value] or 0, value))


def _are_moments(values: Sequence[str]) -> bool:
    """Whether all texts are dates, or all are times of one form, so that they have an order."""
    return (
        all(map(DATE.match, values))
        and len({value[value.index("-", 1) + 6 :][:1] for value in values}) == 1
    )


def _moment(date: str) -> tuple[int, str]:
    """The sort key of a date (see DATE): its year, then the rest of the text."""
    end = date.index("-", 1)
    return int(date[:end]), date[end:]


def categorical_domain(
    name: str,
    counts: Counts,
    hierarchy: Hierarchy | None,
    sets: bool = False,
    draws: bool = False,
) -> QuasiDomain:
    """The domain of a categorical quasi-identifier. sets: whether its labels may be sets of values.
    draws: whether missing values are drawn from the others.

    Raises:
        InputError: if a value is not in the hierarchy, is `*`, or reads like a set although labels
            may be sets.
    """
    present = [value for value in counts if value is not None]
    problems = Problems()
    if "*" in present:
        error = InputError(
            f"quasi-identifier {name!r}: the value '*' ({counts['*']} rows) stands for the whole "
            "domain in a release; rename it",
        )
        problems.add(error)
    braced = [value for value in present if value.startswith("{") and value.endswith("}")]
    if sets and braced:
        error = InputError(
            f"quasi-identifier {name!r}: a value in braces reads like a set of values in a release "
            f"({_count_text(braced, counts)}); rename it, or use suppress",
            values=_offending(name, "in braces", braced, counts),
        )
        problems.add(error)
    if hierarchy is not None:
        with problems.gathered():
            _require_leaves(
                "quasi-identifier",
                name,
                {v: n for v, n in counts.items() if v != "*"},
                hierarchy,
            )
    problems.raise_found()
    values = hierarchy.leaves if hierarchy is not None else tuple(by_value(present))
    return QuasiDomain(
        name=name,
        kind="category",
        missing=counts.get(None, 0),
        values=values,
        present=len(present),
        spellings=count_spellings(present),
        drawn=tuple((code, counts[value]) for code, value in enumerate(values) if value in counts)
        if draws
        else (),
    )


def sensitive_domain(
    name: str,
    counts: Counts,
    attribute: SensitiveAttribute,
    hierarchy: Hierarchy | None,
    is_text: bool,
) -> SensitiveDomain:
    """The domain of a sensitive attribute, in the order of its distance.

    Raises:
        InputError: if a value has no place in it, with all such values.
    """
    values: Sequence[str | None]
    problems = Problems()
    if attribute.kind.ordered:
        values = _ordered_values(name, counts, attribute, is_text)
    elif hierarchy is not None:
        leaf = attribute.missing == "leaf"
        with problems.gathered():
            _require_leaves(
                "sensitive attribute",
                name,
                counts,
                hierarchy.without_missing() if leaf else hierarchy,
            )
        if None in counts and attribute.missing == "error":
            place = "leaf (a leaf of its own under the root)"
            problems.add(_missing(name, counts, f"a {attribute.distance} distance", place))
        problems.raise_found()
        values = [None if leaf and value == MISSING_LEAF else value for value in hierarchy.leaves]
    else:
        values = [
            *by_value([v for v in counts if v is not None]),
            *([None] if None in counts else []),
        ]
    return SensitiveDomain(name, tuple(values), tuple(counts.get(value, 0) for value in values))


def remaining_values(
    domain: SensitiveDomain,
    counts: IntArray,
    order: Literal["value", "frequency"],
) -> IntArray:
    """The domain of a part of an ordered attribute's rows, as places in the whole domain, in their
    order.

    counts: these rows by code of the whole domain, shape (m,). `sensitive_domain` would give the
        same for their values.

    >>> whole = SensitiveDomain("income", ("1", "2", "9", None), (3, 2, 4, 1))
    >>> remaining_values(whole, np.array([1, 0, 2, 1]), "value").tolist()
    [0, 2, 3]
    >>> remaining_values(whole, np.array([1, 0, 2, 1]), "frequency").tolist()
    [2, 0, 3]
    """
    rows = {value: n for value, n in zip(domain.values, counts.tolist(), strict=True) if n}
    values: list[str | None] = list(by_value([value for value in rows if value is not None]))
    if order == "frequency":
        values.sort(key=lambda value: -rows[value])
    if None in rows:
        values = [None, *values] if domain.values[0] is None else [*values, None]
    place = {value: code for code, value in enumerate(domain.values)}
    return np.array([place[value] for value in values], dtype=np.int64)


def _ordered_values(
    name: str,
    counts: Counts,
    attribute: SensitiveAttribute,
    is_text: bool,
) -> list[str | None]:
    """All values present, or the listed ones, in order."""
    present = [value for value in counts if value is not None]
    values: list[str | None] = []
    problems = Problems()
    with problems.gathered():
        if isinstance(attribute.order, tuple):
            values = [*_listed_values(name, present, attribute.order, counts, is_text)]
        else:
            values = [*_sorted_values(name, present, attribute, counts, is_text)]
    if None in counts and attribute.missing == "error":
        problems.add(_missing(name, counts, "an ordered distance", "lowest or highest"))
    problems.raise_found()
    if None in counts:
        values = [None, *values] if attribute.missing == "lowest" else [*values, None]
    return values


def _missing(name: str, counts: Counts, distance: str, places: str) -> InputError:
    """The error of missing values that have no place. places: what the run file may say."""
    return InputError(
        f"sensitive attribute {name!r} is missing in {counts[None]} rows and has {distance}; give "
        f"attributes.sensitive_attributes.{name}.missing: {places}",
    )


def _sorted_values(
    name: str,
    present: Sequence[str],
    attribute: SensitiveAttribute,
    counts: Counts,
    is_text: bool,
) -> list[str]:
    """The values by size or by frequency."""
    numbers = [number_in_text(value) for value in present]
    problems = Problems()
    infinite = [value for value in present if value in ("Infinity", "-Infinity")]
    if not is_text and infinite:
        error = InputError(
            f"sensitive attribute {name!r} has infinite numbers ({_count_text(infinite, counts)}), "
            "which have no place in an order; correct them, or give a list",
        )
        problems.add(error)
    texts = [value for value, known in zip(present, numbers, strict=True) if known is None]
    if attribute.order == "value" and is_text and texts and not _are_moments(present):
        what = _without_order(present, texts, counts)
        listed = _offending(name, "not a number", texts, counts)
        problems.add(InputError(f"sensitive attribute {name!r} is {what}", values=listed))
    times = Counter(numbers)
    alike = [
        value
        for value, known in zip(present, numbers, strict=True)
        if known is not None and times[known] > 1
    ]
    if attribute.order == "value" and alike:
        error = InputError(
            f"sensitive attribute {name!r}: different texts are the same number "
            f"({_count_text(alike, counts)}); read it as numbers (options: inferSchema: true)",
            values=_offending(name, "the same number as another text", alike, counts),
        )
        problems.add(error)
    problems.raise_found()
    values = by_value(present)
    return (
        values if attribute.order == "value" else sorted(values, key=lambda value: -counts[value])
    )


def _without_order(present: Sequence[str], texts: Sequence[str], counts: Counts) -> str:
    """What an attribute is whose values include texts that are no numbers, and what to do."""
    lost = sum(counts[value] for value in texts)
    rows = sum(counts.values())
    cure = "give order: frequency or a list"
    if 2 * len(texts) < len(present):
        return (
            f"ordered by value, but {lost} of {rows} rows have no number; correct them, read them "
            f"as missing (input.options.nullValue), or {cure}"
        )
    return (
        f"text, which has no order of its own; {cure}, or correct what is not a number "
        f"({_count_text(texts, counts)} of {rows})"
    )


def _listed_values(
    name: str,
    present: list[str],
    order: Sequence[Any],
    counts: Counts,
    is_text: bool,
) -> list[str]:
    """The values of a declared order, with numbers written as in the table."""
    written = {number_in_text(value): value for value in present} if not is_text else {}
    listed = []
    different = set()
    for item in order:
        text = value_text(item)
        same = None if is_text else number_in_text(text)
        listed.append(text if same is None else written.get(same, text))
        different.add(text if same is None else same)
    if len(different) < len(listed):
        raise InputError(f"attributes.sensitive_attributes.{name}.order: a value is listed twice")
    lost = sorted(set(present) - set(listed))
    if lost:
        raise InputError(
            f"attributes.sensitive_attributes.{name}.order lacks {len(lost)} values of the table "
            f"({_rows_of(lost, counts)} rows); expected every value",
            values=_offending(name, "missing from its order", lost, counts),
        )
    return listed


def _require_leaves(role: str, name: str, counts: Counts, hierarchy: Hierarchy) -> None:
    lost = [value for value in counts if value is not None and value not in hierarchy.leaf_set]
    if lost:
        blanks = any(value.strip() in hierarchy.leaf_set for value in lost)
        how = (
            "a hierarchy has no blanks at the ends; set text: {strip: true}"
            if blanks
            else "add a row for each"
        )
        if any(re.sub(WHOLE, r"\1", value) in hierarchy.leaf_set for value in lost):
            cure = "set type: numeric, or " if role == "quasi-identifier" else ""
            how = (
                f"the table has floats such as 25.0 for 25; {cure}make them integers (pandas: "
                "astype('Int64'))"
            )
        raise InputError(
            f"{role} {name!r}: its hierarchy lacks {_count_text(lost, counts)}; {how}",
            values=_offending(name, "missing from its hierarchy", lost, counts),
        )


def _rows_of(values: Sequence[str], counts: Counts) -> int:
    return sum(counts[value] for value in values)


def _count_text(values: Sequence[str], counts: Counts) -> str:
    """The number of values and of their rows, for a message."""
    return f"{len(values)} value{'s' if len(values) > 1 else ''} in {_rows_of(values, counts)} rows"


def _offending(name: str, problem: str, values: Sequence[str], counts: Counts) -> Offending:
    return Offending(name, problem, {value: counts[value] for value in values})
