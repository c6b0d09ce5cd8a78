"""The parts of CSV files that tasks read: whole lines in UTF-8.

The types that Spark infers for the columns of a CSV file, and texts as values of these types.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO
from zipfile import BadZipFile

import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.engine.local.table import NeedsSparkError
from tclose_spark.errors import InputError
from tclose_spark.io.input import problems
from tclose_spark.io.input.csv_options import is_wide
from tclose_spark.io.input.signatures import MARKS
from tclose_spark.io.input.text_files import UTF_8, is_packed, opened_lines
from tclose_spark.io.storage.stores import Place, require_answer

BLOCK = 1 << 22  # bytes that are parsed at once
LONE_RETURN = re.compile(rb"\r(?!\n)")  # ends a line, too
WHITE = bytes(range(33))
MARK = MARKS[0][0]


@dataclass(frozen=True)
class Part:
    """The lines of a file that begin in a range of its bytes. A file is one part if it is
    compressed, in another encoding than UTF-8, or has lines at its ends that are no rows.

    above, below: how many lines that are, without blank ones below.
    """

    file: Place
    begin: int
    end: int
    encoding: str = UTF_8
    above: int = 0
    below: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether the file is one part."""
        return is_packed(self.file) or self.encoding != UTF_8 or self.above + self.below > 0

    def blocks(self) -> Iterator[bytes]:
        """The lines, some at once, in UTF-8, each with its end. The mark of UTF-8 is left out.

        Raises:
            InputError: if the file is missing or cannot be unpacked.
        """
        where = f"input.path: {self.file.name}"
        try:
            with opened_lines(self.file, self.encoding) as opened:
                blocks = _without_first(self._blocks(opened), self.above)
                yield from _without_last(blocks, self.below) if self.below else blocks
        except FileNotFoundError:
            raise problems.gone(where) from None
        except EOFError:
            raise problems.truncated(where) from None
        except UnicodeError:
            raise InputError(
                f"{where} does not begin as {self.encoding} does; set input.options.encoding",
            ) from None
        except (OSError, zlib.error, BadZipFile, NotImplementedError) as error:
            require_answer(error, self.file)
            raise problems.damaged(where) from None

    def _blocks(self, opened: BinaryIO) -> Iterator[bytes]:
        place = self.begin
        if self.begin:
            opened.seek(place - 1)
            place += len(opened.readline()) - 1
        while self.is_whole or place < self.end:
            data = opened.read(BLOCK if self.is_whole else min(BLOCK, self.end - place))
            if not data:
                return
            if not data.endswith(b"\n"):
                data += opened.readline()
            if not place:
                place = len(data)
                data = data.removeprefix(MARK)
            else:
                place += len(data)
            if data:
                data = data if data.endswith(b"\n") else data + b"\n"
                is_plain = is_wide(self.encoding) or data.count(b"\r") == data.count(b"\r\n")
                yield data if is_plain else LONE_RETURN.sub(b"\n", data)


def _without_first(blocks: Iterable[bytes], lines: int) -> Iterator[bytes]:
    """The blocks without the first lines."""
    for block in blocks:
        while lines and block:
            block = block.partition(b"\n")[2]
            lines = lines - 1
        if block:
            yield block


def _without_last(blocks: Iterable[bytes], lines: int) -> Iterator[bytes]:
    """The blocks without the last lines that are not blank."""
    held: list[bytes] = []
    for block in blocks:
        held += block.splitlines(keepends=True)
        filled = [place for place, line in enumerate(held) if line.strip(WHITE)]
        end = filled[-lines] if len(filled) >= lines else 0
        if end:
            yield b"".join(held[:end])
        held = held[end:]


def first_line(block: bytes) -> bytes | None:
    """The first line that is not blank."""
    begin = 0
    while begin < len(block):
        end = block.index(b"\n", begin) + 1
        if block[begin:end].strip(WHITE):
            return block[begin:end]
        begin = end
    return None


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
