"""Forms of hierarchies that are built: from a column's values to the labels above each value.

Each form takes the values in their natural order. It returns the labels above each value, lowest
first and without `*`, or None for a value that does not fit the form. Labels depend on the values
and the run file only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from functools import cache
from importlib.resources import files

import yaml

from tclose_spark.runfile.hierarchies import CODE, CodeRange, DatePart, HierarchyBuilder
from tclose_spark.table.domains import number_in_text
from tclose_spark.table.ranges import INFINITY, interval_or_none

Above = list[tuple[str, ...] | None]
"""The labels above each value."""

MOMENT = re.compile(
    r"([+-]?[0-9]{4,})-([0-9]{2})-([0-9]{2})(?:[ T]([01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]+)?)?)?Z?\Z",
)
LAST = ("\U0010ffff", 0)  # the place of values that are no code
LEAP = 2000  # any year with all days


def intervals(values: Sequence[str], widths: Sequence[Fraction]) -> Above:
    """Intervals of numbers that begin at multiples of each width. They are closed if all values and
    widths are integers, otherwise half-open.

    >>> intervals(["7", "19"], [Fraction(5), Fraction(10)])
    [('[5, 9]', '[0, 9]'), ('[15, 19]', '[10, 19]')]
    >>> intervals(["0.5"], [Fraction(1, 4), Fraction(1)])
    [('[0.5, 0.75)', '[0, 1)')]
    """
    numbers = [number_in_text(value) for value in values]
    whole = all(x is None or x.denominator == 1 for x in [*numbers, *widths])
    return [
        None if x is None else tuple(_interval(x, width, whole) for width in widths)
        for x in numbers
    ]


def _interval(place: Fraction, width: Fraction, whole: bool) -> str:
    low = place // width * width
    if not whole:
        return f"[{_decimal(low)}, {_decimal(low + width)})"
    return str(low) if width == 1 else f"[{low}, {low + width - 1}]"


def _decimal(end: Fraction) -> str:
    """A number with a finite decimal expansion, as text."""
    digits = 0
    while (end * 10**digits).denominator > 1:
        digits += 1
    return f"{Decimal(int(end * 10**digits)).scaleb(-digits):f}"


def prefixes(values: Sequence[str], kept: int | Sequence[int]) -> Above:
    """Codes by their first characters. Each removed character of the longest value becomes `*`. A
    shorter value stays unchanged until it is as long as the kept part.

    kept: how many characters fewer each level keeps, or how many each keeps.

    >>> prefixes(["81667", "81671"], 2)
    [('816**', '8****'), ('816**', '8****')]
    >>> prefixes(["A00", "A00.1"], [4, 3, 1])
    [('A00', 'A00**', 'A****'), ('A00.*', 'A00**', 'A****')]
    """
    longest = max(map(len, values), default=0)
    lengths = (
        range(longest - kept, 0, -kept)
        if isinstance(kept, int)
        else [n for n in kept if n < longest]
    )
    return [
        tuple(value if len(value) < n else value[:n] + "*" * (longest - n) for n in lengths)
        for value in values
    ]


def dates(values: Sequence[str], parts: Sequence[DatePart]) -> Above:
    """Dates and times by parts of the calendar.

    >>> dates(["2024-02-29", "soon"], ["month", "quarter", "year", "decade"])
    [('2024-02', '2024-Q1', '2024', '2020s'), None]
    """
    return [
        None if (m := _moment(value)) is None else tuple(_part(m, part) for part in parts)
        for value in values
    ]


def _moment(value: str) -> tuple[str, str, str, str] | None:
    """Year, month, day and hour of a date or time, as text; None if the text is neither. The hour
    of a date is 00.
    """
    match = MOMENT.match(value)
    if match is None:
        return None
    year = match[1]
    month = match[2]
    day = match[3]
    hour = match[4] or "00"
    try:
        # The calendar repeats after 400 years.
        datetime(LEAP + int(year) % 400, int(month), int(day), int(hour))
    except ValueError:
        return None
    return year, month, day, hour


def _part(moment: tuple[str, str, str, str], part: DatePart) -> str:
    year, month, day, hour = moment
    if part == "decade":
        begin = int(year) // 10 * 10
        return f"{begin:0{4 + (begin < 0)}}s"
    return {
        "hour": f"{year}-{month}-{day}T{hour}",
        "day": f"{year}-{month}-{day}",
        "month": f"{year}-{month}",
        "quarter": f"{year}-Q{(int(month) + 2) // 3}",
        "half": f"{year}-H{(int(month) + 5) // 6}",
        "year": year,
    }[part]


def group_neighbours(values: Sequence[str], size: int) -> Above:
    """Groups of neighbours of a fixed size, then groups of these groups, up to `*`. A label gives
    the first and last
    value: numbers and dates as `[a, b]`, others as `a..b`. Words among numbers are groups of their
        own.

    >>> group_neighbours(["1", "2", "3", "4", "5"], 2)
    [('[1, 2]', '[1, 4]'), ('[1, 2]', '[1, 4]'), ('[3, 4]', '[1, 4]'), ('[3, 4]', '[1, 4]'), ('5', '5')]
    >>> group_neighbours(["89", "90", "91", "91+", "refused"], 2)
    [('[89, 90]',), ('[89, 90]',), ('91..91+',), ('91..91+',), ('refused',)]
    """
    words = _words(values)
    ordered = [value for value in values if value not in words]
    above = list[tuple[str, ...]]([()] * len(ordered))
    plain = are_plain(ordered)
    length = size
    while length < len(ordered):
        for start in range(0, len(ordered), length):
            group = ordered[start : start + length]
            label = name_group(group, plain or are_plain(group))
            above[start : start + length] = [
                (*labels, label) for labels in above[start : start + length]
            ]
        length *= size
    levels = len(above[0]) if above else 0
    label_of = dict(zip(ordered, above, strict=True)) | {word: (word,) * levels for word in words}
    return [label_of[value] for value in values]


def by_place(values: Sequence[str]) -> list[str]:
    """Values in the order of their numbers, with ranges such as `90+` at their ends, and words
    last. Values that are mostly no numbers stay as they are.

    >>> by_place(["9", "10", "90", "90+", "<18", "refused", "17"])
    ['9', '10', '17', '<18', '90', '90+', 'refused']
    """
    numbers = {value: found for value in values if (found := number_in_text(value)) is not None}
    if len(numbers) == len(values) or 2 * len(numbers) <= len(values):
        return list(values)
    places = {value: _place(value, numbers.get(value)) for value in values}
    return sorted(values, key=lambda value: places[value])


def _words(values: Sequence[str]) -> frozenset[str]:
    """The values without a place among numbers, such as `refused`, if most are numbers."""
    numbers = [value for value in values if number_in_text(value) is not None]
    if len(numbers) == len(values) or 2 * len(numbers) <= len(values):
        return frozenset()
    return frozenset(values) - {
        value for value in values if number_in_text(value) is not None or interval_or_none(value)
    }


def _place(value: str, known: Fraction | None) -> tuple[bool, Fraction, int]:
    """The sort key of a number or a range; words last. A range without an end comes next to its
    other end.
    """
    if known is not None:
        return False, known, 0
    interval = interval_or_none(value)
    if interval is None:
        return True, Fraction(0), 0
    if interval.low == -INFINITY:
        return False, interval.high, -1 if interval.open_high else 1
    return False, interval.low, 1


def are_plain(values: Sequence[str]) -> bool:
    """Whether all values are numbers, dates or times, so that groups are written as intervals."""
    return all(number_in_text(value) is not None or _moment(value) is not None for value in values)


def name_group(group: Sequence[str], plain: bool) -> str:
    """The label of a group of neighbours. plain: see `are_plain`.

    >>> name_group(["1", "2"], True), name_group(["low", "mid"], False)
    ('[1, 2]', 'low..mid')
    """
    if len(group) == 1:
        return group[0]
    return f"[{group[0]}, {group[-1]}]" if plain else f"{group[0]}..{group[-1]}"


def grouped(values: Sequence[str], builder: HierarchyBuilder) -> Above:
    """Values by the groups that name them. The others have the label `other`, if the builder has
    one.

    >>> grouped(["59", "75", "07"], HierarchyBuilder(groups={"North": ["59", "62"], "Paris": ["75"]}))
    [('North',), ('Paris',), None]
    """
    label_of = [
        {member: label for label, members in groups.items() for member in members}
        for groups in builder.grouped
    ]
    above: Above = []
    for value in values:
        labels: list[str] = []
        for of in label_of:
            label = of.get(labels[-1] if labels else value, builder.other)
            if label is None:
                break
            labels.append(label)
        above.append(tuple(labels) if len(labels) == len(label_of) else None)
    return above


def in_ranges(values: Sequence[str], builder: HierarchyBuilder) -> Above:
    """Codes by the ranges that hold their whole number; those of ICD-9 by category, section and
    chapter. A code in no range of a fine table has its label of the next table. One in no range of
    the last has `other`, if there is one.

    >>> in_ranges(["10.2", "V7"], HierarchyBuilder(ranges={"food": "10-12"}, other="none"))
    [('food',), ('none',)]
    >>> in_ranges(["250.83", "4019", "V57", "?"], HierarchyBuilder(ranges="icd9"))[:2]
    [('250.*', '249-259', '240-279'), ('401.*', '401-405', '390-459')]
    """
    tables = _tables(builder)
    own = builder.ranges == "icd9"
    none = None if builder.other is None else (builder.other,) * (len(tables) + own)
    above: Above = []
    for value in values:
        category = _category(value, own)
        labels: list[str] = []
        for table in reversed(tables):
            label = _label(table, category) or (labels[0] if labels else None)
            labels = [label, *labels] if label is not None else labels
        above.append((*([f"{category}.*"] if own else []), *labels) if labels else none)
    return above


def by_range(values: Sequence[str], builder: HierarchyBuilder) -> list[str]:
    """Values in the order of the tables, then by code: an order that the presence of other values
    does not change.

    >>> by_range(["3", "20", "0015"], HierarchyBuilder(ranges={"high": "10-19", "low": "1-9"}, other="none"))
    ['0015', '3', '20']
    """
    tables = _tables(builder)
    places = [
        {label: i for i, label in enumerate(dict.fromkeys(table.values()))}
        for table in reversed(tables)
    ]

    def place(value: str, labels: tuple[str, ...] | None) -> tuple[list[int], tuple[str, int]]:
        upward = reversed(labels[-len(tables) :]) if labels is not None else [""] * len(tables)
        code = _code(_category(value, builder.ranges == "icd9")) or LAST
        return [of.get(label, len(of)) for of, label in zip(places, upward, strict=True)], code

    pairs = sorted(
        zip(values, in_ranges(values, builder), strict=True),
        key=lambda pair: place(*pair),
    )
    return [value for value, _ in pairs]


def _tables(builder: HierarchyBuilder) -> tuple[Mapping[CodeRange, str], ...]:
    """The label of each range, the finest table first."""
    if builder.ranges == "icd9":
        return _icd9()
    return tuple(
        {CodeRange.of(text): label for label, texts in table.items() for text in texts}
        for table in builder.ranges or ()
        if not isinstance(table, str)
    )


def _category(value: str, icd9: bool) -> str:
    """What is before the dot of a code. Of ICD-9 without a dot, the first three characters, four of
    E codes.
    """
    code = value.partition(".")[0].strip().upper()
    return code[: 4 if code.startswith("E") else 3] if icd9 else code


def _code(category: str) -> tuple[str, int] | None:
    match = CODE.fullmatch(category)
    return None if match is None else (match[1], int(match[2]))


def _label(table: Mapping[CodeRange, str], category: str) -> str | None:
    code = _code(category)
    return (
        None
        if code is None
        else next((label for one, label in table.items() if one.holds(code)), None)
    )


@cache
def _icd9() -> tuple[Mapping[CodeRange, str], ...]:
    """Sections and chapters."""
    listed = yaml.safe_load(files(__package__).joinpath("icd9.yaml").read_text(encoding="utf-8"))
    return tuple(
        {CodeRange.of(text): text for text in listed[level].split()}
        for level in ("sections", "chapters")
    )
