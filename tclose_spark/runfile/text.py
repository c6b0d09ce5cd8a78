"""Texts: lists of names in messages, names that are similar, and spellings that a reader takes for
the same.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

NormalForm = Literal["NFC", "NFD", "NFKC", "NFKD"]
NEAR = 0.7  # difflib's ratio from which a name may be what was meant
MOST_LISTED = 5  # names in a message


def one_of(names: Iterable[str]) -> str:
    """Names as a list of choices.

    >>> one_of(["error", "lowest", "highest"]), one_of(["ordered"])
    ('error, lowest or highest', 'ordered')
    """
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


def first_few(names: Sequence[str], most: int = MOST_LISTED) -> str:
    """The first names, and how many more there are.

    >>> first_few(["age", "sex", "city"], 2), first_few(["age", "sex"])
    ('age, sex and 1 more', 'age, sex')
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def meant(name: str, known: Collection[str], most: int = 1) -> str:
    """A question with the known names that are similar to a name, up to case; "" without any.

    >>> meant("closenes_tree", ["closeness_tree", "sabre"]), meant("x", ["sabre"])
    ("did you mean 'closeness_tree'?", '')
    """
    lower = {one.lower(): one for one in known}
    similar = [
        lower[one] for one in difflib.get_close_matches(name.lower(), lower, n=most, cutoff=NEAR)
    ]
    return f"did you mean {' or '.join(map(repr, similar))}?" if similar else ""


def meant_file(path: str) -> str:
    """A question with a similar file of the folder of a local path that is missing; ""
    without one.
    """
    file = Path(path)
    names = list[str]()
    with suppress(OSError, ValueError):
        names = [one.name for one in file.parent.iterdir()]
    question = meant(file.name, names)
    return f"; {question}" if question else ""


def normal(
    value: str,
    normal_form: NormalForm | None = None,
    strip: bool = False,
    fold: bool = False,
) -> str:
    """A text with a column's options applied: Unicode normal form, then blanks removed at both
    ends, then case folded.

    A text of blanks becomes an empty text, which is a value like others.

    >>> normal("  Fl\u00dc ", strip=True, fold=True)
    'fl\u00fc'
    """
    if normal_form is not None:
        value = unicodedata.normalize(normal_form, value)
    if strip:
        value = value.strip()
    return value.casefold() if fold else value


def value_text(value: Any) -> str:
    """A value of the run file, written as the table's values are.

    >>> value_text(True), value_text(7)
    ('true', '7')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def same_to_a_reader(value: str) -> str:
    """A common form of texts that differ only in case, blanks, width or Unicode normal form.

    >>> same_to_a_reader("  New   YORK "), same_to_a_reader("new york")
    ('new york', 'new york')
    """
    return " ".join(
        unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", value).casefold()).split(),
    )


def count_spellings(values: Iterable[str | None]) -> int:
    """The number of distinct values that are another spelling of an earlier one.

    >>> count_spellings(["Lyon", "LYON", "Pisa", None])
    1
    """
    texts = {value for value in values if value is not None}
    return len(texts) - len({same_to_a_reader(value) for value in texts})
