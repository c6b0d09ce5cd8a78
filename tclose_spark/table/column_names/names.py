"""Column names in messages. A file's header may be the first person's record, so a message shows a
text only if it is a name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tclose_spark.errors import InputError
from tclose_spark.runfile.text import meant
from tclose_spark.table.columns.spark_types import MALFORMED
from tclose_spark.table.domains import number

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
                f"{instead_of(old, known, columns)}"
            )
    new = [columns.get(name, name) for name in names]
    lower = [name.lower() for name in new]
    for old, name in columns.items():
        if lower.count(name.lower()) > 1:
            raise InputError(
                f"input.columns: {old!r} becomes {name!r}, as which the input has another column "
                "(up to case); rename that one, too, or take another name"
            )
    return new


def instead_of_each(
    lost: Sequence[str], columns: Sequence[str], expected: Collection[str]
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
    return not text.startswith("_") and number(text.strip()) is not None
