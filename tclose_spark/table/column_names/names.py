"""Column names: whether they are a record, and how messages show them.

A file's header may be the first person's record, so a message shows a text only if it is a name. In
a file without a header, the names are its first line. Evidence is a name that is a value of its own
column, or is written as that column's values are. One such name may be chance, so a share of all
names is required.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise

import pyarrow as pa

from tclose_spark.errors import InputError
from tclose_spark.runfile.quantities import NAMED
from tclose_spark.runfile.text import meant
from tclose_spark.table.columns.patterns import identifying
from tclose_spark.table.columns.spark_types import MALFORMED
from tclose_spark.table.domains import number_in_text

MOST_NAMES = 30  # that a message lists
LONGEST_NAME = 64


def is_name(text: str) -> bool:
    """Whether a text can be a column name: short, printable and not a number."""
    return (
        0 < len(text) <= LONGEST_NAME
        and text.isprintable()
        and "\ufffd" not in text
        and not _is_number(text)
    )


def are_names(columns: Sequence[str], expected: Collection[str]) -> bool:
    """Whether these are column names rather than a record.

    At least half of the expected names are among them, since a value may equal one name. All are
    printable and different, and most are not numbers.
    """
    lower = {name.lower() for name in columns}
    wanted = {name.lower() for name in expected}
    numbers = [name for name in columns if _is_number(name)]
    return (
        2 * len(lower & wanted) >= len(wanted) > 0
        and len(lower) == len(columns)
        and 2 * len(numbers) < len(columns)
        and all(is_name(name) for name in columns if name not in numbers)
    )


def instead_of(column: str, columns: Sequence[str], expected: Collection[str]) -> str:
    """A description of what a table has instead of a missing column, and what may be wrong.

    Similar names come first. If the names may be values of people, only their number is reported.
    expected: all the columns that the table should have.
    """
    if not are_names(columns, expected):
        return f"it has {len(columns)} column{'' if len(columns) == 1 else 's'}{_why_not(columns)}"
    has = (
        f"it has {', '.join(columns)}"
        if len(columns) <= MOST_NAMES
        else f"it has {len(columns)} columns"
    )
    near = _nearest(column, columns)
    return f"{near} {has[0].upper()}{has[1:]}" if near else has


def renamed(names: Sequence[str], columns: Mapping[str, str]) -> list[str]:
    """The names of a table's columns after `input.columns`.

    >>> renamed(["zip code", "age"], {"zip code": "zip"})
    ['zip', 'age']

    Raises:
        InputError: if one that has a new name is not there, or a new name is another column's.
    """
    known = [name for name in names if name != MALFORMED]
    for old in columns:
        if old not in known:
            raise InputError(
                f"input.columns: column {old!r} is not in the input; "
                f"{instead_of(old, known, columns)}",
            )
    new = [columns.get(name, name) for name in names]
    lower = [name.lower() for name in new]
    for old, name in columns.items():
        if lower.count(name.lower()) > 1:
            raise InputError(
                f"input.columns: {old!r} becomes {name!r}, as which the input has another column "
                "(up to case); rename that one, too, or take another name",
            )
    return new


def instead_of_each(
    lost: Sequence[str],
    columns: Sequence[str],
    expected: Collection[str],
) -> list[str]:
    """`instead_of` for every missing column. The table's columns are listed once. If the names may
    be values of people, the first text covers all.
    """
    if not lost:
        return []
    first = instead_of(lost[0], columns, expected)
    if not are_names(columns, expected):
        return [first]
    return [
        first,
        *(_nearest(column, columns) or "none of its names is near" for column in lost[1:]),
    ]


def _nearest(column: str, columns: Sequence[str]) -> str:
    """A question with the similar names; "" without any."""
    return meant(column, columns, most=3)


def shown(place: int, name: str) -> str:
    """A column of a table whose other columns are known: its name if it can be a name, otherwise
    its place from 1.
    """
    return f"column {name!r}" if is_name(name) else f"column number {place + 1}"


def _why_not(columns: Sequence[str]) -> str:
    """The likely reason why a table has none of the columns."""
    if not columns:
        return ""
    if all(name == f"_c{i}" for i, name in enumerate(columns)):
        return ", read without a header: set input.options.header: true"
    return (
        ", and none of the requested ones (their names may be values: is the first line a header? "
        "See input.options.header, sep)"
    )


def _is_number(text: str) -> bool:
    # `_0` is a column without a name.
    return not text.startswith("_") and number_in_text(text.strip()) is not None


SHARE = 1 / 5
ALONE = 1 / 3
"""Shares of the names that are refused if they look like values: of several such names, and of a
single one.
"""
ENOUGH = 10  # rows from which a single name is evidence
RARE = 0.01  # share of rows with equally rare values, below which a name is no usual value of its column
ALIKE = 0.5  # share of rows whose values are written as the name is
LONG_RUN = 5  # ascending numbers that are names of columns
YEARS = 1800, 2100
NUMBER = re.compile(r"[$\u20ac\u00a3]? ?([+-]?[0-9]+(?:[.,][0-9]+)?) ?[%$\u20ac\u00a3]?")
COPY = re.compile(r"(.+)\.[0-9]+")
"""What a reader makes of a name that a file has twice: `NC.1`."""
NOT_CHOSEN = re.compile(
    r"(?i)(no|not|non|none|nein|nicht|nee|niet|un|false|falsch|faux|0)\b.*|unchecked|unselected",
)
CHOSEN = frozenset(["yes", "y", "true", "t", "ja", "oui", "si", "s\u00ed", "1"])
POSTAL = "postal addresses"  # whose pattern also matches names of columns, such as `platz1`


def require_names(
    names: Sequence[str],
    rows: Sequence[Sequence[str]],
    where: str,
    cure: str,
) -> None:
    """Raises InputError, with `where` the names are and with the `cure`, if the names of columns
    look like a record.

    names: of some columns. rows: some of the table's rows, with the texts of these columns; missing
        ones are empty.
    """
    found = len(names_like_values(names, rows))
    known = sum(bool(name.strip()) for name in names)
    several = found > 1 and found >= SHARE * known
    single = found == 1 and found >= ALONE * known and len(rows) >= ENOUGH
    if several or single:
        raise InputError(
            f"{where} may be a record: {found} of {known} names are values of their column, or "
            f"numbers, dates or addresses as its values are; {cure}",
        )


def names_like_values(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """The places of names that look like values.

    A name looks like one if it is an address, a number or a key of persons; if it is a usual value
    of its column, but not the mark of a chosen answer; if it differs from half of the column's
    values in digits only; or if it is a number between the column's lowest and highest one. Names
    such as `2019`, `2020`, which run in steps, are names.

    >>> names_like_values(["Jones", "50", "NC"], [["Smith", "31", "NC"], ["Weber", "67", "NC"], ["Klein", "40", "VA"]])
    [1, 2]
    >>> names_like_values(["region", "2019", "2020"], [["North", "2100", "1980"], ["South", "1500", "2400"]])
    []
    """
    plain = [name.strip() for name in names]
    others = [row for row in rows if list(row) != list(names)]  # a header may be there again
    columns = list(zip(*others, strict=True)) if others else [()] * len(names)
    in_steps = steps(plain)
    found = []
    for place, (name, column) in enumerate(zip(plain, columns, strict=True)):
        if name and place not in in_steps and _is_value(name, plain, column):
            found.append(place)
    return found


def _is_value(name: str, names: Sequence[str], column: Sequence[str]) -> bool:
    """Whether a name looks like a value. names: all names. column: its values; missing ones are
    empty.
    """
    copy = COPY.fullmatch(name)
    texts = {name, copy[1]} if copy and copy[1] in names else {name}
    values = Counter(filter(None, map(str.strip, column)))
    if any(_is_usual(text, values) for text in texts) or _is_address(name):
        return True
    read = NUMBER.fullmatch(name)
    if read is None:
        return any(sign.isdigit() for sign in name) and _are_alike(name, values)
    numbers = [
        float(found[1].replace(",", ".")) for value in values if (found := NUMBER.fullmatch(value))
    ]
    are_numbers = numbers and len(numbers) >= ALIKE * len(values)
    return bool(are_numbers) and min(numbers) <= float(read[1].replace(",", ".")) <= max(numbers)


def _is_usual(name: str, values: Counter[str]) -> bool:
    """Whether a name is a value that is not far rarer than the others, and not the one mark of a
    chosen answer.
    """
    if name not in values:
        return False
    others = [value for value in values if value != name]
    if name.lower() not in CHOSEN and all(map(NOT_CHOSEN.fullmatch, others)):
        return False
    as_rare = sum(rows for rows in values.values() if rows <= values[name])
    return as_rare >= RARE * values.total()


def _is_address(name: str) -> bool:
    """Whether a name is written as a person's address, number or key."""
    if "@" not in name and "www." not in name and sum(map(str.isdigit, name)) < 4:
        return False
    if NUMBER.fullmatch(name):
        return False
    return bool(identifying(pa.array([name]), pa.array([1])).keys() - {POSTAL})


def _are_alike(name: str, values: Counter[str]) -> bool:
    """Whether most values differ from a name in digits and names of months only."""
    form = _form(name)
    alike = sum(rows for value, rows in values.items() if _form(value) == form)
    return alike >= ALIKE * max(1, values.total()) and alike > 0


def _form(text: str) -> str:
    return re.sub("[0-9]+", "9", NAMED.sub("M", text))


def steps(names: Sequence[str]) -> frozenset[int]:
    """The places of the names that are numbers, if they run in equal steps, as years, or for long.

    >>> sorted(steps(["region", "2019", "2020"])), sorted(steps(["31", "Jones", "730173", "12"]))
    ([1, 2], [])
    """
    numbers = {}
    for place, name in enumerate(names):
        if re.fullmatch(r"[+-]?[0-9]+([.,][0-9]+)?", name):
            numbers[place] = float(name.replace(",", "."))
    runs = [after - before for before, after in pairwise(numbers.values())]
    if not runs or not (min(runs) > 0 or max(runs) < 0):
        return frozenset()
    equal = max(runs) - min(runs) < 1e-9 * max(map(abs, runs)) and (
        len(runs) > 1 or abs(runs[0]) == 1
    )
    years = all(YEARS[0] <= number <= YEARS[1] and not number % 1 for number in numbers.values())
    return frozenset(numbers) if equal or years or len(numbers) >= LONG_RUN else frozenset()
