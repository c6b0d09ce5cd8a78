"""Hierarchies that are built from a column's values, as a run file describes them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema, model_validator

from tclose_spark.runfile.combinations import FORMS, OF_HIERARCHY
from tclose_spark.runfile.section import Exact, Section, as_tuple, number_schema
from tclose_spark.runfile.text import value_text

DatePart = Literal["hour", "day", "month", "quarter", "half", "year", "decade"]
DATE_PARTS: tuple[DatePart, ...] = ("hour", "day", "month", "quarter", "half", "year", "decade")
ROOT = "*"
MOST_LEVELS = 65
"""Names of levels are made for fewer levels than this."""


def _many(value: Any) -> Any:
    """A list as a tuple; a single value as a tuple of one."""
    return as_tuple(value) if isinstance(value, list | tuple | dict) or value is None else (value,)


def one_or_many(what: Mapping[str, object]) -> WithJsonSchema:
    """The JSON Schema of one value or a list of them."""
    return WithJsonSchema(
        {"anyOf": [what, {"type": "array", "items": what, "minItems": 1}]},
        mode="validation",
    )


def _texts(value: Any) -> Any:
    """A map of labels to lists, with labels and members as text."""
    if not isinstance(value, dict):
        return value
    return {
        value_text(label): tuple(map(value_text, members))
        if isinstance(members, list | tuple)
        else members
        for label, members in value.items()
    }


def _tables(value: Any) -> Any:
    """A table of ranges as a tuple of one, and a single range as a list of one."""
    tables = (value,) if isinstance(value, dict) else as_tuple(value)
    if not isinstance(tables, tuple):
        return value
    return tuple(
        {label: list(_many(ranges) or ()) for label, ranges in table.items()}
        if isinstance(table, dict)
        else table
        for table in tables
    )


CODE = re.compile(r"([A-Za-z]*)([0-9]+)")


@dataclass(frozen=True)
class CodeRange:
    """The codes from one to another, both included. A code is letters and a whole number: `("",
    140)`, `("V", 1)`.
    """

    first: tuple[str, int]
    last: tuple[str, int]

    @staticmethod
    def of(text: str) -> CodeRange:
        """The range that a run file writes.

        >>> CodeRange.of("001-139").holds(("", 42)), CodeRange.of("V01-V09").holds(("V", 10))
        (True, False)

        Raises:
            ValueError: if it is none.
        """
        ends = [CODE.fullmatch(end.strip()) for end in text.split("-")]
        found = [(end[1].upper(), int(end[2])) for end in ends if end is not None]
        if (
            len(found) != len(ends)
            or len(ends) > 2
            or len(found[0][0]) != len(found[-1][0])
            or found[0] > found[-1]
        ):
            raise ValueError(
                f"{text!r} is no range of codes; expected one such as 140-239, V01-V09 or 042",
            )
        return CodeRange(found[0], found[-1])

    def holds(self, code: tuple[str, int]) -> bool:
        """Whether a code is in it."""
        return len(code[0]) == len(self.first[0]) and self.first <= code <= self.last


Positive = Annotated[int, Field(ge=1)]
VALUES = {"type": "array", "items": {"type": ["string", "number", "boolean"]}}
GROUPS = WithJsonSchema({"type": "object", "additionalProperties": VALUES}, mode="validation")
Groups = Annotated[dict[str, tuple[str, ...]], BeforeValidator(_texts), GROUPS]
"""Labels with their members, in order."""
RANGES = {
    "type": "object",
    "additionalProperties": {"anyOf": [{"type": ["string", "integer"]}, VALUES]},
}


class HierarchyBuilder(Section):
    """A hierarchy to build from the column's values, in one of these forms."""

    keys_together = OF_HIERARCHY
    intervals: (
        Annotated[tuple[Exact, ...], BeforeValidator(_many), one_or_many(number_schema())] | None
    ) = None
    """Widths of intervals of numbers, narrowest first, each a multiple of the previous one.
    Intervals begin at multiples of their width.
    """
    prefix: Annotated[tuple[Positive, ...], BeforeValidator(as_tuple)] | Positive | None = None
    """How many characters each level removes, or a list of how many characters each level keeps."""
    dates: (
        Annotated[
            tuple[DatePart, ...],
            BeforeValidator(_many),
            one_or_many({"enum": [*DATE_PARTS]}),
        ]
        | None
    ) = None
    """Parts of a date or a time, the finest first."""
    order: Annotated[int, Field(ge=2)] | None = None
    """How many values, in their order, form a group. As many groups form one of the next level,
    until one is left.
    """
    groups: Groups | None = None
    """The values that each label stands for; `*` is above the labels."""
    levels: Annotated[tuple[Groups, ...], BeforeValidator(as_tuple)] | None = None
    """Groups of values, then groups of their labels, and so on."""
    ranges: (
        Annotated[
            Literal["icd9"] | tuple[Groups, ...],
            BeforeValidator(_tables),
            WithJsonSchema(
                {
                    "anyOf": [
                        {"const": "icd9"},
                        RANGES,
                        {"type": "array", "items": RANGES, "minItems": 1},
                    ],
                },
            ),
        ]
        | None
    ) = None
    """The codes of each label as ranges, such as `140-239`. Or a list of such tables, finest first.
    Or `icd9`: categories, sections and chapters of ICD-9.
    """
    other: str | None = None
    """For groups, levels and ranges: the label of every value outside them."""

    @property
    def form(self) -> str:
        """The name of its form."""
        return next(form for form in FORMS if getattr(self, form) is not None)

    @property
    def grouped(self) -> tuple[Mapping[str, Sequence[str]], ...]:
        """The levels of groups and levels, from the values upward."""
        return self.levels if self.levels is not None else (self.groups or {},)

    @property
    def level_names(self) -> tuple[str, ...]:
        """What the labels of each level are, in words, the values first.

        >>> HierarchyBuilder(dates=("month", "year")).level_names
        ('the value', 'month', 'year')
        >>> HierarchyBuilder(prefix=(3, 1)).level_names
        ('the value', 'the first 3 characters', 'the first character')
        >>> HierarchyBuilder(order=4).level_names[:3]
        ('the value', 'groups of 4 values', 'groups of 16 values')
        """
        return "the value", *self._names_above()

    def _names_above(self) -> Sequence[str]:
        if self.dates is not None:
            return self.dates
        if self.intervals is not None:
            return [f"intervals of {width}" for width in self.intervals]
        if isinstance(self.prefix, tuple):
            return [f"the first {_counted(n)}" for n in self.prefix]
        if self.prefix is not None:
            return [f"without the last {_counted(n * self.prefix)}" for n in range(1, MOST_LEVELS)]
        if self.order is not None:
            return [f"groups of {self.order**n:,} values" for n in range(1, MOST_LEVELS)]
        if self.ranges == "icd9":
            return ["category", "section", "chapter"]
        name, levels = ("group", self.grouped) if self.ranges is None else ("range", self.ranges)
        return [
            name if len(levels) == 1 else f"{name} of level {n}" for n in range(1, len(levels) + 1)
        ]

    @model_validator(mode="after")
    def _nested(self) -> Self:
        if getattr(self, self.form) in ((), {}):
            raise ValueError(f"{self.form} is empty; expected at least one")
        if self.intervals is not None:
            _check_widths(self.intervals)
        if isinstance(self.prefix, tuple):
            _check_lengths(self.prefix)
        if self.dates is not None:
            _check_parts(self.dates)
        if self.form in ("groups", "levels"):
            _check_groups(self.grouped, self.other)
        if isinstance(self.ranges, tuple):
            _check_ranges(self.ranges, self.other)
        return self


def _counted(n: int) -> str:
    return "character" if n == 1 else f"{n} characters"


def _check_widths(widths: Sequence[Fraction]) -> None:
    """Raises ValueError for widths that do not nest, or that are not decimal numbers."""
    if widths[0] <= 0 or any(b <= a or b % a for a, b in pairwise(widths)):
        raise ValueError(
            f"intervals are {', '.join(map(str, widths))} wide; expected numbers above 0, each a "
            "multiple of the one before",
        )
    if any(10**60 % width.denominator for width in widths):
        raise ValueError(
            f"intervals are {', '.join(map(str, widths))} wide; expected decimal numbers such as "
            "2.5",
        )


def _check_lengths(prefix: Sequence[int]) -> None:
    """Raises ValueError for levels that keep as many characters as a finer one, or more."""
    if any(coarse >= fine for fine, coarse in pairwise(prefix)):
        raise ValueError(f"prefix is {[*prefix]}; expected fewer characters from level to level")


def _check_parts(dates: Sequence[DatePart]) -> None:
    """Raises ValueError for levels that are as fine as one below, or finer."""
    places = [DATE_PARTS.index(part) for part in dates]
    if any(fine >= coarse for fine, coarse in pairwise(places)):
        raise ValueError(
            f"dates are {', '.join(dates)}; expected coarser parts from level to level",
        )


def _check_groups(levels: Sequence[Mapping[str, Sequence[str]]], other: str | None) -> None:
    """Raises ValueError unless every member has one label, and every label below the top has one
    above it.
    """
    below: set[str] | None = None
    for groups in levels:
        members = [member for group in groups.values() for member in group]
        if not members or not all(groups.values()):
            raise ValueError(
                "a group is empty; expected a label with the list of what it stands for",
            )
        member, times = Counter(members).most_common(1)[0]
        if times > 1:
            raise ValueError(f"{member!r} is in {times} groups; expected one label for it")
        if ROOT in members or ROOT in groups or other == ROOT:
            raise ValueError(
                "'*' stands for the whole domain, and is above all groups already; leave it out",
            )
        if below is not None:
            unknown = sorted(set(members) - below)
            lost = sorted(below - set(members) - {other})
            if unknown:
                raise ValueError(f"{unknown[0]!r} is no label of the level below")
            if lost and other is None:
                raise ValueError(
                    f"the label {lost[0]!r} is in no group of the level above; name it, or give "
                    "other",
                )
        below = {*groups, *([] if other is None else [other])}


def _check_ranges(tables: Sequence[Mapping[str, Sequence[str]]], other: str | None) -> None:
    """Raises ValueError unless ranges of a table are apart, and each is inside one label of the
    next table.
    """
    if not all(table and all(table.values()) for table in tables):
        raise ValueError("a table of ranges is empty; expected labels with their ranges")
    if other == ROOT or any(ROOT in table for table in tables):
        raise ValueError(
            "'*' stands for the whole domain, and is above all ranges already; leave it out",
        )
    if any(other in table for table in tables):
        raise ValueError(
            f"other is {other!r}, which is the label of a range; expected a label of its own",
        )
    parsed = [
        [(label, CodeRange.of(text)) for label, texts in table.items() for text in texts]
        for table in tables
    ]
    for ranges in parsed:
        ordered = sorted(ranges, key=lambda one: (len(one[1].first[0]), one[1].first))
        for (label, one), (next_label, next_one) in pairwise(ordered):
            if one.holds(next_one.first):
                raise ValueError(
                    f"ranges of {label!r} and {next_label!r} overlap; expected one label for each "
                    "code",
                )
    for fine, coarse in pairwise(parsed):
        above: dict[str, str] = {}
        for label, one in fine:
            holding = [of for of, wide in coarse if wide.holds(one.first) and wide.holds(one.last)]
            if not holding or above.setdefault(label, holding[0]) != holding[0]:
                raise ValueError(
                    f"the ranges of {label!r} are not inside one range, or label, of the next table",
                )


def _kind(value: Any) -> str:
    return "tagged[built]" if isinstance(value, dict | HierarchyBuilder) else "tagged[file]"


HierarchySource = Annotated[
    Annotated[str, Tag("tagged[file]")] | Annotated[HierarchyBuilder, Tag("tagged[built]")],
    Discriminator(_kind),
]
"""The path of a CSV, or how a hierarchy is built."""
