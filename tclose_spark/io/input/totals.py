"""Lines below a table that are no rows: notes, and totals whose numbers are sums of the table's
columns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal, InvalidOperation

BELOW = re.compile(
    r"(?i)^\W*((grand |sub)?totals?|sum|summe|gesamt(summe)?|insgesamt|totale|totaal|somme|suma|sources?|quellen?|"
    r"notes?|anmerkung(en)?|stand)\b",
)
"""How a total or a note begins."""
MARKS = re.compile("[^0-9.,+-]")
"""What a number has beside digits and marks, such as a currency."""
Rows = Callable[[], Iterable[Sequence[str]]]
"""All rows of a table, read anew."""


def lines_below(width: int, last: Sequence[Sequence[str]], rows: Rows) -> int:
    """How many of the last lines are no rows of a table.

    A line of another width is a note if it has one text, or begins as a total or a note does. A
    line of the table's width that begins so may be about a person (a note taker). It is a total if
    its other fields are empty, or each is a sum of the table.

    width: of the table. last: the fields of its last lines, the first of which is a row. rows: of
        the table.

    >>> pay = [["Ann", "10", "x"], ["Bob", "20", "y"]]
    >>> [lines_below(3, [*pay, [*line]], lambda: pay) for line in (("Total", "30", ""), ("Note taker", "c", ""))]
    [1, 0]
    """
    below = 0
    for fields in reversed([one for one in last[1:] if any(map(str.strip, one)) or not one]):
        texts = [text for text in fields if text.strip()]
        begins = BELOW.match("".join(texts[:1])) is not None
        if len(fields) != width:
            is_note = len(texts) == 1 and any(map(str.isalpha, texts[0]))
            is_below = is_note or begins
        else:
            is_below = begins and len(texts) < width and _are_sums(fields, texts[1:], rows)
        if width < 2 or not is_below:
            break
        below += 1
    return below


def _are_sums(line: Sequence[str], texts: Sequence[str], rows: Rows) -> bool:
    """Whether each of these texts of a line is the sum of a column of the table, or the number of
    its rows.
    """
    if not texts:
        return True
    number = 0
    sums = {mark: [Decimal(0) for _ in line] for mark in ".,"}
    for fields in rows():
        if len(fields) == len(line) and [*fields] != [*line]:
            number += 1
            for mark, totals in sums.items():
                for place, text in enumerate(fields):
                    totals[place] += _number(text, mark) or 0
    counts = [Decimal(number), Decimal(number - 1)]  # with and without the header
    return any(
        all(_is_one_of(text, mark, [*counts, *totals]) for text in texts)
        for mark, totals in sums.items()
    )


def _is_one_of(text: str, mark: str, totals: Sequence[Decimal]) -> bool:
    """Whether a text is one of these numbers, rounded."""
    number = _number(text, mark)
    return number is not None and any(_is_rounded(number, total) for total in totals)


def _is_rounded(number: Decimal, total: Decimal) -> bool:
    """Whether a number is a sum, rounded to the number's digits."""
    exponent = number.as_tuple().exponent
    unit = Decimal(1).scaleb(exponent) if isinstance(exponent, int) else Decimal(0)
    return abs(number - total) <= unit / 2


def _number(text: str, mark: str) -> Decimal | None:
    """A number with this decimal mark; None if the text is none."""
    if any(map(str.isalpha, text)):
        return None
    digits = MARKS.sub("", text).replace("," if mark == "." else ".", "").replace(mark, ".")
    try:
        number = Decimal(digits)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
