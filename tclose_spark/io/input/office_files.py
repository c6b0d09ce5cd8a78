"""Files of one table that this process reads as a whole: of spreadsheets, statistics programs, JSON
and Arrow.

JSON files hold objects, in an array or one after another. Workbooks are of Excel or OpenDocument.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from html import unescape
from importlib import import_module
from typing import Any
from zipfile import BadZipFile, ZipFile

import pyarrow as pa

from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.io.input import problems
from tclose_spark.io.input.cell_values import LARGEST, column_of, span_text, text_of_cell
from tclose_spark.io.input.csv_options import lines_left_out, option_of
from tclose_spark.io.input.problems import note, note_zones
from tclose_spark.io.storage.folders import place_of
from tclose_spark.io.storage.stores import Place, opened
from tclose_spark.runfile.spec import Input

KINDS = {"stata": "dta", "spss": "sav", "sas": "sas7bdat"}
OTHER_KINDS = {"por": "por", "xpt": "xport"}
"""The readers of pyreadstat, by format, and by the endings of a format's other files."""
STATA_BEGINS = dt.datetime(1960, 1, 1)
SECONDS_OF_A_DAY = 86400


def read_statistics(file: Place, source: Input) -> pa.Table:
    """The table in a file. Codes with labels are these labels, if each code of a column has one of
    its own. Empty text is missing, as these programs have it.

    A time is text by its hours, which may be 24 and more, or negative. A time of Stata beyond a day
    is a moment.
    """
    reader = _reader_of(file, source)
    columns, about = _read(reader, file)
    times = [
        name
        for name, column in columns.items()
        if any(isinstance(value, dt.time) for value in column)
    ]
    if times:  # pyreadstat leaves whole days out of them
        numbers, _ = _read(reader, file, usecols=times, disable_datetime_conversion=True)
        columns |= {name: _times(numbers[name], source.format == "stata") for name in times}
    labels = about.variable_value_labels
    arrays = [
        _labelled(column, labels.get(name, {}), name, file.name) for name, column in columns.items()
    ]
    return pa.table(arrays, [*columns])


def variable_labels(file: Place, source: Input) -> dict[str, str]:
    """What a file says of its columns, by name. Columns without a label are left out."""
    with file.open("rb") as content:
        _, about = _reader_of(file, source)(content, metadataonly=True)
    return {name: label for name, label in about.column_names_to_labels.items() if label}


def _reader_of(file: Place, source: Input) -> Callable[..., Any]:
    import pyreadstat

    ending = file.name.lower().rpartition(".")[2]
    return getattr(pyreadstat, f"read_{OTHER_KINDS.get(ending, KINDS[source.format])}")  # type: ignore[no-any-return]


def _read(
    reader: Callable[..., Any],
    file: Place,
    **options: Any,
) -> tuple[dict[str, list[Any]], Any]:
    """(columns by name, what the file says of them)."""
    with file.open("rb") as content:
        columns, about = reader(content, output_format="dict", **options)
    return columns, about


def _times(values: Sequence[float | None], of_stata: bool) -> list[Any]:
    """Times in seconds, or in milliseconds of Stata's clock, as texts or moments."""
    seconds = [
        None if value is None or value != value else value / (1000 if of_stata else 1)
        for value in values
    ]
    is_of_days = all(value is None or 0 <= value < SECONDS_OF_A_DAY for value in seconds)
    spans = [None if value is None else dt.timedelta(seconds=value) for value in seconds]
    if of_stata and not is_of_days:
        return [None if span is None else STATA_BEGINS + span for span in spans]
    return [None if span is None else span_text(span) for span in spans]


def _labelled(column: Sequence[Any], labels: Mapping[Any, str], name: str, file: str) -> pa.Array:
    """A column of codes as their labels, if each has one of its own."""
    values = [None if value == "" or value != value else value for value in column]
    present = {value for value in values if value is not None}
    if not labels or not present <= labels.keys():
        return column_of(values)
    if len({labels[value] for value in present}) < len(present):
        note(
            f"column {name!r} of {file} has codes that share a value label, so it is read as its "
            "codes",
        )
        return column_of(values)
    return pa.array([labels.get(value) for value in values], pa.string())


NAMES = {"excel": "an Excel", "stata": "a Stata", "spss": "an SPSS", "sas": "a SAS"}
"""Formats that packages of the extra `formats` read."""


def read_file(file: Place, source: Input) -> pa.Table:
    """The table in a file. Columns of whole numbers are integers, whatever type the file gives
    them.

    Raises:
        ConfigurationError: if the package for its format is missing.
        InputError: if it cannot be read as its format.
    """
    return read_by(READERS[source.format], file, source)


def read_by(reader: Callable[[Place, Input], Any], file: Place, source: Input) -> Any:
    """What a reader reads. See `read_file` for errors."""
    try:
        return reader(file, source)
    except (ConfigurationError, InputError):
        raise
    except ImportError:
        raise ConfigurationError(
            f"input.path: {file.name} is {NAMES[source.format]} file: pip install "
            "'tclose-spark[formats]'",
        ) from None
    except Exception as error:  # its text may hold values of people
        raise problems.not_of_format(source, type(error).__name__) from None


def labels_of_variables(source: Input) -> dict[str, str]:
    """The labels of variables in a file of Stata, SPSS or SAS, by column; none of other files. See
    `read_file` for errors.
    """
    labels: dict[str, str] = (
        read_by(variable_labels, place_of(source.path), source) if source.format in KINDS else {}
    )
    return labels


def _arrow(file: Place, source: Input) -> pa.Table:
    return import_module(f"pyarrow.{source.format}").read_table(opened(file))


MOST_DIGITS = 10**38
"""No decimal reaches it."""
BLANKS = re.compile(r"[ \t\n\r]*")
JSON_NAMES = {
    bool: "true or false",
    int: "number",
    float: "number",
    str: "text",
    dict: "object",
    list: "array",
}


def read_json(file: Place, source: Input) -> pa.Table:
    """The table in a file: a row for each object, a column for each of their names. A name that an
    object lacks is missing in its row. Texts stay texts. Whole numbers keep all digits.

    Raises:
        InputError: if there are no objects, or an object has a name twice, or a column's values are
            of several types.
    """
    with file.open("rb") as content:
        text = content.read().decode("utf-8-sig")
    rows = list(_objects(text, file.name))
    if not rows:
        raise InputError(f"input.path: {file.name} has no rows")
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table(
        {name: _column([row.get(name) for row in rows], name, file.name) for name in names},
    )


def _objects(text: str, file: str) -> Iterator[dict[str, object]]:
    def read(pairs: list[tuple[str, object]]) -> dict[str, object]:
        made = dict(pairs)
        if len(made) < len(pairs):
            raise InputError(f"input.path: {file} has an object with a name twice; rename one")
        return made

    decoder = json.JSONDecoder(object_pairs_hook=read)
    place = _after_blanks(text, 0)
    while place < len(text):
        found, place = decoder.raw_decode(text, place)
        for one in found if isinstance(found, list) else [found]:
            if not isinstance(one, dict):
                raise InputError(
                    f"input.path: {file} has values that are no objects; expected an object for "
                    "each row",
                )
            yield one
        place = _after_blanks(text, place)


def _after_blanks(text: str, place: int) -> int:
    found = BLANKS.match(text, place)
    return place if found is None else found.end()


def _column(values: Sequence[Any], name: str, file: str) -> pa.Array:
    """A column of the type that all its values have."""
    kinds = {type(value) for value in values if value is not None}
    if len({JSON_NAMES[kind] for kind in kinds}) > 1:
        found = " and ".join(sorted({JSON_NAMES[kind] for kind in kinds}))
        raise InputError(
            f"input.path: column {name!r} of {file} has values of several types, {found}; write "
            "one type",
        )
    if kinds == {str}:
        note_zones(file, (value for value in values if value is not None))
    if int in kinds:
        return _json_numbers(values, name, file)
    return pa.array(values)


def _json_numbers(values: Sequence[Any], name: str, file: str) -> pa.Array:
    """Numbers of which some are whole: integers or decimals if all are, else doubles.

    Raises:
        InputError: if a whole number would lose digits.
    """
    whole = [value for value in values if isinstance(value, int)]
    largest = max(abs(value) for value in whole)
    if len(whole) == sum(value is not None for value in values) and largest < MOST_DIGITS:
        return pa.array(values, pa.int64() if largest < LARGEST else pa.decimal128(38, 0))
    if any(_loses_digits(value) for value in whole):
        raise InputError(
            f"input.path: column {name!r} of {file} has whole numbers of more digits than its type "
            "holds; write them as text",
        )
    return pa.array([None if value is None else float(value) for value in values])


def _loses_digits(value: int) -> bool:
    try:
        return int(float(value)) != value
    except OverflowError:
        return True


Rows = Sequence[Sequence[Any]]
ERROR_OR_FORMULA = re.compile(
    rb"<(?:\w+:)?c\b(?:[^>]*\st=[\"']e[\"'][^>]*>"
    rb"|(?![^>]*\st=[\"']str[\"'])[^>]*(?<!/)>\s*<(?:\w+:)?f\b(?:[^>]*/>|[^>]*>[^<]*</(?:\w+:)?f>)\s*"
    rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</(?:\w+:)?c>)",
)
"""A cell of Excel with an error, or with a formula and no stored value."""
ERROR_OF_OPEN_DOCUMENT = re.compile(rb"calcext:value-type=[\"']error[\"']")


def cells(file: Place, source: Input) -> tuple[Rows, Sequence[str]]:
    """(the cells of a workbook's first sheet, or of the option `sheet`; the names of all). Empty
    cells are "".

    Raises:
        InputError: if it has no such sheet. Names of sheets may be those of people, so only alike
            ones are named.
    """
    from python_calamine import CalamineWorkbook

    with file.open("rb") as content:
        book = CalamineWorkbook.from_filelike(content)
        sheet = option_of(source, "sheet")
        names = book.sheet_names
        if sheet and sheet not in names:
            alike = get_close_matches(sheet, names, 1)
            hint = f"; did you mean {alike[0]!r}?" if alike else ""
            raise InputError(
                f"input.options.sheet: {file.name} has no sheet of this name, but {len(names)} "
                f"other{hint}",
            )
        found = book.get_sheet_by_name(sheet) if sheet else book.get_sheet_by_index(0)
        return found.to_python(skip_empty_area=False), names


def has_names(source: Input) -> bool:
    """Whether the first row of a sheet has the names of the columns. Only the option `header`
    denies it.
    """
    return option_of(source, "header").lower() != "false"


def read_workbook(file: Place, source: Input) -> pa.Table:
    """The table in a sheet. Rows of empty cells are left out, and cells with errors are missing,
    with a note.

    Raises:
        InputError: if the sheet has no rows, or there is no such sheet.
    """
    rows, names = cells(file, source)
    below = rows[lines_left_out(source, "skip_rows") :]
    held = [row for row in below if _is_filled(row)]
    if not held:
        raise InputError(f"input.path: {file.name} has no rows")
    held = held[: len(held) - lines_left_out(source, "skip_footer")]
    _note_empty_rows(below, file.name)
    _note_lost_cells(file, option_of(source, "sheet") or names[0])
    header, rows = (held[0], held[1:]) if has_names(source) else (None, held)
    columns = [
        [None if cell == "" else cell for cell in column] for column in zip(*rows, strict=True)
    ]
    width = len(below[0])
    found = {}
    for place in range(width):
        column = columns[place] if rows else []
        named = header is not None and header[place] != ""
        if named or any(cell is not None for cell in column):
            found[place] = column_of(column) if rows else pa.nulls(0, pa.string())
    return pa.table([*found.values()], [_name(header, place) for place in found])


def _name(header: Sequence[Any] | None, place: int) -> str:
    """The name of a column, as CSV files have it."""
    return f"_c{place}" if header is None else text_of_cell(header[place]) or f"_{place}"


def _is_filled(row: Sequence[Any]) -> bool:
    return any(cell != "" for cell in row)


def _note_empty_rows(rows: Rows, file: str) -> None:
    filled = [place for place, row in enumerate(rows) if _is_filled(row)]
    empty = filled[-1] - filled[0] + 1 - len(filled)
    if empty:
        note(f"{file} has {empty} empty rows between others, which are left out")


def _note_lost_cells(file: Place, sheet: str) -> None:
    lost = _lost_cells(file, sheet)
    if lost:
        note(
            f"{file.name} has {lost} cells with errors, or with formulas without a stored value, "
            "read as missing",
        )


def _lost_cells(file: Place, sheet: str) -> int:
    """How many cells of a sheet hold an error, or a formula without a value; 0 in a format that is
    not known XML.
    """
    ending = file.name.lower().rpartition(".")[2]
    with suppress(BadZipFile, KeyError), file.open("rb") as content:
        if ending in ("xlsx", "xlsm"):
            return len(ERROR_OR_FORMULA.findall(_sheet_of_excel(ZipFile(content), sheet)))
        if ending == "ods":
            return _errors_of_open_document(ZipFile(content), sheet)
    return 0


def _sheet_of_excel(book: ZipFile, sheet: str) -> bytes:
    """The XML of a sheet; nothing if the workbook has it under no known name."""
    relations = _elements(book.read("xl/_rels/workbook.xml.rels"), b"Relationship")
    targets = {one.get("Id"): one.get("Target", "") for one in relations}
    for one in _elements(book.read("xl/workbook.xml"), b"sheet"):
        if one.get("name") == sheet:
            target = targets.get(one.get("r:id"), "")
            path = target[1:] if target.startswith("/") else f"xl/{target}"
            return book.read(path) if path in book.namelist() else b""
    return b""


def _elements(xml: bytes, tag: bytes) -> Iterator[dict[str, str]]:
    """The attributes of the elements with a tag."""
    for found in re.findall(rb"<(?:\w+:)?" + tag + rb"\s[^>]*>", xml):
        pairs = re.findall(r"([\w:]+)=(?:\"([^\"]*)\"|'([^']*)')", found.decode())
        yield {name: unescape(one or other) for name, one, other in pairs}


def _errors_of_open_document(book: ZipFile, sheet: str) -> int:
    parts = re.split(rb"(?=<table:table\s)", book.read("content.xml"))
    return sum(
        len(ERROR_OF_OPEN_DOCUMENT.findall(part))
        for part in parts
        if any(one.get("table:name") == sheet for one in _elements(part, b"table"))
    )


READERS = {"excel": read_workbook, "jsonl": read_json, "feather": _arrow, "orc": _arrow}
READERS |= dict.fromkeys(KINDS, read_statistics)
