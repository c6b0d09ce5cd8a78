"""The format of a file by its first bytes, whatever its name."""

from __future__ import annotations

import zlib

from tclose_spark.errors import InputError
from tclose_spark.io.input.csv_options import encoding_of, option_of
from tclose_spark.runfile.spec import Input

SAMPLE = 512  # bytes that are looked at
KINDS = (
    (b"PAR1", "is a Parquet file; set input.format: parquet"),
    (
        b"PK\x03\x04",
        "is a zip file, as Excel's workbooks are; set input.format: excel, or name it .zip",
    ),
    (b"\xd0\xcf\x11\xe0", "is an Excel workbook; set input.format: excel"),
    (b"$FL2", "is an SPSS file; set input.format: spss"),
    (b"<stata_dta>", "is a Stata file; set input.format: stata"),
    (b"ARROW1", "is a Feather file; set input.format: feather"),
    (b"Obj\x01", "is an Avro file; write it as Parquet"),
)
GZIP = b"\x1f\x8b"
BZIP2 = b"BZh"
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


def require_mark(start: bytes, source: Input) -> None:
    """Raises InputError if an encoding is set, and the file begins with the mark of another."""
    encoding = encoding_of(source)
    mark = byte_order_mark(start) if option_of(source, "encoding", "charset") else None
    if mark is not None and not encoding.startswith(mark):
        raise InputError(
            f"input.options.encoding: it is {encoding}, but {source.path} begins with the byte "
            f"order mark of {mark}; set input.options.encoding: {mark}",
        )


def recognise(start: bytes, is_packed: bool = False) -> str | None:
    """The true format of a file that should be CSV, as the end of a sentence; None if it may be
    CSV.

    is_packed: whether its name is that of a compressed file.
    """
    if is_packed and start.startswith(b"PK"):
        return None
    if kind := kind_seen(start):
        return kind
    if not is_packed and start.startswith((GZIP, BZIP2)):
        kind, ending = ("gzip", ".gz") if start.startswith(GZIP) else ("bzip2", ".bz2")
        return f"is compressed by {kind}; give it a name that ends in {ending}"
    encoding = wide_encoding(start)
    return (
        None
        if encoding is None
        else f"looks like {encoding}: set input.options.encoding: {encoding}"
    )


def kind_seen(start: bytes) -> str | None:
    """The format of a file that is no text, as the end of a sentence."""
    return next((what for mark, what in KINDS if start.startswith(mark)), None)


def wide_encoding(start: bytes) -> str | None:
    """The encoding of a text whose characters have several bytes each."""
    encoding = byte_order_mark(start) or _wide(_unpacked(start))
    return None if encoding == "UTF-8" else encoding


def _wide(start: bytes) -> str | None:
    """Whether it is UTF-16 without a mark: every other byte of mostly ASCII text is NUL."""
    even = start[0::2].count(0)
    odd = start[1::2].count(0)
    most = max(even, odd)
    least = min(even, odd)
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
