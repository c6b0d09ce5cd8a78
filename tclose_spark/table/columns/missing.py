"""Codes that a table has in place of missing values. Both engines find them by one pattern of a
value's text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.runfile.columns import NUMBER
from tclose_spark.table.columns.preparing import as_text

DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def pattern_of(codes: Iterable[str | Decimal], of_text: bool) -> str:
    """The pattern (RE2 and Java) of the texts of these codes, as casts make them. of_text: whether
    the column is text.

    A text is itself, as it is written. A number is also the same number with other digits after the
    point, but not with zeros in front, which is another code. In a column that is not text, a text
    that looks like a number is that number. A date is also its midnight.

    >>> def found(code, of_text=True):
    ...     pattern = re.compile(pattern_of([code], of_text).replace("z", "Z"))
    ...     return [text for text in ("99", "99.0", "099", "99.5", "999") if pattern.match(text)]
    >>> found(Decimal(99)), found("99"), found("99", of_text=False)
    (['99', '99.0'], ['99'], ['99', '99.0'])
    """
    return rf"\A(?:{'|'.join(form for code in codes for form in _forms(code, of_text))})\z"


def without_codes(values: pa.Array, pattern: str) -> pa.Array:
    """The values, with those of a `pattern_of` codes as missing.

    >>> without_codes(pa.array([1.5, 99.0, None]), pattern_of(["99"], of_text=False)).to_pylist()
    [1.5, None, None]
    """
    coded = pc.fill_null(pc.match_substring_regex(as_text(values), pattern), False)
    return pc.if_else(coded, pa.scalar(None, values.type), values)


def _forms(code: str | Decimal, of_text: bool) -> Iterator[str]:
    text = str(code)
    yield re.escape(text)
    number = NUMBER.fullmatch(text)
    if number and not (of_text and isinstance(code, str)):
        sign = number[1]
        whole = number[2]
        digits = (number[3] or "").rstrip("0")
        yield re.escape(f"{sign}{whole}") + (rf"\.{digits}0*" if digits else r"(?:\.0*)?")
        for kind in (pa.float64(), pa.float32()):  # a large one has an exponent
            yield re.escape(as_text(pa.array([float(text)], kind))[0].as_py())
    elif DAY.fullmatch(text):
        yield rf"{re.escape(text)} 00:00:00"
