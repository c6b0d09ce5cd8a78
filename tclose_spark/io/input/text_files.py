"""Text files as they lie: plain or compressed, in any encoding. Their content becomes UTF-8 while
it is read.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, BinaryIO, cast

from tclose_spark.errors import InputError
from tclose_spark.io.storage.stores import Place

UTF_8 = "UTF-8"
CHUNK = 1 << 18  # bytes that are decoded at once
LINE = "a" * 100 + "\n"
PACKERS: Mapping[str, Callable[[BinaryIO], Any]] = {".gz": gzip.open, ".bz2": bz2.open}
LOST = "tclose_spark.lost"
codecs.register_error(LOST, lambda error: ("\udcff", cast(UnicodeDecodeError, error).end))
"""How bytes are decoded that an encoding does not have: as a lone surrogate, which no valid UTF-8
holds either.
"""


def is_packed(file: Place) -> bool:
    """Whether a file is compressed, by its name."""
    return file.name.endswith((*PACKERS,)) or is_zip(file.name)


def is_zip(name: str) -> bool:
    """Whether a file is a zip file, by its name."""
    return name.lower().endswith(".zip")


def is_known(encoding: str) -> bool:
    """Whether this process decodes files in an encoding of this name. Some, such as IDNA, are of
    names alone.
    """
    try:
        return (
            codecs.lookup(encoding)._is_text_encoding
            and LINE.encode(encoding).decode(encoding) == LINE
        )
    except (LookupError, ValueError):
        return False


@contextmanager
def opened_lines(file: Place, encoding: str = UTF_8) -> Iterator[BinaryIO]:
    """The content of a file, unpacked and in UTF-8. Bytes that the encoding does not have become
    invalid UTF-8.

    Raises:
        InputError: if it is a zip file of several files, or an encrypted one.
    """
    with ExitStack() as stack:
        lines: Any = stack.enter_context(file.open("rb"))
        if is_zip(file.name):
            lines = stack.enter_context(
                _member(stack.enter_context(zipfile.ZipFile(lines)), file.name),
            )
        elif is_packed(file):
            lines = stack.enter_context(PACKERS[file.name[file.name.rindex(".") :]](lines))
        yield (
            lines
            if encoding == UTF_8
            else cast(BinaryIO, io.BufferedReader(_Transcoded(lines, encoding), CHUNK))
        )


def _member(held: zipfile.ZipFile, name: str) -> Any:
    """The one file of a zip file."""
    files = [
        one
        for one in held.infolist()
        if not one.is_dir() and not one.filename.startswith("__MACOSX/")
    ]
    if any(one.filename == "[Content_Types].xml" for one in files):
        raise InputError(f"input.path: {name} is an Excel file; set input.format: excel")
    if len(files) != 1:
        raise InputError(f"input.path: {name} holds {len(files)} files; expected one CSV file")
    if files[0].flag_bits & 1:
        raise InputError(f"input.path: {name} is encrypted; unpack it")
    return held.open(files[0])


class _Transcoded(io.RawIOBase):
    """Content in an encoding as UTF-8."""

    def __init__(self, content: BinaryIO, encoding: str) -> None:
        self._content = content
        self._decoder = codecs.getincrementaldecoder(encoding)(LOST)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            data = self._content.read(CHUNK)
            self._rest = self._decoder.decode(data, not data).encode(UTF_8, "surrogatepass")
            if not data:
                break
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size
