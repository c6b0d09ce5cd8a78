"""What a run file leaves open about a text file, found by its first bytes: encoding, separator,
quotes, marks in numbers, and lines at its ends that are no rows. A given option wins. All that is
found is printed.
"""

from __future__ import annotations

import csv
import re
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import yaml

from tclose_spark.errors import InputError
from tclose_spark.io.input.csv_options import (
    CURRENCIES,
    THOUSANDS,
    Numerals,
    encoding_of,
    lines_left_out,
    option_of,
    require_single_signs,
)
from tclose_spark.io.input.office_files import cells, has_names, read_by
from tclose_spark.io.input.problems import note, note_zones
from tclose_spark.io.input.problems import told as told
from tclose_spark.io.input.signatures import BZIP2, GZIP, kind_seen, wide_encoding
from tclose_spark.io.input.states import PATTERN
from tclose_spark.io.input.text_files import UTF_8, is_known, is_packed, opened_lines
from tclose_spark.io.input.totals import Rows, lines_below
from tclose_spark.io.storage.folders import local_path
from tclose_spark.runfile.spec import Input
from tclose_spark.table.column_names.names import require_names

# Bytes and lines that are looked at.
PREFIX = 1 << 20
TAIL = 1 << 14
LINES = 5000
SEPARATORS = (",", ";", "\t", "|")
BYTES = ("windows-1252", "windows-1250", "windows-1251", "IBM850", "MacRoman")
"""Encodings of a byte a character, the usual ones first, by names that Python and Java know."""
# Rows of one width with which a table begins, and those that count most.
STEADY = 3
FIRST = 10
# Of rows: what a separator is worse by if the table does not begin in the first line.
BELOW_HEADER = 0.05
MOST_BELOW = 20  # lines below a table
LEFT_OUT = "these lines are left out"
"""What a note says about lines that are no rows."""
PLAIN = re.compile(Numerals().pattern)
GROUPED = re.compile(r"[+-]?[1-9][0-9]{0,2}(\.[0-9]{3})*|0")
DIGIT = re.compile("[0-9]")
NO_HEADER = "input.options.header: false"
RENAME = "rename these columns (input.columns)"
"""What to do about a first line that looks like a record: if it is one, and if it is not."""
NUMERAL = re.compile(r"[+-]?[0-9][0-9.,'\u2019 \u00a0\u202f]*")
QUOTED = re.compile(r"(^|[,;\t|])'[^']*'($|[,;\t|\r])")
ODD = re.compile(
    "[a-zß-öø-ÿ][A-ZÀ-ÖØ-ÞŠŸŽŒ]|[\x80-\u03ff]{4}|[\u0400-\u04ff][^\u0400-\u04ff]|[^\u0400-\u04ff][\u0400-\u04ff]",
)
"""What no word has: capitals after small letters, four letters with accents in a row, letters of
two scripts.
"""


@dataclass(frozen=True)
class _Layout:
    """A table in lines. above: lines before it. before: the fields of the last of these that is not
    blank. rows: from its first line on, those of its width. quality: for comparison.
    """

    separator: str
    quote: str
    above: int
    before: Sequence[str]
    rows: Sequence[Sequence[str]]
    quality: tuple[float, bool, int]


def completed(source: Input, names: Collection[str] = (), may_leave_out: bool = False) -> Input:
    """The input with the options that were left open, as its first local file has them. `told`
    takes what was found.

    names: columns that must be there. A file whose first line has one of them has a header.
    may_leave_out: whether lines at its ends that seem to be no rows are left out.

    Raises:
        InputError: if there are such lines otherwise, naming the line in which the table seems to
            begin.
    """
    if source.format == "csv":
        require_single_signs(source)
    file, start = _first_file(source) if source.format in ("csv", "excel") else (None, b"")
    if file is None:
        return source
    if source.format == "excel":
        return _told(source, *_sheet(file, source), file, may_leave_out)
    if not start or kind_seen(start) or start.startswith((GZIP, BZIP2)):
        return source
    found = {}
    if not option_of(source, "encoding", "charset") and (encoding := _encoding(start)) != UTF_8:
        found["encoding"] = encoding
    encoding = found.get("encoding") or encoding_of(source)
    above, below = (lines_left_out(source, key) for key in ("skip_rows", "skip_footer"))
    lines = _lines(start, encoding)[above:] if is_known(encoding) else []
    held = [place for place, line in enumerate(lines) if line.strip()]
    end = (
        len(lines) - 1
        if len(start) == PREFIX
        else held[-below]
        if 0 < below <= len(held)
        else len(lines)
    )
    layout = _layout(lines[: min(end, LINES)], source)
    if layout is not None:
        _require_header(layout, file, source, names)
        found |= dict(_found(layout, file, start, encoding, source, names))
        if "header" in found or option_of(source, "header").lower() == "true":
            where = f"input.path: the first line of {file.name}"
            cure = f"if it is one, set {NO_HEADER}"
            _require_names(layout, source, where, cure)
    return _told(source, layout, found, file, may_leave_out)


def _require_names(layout: _Layout, source: Input, where: str, cure: str) -> None:
    """See `require_names`. Columns that have new names in the run file are known by their names."""
    names = layout.rows[0]
    rows = layout.rows[1:]
    places = [place for place, name in enumerate(names) if name not in source.columns]
    held = [[row[place] for place in places] for row in rows]
    require_names([names[place] for place in places], held, where, f"{cure}; else {RENAME}")


def _told(
    source: Input,
    layout: _Layout | None,
    found: dict[str, str],
    file: Path,
    may_leave_out: bool,
) -> Input:
    """The input with these options."""
    if not found:
        return source
    said = []
    if layout is not None and "skip_rows" in found:
        said.append(f"the table seems to begin in line {layout.above + 1}")
    if "skip_footer" in found:
        said.append(f"{found['skip_footer']} lines below it seem to be a total or notes")
    left_out = bool(said)
    if said and not may_leave_out:
        keys = [
            f"input.options.{key}: {found[key]}"
            for key in ("skip_rows", "skip_footer")
            if key in found
        ]
        what = f"{', and '.join(said)}; set {' and '.join(keys)} (0 if all lines are rows)"
        raise InputError(f"input.path: {file.name}: {what}")
    made = source.model_copy(update={"options": {**source.options, **found}})
    options = {key: _plain(value) for key, value in made.options.items()}
    section = {"input": {"path": source.path, "format": source.format, "options": options}}
    said += [LEFT_OUT] if left_out else []
    what = "; ".join([f"found {', '.join(found)}", *said])
    note(f"{file.name}: {what}. In a run file:")
    told.get()(
        yaml.safe_dump(
            section,
            default_flow_style=True,
            sort_keys=False,
            allow_unicode=True,
            width=10**6,
        )[1:-2],
    )
    return made


def _plain(value: str) -> Any:
    return {"true": True, "false": False}.get(value, int(value) if value.isdecimal() else value)


def _first_file(source: Input) -> tuple[Path | None, bytes]:
    """(the first local file of an input, the first bytes of its content); none if they cannot be
    read, which reading reports.
    """
    path = local_path(source.path)
    with suppress(OSError, EOFError, zlib.error, BadZipFile, NotImplementedError):
        files = (
            []
            if path is None or PATTERN & set(source.path)
            else sorted(path.iterdir())
            if path.is_dir()
            else [path]
        )
        for file in files:
            if file.is_file() and not file.name.startswith(("_", ".")):
                with opened_lines(file) if source.format == "csv" else file.open("rb") as lines:
                    return file, lines.read(PREFIX)
    return None, b""


def _lines(content: bytes, encoding: str) -> list[str]:
    text = content.decode(encoding, errors="replace").removeprefix("\ufeff")
    return re.split("\r\n|\r|\n", text)


def _encoding(start: bytes) -> str:
    """The encoding of a text. UTF-8 with a few bytes that it does not have stays UTF-8, whose
    reader reports them.
    """
    wide = wide_encoding(start)
    if wide is not None or start.isascii() or b"\0" in start:
        return wide or UTF_8
    text = (start[: start.rindex(b"\n") + 1] if b"\n" in start else start).decode(errors="replace")
    lost = text.count("\ufffd")
    if sum(sign > "\x7f" for sign in text) > 2 * lost or not lost:
        return UTF_8
    names = BYTES if b"\n" in start else BYTES[::-1]  # lines of a Mac end with carriage returns
    return min(names, key=lambda name: _odd_words(start.decode(name, errors="replace")))


def _odd_words(text: str) -> int:
    """How many words are not ASCII and none of a language. Signs around them are usual."""
    found = set(re.findall(r"[A-Za-z\x80-\uffff]*[\x80-\uffff][A-Za-z\x80-\uffff]*", text))
    words = {
        word.strip("\u00a0\u2018\u2019\u201a\u201c\u201d\u201e\u2013\u2026€§°«»") for word in found
    } - {""}
    return sum(not word.isalpha() or ODD.search(word) is not None for word in words)


def _layout(lines: Sequence[str], source: Input) -> _Layout | None:
    """How the lines are a table, by the given separator or the best one."""
    given = option_of(source, "sep", "delimiter").replace("\\t", "\t")
    if len(given) > 1:
        return None
    quote = option_of(source, "quote") or _quote(lines)
    header = option_of(source, "header").lower() == "true"
    separators = [given] if given else SEPARATORS
    layouts = []
    for separator in separators:
        reader = csv.reader(lines, delimiter=separator, quotechar=quote)
        rows = list[tuple[int, list[str]]]()
        above = 0
        with suppress(csv.Error):
            for fields in reader:
                rows.append((above, fields))
                above = reader.line_num
            layout = _layout_of(rows, separator, quote, header)
            if layout is not None and (given or len(layout.rows[0]) > 1):
                layouts.append(layout)
    return max(layouts, key=lambda one: one.quality, default=None)


def _quote(lines: Sequence[str]) -> str:
    """The sign around texts: a small stroke if most lines have texts in such, and none has two."""
    marked = sum(
        1 if QUOTED.search(line) and line.count("'") % 2 == 0 else -1
        for line in lines
        if line.strip()
    )
    return "'" if marked > 0 and not any('"' in line for line in lines) else '"'


def _layout_of(
    rows: Sequence[tuple[int, Sequence[str]]],
    separator: str,
    quote: str,
    has_header: bool,
) -> _Layout | None:
    """The table in rows with the numbers of lines above them. Its header has several names, if it
    has many columns. It begins in the first row if that has all names, even if some next rows are
    damaged.
    """
    rows = [(above, fields) for above, fields in rows if any(map(str.strip, fields))]
    widths = [len(fields) for _, fields in rows]
    width = max(Counter(widths).items(), key=lambda one: one[::-1], default=(0, 0))[0]
    least = 2 if has_header and width > 2 else 1
    steady = [set(widths[place : place + STEADY]) == {width} for place in range(len(rows))]
    steady[:1] = [(has_header and widths[0] == width) or steady[0]] if rows else []
    filled = [
        len(list(filter(str.strip, fields))) >= least and not _names_separator(fields)
        for _, fields in rows
    ]
    begin = next(
        (place for place, both in enumerate(zip(steady, filled, strict=True)) if all(both)),
        None,
    )
    if begin is None:
        return None
    last = max(place for place, found in enumerate(widths) if found == width) + 1
    held = [fields for _, fields in rows[begin:last] if len(fields) == width]
    first = widths[begin:last][:FIRST]
    share = min(len(held) / (last - begin), first.count(width) / len(first)) - (
        BELOW_HEADER if begin else 0
    )
    are_names = not any(NUMERAL.fullmatch(text.strip()) for text in held[0])
    above, before = (rows[begin][0], rows[begin - 1][1]) if begin else (0, ())
    return _Layout(separator, quote, above, before, held, (share, are_names, width))


def _names_separator(fields: Sequence[str]) -> bool:
    """Whether a line is `sep=;`, which Excel reads above a table, whatever separates its fields."""
    texts = [text.strip() for text in fields if text.strip()]
    return len(texts) == 1 and re.fullmatch(r"sep=.?", texts[0]) is not None


def _require_header(layout: _Layout, file: Path, source: Input, names: Collection[str]) -> None:
    """Raises InputError if the line above the table seems to be its header, with fewer or more
    names than the rows have fields. The first row would be taken for the header.
    """
    before = layout.before
    width = len(layout.rows[0])
    has_header = option_of(source, "header").lower() == "true" or not {*names}.isdisjoint(before)
    if (
        not has_header
        or option_of(source, "skip_rows")
        or len(before) in (0, width)
        or _names_separator(before)
    ):
        return
    filled = [text for text in before if text.strip()]
    if {*names}.isdisjoint(before) and _is_title(len(filled), layout.rows):
        return
    raise InputError(
        f"input.path: the header of {file.name} and its rows differ in length: {len(before)} and "
        f"{width} fields; give each column one name (in R: row.names = FALSE), or set "
        f"input.options.skip_rows: {layout.above}",
    )


def _is_title(texts: int, rows: Sequence[Sequence[str]]) -> bool:
    """Whether a line with some texts is a title above a table with these rows, and not its
    header.
    """
    first = rows[0]
    if texts < 2:
        return _is_header(rows) or not _is_number(first[0])
    return _is_header(rows) or (abs(texts - len(first)) > 1 and not any(map(_is_number, first)))


def _is_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row has the names of the others: it has no numbers, and a column below it
    mostly has.
    """
    first, *others = rows
    if any(map(_is_number, first)):
        return False
    return any(
        2 * sum(map(_is_number, column)) > len(column) for column in zip(*others, strict=True)
    )


def _is_number(text: str) -> bool:
    return NUMERAL.fullmatch(text.strip()) is not None


def _sheet(file: Path, source: Input) -> tuple[_Layout | None, dict[str, str]]:
    """The table in a sheet, and the options of a workbook that are not given."""
    rows, sheets = read_by(cells, file, source)
    texts = [[str(cell) for cell in row] for row in rows[lines_left_out(source, "skip_rows") :]]
    layout = _layout_of([*enumerate(texts)], ",", '"', has_names(source))
    if layout is not None and has_names(source):
        where = f"input.path: the first row of {file.name}"
        cure = "if it is one, write names above it"
        _require_names(layout, source, where, cure)
    found = {} if layout is None else dict(_ends(layout, source, texts, lambda: layout.rows[1:]))
    return layout, found if len(sheets) < 2 or option_of(source, "sheet") else {
        "sheet": sheets[0],
        **found,
    }


def _found(
    layout: _Layout,
    file: Path,
    start: bytes,
    encoding: str,
    source: Input,
    names: Collection[str],
) -> Iterator[tuple[str, str]]:
    """The options of a layout that are neither given nor the default."""
    if not option_of(source, "header") and {*names, *source.columns} & {*layout.rows[0]}:
        yield "header", "true"
    if layout.separator != "," and not option_of(source, "sep", "delimiter"):
        yield "sep", layout.separator
    if layout.quote != '"' and not option_of(source, "quote"):
        yield "quote", layout.quote
    note_zones(file.name, (text for fields in layout.rows for text in fields))
    last = _lines(_end_of(file, start), encoding)
    ends = dict(
        _ends(
            layout,
            source,
            [_fields(line, layout) for line in last if line.strip()][-MOST_BELOW:],
            lambda: _all_rows(layout, file, encoding),
        ),
    )
    yield from ends.items()
    if not option_of(source, "decimal") and not option_of(source, "thousands"):
        rows = layout.rows[1 : len(layout.rows) - int(ends.get("skip_footer", 0))]
        yield from _marks([*zip(*rows, strict=True)], layout.separator, file, source)


def _end_of(file: Path, start: bytes) -> bytes:
    """The last bytes of a file, from the beginning of a line on; nothing of a long one that is
    packed.
    """
    if len(start) < PREFIX or is_packed(file):
        return start if len(start) < PREFIX else b""
    with file.open("rb") as opened:
        opened.seek(-TAIL, 2)
        return opened.read().partition(b"\n")[2]


def _marks(
    columns: Sequence[Sequence[str]],
    separator: str,
    file: Path,
    source: Input,
) -> Iterator[tuple[str, str]]:
    """The currency and the marks of the numbers in these columns."""
    given = option_of(source, "currency")
    currency = given or next((one for one in CURRENCIES if _has_amounts(columns, one)), "")
    if currency and not given:
        yield "currency", currency
    if currency:
        columns = [[text.replace(currency, "") for text in column] for column in columns]
    numerals = _numerals(columns, separator)
    if numerals is None:
        note(
            f"{file.name} has numbers with commas before three digits, which are read as text; set "
            "input.options.thousands or decimal",
        )
    elif numerals != Numerals():
        yield "decimal", numerals.decimal
        if numerals.thousands:
            yield "thousands", numerals.thousands
    elif any(map(_are_grouped, columns)):
        note(
            f"{file.name} has whole numbers and numbers with points before three digits, which are "
            "read as decimals; if these are thousands, set input.options: {decimal: ',', "
            "thousands: .}, else decimal: .",
        )


def _are_grouped(column: Sequence[str]) -> bool:
    """Whether a column of numbers looks as if its points were marks of thousands: three digits
    follow each, some end in 0, and other numbers are whole.
    """
    filled = {text.strip() for text in column} - {""}
    texts = {text for text in filled if DIGIT.search(text)}  # the others may be words for missing
    with_points = [text for text in texts if "." in text]
    return (
        0 < len(with_points) < len(texts) > len(filled) / 2
        and all(map(GROUPED.fullmatch, texts))
        and any(text.endswith("0") for text in with_points)
    )


def _fields(line: str, layout: _Layout) -> list[str]:
    """The fields of one of the last lines; none if a field of it may have begun before."""
    is_whole = line.count(layout.quote) % 2 == 0
    return (
        next(csv.reader([line], delimiter=layout.separator, quotechar=layout.quote), [])
        if is_whole
        else []
    )


def _ends(
    layout: _Layout,
    source: Input,
    last: Sequence[Sequence[str]],
    rows: Rows,
) -> Iterator[tuple[str, str]]:
    """The lines above and below a table, if they are not given. last: some of the last lines. rows:
    of the table.
    """
    if layout.above and not option_of(source, "skip_rows"):
        yield "skip_rows", str(layout.above)
    if not option_of(source, "skip_footer") and (
        below := lines_below(len(layout.rows[0]), last, rows)
    ):
        yield "skip_footer", str(below)


def _all_rows(layout: _Layout, file: Path, encoding: str) -> Iterator[Sequence[str]]:
    """All lines of a file as rows. The file may be longer than what is looked at."""
    with (
        opened_lines(file) as lines,
        TextIOWrapper(lines, encoding, "replace", newline="") as texts,
    ):
        yield from csv.reader(texts, delimiter=layout.separator, quotechar=layout.quote)


def _has_amounts(columns: Sequence[Sequence[str]], currency: str) -> bool:
    """Whether all texts of a column are numbers with this currency."""
    for column in columns:
        if not all(currency in text for text in column if text.strip()):
            continue
        texts = list(filter(None, map(str.strip, column)))
        bare = [text.replace(currency, "", 1).strip() for text in texts]
        if bare and all(map(NUMERAL.fullmatch, bare)):
            return True
    return False


def _numerals(columns: Sequence[Sequence[str]], separator: str) -> Numerals | None:
    """The marks with which all columns of numbers are numbers; None if they are ambiguous. Points
    before three digits are marks of thousands if other numbers have decimal commas.
    """
    decimals = ".," if separator == "," else ",."
    forms = [
        Numerals(decimal, mark)
        for decimal in decimals
        for mark in ("", *THOUSANDS)
        if decimal != mark
    ]
    left = {*forms}
    with_points = False
    for column in columns:
        filled = {text.strip() for text in column if text.strip()}
        # The others may be words for missing.
        texts = {text for text in filled if DIGIT.search(text)}
        if 2 * len(texts) > len(filled) and all(map(NUMERAL.fullmatch, texts)):
            left &= _forms_of(texts, forms, separator)
            with_points |= all(map(PLAIN.match, texts)) and any("." in text for text in texts)
    if len(left) == len(forms) or not left or left & {Numerals()}:
        return Numerals()
    if any(form.decimal == "," for form in left) and any(form.thousands == "," for form in left):
        return None
    return min(left, key=lambda form: (with_points and form.thousands != ".", forms.index(form)))


def _forms_of(texts: Collection[str], forms: Sequence[Numerals], separator: str) -> set[Numerals]:
    """The forms that a column of numbers may have; all if it says nothing of them."""
    if all(map(PLAIN.match, texts)):
        grouped = all(re.match(Numerals(",", ".").pattern, text) for text in texts)
        return {form for form in forms if grouped or form.thousands != "."}
    if separator == "," and 2 * len([*filter(PLAIN.match, texts)]) > len(texts):
        return {*forms}  # a few texts among numbers
    fits = {form for form in forms if all(re.match(form.pattern, text) for text in texts)}
    if len({*map(len, texts)}) == 1:  # such as telephone numbers
        fits -= {form for form in fits if form.thousands.isspace()}
    return fits or {*forms}
