"""CSV files, read as Spark reads them: RFC 4180, a record a line. All else needs Spark."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from tclose_spark.engine.local.counting import MALFORMED as MALFORMED_ROWS
from tclose_spark.engine.local.counting import ROWS, Counting, Counts, is_utf8, text_of
from tclose_spark.engine.local.csv_parts import Part, first_line
from tclose_spark.engine.local.csv_types import Inferred, typed
from tclose_spark.engine.local.table import NeedsSparkError
from tclose_spark.errors import InputError
from tclose_spark.io.input import problems
from tclose_spark.io.input.csv_options import (
    Numerals,
    encoding_of,
    is_wide,
    lines_left_out,
    numerals_of,
    option_of,
)
from tclose_spark.io.input.signatures import SAMPLE, recognise, require_mark
from tclose_spark.io.input.text_files import is_known, is_packed
from tclose_spark.io.storage.stores import Place
from tclose_spark.runfile.spec import Input
from tclose_spark.table.columns.spark_types import MALFORMED

PART = 1 << 26  # bytes of a partition
BATCH = 1 << 16  # rows
MOST_COLUMNS = 20480  # that Spark parses
OPTIONS = {"header", "sep", "delimiter", "encoding", "charset", "inferschema", "nullvalue", "quote"}
OPTIONS |= {"decimal", "thousands", "currency", "skip_rows", "skip_footer"}
# Names whose content Spark unpacks.
PACKED = re.compile(r"\.(deflate|snappy|lz4|zst|zstd|xz|br|lzo)$")
BLANK = re.compile(rb"\n[\0-\x20]+(?=\n)")  # lines that Spark passes over
NEWLINE = b"\n"[0]
RETURN = b"\r"[0]


@dataclass(frozen=True)
class Dialect:
    """How lines become fields.

    header: whether the first line of each file has the names.
    infers: whether columns have the types that Spark infers.
    null: a text that means missing, beside fields without text.
    numerals: how numbers are written; None as in Python.
    """

    separator: bytes
    header: bool
    infers: bool
    null: str = ""
    quote: bytes = b'"'
    numerals: Numerals | None = None

    def fields(self, line: bytes) -> list[str]:
        """The fields of a line without its end that `_require_plain` accepts."""
        text = line.decode(errors="replace")
        try:
            return next(
                csv.reader(
                    [text],
                    delimiter=self.separator.decode(),
                    quotechar=self.quote.decode(),
                    strict=True,
                ),
            )
        except csv.Error as error:  # a field of more than 131,072 characters
            raise NeedsSparkError(f"input.path: the first line of a file has a {error}") from None


def open_csv(files: Sequence[Place], source: Input) -> tuple[pa.Schema, list[Counting]]:
    """(columns, partitions) of files. Columns are text unless `inferSchema` is set.

    Raises:
        InputError: if all are empty, or the first line is no text.
        NeedsSparkError: if the options, the header or the first lines of a file need Spark.
    """
    dialect = _dialect(source)
    wholes = [_whole(file, source) for file in files]
    heads = {whole: head for whole in wholes if (head := _head(whole, dialect, source)) is not None}
    if not heads:
        raise problems.empty_csv(source)
    names = _column_names(list(heads.values()), dialect, source)
    parts = [part for whole in heads for part in _parts(whole)]
    schema = pa.schema([(name, pa.string()) for name in names])
    if dialect.infers:
        schema = _inferred(parts, schema, dialect)
    return schema, [partial(_rows, part, schema, dialect) for part in parts]


def _column_names(heads: Sequence[bytes], dialect: Dialect, source: Input) -> list[str]:
    """The names of the columns of files with these first lines."""
    found = [dialect.fields(head) for head in heads]
    alike = [head == found[0] if dialect.header else len(head) == len(found[0]) for head in found]
    if not all(alike) or (dialect.header and dialect.infers and len(set(heads)) > 1):
        raise NeedsSparkError(f"input.path: {source.path} has files of different headers or widths")
    names = [name or f"_{place}" for place, name in enumerate(found[0])]
    if dialect.header:
        _check_names(names, source)
        if dialect.null in names:  # Spark gives the column another name
            raise NeedsSparkError("input.options.nullValue: it is the name of a column")
    else:
        names = [f"_c{place}" for place in range(len(names))]
    if len(names) > MOST_COLUMNS:
        raise NeedsSparkError(f"input.path: {source.path} has {len(names)} columns")
    return names


def _inferred(parts: Sequence[Part], schema: pa.Schema, dialect: Dialect) -> pa.Schema:
    """The columns with the types that Spark infers from all parts."""
    columns = [Inferred() for _ in schema]
    for part in parts:
        for batch in _rows(part, schema, dialect, Counter()):
            if dialect.header and all(
                pc.any(pc.equal(batch[name], name)).as_py() for name in schema.names
            ):
                raise NeedsSparkError(
                    f"input.path: {part.file.name} has its first line again, with inferSchema",
                )
            for column, texts in zip(columns, batch.columns, strict=True):
                column.add(texts)
    return pa.schema(
        [(name, column.type_of(name)) for name, column in zip(schema.names, columns, strict=True)],
    )


def _dialect(source: Input) -> Dialect:
    other = sorted(key for key in source.options if key.lower() not in OPTIONS)
    if other:
        raise NeedsSparkError(f"input.options.{other[0]}: it is an option of Spark's reader")
    if not is_known(encoding_of(source)):
        raise NeedsSparkError(f"input.options.encoding: it is {encoding_of(source)}")
    header, infers = (
        option_of(source, key).lower() or "false" for key in ("header", "inferSchema")
    )
    given = option_of(source, "sep", "delimiter")
    separator = "\t" if given == "\\t" else given or ","
    plain = (
        len(separator) == 1
        and separator.isascii()
        and (separator.isprintable() or separator == "\t")
    )
    if (
        not plain
        or separator in '"\\ '
        or separator.isalnum()
        or not {header, infers} <= {"true", "false"}
    ):
        raise NeedsSparkError(
            "input.options: the separator is no single sign, or header or inferSchema is neither "
            "true nor false",
        )
    null = option_of(source, "nullValue")
    if not null.isascii():
        raise NeedsSparkError("input.options.nullValue: it has other letters than those of ASCII")
    quote = option_of(source, "quote") or '"'
    if quote not in ('"', "'"):
        raise NeedsSparkError(
            "input.options.quote: it is another sign than one or two small strokes",
        )
    return Dialect(
        separator.encode(),
        header == "true",
        infers == "true",
        null,
        quote.encode(),
        numerals_of(source),
    )


def _whole(file: Place, source: Input) -> Part:
    above, below = (lines_left_out(source, key) for key in ("skip_rows", "skip_footer"))
    return Part(file, 0, file.stat().st_size, encoding_of(source), above, below)


def _parts(whole: Part) -> list[Part]:
    if whole.is_whole:
        return [whole]
    return [Part(whole.file, at, min(at + PART, whole.end)) for at in range(0, whole.end, PART)]


def _head(whole: Part, dialect: Dialect, source: Input) -> bytes | None:
    """A file's first line; None if it has only blank lines."""
    file = whole.file
    if PACKED.search(file.name):
        raise NeedsSparkError(f"input.path: {file.name} is compressed")
    with file.open("rb") as opened:
        start = opened.read(SAMPLE)
    require_mark(start, source)
    # the first bytes of a wide encoding look like what they are
    what = None if is_wide(whole.encoding) else recognise(start, is_packed=is_packed(file))
    for block in whole.blocks():
        line = first_line(block)
        if line is None:
            continue
        if what:
            told = f"input.path: {file.name} {what}"
            text = line.replace(dialect.separator, b"").strip().decode(errors="replace")
            is_text = text.isprintable() and "\ufffd" not in text
            raise NeedsSparkError(told) if is_text or not dialect.header else InputError(told)
        _require_plain(line, dialect, file.name)
        return line.rstrip(b"\r\n")
    return None


def _check_names(names: Sequence[str], source: Input) -> None:
    """Raises NeedsSparkError if names are not what they are in the file, and InputError if one is
    there twice.
    """
    readable = all(name.isprintable() and "\ufffd" not in name for name in names)
    if (
        not readable
        or MALFORMED in names
        or any(name == f"_c{place}" for place, name in enumerate(names))
    ):
        raise NeedsSparkError(
            f"input.path: the first line of {source.path} has an unreadable column name",
        )
    problems.require_names_once(names, source)


def _require_plain(lines: bytes, dialect: Dialect, file: str) -> None:
    """Raises NeedsSparkError unless each line ends at its line feed, and all quotes are those of
    RFC 4180.
    """
    if lines.count(b"\r") != lines.count(b"\r\n"):  # in a wide encoding
        raise NeedsSparkError(f"input.path: {file} has a carriage return without a line feed")
    if b"\0" in lines and dialect.quote in lines:
        raise NeedsSparkError(f"input.path: {file} has quotes and NUL bytes")
    if dialect.quote in lines and not _are_plain(np.frombuffer(b"\n" + lines, np.uint8), dialect):
        raise NeedsSparkError(
            f"input.path: {file} has a quote inside an unquoted field, text after a closing quote, "
            "or a line break inside quotes",
        )


def _are_plain(lines: npt.NDArray[np.uint8], dialect: Dialect) -> bool:
    """Whether every other quote opens a field, those between close it, and two in a row inside a
    field are one. The first byte is a line feed.
    """
    quotes = np.flatnonzero(lines == dialect.quote[0])
    separator = dialect.separator[0]
    if len(quotes) % 2:
        return False
    opening = quotes[0::2]
    closing = quotes[1::2]
    before = lines[opening - 1]
    after = lines[closing + 1]
    opens = (before == separator) | (before == NEWLINE)
    opens[1:] |= opening[1:] == closing[:-1] + 1
    closes = (after == separator) | (after == NEWLINE) | (after == RETURN)
    closes[:-1] |= opening[1:] == closing[:-1] + 1
    ends = np.flatnonzero(lines == NEWLINE)
    on_one_line = np.array_equal(np.searchsorted(ends, opening), np.searchsorted(ends, closing))
    return bool(opens.all() and closes.all()) and on_one_line


def _rows(
    part: Part,
    schema: pa.Schema,
    dialect: Dialect,
    counts: Counts,
) -> Iterator[pa.RecordBatch]:
    """The batches of a part."""
    awaits_header = dialect.header and part.begin == 0
    for block in part.blocks():
        if awaits_header:
            line = first_line(block)
            if line is None:
                continue
            block = block[block.index(line) + len(line) :]
            awaits_header = False
        _require_plain(block, dialect, part.file.name)
        if (
            dialect.null and 2 * dialect.quote in block
        ):  # with a nullValue, Spark reads it as an empty text
            raise NeedsSparkError(
                f"input.path: {part.file.name} has empty texts in quotes beside a nullValue",
            )
        lines = BLANK.sub(b"", b"\n" + block)
        if lines == b"\n":
            continue
        try:
            table, malformed = _parsed(lines, schema, dialect, counts)
        except pa.ArrowInvalid:  # the file has changed since its types were inferred
            raise problems.damaged(f"input.path: {part.file.name}") from None
        counts[MALFORMED_ROWS] += malformed
        counts[ROWS] += table.num_rows + malformed
        yield from table.to_batches(max_chunksize=BATCH)


def _parsed(
    lines: bytes,
    schema: pa.Schema,
    dialect: Dialect,
    counts: Counts,
) -> tuple[pa.Table, int]:
    """(the rows of lines, the number of those that have too few or too many fields)."""
    malformed = []

    def skip(row: arrow_csv.InvalidRow) -> str:
        malformed.append(row.actual_columns)
        return "skip"

    may_hold_nul = b"\0" in lines
    is_text = lines.isascii() or is_utf8(lines)
    if (
        not is_text
    ):  # each byte becomes a character, because the parser reports malformed rows as text
        lines = lines.decode("latin-1").encode()
    table = arrow_csv.read_csv(
        pa.BufferReader(lines),
        arrow_csv.ReadOptions(
            use_threads=False,
            block_size=len(lines) + 1,
            column_names=schema.names,
        ),
        arrow_csv.ParseOptions(
            delimiter=dialect.separator.decode(),
            quote_char=dialect.quote.decode(),
            invalid_row_handler=skip,
        ),
        arrow_csv.ConvertOptions(
            check_utf8=False,
            column_types=dict.fromkeys(schema.names, pa.string()),
            null_values=["", dialect.null],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    ).combine_chunks()
    columns = []
    for field, column in zip(schema, table.columns, strict=True):
        array = column.chunk(0) if column.num_chunks else pa.array([], pa.string())
        if not is_text:
            array = pa.array(
                [None if v is None else v.encode("latin-1") for v in array.to_pylist()],
                pa.binary(),
            )
        if may_hold_nul or not is_text:
            array = text_of(array, field.name, counts, may_hold_nul)
        array = _plain_numbers(array, dialect.numerals) if dialect.numerals else array
        columns.append(array if field.type == pa.string() else typed(array, field.type))
    return pa.table(columns, schema), len(malformed)


def _plain_numbers(texts: pa.Array, numerals: Numerals) -> pa.Array:
    """Texts in which numbers are written as in Python."""
    are_numbers = pc.match_substring_regex(texts, numerals.pattern)
    digits = (
        pc.replace_substring_regex(texts, f"[{re.escape(numerals.others)}]", "")
        if numerals.others
        else texts
    )
    return pc.if_else(are_numbers, pc.replace_substring(digits, numerals.decimal, "."), texts)
