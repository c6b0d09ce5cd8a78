"""Names of columns in messages. What a file calls its columns may be the first person's record: a name is shown only
where it is one.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence

from tclose_spark.runfile.numbers import parse_number

MOST_NAMES = 30  # that a message lists
LONGEST_NAME = 64
NEAR = 0.7  # difflib's ratio from which a name may be what was meant
SEPARATORS = {"\t": r"'\t'", ";": "';'", "|": "'|'", ",": "','"}


def is_name(text: str) -> bool:
    """Whether a text could name a column: short, printable and no number."""
    return 0 < len(text) <= LONGEST_NAME and text.isprintable() and "\ufffd" not in text and not _is_number(text)


def are_names(columns: Sequence[str], expected: Collection[str]) -> bool:
    """Whether these are names of columns and no record: half of the expected ones are among them (a value of a person
    may be the name of one), all are printable and different, most are no numbers.
    """
    lower, wanted = {name.lower() for name in columns}, {name.lower() for name in expected}
    numbers = [name for name in columns if _is_number(name)]
    return (
        2 * len(lower & wanted) >= len(wanted) > 0
        and len(lower) == len(columns)
        and 2 * len(numbers) < len(columns)
        and all(is_name(name) for name in columns if name not in numbers)
    )


def instead_of(column: str, columns: Sequence[str], expected: Collection[str]) -> str:
    """What a table has in place of a column that it lacks, and what may be wrong.

    Names that are near come first. Where they may be values of a person only their number is reported.

    expected: all the columns it should have.
    """
    if not are_names(columns, expected):
        return f"it has {len(columns)} column{'' if len(columns) == 1 else 's'}{_why_not(columns, expected)}"
    has = f"it has {', '.join(columns)}" if len(columns) <= MOST_NAMES else f"it has {len(columns)} columns"
    near = _nearest(column, columns)
    return f"{near} {has[0].upper()}{has[1:]}" if near else has


def instead_of_each(lost: Sequence[str], columns: Sequence[str], expected: Collection[str]) -> list[str]:
    """`instead_of` for every column that a table lacks; what it has is told once. Where the names may be values of a
    person, the first stands for all.
    """
    if not lost:
        return []
    first = instead_of(lost[0], columns, expected)
    if not are_names(columns, expected):
        return [first]
    return [first, *(_nearest(column, columns) or "none of its names is near" for column in lost[1:])]


def _nearest(column: str, columns: Sequence[str]) -> str:
    """A question for the names that are near; "" if none is."""
    lower = {name.lower(): name for name in columns}
    similar = [lower[name] for name in difflib.get_close_matches(column.lower(), lower, n=3, cutoff=NEAR)]
    return f"did you mean {' or '.join(repr(name) for name in similar)}?" if similar else ""


def shown(place: int, name: str) -> str:
    """A column of a table whose other columns are known: its name if it can be one, else its place (from 0)."""
    return f"column {name!r}" if is_name(name) else f"column number {place + 1}"


def _why_not(columns: Sequence[str], expected: Collection[str]) -> str:
    """What may be wrong with a table that has none of the columns."""
    if not columns:
        return ""
    for separator, written in SEPARATORS.items():
        parts = {part.strip().strip('"').lower() for name in columns for part in name.split(separator)}
        if any(separator in name for name in columns) and not parts.isdisjoint(name.lower() for name in expected):
            return f", whose fields another character separates: set input.options.sep: {written}"
    if all(name == f"_c{i}" for i, name in enumerate(columns)):
        return ", read without a header: set input.options.header: true"
    return (
        ", and none of those that are asked for (their names may be values: is the first line a header? See "
        "input.options.header, sep)"
    )


def _is_number(text: str) -> bool:
    try:
        parse_number(text.strip())
    except ValueError:
        return False
    return True
