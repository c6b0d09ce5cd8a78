"""The rows of files: counted before they are read, and as they are read. The last partition to end
raises the error of all.
"""

from __future__ import annotations

import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from zipfile import BadZipFile

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tclose_spark.engine.local.table import NeedsSparkError as NeedsSparkError
from tclose_spark.errors import InputError
from tclose_spark.io.input import problems
from tclose_spark.io.input.states import walk
from tclose_spark.io.input.text_files import opened_lines
from tclose_spark.io.storage.folders import place_of
from tclose_spark.io.storage.stores import opened, sorted_places
from tclose_spark.runfile.spec import Input


def count_rows(source: Input, most: int) -> int:
    """The rows of files, before they are read: by the footers of Parquet, or the lines of CSV.
    Counts no file more once there are more than `most`. Files that cannot be read count for
    nothing; reading them reports why.
    """
    rows = 0
    for file in sorted_places(file for file, _ in walk(place_of(source.path))):
        if rows > most:
            break
        with suppress(OSError, EOFError, zlib.error, BadZipFile, InputError, pa.ArrowException):
            if source.format == "csv":
                with opened_lines(file) as lines:
                    while rows <= most and (block := lines.read(1 << 22)):
                        rows += block.count(b"\n")
            else:
                rows += pq.read_metadata(opened(file)).num_rows
    return rows


Counts = Counter[tuple[str, str]]
"""Numbers of rows: ROWS and MALFORMED ones, and by column those whose text holds NUL or is LOST."""
ROWS = ("rows", "")
MALFORMED = ("malformed", "")
NUL = "nul"
LOST = "lost"
Counting = Callable[[Counts], Iterable[pa.RecordBatch]]
"""The batches of a partition, which adds its rows to these counts meanwhile."""


def watched(
    parts: Sequence[Counting],
    source: Input,
    names: Mapping[str, str],
) -> tuple[Callable[[], Iterator[pa.RecordBatch]], ...]:
    """The partitions. A partition that ends when all others have ended before raises InputError if
    a row of any is malformed or damaged.

    names: of the columns whose text must be sound, by their names in the counts.
    """
    ended: dict[int, Counts] = {}
    lock = threading.Lock()

    def rows(place: int, part: Counting) -> Iterator[pa.RecordBatch]:
        counts: Counts = Counter()
        yield from part(counts)
        with lock:
            ended[place] = counts
            total = sum(ended.values(), Counts()) if len(ended) == len(parts) else Counts()
        _require_sound(total, source, names)

    return tuple(partial(rows, place, part) for place, part in enumerate(parts))


def _require_sound(counts: Counts, source: Input, names: Mapping[str, str]) -> None:
    if counts[MALFORMED]:
        raise problems.malformed_rows(counts[MALFORMED], counts[ROWS])
    nul, lost = ({name: counts[kind, own] for own, name in names.items()} for kind in (NUL, LOST))
    if any(nul.values()):
        raise problems.nul_bytes(nul)
    if any(lost.values()):
        raise problems.undecodable(lost, source)


def text_of(column: pa.Array, name: str, counts: Counts, may_hold_nul: bool = True) -> pa.Array:
    """A column of bytes as text, with U+FFFD for what is not UTF-8. Rows are added to the
    counts.
    """
    try:
        text = column.cast(pa.string())
    except pa.ArrowInvalid:
        values = column.to_pylist()
        text = pa.array(
            [None if v is None else v.decode(errors="replace") for v in values],
            pa.string(),
        )
        counts[LOST, name] += sum(v is not None and not is_utf8(v) for v in values)
    if may_hold_nul:
        counts[NUL, name] += pc.sum(pc.match_substring(text, "\0")).as_py() or 0
    return text


def is_utf8(text: bytes) -> bool:
    """Whether these bytes are valid UTF-8."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
