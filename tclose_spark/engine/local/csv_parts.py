"""The parts of CSV files that tasks read: whole lines in UTF-8."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO
from zipfile import BadZipFile

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
