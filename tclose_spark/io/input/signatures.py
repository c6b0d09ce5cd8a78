"""The format of a file by its first bytes, whatever its name."""

from __future__ import annotations

import zlib

SAMPLE = 512  # bytes that are looked at
KINDS = (
    (b"PAR1", "is a Parquet file; set input.format: parquet"),
    (b"PK\x03\x04", "is a zip file, as Excel's workbooks are; export the table as CSV or Parquet"),
    (b"\xd0\xcf\x11\xe0", "is an Excel workbook; export the table as CSV or Parquet"),
    (b"Obj\x01", "is an Avro file; write it as Parquet"),
)
GZIP = b"\x1f\x8b"
MARKS = (
    (b"\xef\xbb\xbf", "UTF-8"),
    (b"\xff\xfe\0\0", "UTF-32"),
    (b"\0\0\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)


def byte_order_mark(start: bytes) -> str | None:
    """The encoding of the byte order mark at the beginning of a file, also of a compressed one."""
    return next((encoding for mark, encoding in MARKS if _unpacked(start).startswith(mark)), None)


def recognise(start: bytes, is_packed: bool = False) -> str | None:
    """The true format of a file that should be CSV, as the end of a sentence; None if it may be CSV.

    is_packed: whether its name is that of a compressed file.
    """
    for mark, what in KINDS:
        if start.startswith(mark):
            return what
    if start.startswith(GZIP) and not is_packed:
        return "is compressed by gzip; give it a name that ends in .gz"
    encoding = byte_order_mark(start) or _wide(_unpacked(start))
    return None if encoding in (None, "UTF-8") else f"looks like {encoding}: set input.options.encoding: {encoding}"


def _wide(start: bytes) -> str | None:
    """Whether it is UTF-16 without a mark: every other byte of mostly ASCII text is NUL."""
    even, odd = start[0::2].count(0), start[1::2].count(0)
    most, least = max(even, odd), min(even, odd)
    if len(start) < 4 or 10 * most < 7 * (len(start) // 2) or 10 * least > most:
        return None
    return "UTF-16LE" if odd > even else "UTF-16BE"


def _unpacked(start: bytes) -> bytes:
    if not start.startswith(GZIP):
        return start
    try:
        return zlib.decompressobj(31).decompress(start, SAMPLE)
    except zlib.error:
        return start
