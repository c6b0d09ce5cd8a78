"""The types that Spark infers for the columns of a CSV file, and texts as values of these types."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.engine.local.table import NeedsSparkError

BLANKS = "".join(map(chr, range(1, 33)))  # around a number
MOMENT = pa.timestamp("us", "UTC")
NUMBERS = {"int", "bigint", "decimal", "double"}
OTHERS = {"boolean": pa.bool_(), "date": pa.date32(), "timestamp": MOMENT}

NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)"
POWER = "[eE][+-]?[0-9]"
BLANK = r"[\x01-\x20]*"
DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
TIME = "[0-9]{2}:[0-9]{2}"
ZONE = "Z|[+-](0[0-9]|1[0-7]):[0-5][0-9]"

# The kinds of texts: the first pattern that matches counts, and a text that matches none is a
# string to Spark too. A decimal has no digit behind its point, or an exponent that may take them
# all: it is a double beside a double. Spark reads most of the odd ones as numbers or times, in ways
# that are not repeated here.
PATTERNS = {
    "bigint": "^[+-]?[0-9]+$",
    "decimal": rf"^[+-]?([0-9]+\.({POWER}+)?|[0-9]+[eE][+-]?0+|[0-9]*\.[0-9]+[eE]\+?[0-9]+)$",
    "double": f"^({BLANK}{NUMBER}({POWER}{{1,9}})?{BLANK}|[+-]?Infinity|-?Inf|NaN)$",
    "boolean": "^(?i:true|false)$",
    "date": f"^{DAY}$",
    "timestamp": rf"^{DAY}[ T]{TIME}(:[0-9]{{2}}(\.[0-9]{{1,6}})?({ZONE})?)?$",
    "odd number": rf"\x00|^[+-]?[0-9.]*[^\x00-\x7f\P{{Nd}}]|{POWER}{{10}}|"
    rf"^{BLANK}([+-]?(NaN|Infinity)|{NUMBER}({POWER}+)?[dDfF]|[+-]?0[xX][0-9a-fA-F.]+[pP].*){BLANK}$",
    "odd time": r"^[\x01-\x20\x7f]*([+-]?[0-9]{4,19}-[0-9]{1,2}([\x01-\x20\x7f]|-[0-9]{1,2}|$)|T?[0-9]{1,2}:[0-9]|"
    r"T[0-9]{1,2}[\x01-\x20\x7f]*$)",
}


class Inferred:
    """What is known of a column's type after some of its texts. kinds: keys of PATTERNS, int and
    string.
    """

    def __init__(self) -> None:
        self.kinds: set[str] = set()

    def add(self, texts: pa.Array) -> None:
        """Adds texts. Missing ones count for nothing."""
        rest = pc.unique(texts).drop_null()
        for kind, pattern in PATTERNS.items():
            if "string" in self.kinds or not len(rest):
                return
            found = pc.match_substring_regex(rest, pattern)
            if pc.any(found).as_py():
                self.kinds |= _kinds(rest.filter(found), kind)
                rest = rest.filter(pc.invert(found))
        if len(rest):
            self.kinds.add("string")

    def type_of(self, name: str) -> pa.DataType:
        """The column's type.

        Raises:
            NeedsSparkError: naming it, if it is a decimal, has odd texts, or has texts of types
                that are not one.
        """
        kinds = self.kinds
        if "string" in kinds or not kinds:
            return pa.string()
        if kinds <= NUMBERS:
            if "double" in kinds:
                return pa.float64()
            if "decimal" not in kinds:
                return pa.int64() if "bigint" in kinds else pa.int32()
        if kinds == {"date", "timestamp"}:
            return MOMENT
        if len(kinds) == 1 and kinds <= OTHERS.keys():
            return OTHERS[kinds.pop()]
        raise NeedsSparkError(
            f"input.options.inferSchema: column {name!r} has {' and '.join(sorted(kinds))} values",
        )


def _kinds(texts: pa.Array, kind: str) -> set[str]:
    """What texts of a pattern are: a number may be too large, and a time may not exist."""
    if kind == "bigint":
        try:
            ends = pc.min_max(typed(texts, pa.int64())).as_py()
        except pa.ArrowInvalid:
            return {"decimal"}
        return {"int" if ends["min"] >= -(2**31) and ends["max"] < 2**31 else "bigint"}
    if kind in ("date", "timestamp"):
        try:
            typed(texts, OTHERS[kind])
        except pa.ArrowInvalid:
            return {"string"}
    return {kind}


def typed(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Texts as values of the type that was inferred for their column.

    Raises:
        pa.ArrowInvalid: if a text is none.
    """
    if pa.types.is_boolean(kind):
        return pc.match_substring_regex(texts, "^(?i:true)$")
    if pa.types.is_integer(kind):
        return pc.utf8_ltrim(texts, "+").cast(kind)
    if pa.types.is_floating(kind):
        return pc.utf8_trim(texts, BLANKS).cast(kind)
    if kind == MOMENT:
        texts = pc.replace_substring_regex(texts, "^(.{10})$", r"\1T00:00")
        texts = pc.replace_substring_regex(texts, "^(.{11}[0-9:.]+)$", r"\1Z")
    return texts.cast(kind)
