"""Codes that a table has in place of missing values. Both engines find them by one pattern of a value's text."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.table.columns.preparing import as_text

PLAIN = re.compile(r"(-?)(0|[1-9][0-9]*)(?:\.([0-9]*))?")
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def pattern_of(codes: Iterable[str]) -> str:
    """The pattern (RE2 and Java) of the texts of these codes, as casts make them. A code is a text exactly as it is
    written. If it is a number, it is also the same number with other digits after the point, but not with zeros in
    front, which is another code. A date is also its midnight.

    >>> [bool(re.match(pattern_of(["99"]).replace("z", "Z"), text)) for text in ("99", "99.0", "099", "99.5", "999")]
    [True, True, False, False, False]
    """
    return rf"\A(?:{'|'.join(form for code in codes for form in _forms(code))})\z"


def without_codes(values: pa.Array, pattern: str) -> pa.Array:
    """The values, with those of a `pattern_of` codes as missing.

    >>> without_codes(pa.array([1.5, 99.0, None]), pattern_of(["99"])).to_pylist()
    [1.5, None, None]
    """
    coded = pc.fill_null(pc.match_substring_regex(as_text(values), pattern), False)
    return pc.if_else(coded, pa.scalar(None, values.type), values)


def _forms(code: str) -> Iterable[str]:
    yield re.escape(code)
    if number := PLAIN.fullmatch(code):
        sign, whole, digits = number[1], number[2], (number[3] or "").rstrip("0")
        yield re.escape(f"{sign}{whole}") + (rf"\.{digits}0*" if digits else r"(?:\.0*)?")
        for kind in (pa.float64(), pa.float32()):  # a large one has an exponent
            yield re.escape(as_text(pa.array([float(code)], kind))[0].as_py())
    elif DAY.fullmatch(code):
        yield rf"{re.escape(code)} 00:00:00"
