"""Partitions of an input whose rows are counted as they are read: the last of them to end raises the error of all."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.io.input import problems
from tclose_spark.runfile.spec import Input

Counts = Counter[tuple[str, str]]
"""Numbers of rows: ROWS and MALFORMED ones, and by column those whose text holds NUL or is LOST."""
ROWS, MALFORMED = ("rows", ""), ("malformed", "")
NUL, LOST = "nul", "lost"
Counting = Callable[[Counts], Iterable[pa.RecordBatch]]
"""The batches of a partition, which adds its rows to these counts meanwhile."""


def watched(parts: Sequence[Counting], source: Input) -> tuple[Callable[[], Iterator[pa.RecordBatch]], ...]:
    """The partitions. A partition that ends when all others have ended before raises InputError if a row of any is
    malformed or damaged.
    """
    ended: dict[int, Counts] = {}
    lock = threading.Lock()

    def rows(place: int, part: Counting) -> Iterator[pa.RecordBatch]:
        counts: Counts = Counter()
        yield from part(counts)
        with lock:
            ended[place] = counts
            total = sum(ended.values(), Counts()) if len(ended) == len(parts) else Counts()
        _require_sound(total, source)

    return tuple(partial(rows, place, part) for place, part in enumerate(parts))


def _require_sound(counts: Counts, source: Input) -> None:
    if counts[MALFORMED]:
        raise problems.malformed_rows(counts[MALFORMED], counts[ROWS])
    by_column = {kind: {name: n for (what, name), n in counts.items() if what == kind} for kind in (NUL, LOST)}
    if by_column[NUL]:
        raise problems.nul_bytes(by_column[NUL])
    if by_column[LOST]:
        raise problems.undecodable(by_column[LOST], source)


def text_of(column: pa.Array, name: str, counts: Counts | None, may_hold_nul: bool = True) -> pa.Array:
    """A column of bytes as text, with U+FFFD for what is not UTF-8. Rows are added to the counts, if any."""
    try:
        text = column.cast(pa.string())
    except pa.ArrowInvalid:
        values = column.to_pylist()
        text = pa.array([None if v is None else v.decode(errors="replace") for v in values], pa.string())
        if counts is not None:
            counts[LOST, name] += sum(v is not None and not is_utf8(v) for v in values)
    if counts is not None and may_hold_nul:
        counts[NUL, name] += pc.sum(pc.match_substring(text, "\0")).as_py() or 0
    return text


def is_utf8(text: bytes) -> bool:
    """Whether these bytes are valid UTF-8."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
