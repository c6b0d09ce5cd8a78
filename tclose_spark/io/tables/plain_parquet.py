"""Parquet files that hold rows and nothing else, by their footers.

A footer is a structure of Thrift's compact protocol. Readers skip rows by statistics, page indexes
and bloom filters, and ignore fields and bytes that they do not know. Arrow shows only some of them,
so the footer is read here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tclose_spark.errors import GuaranteeError
from tclose_spark.io.storage.folders import Folder
from tclose_spark.io.tables.delta_log import EARLIER, LOGS
from tclose_spark.table.columns.spark_types import delta_schema

MAGIC = b"PAR1"
OTHER_COLUMNS = "other columns"
END_BYTES = 8  # the length of the footer, and MAGIC
SCHEMA = 2
GROUPS = 4
WORDS = 5
CREATED_BY = 6
FILE = {1, SCHEMA, 3, GROUPS, WORDS, CREATED_BY, 7}
NAME = 4
ELEMENT = {1, 2, 3, NAME, 5, 6, 7, 8, 9, 10}
COLUMNS = 1
GROUP = {COLUMNS, 2, 3, 5, 6, 7}
OFFSET = 2
META = 3
INDEX_OFFSET = 4
INDEX_LENGTH = 5
BOUNDS_OFFSET = 6
BOUNDS_LENGTH = 7
CHUNK = {OFFSET, META}
INDEXES = {INDEX_OFFSET, INDEX_LENGTH, BOUNDS_OFFSET, BOUNDS_LENGTH}
LENGTH = 7
DATA = 9
DICTIONARY = 11
STATISTICS = 12
COLUMN = {1, 2, 3, 4, 5, 6, LENGTH, DATA, DICTIONARY, 13, 16}
"""The fields of each structure that describe rows, by their number in parquet.thrift. The others
are sorting columns, other files, encryption, statistics, page indexes, bloom filters, and keys with
values.
"""
SPARK = b"parquet-mr "
SPARK_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"
SPARK_WORDS = {
    b"org.apache.spark.version": rb"[0-9]+(\.[0-9A-Za-z]+)*(-SNAPSHOT)?",
    b"org.apache.spark.timeZone": rb"[A-Za-z0-9_+-]+([/:][A-Za-z0-9_+-]+)*",
    b"org.apache.spark.legacyDateTime": rb"",
    b"org.apache.spark.legacyINT96": rb"",
}
"""What Spark adds to the metadata of a file: its version, and its date rules."""
WRITERS = (
    r"parquet-(cpp-arrow|mr( compatible Photon)?) version [0-9A-Za-z.-]+( \(build [0-9a-f]+\))?"
)
"""The names of Arrow and Spark in the metadata of a file."""
TRUE = 1
FALSE = 2
BYTE = 3
INTEGERS = (4, 5, 6)
DOUBLE = 7
BINARY = 8
LISTS = (9, 10)
STRUCT = 12
LONG = 15  # a list whose length follows
DEEPEST = 12  # structures in one another

Fields = Mapping[int, Any]


def parts_of(folder: Folder, name: str) -> list[str]:
    """The data files of a table or an export in a folder; of a table's last version."""
    return [
        file
        for file in sorted(folder.sizes(name))
        if not file.startswith((f"{name}/{LOGS}/", f"{name}/{EARLIER}/"))
    ]


def require_plain_parquet(folder: Folder, names: Iterable[str], columns: pa.Schema) -> None:
    """Raises GuaranteeError, naming the file, unless these Parquet files hold rows with these
    columns, and a footer without anything from which readers skip rows.

    Spark adds the places of pages and their sizes. Before Spark 4.1, and in sessions that do not
    let it leave them out, it also adds statistics, which must be those of the rows, and bounds of
    pages.
    """
    for name in names:
        file = name.rpartition("/")[2]
        size = folder.size(name)
        ends = partial(folder.end, name)
        end = ends(END_BYTES)
        length = int.from_bytes(end[:4], "little")
        if (
            end[4:] != MAGIC
            or folder.begin(name, len(MAGIC)) != MAGIC
            or length > size - END_BYTES - len(MAGIC)
        ):
            raise GuaranteeError(f"the release is damaged: {file} cannot be read")
        footer = ends(length + END_BYTES)[:-END_BYTES]
        try:
            problem = next(_problems(footer, ends, size, columns), None)
        except (IndexError, ValueError, KeyError, TypeError, AttributeError, pa.ArrowException):
            raise GuaranteeError(f"the release is damaged: {file} cannot be read") from None
        if problem == OTHER_COLUMNS:
            raise GuaranteeError(
                f"the release is damaged: {file} has other columns than the release",
            )
        if problem is not None:
            raise GuaranteeError(
                f"the release is damaged: {file} has metadata beyond that of the release: {problem}",
            )


def _problems(
    footer: bytes,
    end: Callable[[int], bytes],
    size: int,
    kinds: pa.Schema,
) -> Iterator[str]:
    """What a file of so many bytes with this footer has beside rows with columns of these kinds.
    end: returns its last bytes.
    """
    reader = _Compact(footer)
    whole = reader.structure()
    if reader.place != len(footer):
        yield "bytes after its footer"
    if [element[NAME].decode() for element in whole[SCHEMA][1:]] != kinds.names:
        yield OTHER_COLUMNS
    writer = whole[CREATED_BY]
    groups = whole.get(GROUPS, [])
    by_spark = writer.startswith(SPARK)
    chunks = [chunk for group in groups for chunk in group[COLUMNS]]
    columns = [chunk[META] for chunk in chunks]

    def is_padding(begin: int, stop: int) -> bool:  # to the blocks of HDFS
        return by_spark and begin < stop and not any(end(size - begin)[: stop - begin])

    for structures, known, what in (
        ([whole], FILE, "file"),
        (whole[SCHEMA], ELEMENT, "schema"),
        (groups, GROUP, "row group"),
        (chunks, CHUNK | (INDEXES if by_spark else set()), "column"),
        (columns, COLUMN | ({STATISTICS} if by_spark else set()), "column's metadata"),
    ):
        for number in sorted({*chain.from_iterable(structures)} - known):
            yield f"field {number} of a {what}, such as statistics, an index, a filter or text"
    yield from _foreign_words(writer, [(pair[1], pair[2]) for pair in whole.get(WORDS, [])], kinds)
    yield from _foreign_bytes(chunks, size - END_BYTES - len(footer), is_padding)
    if any(column.get(STATISTICS) for column in columns):
        yield from _false_statistics(pq.ParquetFile(pa.BufferReader(end(size))))


def _foreign_bytes(
    chunks: Sequence[Fields],
    stop: int,
    is_padding: Callable[[int, int], bool],
) -> Iterator[str]:
    """The bytes up to a place that belong to no column, and are no padding."""
    spans = [
        (chunk[META].get(DICTIONARY) or chunk[META][DATA], chunk[META][LENGTH]) for chunk in chunks
    ]
    for at, length in ((INDEX_OFFSET, INDEX_LENGTH), (BOUNDS_OFFSET, BOUNDS_LENGTH)):
        spans += [(chunk[at], chunk[length]) for chunk in chunks if length in chunk]
    place = len(MAGIC)
    for start, length in [*sorted(spans), (stop, 0)]:
        if start != place and not is_padding(place, start):
            yield "bytes that belong to no column"
        place = start + length


def _foreign_words(
    writer: bytes,
    words: Sequence[tuple[bytes, bytes]],
    kinds: pa.Schema,
) -> Iterator[str]:
    """What a file's writer, keys and values say beside what Arrow and Spark say of themselves and
    these columns.
    """
    if not re.fullmatch(WRITERS, writer.decode()):
        yield "another writer"
    described = json.loads(delta_schema(kinds))
    for key, word in words:
        plain = json.loads(word) == described if key == SPARK_SCHEMA else key in SPARK_WORDS
        if not plain or (key in SPARK_WORDS and not re.fullmatch(SPARK_WORDS[key], word)):
            yield "a key with another value than Spark's"
    if len(dict(words)) < len(words):
        yield "a key twice"


def _false_statistics(file: pq.ParquetFile) -> Iterator[str]:
    """The columns of a file whose statistics are not those of their rows."""
    for number in range(file.num_row_groups):
        described = file.metadata.row_group(number)
        rows = file.read_row_group(number)
        for place, name in enumerate(rows.column_names):
            found = described.column(place).statistics
            if found is None:
                continue
            bounds = pc.min_max(rows[name]).as_py()
            same = not found.has_min_max or {"min": found.min, "max": found.max} == bounds
            if not same or (found.has_null_count and found.null_count != rows[name].null_count):
                yield f"statistics of {name!r} that are not those of its rows"


@dataclass
class _Compact:
    """Reads Thrift's compact protocol. IndexError or ValueError if bytes are none of it.

    >>> _Compact(bytes([0x15, 0x0A, 0x18, 0x01, 0x61, 0x00])).structure()
    {1: 5, 2: b'a'}
    """

    content: bytes
    place: int = 0

    def structure(self, depth: int = 0) -> dict[int, Any]:
        """The fields of a structure by their number."""
        if depth > DEEPEST:
            raise ValueError("too deep")
        found = dict[int, Any]()
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            if number in found:
                raise ValueError("a field twice")
            found[number] = self._value(head & 15, depth)
        return found

    def _byte(self) -> int:
        self.place += 1
        return self.content[self.place - 1]

    def _unsigned(self) -> int:
        value = 0
        shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    def _integer(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)

    def _taken(self, length: int) -> bytes:
        if length > len(self.content) - self.place:
            raise ValueError("too long")
        self.place += length
        return self.content[self.place - length : self.place]

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (TRUE, FALSE):
            return kind == TRUE
        if kind == BYTE:
            return self._byte()
        if kind in INTEGERS:
            return self._integer()
        if kind == DOUBLE:
            return self._taken(8)
        if kind == BINARY:
            return self._taken(self._unsigned())
        if kind == STRUCT:
            return self.structure(depth + 1)
        if kind not in LISTS:
            raise ValueError("a kind that Parquet does not use")
        head = self._byte()
        length = self._unsigned() if head >> 4 == LONG else head >> 4
        if length > len(self.content):
            raise ValueError("too long")
        return [
            self._byte() if head & 15 in (TRUE, FALSE) else self._value(head & 15, depth)
            for _ in range(length)
        ]
