"""Errors of inputs in the same words on both engines, and notes about what was found in an input or
is lost in it. Errors name files, columns and counts, never the content of a file; notes hold names
and counts, never a value of a person. Imports no Spark.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from pathlib import PurePath
from typing import Any

from tclose_spark.errors import InputError
from tclose_spark.io.input.csv_options import encoding_of, how_to_set_encoding
from tclose_spark.runfile.spec import Input
from tclose_spark.runfile.text import first_few, meant_file

NANOSECONDS = (
    "a timestamp in nanoseconds, which Spark does not have; write it in microseconds (pandas: "
    "astype('datetime64[us]'), or to_parquet(coerce_timestamps='us')), or leave the column out"
)
"""Why a column of a Parquet file is unreadable."""
SHOWN = 5  # columns that a message lists
# Zones of Arrow in which a time is written as in UTC.
UTC = (
    None,
    "UTC",
    "Etc/UTC",
    "GMT",
    "Z",
    "+00:00",
)


def not_of_spark(kind: object) -> str:
    """Why a column of this type is unreadable."""
    return (
        f"of type {kind}, which Spark does not have; convert it to plain values, or leave the "
        "column out"
    )


def of_zone(kind: Any) -> str:
    """Why a column of a type of Arrow is unreadable, if it has times of a zone, which a release
    would show in UTC.
    """
    if getattr(kind, "tz", None) in UTC:
        return ""
    return (
        f"a timestamp of the zone {kind.tz}, which a release would show in UTC and without a zone; "
        "convert it (pandas: .dt.tz_localize(None) for times of that zone, .dt.tz_convert('UTC') "
        "for UTC), or leave the column out"
    )


def missing(source: Input) -> InputError:
    """Nothing is at the path."""
    return InputError(f"input.path: {source.path} does not exist{meant_file(source.path)}")


def not_of_format(source: Input, what: str) -> InputError:
    """The input as a whole is not of its format. what: Spark's name of the error."""
    return InputError(f"input.path: {source.path} cannot be read as {source.format} ({what})")


def is_delta(source: Input) -> InputError:
    """The files of a Delta table would be read as they lie, with rows that were deleted or
    replaced.
    """
    return InputError(
        f"input.path: {source.path} is a Delta table, whose files also hold deleted rows; set "
        "input.format: delta",
    )


def empty_csv(source: Input) -> InputError:
    """A CSV file has no line."""
    return InputError(f"input.path: {source.path} is empty (0 bytes, or blank lines only)")


def duplicate_names(where: str) -> InputError:
    """A table has several columns of one name."""
    return InputError(
        f"{where} has a duplicate: several columns of one name but for case; rename them",
    )


def require_names_once(names: Sequence[str], source: Input) -> None:
    """Raises InputError, with their places, if names of the first line are the same but for case.
    Empty ones may be.
    """
    lower = [name.lower() for name in names]
    times = Counter(filter(None, lower))
    places = [str(place) for place, name in enumerate(lower, 1) if times[name] > 1]
    if places:
        raise InputError(
            f"input.path: the first line of {source.path} has a name twice (but for case), in "
            f"columns {' and '.join(places[:SHOWN])}; rename one, or set input.options.header: "
            "false if that line is no header",
        )


def empty_parquet(file: str) -> InputError:
    """A Parquet file has no bytes. file: its name, with the key that it belongs to."""
    return InputError(f"{file} is empty (0 bytes), no Parquet file; write it again, or remove it")


def require_columns_alike(files: Mapping[str, Sequence[str]]) -> None:
    """Raises InputError if a Parquet file lacks a column of another one: Spark would read it as
    missing in all rows of the file, or leave it out, depending on the file that it looks at first.
    files: the names of columns by path.
    """
    first = {
        name.lower(): (name, path) for path in sorted(files, reverse=True) for name in files[path]
    }
    for path in sorted(files):
        lost = sorted(first.keys() - {name.lower() for name in files[path]})
        if lost:
            name, other = first[lost[0]]
            more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
            raise InputError(
                f"input.path: {PurePath(path).name} lacks column {name!r}{more}, which "
                f"{PurePath(other).name} has; write the files with the same columns, or set "
                "input.options.mergeSchema: true to read it as missing",
            )


def partition_of_other_numbers(column: str) -> InputError:
    """Folders of a partition column have texts such as 01, which would become the number 1."""
    return InputError(
        f"input.path: partition column {column!r} has texts that Spark reads as other numbers (01 "
        "as 1, 1.0 as 1); write it as a column in the files",
    )


def type_of_no_engine(file: str, column: str, kind: object) -> InputError:
    """A Parquet file has a column of a type that neither engine reads, even if the column is left
    out.
    """
    return InputError(
        f"{file} has column {column!r} of a type that Spark cannot read, {kind}; write it as "
        "another",
    )


def no_parquet(file: str) -> InputError:
    """A file has no footer of Parquet."""
    return InputError(
        f"{file} cannot be read as parquet (it is none, or is truncated: its end is missing); copy "
        "it again, or set input.format",
    )


def gone(file: str) -> InputError:
    """A file that was there is missing."""
    return InputError(f"{file} is gone since the table was looked at; run again")


def changed(file: str) -> InputError:
    """A file is another one than before."""
    return InputError(f"{file} has changed since the table was looked at; run again")


def truncated(file: str) -> InputError:
    """A file ends too early."""
    return InputError(f"{file} is truncated, or is not compressed as its name says; copy it again")


def damaged(file: str) -> InputError:
    """A file has unreadable content."""
    return InputError(
        f"{file} cannot be read: it is damaged, or not what its name says; copy it again",
    )


def malformed_rows(malformed: int, rows: int, cure: str = "") -> InputError:
    """A CSV file has malformed rows. cure: what the file is instead."""
    cure = cure or "correct them, or set input.options (sep, quote, escape, multiLine, encoding)"
    return InputError(
        f"input.path: {malformed} of {rows} rows are malformed (too few or too many fields, or "
        f"unreadable); {cure}",
    )


def nul_bytes(rows: Mapping[str, int], cure: str = "") -> InputError:
    """Text of columns holds NUL. rows: by column. cure: what the file is instead."""
    return InputError(f"{_listed(rows)}: text holds NUL bytes; {cure or 'correct it'}")


def undecodable(rows: Mapping[str, int], source: Input) -> InputError:
    """Text of columns is invalid in its encoding. rows: by column."""
    is_csv = source.format == "csv"
    return InputError(
        f"{_listed(rows)}: text is not in {encoding_of(source) if is_csv else 'UTF-8'}, and "
        "different values would be read as one; "
        f"{how_to_set_encoding(source) if is_csv else 'write the table with text in UTF-8'}",
    )


def _listed(counts: Mapping[str, int]) -> str:
    """The affected columns, with their rows."""
    some = [f"{name!r} ({count} rows)" for name, count in counts.items() if count]
    return f"column{'s' if len(some) > 1 else ''} {first_few(some, SHOWN)}"


told: ContextVar[Callable[[str], object]] = ContextVar("told", default=warnings.warn)
"""Takes the lines about what was found."""
ZONED = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]{5,}[+-](?!00:?00)[0-9]{2}:?[0-9]{2}")


def note(text: str) -> None:
    """Passes a note on."""
    told.get()(f"note: {text}")


def note_zones(file: str, texts: Iterable[str]) -> None:
    """Notes that a file has times with a zone, if one of these texts is such a time."""
    if any(ZONED.fullmatch(text.strip()) for text in texts):
        note(f"{file} has times with a zone, which a release shows in UTC and without a zone")
